"""`crashworthy demo`: a scripted agent repairs a small failing project, on the real runtime."""

import argparse
import importlib.util
import json
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from . import run
from .options import add_json, add_voice, command_parser
from .place import Place, program
from .terminal import tell

TASK: Final = "One of the tests of this project fails. Find out why, and repair it."
_EXAMPLES: Final = Path(__file__).parent.parent / "examples"
_PROJECT: Final = "till"
_SCRIPT: Final = "repair.toml"


@attrs.define(eq=False, kw_only=True)
class ExampleUnusableError(CrashworthyError):
    """The example cannot be made or run here; `reason` says what to change."""

    code: ClassVar[Code] = Code.EXAMPLE_UNUSABLE
    path: str
    reason: str


def main(argv: Sequence[str]) -> int:
    """Make a fresh copy of the example and let the agent work on it."""
    args = _parser().parse_args(argv)
    place = make_example(args.dir)
    tell(f"made {place.workspace}: a project with one failing test, and the agent's script beside")
    words = [TASK, "--script", str(place.root.parent / _SCRIPT)]
    words += ["--root", str(place.root), "--workspace", str(place.workspace)]
    words += ["--yes"] if args.yes else ["--no-input"] if args.no_input else []
    status = run.main([*words, "--json"] if args.json else words)
    tell(f"any moment:  {place.command('at', '12')}")
    tell(f"check it:    {shlex.join((*program(), 'verify', str(place.root)))}")
    return status


def make_example(target: Path | None) -> Place:
    """Copy the example into a new or empty directory, and return where its log will be.

    Raises:
        ExampleUnusableError: `example_unusable`.
    """
    if importlib.util.find_spec("pytest") is None:
        raise ExampleUnusableError(path="", reason="its tests need pytest in this environment")
    if target is not None and target.exists() and any(target.iterdir()):
        raise ExampleUnusableError(path=str(target), reason="name a directory that is not there")
    home = Path(tempfile.mkdtemp(prefix="crashworthy-demo-")) if target is None else target
    project = home / "project"
    shutil.copytree(
        _EXAMPLES / _PROJECT, project / _PROJECT, ignore=shutil.ignore_patterns("__pycache__")
    )
    # A TOML string spells its characters as a JSON string does.
    python = json.dumps(shlex.quote(sys.executable))[1:-1]
    script = (_EXAMPLES / _SCRIPT).read_text("utf-8").replace("@PYTHON@", python)
    (home / _SCRIPT).write_text(script, "utf-8")
    root = home / "log"
    return Place(root=root, workspace=project, given=("--root", str(root)))


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "demo",
        "Make a small project with a failing test, and let a scripted agent repair it: it reads,"
        " runs the tests (red), edits, and runs them again (green). Running them needs approval.",
    )
    parser.add_argument(
        "dir",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="a directory to make everything in; else a new temporary one",
    )
    add_voice(parser)
    add_json(parser, "JSON lines, as `run` does")
    return parser
