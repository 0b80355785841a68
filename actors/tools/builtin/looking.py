"""The read, glob and grep tools: free of effects, bounded, and blind to what is denied (ASK-4)."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final

from ....machines.facts.canonical import Json
from ....machines.facts.text import preview, repair_text
from ..boundary import Access, Reach
from ..context import CallContext
from ..contract import OutputRule, Permission, ReplaySafe
from ..decorate import path_needs, tool
from ..effects.directory import Seen, opened_parent, read_at
from ..errors import (
    FileNotTextError,
    FileTooLargeError,
    FileUnreadableError,
    PatternInvalidError,
    TargetMissingError,
    TargetNotRegularError,
    ToolRefusedError,
)
from ..paths import allows, permitted_path

FILE_BYTES_MAX: Final = 8 * 1024 * 1024
"""The largest file that read shows a part of and that grep looks into."""
SNIFF_BYTES: Final = 8192
"""A NUL in so many first bytes says that a file is not text."""
LINES_MAX: Final = 2000
LINE_BYTES_MAX: Final = 2000
RESULTS_MAX: Final = 500
SHOWN_BYTES_MAX: Final = 48 * 1024
"""How much text one result holds, so that it stays inline as a whole."""
VISITS_MAX: Final = 100_000
"""How many directory entries one walk looks at."""
PATTERN_CHARS_MAX: Final = 1000
TIMEOUT_MS: Final = 60_000
"""A hostile regular expression can run for ever; the group is ended then."""


@tool(
    recovery=ReplaySafe(),
    local=True,
    permission=Permission.SCOPES,
    timeout_ms=TIMEOUT_MS,
    output=OutputRule(head_bytes=64 * 1024, tail_bytes=0),
    needs=path_needs("path", Access.READ),
)
def read(
    context: CallContext,
    path: Annotated[str, "The file, relative to the workspace or absolute."],
    first_line: Annotated[int, "The first line to show; lines count from 1."] = 1,
    lines: Annotated[int, f"How many lines to show, at most {LINES_MAX}."] = LINES_MAX,
) -> Json:
    """Read a text file, or a part of it.

    The result says how many lines it shows and how many there are; ask for the rest by first_line.
    Very long lines are cut and counted.

    Raises:
        FileNotTextError: `file_not_text`, it holds NULs.
    """
    found = permitted_path(context.workspace, path, Access.READ)
    content = _content(found, path)
    if b"\0" in content[:SNIFF_BYTES]:
        raise FileNotTextError(path=path)
    text, losses = repair_text(content)
    every = text.splitlines()
    start = max(first_line, 1) - 1
    room = _Room()
    shown: list[str] = []
    cut = 0
    for line in every[start : start + min(max(lines, 0), LINES_MAX)]:
        part, cut_chars = preview(line, LINE_BYTES_MAX)
        if not room.takes(part, counted=False):
            break
        shown.append(part)
        cut += bool(cut_chars)
    return {
        "text": "\n".join(shown),
        "first_line": start + 1,
        "lines": len(shown),
        "lines_total": len(every),
        "lines_cut": cut,
        "replaced": sum(loss.count for loss in losses),
    }


@tool(
    recovery=ReplaySafe(),
    local=True,
    permission=Permission.SCOPES,
    timeout_ms=TIMEOUT_MS,
    needs=path_needs("path", Access.READ, Reach.SUBTREE),
)
def glob(
    context: CallContext,
    pattern: Annotated[str, "Like `**/*.py`, matched against paths relative to `path`."],
    path: Annotated[str, "The directory to look in."] = ".",
) -> Json:
    """List files whose relative path matches a pattern, in order of their paths."""
    root = permitted_path(context.workspace, path, Access.READ, Reach.SUBTREE)
    matches = _path_pattern(pattern)
    walk, room = _Walk(context), _Room()
    paths: list[Json] = []
    for file in walk.files(root):
        relative = repair_text(file.relative_to(root).as_posix())[0]
        if not matches.fullmatch(relative):
            continue
        if not room.takes(relative):
            return {"paths": paths, "complete": False}
        paths.append(relative)
    return {"paths": paths, "complete": not walk.stopped}


@tool(
    recovery=ReplaySafe(),
    local=True,
    permission=Permission.SCOPES,
    timeout_ms=TIMEOUT_MS,
    needs=path_needs("path", Access.READ, Reach.SUBTREE),
)
def grep(
    context: CallContext,
    pattern: Annotated[str, "A Python regular expression, searched in each line."],
    path: Annotated[str, "The directory or file to look in."] = ".",
    files: Annotated[str, "Only files whose relative path matches this, like `**/*.py`."] = "**",
) -> Json:
    """Search the lines of text files; matches come in order of path and line.

    Raises:
        PatternInvalidError: `pattern_invalid`.
    """
    if len(pattern) > PATTERN_CHARS_MAX:
        raise PatternInvalidError(reason=f"longer than {PATTERN_CHARS_MAX} characters")
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise PatternInvalidError(reason=error.msg) from error
    root = permitted_path(context.workspace, path, Access.READ, Reach.SUBTREE)
    names = _path_pattern(files)
    walk, room = _Walk(context), _Room()
    matches: list[Json] = []
    for file in walk.files(root):
        inner = file.name if file == Path(root) else file.relative_to(root).as_posix()
        relative = repair_text(inner)[0]
        if not names.fullmatch(relative):
            continue
        for number, line in _lines(file):
            if not wanted.search(line):
                continue
            shown = preview(line, LINE_BYTES_MAX)[0]
            if not room.takes(relative + shown):
                return {"matches": matches, "complete": False}
            matches.append({"path": relative, "line": number, "text": shown})
    return {"matches": matches, "complete": not walk.stopped}


class _Room:
    """What one result may still hold."""

    def __init__(self) -> None:
        self._results = RESULTS_MAX
        self._bytes = SHOWN_BYTES_MAX

    def takes(self, text: str, *, counted: bool = True) -> bool:
        """Take room for `text`, or say that there is none."""
        size = len(text.encode()) + 1
        if size > self._bytes or not self._results:
            return False
        self._bytes -= size
        self._results -= counted
        return True


_UNLISTED: Final = frozenset((".git", ".crashworthy"))
"""Folders that belong to tools, not to the work."""


class _Walk:
    """One bounded walk over the regular files that this call may see, in a fixed order."""

    def __init__(self, context: CallContext) -> None:
        self._boundary = context.workspace.boundary
        self._left = VISITS_MAX
        self.stopped = False

    def files(self, root: str) -> Iterator[Path]:
        """Yield the files below `root`, or `root` itself if it is one; links are not followed."""
        if Path(root).is_file():
            yield Path(root)
            return
        yield from self._below(Path(root))

    def _below(self, directory: Path) -> Iterator[Path]:
        try:
            with os.scandir(directory) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            return  # Gone or closed to us: there is nothing to list.
        for entry in listed:
            if not self._left:
                self.stopped = True
                return
            self._left -= 1
            if not allows(self._boundary, entry.path, Access.READ):
                continue
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _UNLISTED:
                    yield from self._below(Path(entry.path))
            elif entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


def _content(found: str, path: str) -> bytes:
    """Return the bytes of the file.

    Raises:
        TargetMissingError: `target_missing`.
        TargetNotRegularError: `target_not_regular`.
        FileTooLargeError: `file_too_large`.
    """
    seen = _seen(found)
    if seen is None:
        raise TargetMissingError(path=path)
    if not stat.S_ISREG(seen.status.st_mode):
        raise TargetNotRegularError(path=path, kind="not a regular file")
    if seen.content is None:
        raise FileTooLargeError(
            path=path, size_bytes=seen.status.st_size, size_bytes_max=FILE_BYTES_MAX
        )
    return seen.content


def _seen(found: str) -> Seen | None:
    with opened_parent(found, make=False) as (directory, name):
        return read_at(directory, name or ".", found, FILE_BYTES_MAX)


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of a text file; others, and what cannot be read, have none."""
    try:
        seen = _seen(str(file))
    except (ToolRefusedError, FileUnreadableError):
        return
    if seen is None or seen.content is None or b"\0" in seen.content[:SNIFF_BYTES]:
        return
    yield from enumerate(repair_text(seen.content)[0].splitlines(), start=1)


def _path_pattern(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a glob in which `**` crosses directories and `*` does not.

    Raises:
        PatternInvalidError: `pattern_invalid`.
    """
    if not pattern or len(pattern) > PATTERN_CHARS_MAX or pattern.startswith("/"):
        raise PatternInvalidError(reason="empty, too long or absolute")
    parts = pattern.split("/")
    expression = ""
    for position, part in enumerate(parts):
        last = position == len(parts) - 1
        if part == "**":
            expression += ".*" if last else "(?:[^/]+/)*"
        else:
            expression += _part(part) + ("" if last else "/")
    try:
        return re.compile(expression)
    except re.error as error:  # A range that runs backwards, for instance.
        raise PatternInvalidError(reason=error.msg) from error


def _part(part: str) -> str:
    """Return the expression of one component; nothing in it matches a slash."""
    return "".join(_translated(found[0]) for found in _PIECES.finditer(part))


_PIECES: Final = re.compile(r"\[!?\]?[^\]]*\]|.", re.DOTALL)


def _translated(piece: str) -> str:
    if piece == "*":
        return "[^/]*"
    if piece == "?":
        return "[^/]"
    if len(piece) == 1:
        return re.escape(piece)
    inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
    negated = inner.startswith("!")
    return f"(?!/)[{'^' if negated else ''}{inner[negated:]}]"
