"""The options that commands share, each declared once."""

import argparse
import importlib
import sys
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
from .exits import STATUS_HELP
from .place import Place, find_place

TOOLS_HELP: Final = (
    "also offer a tool of yours: `module:name`, or `module` for all its tools; it is imported with "
    "the working directory on the path; may be repeated"
)


@attrs.define(eq=False, kw_only=True)
class ToolsUnavailableError(CrashworthyError):
    """The word after --tools names no tool; `reason` says what was found instead."""

    code: ClassVar[Code] = Code.TOOLS_UNAVAILABLE
    word: str
    reason: str


def command_parser(name: str, summary: str, more: str = "") -> argparse.ArgumentParser:
    """Return the parser of one command, whose help ends with `more` and the exit statuses."""
    return argparse.ArgumentParser(
        prog=f"crashworthy {name}",
        description=summary,
        epilog=f"{more}\n\n{STATUS_HELP}" if more else STATUS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add_place(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which log is meant."""
    parser.add_argument(
        "--root", type=Path, metavar="DIR", help="the state root; by default one per workspace"
    )
    parser.add_argument(
        "--workspace",
        type=Path,
        metavar="DIR",
        help="the directory that the agent works in; by default the working directory",
    )


def add_json(parser: argparse.ArgumentParser, form: str) -> None:
    """Add `--json`, saying what it prints."""
    parser.add_argument("--json", action="store_true", help=f"print {form} instead of text")


def add_limit(parser: argparse.ArgumentParser, limit: int, what: str) -> None:
    """Add `--limit` with its default."""
    parser.add_argument(
        "--limit",
        type=_count,
        default=limit,
        metavar="N",
        help=f"how many {what} to show; 0 for all; {limit} unless given",
    )


def add_lines(parser: argparse.ArgumentParser, lines: int) -> None:
    """Add `--lines` with its default."""
    parser.add_argument(
        "--lines",
        type=_count,
        default=lines,
        metavar="N",
        help=f"how many lines of a long output to show; 0 for all; {lines} unless given",
    )


def add_voice(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who answers for the person."""
    voice = parser.add_mutually_exclusive_group()
    voice.add_argument(
        "--yes",
        action="store_true",
        help="give every approval that is asked for; questions stay open",
    )
    voice.add_argument(
        "--no-input",
        action="store_true",
        help="ask nobody: what is asked stays open, and the run waits (the default without a "
        "terminal, and with --json)",
    )


def add_agent(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what the run executes with."""
    parser.add_argument(
        "--script",
        type=Path,
        metavar="FILE",
        required=True,
        help="the scripted model: a TOML file of turns, steps and events",
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
        type=_positive,
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


def place_of(args: argparse.Namespace) -> Place:
    """Return the place that the options name."""
    return find_place(args.root, args.workspace)


def import_tools(words: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools that `--tools` words name, in their order.

    Raises:
        ToolsUnavailableError: `tools_unavailable`.
    """
    here = str(Path.cwd())
    if words and here not in sys.path:
        sys.path.insert(0, here)  # As `python -m` would; workers import what their host imports.
    return tuple(tool for word in words for tool in _tools_of(word))


def _tools_of(word: str) -> Sequence[Tool]:
    module, _, name = word.partition(":")
    try:
        found = vars(importlib.import_module(module))
    except ImportError as error:
        raise ToolsUnavailableError(word=word, reason=str(error)) from error
    if name:
        tool = found.get(name)
        if not isinstance(tool, Tool):
            raise ToolsUnavailableError(word=word, reason=f"{name} is no tool of that module")
        return (tool,)
    tools = [value for value in found.values() if isinstance(value, Tool)]
    if not tools:
        raise ToolsUnavailableError(word=word, reason="the module has no tools")
    return tools


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError
    return number
