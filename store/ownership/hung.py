"""The mark of a shutdown that hung: its owner kept the lock until its process ended (OWN-3)."""

import contextlib
import os
from pathlib import Path
from typing import Final

import attrs

from ...machines.facts.canonical import encode, parse
from ...machines.facts.codes import CrashworthyError
from ..errors import file_step
from ..platform import full_sync, sync_directory
from ..probe import Probe, no_probe
from .root import StateRoot

_BYTES_MAX: Final = 64 * 1024
_LEFT_MAX: Final = 100


@attrs.frozen(kw_only=True)
class HungOwner:
    """An owner whose shutdown did not end.

    Attributes:
        epoch: Its epoch; 0 where the mark cannot be read.
        pid: Its process; 0 where the mark cannot be read.
        left: The operations that may still have acted when it gave up, the first of them.
    """

    epoch: int
    pid: int
    left: tuple[str, ...]


def mark_hung(root: StateRoot, hung: HungOwner, *, probe: Probe = no_probe) -> None:
    """Leave the mark, durably.

    Raises:
        StorageError: `storage_*`.
    """
    told = encode({"epoch": hung.epoch, "pid": hung.pid, "left": [*hung.left[:_LEFT_MAX]]})
    aside = root.path / "hung.json.new"
    with file_step("hung"):
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, told)
            full_sync(fd)
        finally:
            os.close(fd)
        probe("hung.written")
        aside.rename(_mark(root))
        sync_directory(root.path)
        probe("hung.named")


def read_hung(root: StateRoot) -> HungOwner | None:
    """Return what the mark says, if there is one; a mark that cannot be read is one, too."""
    try:
        fd = os.open(_mark(root), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return _UNREADABLE
    try:
        return _parsed(os.read(fd, _BYTES_MAX))
    except OSError:
        return _UNREADABLE
    finally:
        os.close(fd)


def clear_hung(root: StateRoot) -> None:
    """Take the mark away, for an owner that knows of it; what cannot be removed now stays."""
    with contextlib.suppress(OSError):
        _mark(root).unlink()


def _mark(root: StateRoot) -> Path:
    return root.path / "hung.json"


def _parsed(data: bytes) -> HungOwner:
    try:
        told = parse(data)
    except CrashworthyError:
        return _UNREADABLE
    facts = told if isinstance(told, dict) else {}
    epoch, pid, left = facts.get("epoch"), facts.get("pid"), facts.get("left")
    if type(epoch) is not int or type(pid) is not int or not isinstance(left, list):
        return _UNREADABLE
    return HungOwner(epoch=epoch, pid=pid, left=tuple(str(one) for one in left))


_UNREADABLE: Final = HungOwner(epoch=0, pid=0, left=())
