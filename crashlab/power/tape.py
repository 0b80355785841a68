"""What the recorder wrote down: each operation on the files under one directory, in order."""

import struct
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

_HEAD: Final = struct.Struct("<c3xIQQQ")
"""As `struct head` of recorder.c: operation, bytes of the path, inode, position, bytes of data."""


class Act(StrEnum):
    """What was done; the values are the recorder's own."""

    CREATE = "c"
    MAKE_DIRECTORY = "m"
    WRITE = "w"
    RESIZE = "t"
    SYNC = "s"
    REMOVE = "u"
    RENAME = "r"
    LINK = "l"
    FOREIGN = "!"  # something that the recorder cannot put down: the tape is worthless


@attrs.frozen(kw_only=True)
class Operation:
    """One operation that succeeded.

    Attributes:
        inode: Of the file or directory that it is about; 0 where a path tells.
        at: The position of a write, or the new size.
        path: Below the recorded directory; for a foreign act, what it was.
        data: What was written; the new path of a rename or link.
    """

    act: Act
    inode: int
    at: int
    path: str
    data: bytes


def read_tape(path: Path) -> tuple[Operation, ...]:
    """Return all operations of a tape; several processes may have written it, one after another."""
    data = path.read_bytes()
    found: list[Operation] = []
    at = 0
    while at < len(data):
        act, path_bytes, inode, position, data_bytes = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        name = data[at : at + path_bytes].decode("utf-8", "surrogateescape")
        at += path_bytes
        body = data[at : at + data_bytes]
        at += data_bytes
        act = Act(act.decode("ascii"))
        found.append(Operation(act=act, inode=inode, at=position, path=name, data=body))
    assert at == len(data), "an operation is put down in one write"
    return tuple(found)
