"""Fixtures of the cases."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from .rig import Stage


@pytest.fixture
def stage() -> Iterator[Callable[[Mapping[str, object]], Stage]]:
    """Make stages on a RAM disk where there is one: SIGKILL does not need a real sync."""
    made: list[Path] = []

    def make(script: Mapping[str, object]) -> Stage:
        shm = Path("/dev/shm")  # noqa: S108 - a RAM disk, cleaned below
        parent = shm if shm.is_dir() and os.access(shm, os.W_OK) else None
        made.append(Path(tempfile.mkdtemp(dir=parent, prefix="cases-")))
        return Stage(base=made[-1], script=script)

    yield make
    for path in made:
        shutil.rmtree(path)
