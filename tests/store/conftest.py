"""Stores and child processes that are gone when their test is."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

import pytest

from .rig import OPEN_RIGS, Child, Rig, make_rig


class StartChild(Protocol):
    """Starts `code` in a Python process of its own, with `args` in `sys.argv`."""

    def __call__(self, code: str, *args: object) -> Child: ...


@pytest.fixture
def rig(tmp_path: Path) -> Rig:
    return make_rig(tmp_path)


@pytest.fixture(autouse=True)
def every_rig_is_shut() -> Generator[None]:
    yield
    while OPEN_RIGS:
        OPEN_RIGS.pop().shut()


@pytest.fixture
def start_child() -> Generator[StartChild]:
    """Start `code` in a Python process of its own, with `args` in `sys.argv`."""
    children: list[Child] = []
    source = Path(__file__).parents[2] / ".src"

    def start(code: str, *args: object) -> Child:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *map(str, args)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(source)},
        )
        children.append(Child(process))
        return children[-1]

    yield start
    for child in children:
        child.process.kill()
        child.process.communicate()
