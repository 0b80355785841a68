"""The owner lock dies with its process, and names it to whoever comes second (OWN-1).

`flock` belongs to an open file, so nothing else in this process can drop it by closing another
descriptor of the same file, as happens with POSIX record locks.
"""

import fcntl
import os
import stat
from pathlib import Path
from typing import Final

import attrs

from ...machines.facts.canonical import encode, parse
from ...machines.facts.codes import CrashworthyError
from ..errors import file_step
from ..forks import tell_when_forked
from ..platform import ProcessIdentity, process_lives, this_process
from ..probe import Probe, no_probe
from .errors import LockReplacedError, RootOwnedError

_INFO_BYTES_MAX: Final = 4096


@attrs.frozen(kw_only=True)
class LockHeld:
    """Who holds which lock file; what an epoch row records of it.

    Attributes:
        process: The holder.
        device: The device of the locked file.
        inode: The inode of the locked file.
    """

    process: ProcessIdentity
    device: int
    inode: int


@attrs.define(eq=False, kw_only=True)
class OwnerLock:
    """The lock that this process holds.

    Attributes:
        held: Who holds which file.
    """

    held: LockHeld
    _path: Path = attrs.field(alias="path")
    _fd: int = attrs.field(alias="fd")

    def announce(self, *, epoch: int, since: str) -> None:
        """Write into the lock file what a contender is told; best read, never evidence.

        Args:
            epoch: The epoch that this owner has inserted.
            since: When, in its own clock's words.

        Raises:
            StorageError: `storage_*`.
        """
        info = encode({"epoch": epoch, "pid": self.held.process.pid, "since": since})
        with file_step("lock"):
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, info, 0)

    def check(self) -> None:
        """Demand that the path still names the locked file, and so the root still is where it was.

        Raises:
            LockReplacedError: `lock_replaced`; another process may hold the other file.
            StorageError: `storage_*`; nobody can say.
        """
        check_named(self._path, (self.held.device, self.held.inode))

    def release(self) -> None:
        """Let go; again, or in a forked child, it does nothing."""
        if self._fd < 0:
            return
        # Explicitly, for a child forked behind Python's back may still have the open file.
        fcntl.flock(self._fd, fcntl.LOCK_UN)
        os.close(self._fd)
        self._fd = -1

    def forked_child(self) -> None:
        """Close the child's descriptor and unlock nothing: the open file is the parent's too."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def take_owner_lock(path: Path, *, probe: Probe = no_probe) -> OwnerLock:
    """Take the owner lock of a root without waiting.

    Raises:
        RootOwnedError: `root_owned`, with what the owner says of itself.
        LockReplacedError: `lock_replaced`, when the path does not name what was locked.
        StorageError: `storage_*`.
    """
    process = this_process()
    fd = open_lock_file(path)
    status = os.fstat(fd)
    held = LockHeld(process=process, device=status.st_dev, inode=status.st_ino)
    lock = OwnerLock(held=held, path=path, fd=fd)
    try:
        _lock(fd)
        probe("lock.taken")
        lock.check()
    except BaseException:
        os.close(fd)
        raise
    tell_when_forked(lock)
    return lock


def anywhere() -> None:
    """Demand nothing of a place: what is written belongs to no owned root."""


def identity_of(path: Path) -> tuple[int, int]:
    """Return the device and inode of a file, never by opening it (STORE-1a).

    Raises:
        LockReplacedError: `lock_replaced`; there is nothing.
        StorageError: `storage_*`; nobody can say.
    """
    with file_step("lock"):
        try:
            status = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            raise LockReplacedError(path=str(path)) from None
    return status.st_dev, status.st_ino


def check_named(path: Path, known: tuple[int, int]) -> None:
    """Demand that a path still names the file that it named.

    Raises:
        LockReplacedError: `lock_replaced`.
        StorageError: `storage_*`.
    """
    if identity_of(path) != known:
        raise LockReplacedError(path=str(path))


def check_recorded_owner(recorded: LockHeld, held: LockHeld) -> None:
    """Refuse to open beside a living recorded owner that locked another file.

    The same file needs no check: its lock was free, so nobody holds it.

    Args:
        recorded: What the newest epoch row says.
        held: What this process has just locked.

    Raises:
        RootOwnedError: `root_owned`.
    """
    if (recorded.device, recorded.inode) == (held.device, held.inode):
        return
    if recorded.process != held.process and process_lives(recorded.process):
        raise RootOwnedError(pid=recorded.process.pid, epoch=None, since=None)


def open_lock_file(path: Path) -> int:
    """Open or create a lock file, and nothing but a regular file.

    Raises:
        StorageError: `storage_*`.
        LockReplacedError: `lock_replaced`, when something else stands at its path.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    with file_step("lock"):
        fd = os.open(path, flags, 0o600)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise LockReplacedError(path=str(path))
    return fd


def _lock(fd: int) -> None:
    with file_step("lock"):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _owned(os.pread(fd, _INFO_BYTES_MAX, 0)) from None


def _owned(info: bytes) -> RootOwnedError:
    """Read the owner's words; they may be absent, half written or not ours."""
    try:
        said = parse(info)
    except CrashworthyError:
        said = None
    facts = said if isinstance(said, dict) else {}
    pid, epoch, since = facts.get("pid"), facts.get("epoch"), facts.get("since")
    return RootOwnedError(
        pid=pid if isinstance(pid, int) else None,
        epoch=epoch if isinstance(epoch, int) else None,
        since=since if isinstance(since, str) else None,
    )
