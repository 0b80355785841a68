"""What a run executes with, as command lines say it: a scripted model, tools, a policy."""

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from ..backends.script import read_script
from ..backends.scripted import ScriptedBackend
from ..permission import Approvals, Policy
from ..runtime import Settings
from ..tools.builtin.catalogue import BUILTIN_TOOLS
from ..tools.contract import Tool
from .options import positive
from .place import Place

TOOLS_HELP: Final = (
    "also offer a tool of yours: `module:name`, or `module` for all its tools; it is imported with "
    "the working directory on the path; may be repeated"
)
SCRIPT_HELP: Final = """\
a script has a turn for each text of the user, a step for each request of it:
  [[turn]]
  [[turn.step]]
  event = [
    { text = "I look." }, { call = "read", args = { path = "a.py" } },
    { finish = "tool_calls" },
  ]
  [[turn.step]]
  event = [{ text = "Done." }, { finish = "stop" }]
also think, usage, error, delay_ms, and steps that depend on results: see
help(crashworthy.Script). Tools: read, glob, grep, write, edit, shell, ask_user."""


@attrs.define(eq=False, kw_only=True)
class ToolsUnavailableError(CrashworthyError):
    """The word after --tools names no tool; `reason` says what was found instead."""

    code: ClassVar[Code] = Code.TOOLS_UNAVAILABLE
    word: str
    reason: str


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the run executes with."""
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        required=True,
        help="the scripted model: a TOML file, whose form `run --help` shows",
    )
    parser.add_argument(
        "--tools", action="append", default=[], metavar="MODULE[:NAME]", help=TOOLS_HELP
    )
    parser.add_argument(
        "--approve",
        choices=[str(mode) for mode in Approvals],
        default=str(Approvals.ASK),
        help="the policy for calls that need approval: ask a person (the default), allow or "
        "refuse all; part of the run's profile",
    )
    parser.add_argument(
        "--steps-max",
        type=positive,
        metavar="N",
        help="end the run as step_limit after N model requests; unlimited by default",
    )


def settings_of(args: argparse.Namespace, place: Place) -> Settings:
    """Return the settings that the options of `add_agent` describe, at a place.

    Raises:
        ScriptMalformedError: `script_malformed`.
        ToolsUnavailableError: `tools_unavailable`.
    """
    script = read_script(args.script)
    return Settings(
        root=place.root,
        workspace=place.workspace or Path.cwd(),
        backend=lambda: ScriptedBackend(script=script),
        tools=(*BUILTIN_TOOLS, *import_tools(args.tools)),
        policy=Policy(approvals=Approvals(args.approve)),
        steps_max=args.steps_max,
    )


def agent_words(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the options of `add_agent` as words, for a command that goes on with the same."""
    words = ["--script", str(args.script)]
    for word in args.tools:
        words += ["--tools", word]
    if args.approve != Approvals.ASK:
        words += ["--approve", args.approve]
    if args.steps_max is not None:
        words += ["--steps-max", str(args.steps_max)]
    return tuple(words)


def import_tools(words: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools that `--tools` words name, in their order.

    Raises:
        ToolsUnavailableError: `tools_unavailable`.
    """
    here = str(Path.cwd())
    if words and here not in sys.path:
        sys.path.insert(0, here)  # As `python -m` would; workers import what their host imports.
    return tuple(tool for word in words for tool in _tools_of(word))


def _why(error: Exception) -> str:
    """Return why a module cannot be imported, with the place in it where that is not the name."""
    if isinstance(error, ModuleNotFoundError):
        return str(error)
    told = f"{type(error).__name__}: {error}"
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, SyntaxError) or not frames:  # Its text names the place.
        return told
    return f"{told} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _tools_of(word: str) -> Sequence[Tool]:
    module, _, name = word.partition(":")
    try:
        found = vars(importlib.import_module(module))
    except Exception as error:  # The module's own code, which may raise anything.
        raise ToolsUnavailableError(word=word, reason=_why(error)) from error
    if name:
        tool = found.get(name)
        if not isinstance(tool, Tool):
            raise ToolsUnavailableError(word=word, reason=f"{name} is no tool of that module")
        return (tool,)
    tools = [value for value in found.values() if isinstance(value, Tool)]
    if not tools:
        raise ToolsUnavailableError(word=word, reason="the module has no tools")
    return tools
