"""The write and edit tools: pure functions from an old content to a new one (OP-6)."""

from typing import Annotated

from ..decorate import file_tool
from ..effects.files import Change
from ..errors import (
    EditTextAmbiguousError,
    EditTextMissingError,
    FileNotTextError,
    TargetMissingError,
)


@file_tool(version=1)
def write(
    before: bytes | None,
    path: Annotated[str, "The file, relative to the workspace or absolute."],
    content: Annotated[str, "The whole new content."],
) -> Change:
    """Write a whole text file; an existing one is replaced, missing directories are made."""
    after = content.encode()
    return Change(
        content=after,
        result={"path": path, "created": before is None, "bytes": len(after)},
    )


@file_tool(version=1)
def edit(
    before: bytes | None,
    path: Annotated[str, "The file, relative to the workspace or absolute."],
    old: Annotated[str, "The exact text to replace, with enough around it to be unique."],
    new: Annotated[str, "The text to put in its place."],
    all: Annotated[bool, "Replace every occurrence instead of the only one."] = False,  # noqa: A002, FBT002 - names of arguments as the model reads them
) -> Change:
    """Replace an exact text in a UTF-8 text file.

    Raises:
        TargetMissingError: `target_missing`.
        FileNotTextError: `file_not_text`.
        EditTextMissingError: `edit_text_missing`.
        EditTextAmbiguousError: `edit_text_ambiguous`, unless all are to be replaced.
    """
    if before is None:
        raise TargetMissingError(path=path)
    try:
        text = before.decode()
    except UnicodeDecodeError as error:
        raise FileNotTextError(path=path) from error
    count = text.count(old) if old else 0
    if not count:
        raise EditTextMissingError(path=path)
    if count > 1 and not all:
        raise EditTextAmbiguousError(path=path, count=count)
    after = text.replace(old, new).encode()
    return Change(content=after, result={"path": path, "replaced": count, "bytes": len(after)})
