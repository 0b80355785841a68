"""Reports go whole to a file, or to standard output in place of words for people.

For every command that checks something and can write down what it found: each has the same options
and the same meaning of `-`, so that a standard output that somebody parses is one document.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, TextIO

STDOUT: Final = "-"

_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {"json": "JSON", "junit": "JUnit XML", "html": "one HTML page"}
)


def add_reports(parser: argparse.ArgumentParser, *forms: str) -> None:
    """Add an option for each form of a report: `json`, `junit`, `html`."""
    for form in forms:
        parser.add_argument(
            f"--{form}",
            metavar="FILE",
            type=_place,
            help=f"also write the report as {_FORMS[form]} to FILE; with - to standard output, and"
            " words for people to standard error",
        )


def check_reports(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """End the command as used wrongly if two reports are to share standard output."""
    loud = [f"--{form}" for form in _FORMS if _named(options, form) == STDOUT]
    if len(loud) > 1:
        parser.error(f"only one of {' and '.join(loud)} can have standard output")


def refuse_reports(
    parser: argparse.ArgumentParser, options: argparse.Namespace, forms: Sequence[str], why: str
) -> None:
    """End the command as used wrongly if it is told to write reports that will not be made."""
    for form in forms:
        if _named(options, form) is not None:
            parser.error(f"argument --{form}: {why}")


def words(options: argparse.Namespace) -> TextIO:
    """Return where words for people go: standard output, unless a report has it."""
    loud = any(_named(options, form) == STDOUT for form in _FORMS)
    return sys.stderr if loud else sys.stdout


def write_report(options: argparse.Namespace, form: str, text: str) -> None:
    """Write one report where the options say, if they say so; it ends with a line end.

    Raises:
        OSError: The file cannot be written.
    """
    place = _named(options, form)
    whole = text if text.endswith("\n") else f"{text}\n"
    if place == STDOUT:
        sys.stdout.write(whole)
        sys.stdout.flush()
    elif place is not None:
        Path(place).write_text(whole, encoding="utf-8")


def _named(options: argparse.Namespace, form: str) -> str | None:
    place = getattr(options, form, None)
    return None if place is None else str(place)


def _place(name: str) -> str:
    """Return the name of a file that can be written as far as can be told before the work.

    Raises:
        argparse.ArgumentTypeError: It cannot.
    """
    if name == STDOUT:
        return name
    path = Path(name)
    if path.is_dir() or not name:
        message = f"{name!r} is no name of a file"
        raise argparse.ArgumentTypeError(message)
    if not path.parent.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        message = f"{name!r} cannot be written"
        raise argparse.ArgumentTypeError(message)
    return name
