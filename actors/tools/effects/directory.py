"""Access to one directory by descriptor, so that no link on the way can move it (OP-6)."""

import errno
import os
import stat
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

import attrs

from ....store.platform import full_sync
from ..errors import (
    FileUnreadableError,
    ParentMissingError,
    TargetNotRegularError,
    TargetSymlinkError,
    errno_name,
)

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# On the way a directory may be searchable but not readable; macOS has no O_PATH and needs both.
_WAY: Final = _DIRECTORY | (os.O_PATH if sys.platform == "linux" else 0)
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@attrs.frozen(kw_only=True)
class Seen:
    """What stands at a name: its status, and its bytes if it is a regular file within the limit."""

    status: os.stat_result
    content: bytes | None


@contextmanager
def opened_parent(path: str, *, make: bool) -> Generator[tuple[int, str]]:
    """Yield a descriptor of the directory that holds the canonical `path`, and the last name.

    Each component is opened without following links: a canonical path has none, so meeting one
    means that somebody moved the ground since the path was made canonical.

    Args:
        path: Canonical and absolute.
        make: Whether missing directories are made (and made durable).

    Raises:
        ParentMissingError: `parent_missing`, a directory is not there and is not to be made.
        TargetSymlinkError: `target_symlink`, a component became a link.
        TargetNotRegularError: `target_not_regular`, a component is a file.
        FileUnreadableError: `file_unreadable`, the system refused.
    """
    *components, name = path[1:].split("/")
    component = "."
    fd = os.open("/", _WAY)
    try:
        try:
            for component in components:
                below = _open_component(fd, component, make=make)
                os.close(fd)
                fd = below
            parent = _reopen(fd)
        except FileNotFoundError as error:
            raise ParentMissingError(path=path) from error
        except OSError as error:
            # Linux says ENOTDIR for a link opened with O_DIRECTORY | O_NOFOLLOW, macOS says ELOOP.
            if error.errno == errno.ELOOP or _is_link(fd, component):
                raise TargetSymlinkError(path=path) from error
            if error.errno == errno.ENOTDIR:
                raise TargetNotRegularError(path=path, kind="below a file") from error
            raise FileUnreadableError(path=path, errno=errno_name(error)) from error
        os.close(fd)
        fd = parent
        yield fd, name
    finally:
        os.close(fd)


def read_at(directory: int, name: str, path: str, limit_bytes: int) -> Seen | None:
    """Return what stands at `name`, or None if nothing does; never follows a link, never blocks.

    Args:
        directory: Descriptor of the directory.
        name: One component.
        path: The whole path, for refusals.
        limit_bytes: Larger files are not read.

    Raises:
        FileUnreadableError: `file_unreadable`, the system refused.
    """
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if not stat.S_ISREG(status.st_mode):
            return Seen(status=status, content=None)
        fd = os.open(name, _FILE, dir_fd=directory)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileUnreadableError(path=path, errno=errno_name(error)) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit_bytes:
            return Seen(status=status, content=None)
        return Seen(status=status, content=_read_whole(fd, limit_bytes))
    except OSError as error:
        raise FileUnreadableError(path=path, errno=errno_name(error)) from error
    finally:
        os.close(fd)


def _read_whole(fd: int, limit_bytes: int) -> bytes | None:
    """Return all bytes, or None if the file grew over the limit while it was read."""
    pieces: list[bytes] = []
    left = limit_bytes + 1
    while left and (piece := os.read(fd, min(left, 1 << 20))):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces) if left else None


def _open_component(parent: int, component: str, *, make: bool) -> int:
    try:
        return os.open(component, _WAY, dir_fd=parent)
    except FileNotFoundError:
        if not make:
            raise
    try:
        os.mkdir(component, 0o755, dir_fd=parent)
    except FileExistsError:
        pass  # Somebody else made it: just as good.
    else:
        readable = _reopen(parent)
        try:
            full_sync(readable)
        finally:
            os.close(readable)
    return os.open(component, _WAY, dir_fd=parent)


def _is_link(parent: int, component: str) -> bool:
    try:
        status = os.stat(component, dir_fd=parent, follow_symlinks=False)
    except OSError:
        return False
    return stat.S_ISLNK(status.st_mode)


def _reopen(directory: int) -> int:
    """Return a descriptor of the same directory that can be listed and synced."""
    return os.open(".", _DIRECTORY, dir_fd=directory)
