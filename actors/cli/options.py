"""The options that commands share, each declared once."""

import argparse
import textwrap
from pathlib import Path
from typing import Final

from .exits import STATUS_HELP
from .place import Place, find_place

_WIDTH: Final = 78
"""Columns of what argparse is told to leave as it is; what it wraps itself follows the terminal."""


def command_parser(name: str, summary: str, more: str = "") -> argparse.ArgumentParser:
    """Return the parser of one command, whose help ends with `more` and the exit statuses."""
    return argparse.ArgumentParser(
        prog=f"crashworthy {name}",
        description=textwrap.fill(summary, _WIDTH),
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
    parser.add_argument("--json", action="store_true", help=f"instead of text, print {form}")


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


def place_of(args: argparse.Namespace) -> Place:
    """Return the place that the options name."""
    return find_place(args.root, args.workspace)


def _count(text: str) -> int:
    return _at_least(0, text)


def positive(text: str) -> int:
    """Return a number over 0, as the type of an option.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    return _at_least(1, text)


def _at_least(least: int, text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        message = f"{text!r} is no whole number from {least} on"
        raise argparse.ArgumentTypeError(message)
    return number
