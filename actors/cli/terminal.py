"""Plain text for people: within the terminal's width, and in colour only where that is wanted."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, TextIO

import attrs

from ...machines.facts import canonical
from ...machines.facts.canonical import Json
from ..tools.builtin.asking import escaped

WIDTH_MIN: Final = 40
WIDTH_MAX: Final = 140
MORE: Final = "..."


class Tone(StrEnum):
    """The few ways in which words stand out, as their terminal codes."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"


@attrs.frozen(kw_only=True)
class Paper:
    """Where text goes, and how."""

    stream: TextIO
    width: int
    colour: bool

    def line(self, text: str = "", tone: Tone | None = None) -> None:
        """Write one line."""
        self.piece(f"{self.toned(text, tone)}\n")

    def piece(self, text: str) -> None:
        """Write text as it is, at once."""
        print(text, end="", file=self.stream, flush=True)

    def toned(self, text: str, tone: Tone | None) -> str:
        """Return text in its tone, where tones are shown."""
        return f"\x1b[{tone.value}m{text}\x1b[0m" if self.colour and tone and text else text

    def fit(self, text: str, indent: int = 0) -> str:
        """Return the start of one line that fits, with a sign where it was cut."""
        first, _, rest = text.partition("\n")
        room = max(self.width - indent, len(MORE) + 1)
        if len(first) > room:
            return first[: room - len(MORE)] + MORE
        return f"{first} {MORE}" if rest and len(first) + len(MORE) < room else first


def paper(stream: TextIO) -> Paper:
    """Return the paper that a stream of this process is."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    columns = shutil.get_terminal_size((80, 24)).columns
    width = min(max(columns, WIDTH_MIN), WIDTH_MAX)
    return Paper(stream=stream, width=width, colour=wanted and stream.isatty())


def out() -> Paper:
    """Return standard output as paper."""
    return paper(sys.stdout)


def visible(text: str) -> str:
    """Return text that cannot move the cursor, hide or reorder anything on a terminal."""
    return escaped(text.replace("\r\n", "\n"))


def some_lines(text: str, limit: int, how: str) -> Iterable[str]:
    """Yield the first lines of a text, then one that says how many are missing and how to see them.

    Args:
        text: The text.
        limit: How many lines to show; 0 for all.
        how: What shows the rest.
    """
    lines = visible(text).rstrip("\n").split("\n")
    shown = lines if not limit or len(lines) <= limit else lines[:limit]
    yield from shown
    if len(shown) < len(lines):
        yield f"{MORE} {counted(len(lines) - len(shown), 'more line')} ({how})"


def table(rows: Sequence[Sequence[str]], at: Paper) -> Iterable[str]:
    """Yield rows with aligned columns; the last column takes what room is left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        start = "  ".join(
            cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)
        )
        text = f"{start}  {at.fit(row[-1], len(start) + 2)}" if start else row[-1]
        yield text.rstrip()


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def left_out(number: int, noun: str) -> str:
    """Return that a list is cut, and how to see all of it."""
    verb = "is" if number == 1 else "are"
    return f"{counted(number, noun)} {verb} not shown: --limit 0 shows all"


def moment(ts_ms: int) -> str:
    """Return a time in this machine's zone, for display only (LOG-9)."""
    return datetime.fromtimestamp(ts_ms / 1000, tz=UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def print_json(value: Json) -> None:
    """Write one JSON value as one line on standard output."""
    print(canonical.encode(value).decode(), flush=True)


def tell(text: str) -> None:
    """Say something beside the result, on standard error."""
    print(text, file=sys.stderr, flush=True)
