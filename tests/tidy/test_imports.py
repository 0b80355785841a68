"""Importing the package or its core loads no scheduler and no database (HOUSE-4)."""

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

import crashworthy

from .tree import ROOT, write_tree

HEAVY: Final = ("trio", "anyio", "asyncio", "sqlite3", "hypothesis", "crosshair")
_REPORT: Final = (
    "import importlib, sys\n"
    "importlib.import_module(sys.argv[1])\n"
    "print(*(name for name in sys.argv[2:] if name in sys.modules))\n"
)


def heavy_imports(module: str, path: Path) -> list[str]:
    """Return which of HEAVY a fresh interpreter has loaded after importing only `module`."""
    run = subprocess.run(
        [sys.executable, "-c", _REPORT, module, *HEAVY],
        env={"PYTHONPATH": str(path)},
        cwd=path,  # with -c the working directory comes first on sys.path
        check=True,
        capture_output=True,
        text=True,
    )
    return run.stdout.split()


@pytest.mark.parametrize(
    "module", ["crashworthy", "crashworthy.machines.facts", "crashworthy.actors.cli"]
)
def test_import_stays_light(module: str) -> None:
    """CrossHair and spawned workers import the root first; trio there costs each of them."""
    assert heavy_imports(module, ROOT / ".src") == []


def test_eager_import_of_a_scheduler_is_reported(tmp_path: Path) -> None:
    tree = write_tree(
        tmp_path,
        {"eager/__init__.py": "from .run import go\n", "eager/run.py": "import trio\ngo = 1\n"},
    )
    assert "trio" in heavy_imports("eager", tree)


def test_package_loads_each_public_name_on_first_use() -> None:
    assert [name for name in crashworthy.__all__ if getattr(crashworthy, name, None) is None] == []
    assert set(crashworthy.__all__) <= set(dir(crashworthy))


def test_package_refuses_a_name_that_is_not_public() -> None:
    with pytest.raises(AttributeError, match="no attribute 'journal_of_nobody'"):
        vars(crashworthy)["__getattr__"]("journal_of_nobody")


def test_modules_are_loaded_from_the_visible_folders() -> None:
    """HOUSE-1: a traceback should name machines/..., where the reader finds the file."""
    from crashworthy.machines.facts import codes  # noqa: PLC0415 - the import is the subject

    assert Path(codes.__file__) == ROOT / "machines/facts/codes.py"
