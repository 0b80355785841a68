"""The marker of a state root says which directory and which file it was made as (OWN-5)."""

import contextlib
import fcntl
import os
import stat
from collections.abc import Generator
from pathlib import Path
from typing import Final

import attrs

from ...machines.facts.canonical import decode, encode
from ...machines.facts.codes import CrashworthyError
from ...machines.facts.ids import RootId
from ...machines.facts.json_values import Json
from ..errors import StoreNotFoundError, file_step
from ..platform import boot_id, full_sync, sync_directory
from ..probe import Probe, no_probe
from .errors import RootCopiedError, RootMarkerInvalidError, RootOwnedError, RootReplacedError

_MARKER: Final = "root.json"
_MARKER_ASIDE: Final = "root.json.new"
_MARKER_BYTES_MAX: Final = 4096
_FORMAT: Final = 1
_NUMBERS: Final = ("directory_inode", "marker_inode", "device")
"""Written as text: an inode may be larger than JSON numbers go."""


@attrs.frozen(kw_only=True)
class Binding:
    """What the marker says it is bound to.

    Attributes:
        root_id: The root's identity.
        directory_inode: The directory that it was made in.
        marker_inode: The marker file itself.
        device: The device of both, which may change from boot to boot.
        boot_id: The boot in which `device` was noted.
    """

    root_id: RootId
    directory_inode: int
    marker_inode: int
    device: int
    boot_id: str


def read_marker(path: Path) -> Binding:
    """Read the marker; whatever stands in its place, this neither hangs nor reads without bound.

    Raises:
        StoreNotFoundError: `not_found`, when there is no such directory or nothing in it.
        RootMarkerInvalidError: `root_marker_invalid`.
        StorageError: `storage_*`.
    """
    if is_vacant(path):
        raise StoreNotFoundError(path=str(path))
    data = _read_small(path / _MARKER)
    try:
        value = decode(data)
    except CrashworthyError as error:
        raise RootMarkerInvalidError(path=str(path), reason=error.code) from error
    return _parse_binding(path, value)


def check_binding(path: Path, binding: Binding) -> None:
    """Demand that directory and marker are those that the marker was bound to (OWN-5).

    Raises:
        RootCopiedError: `root_copied`.
        RootReplacedError: `root_replaced`.
        StorageError: `storage_*`.
    """
    with file_step("root"):
        directory, marker = path.stat(), (path / _MARKER).lstat()
    moved = binding.boot_id == boot_id() and binding.device != directory.st_dev
    if moved or binding.directory_inode != directory.st_ino:
        raise RootCopiedError(root_id=binding.root_id)
    if binding.marker_inode != marker.st_ino:
        raise RootReplacedError(root_id=binding.root_id)


@contextlib.contextmanager
def making(path: Path) -> Generator[None]:
    """Keep other processes from making a root in the directory `path` at the same moment.

    The lock is the directory's own, so that it leaves nothing behind and dies with its process.

    Raises:
        RootOwnedError: `root_owned`, when one of them is at it.
        StorageError: `storage_*`.
    """
    with file_step("root"):
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with file_step("root"):
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RootOwnedError(pid=None, epoch=None, since=None) from None
        yield
    finally:
        os.close(fd)


def write_marker(path: Path, root_id: RootId, *, probe: Probe = no_probe) -> None:
    """Bind `root_id` to the directory `path`, durably; a rename keeps the marker's own inode.

    Raises:
        StorageError: `storage_*`.
    """
    aside = path / _MARKER_ASIDE
    with file_step("root"):
        aside.unlink(missing_ok=True)
        fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            directory, marker = path.stat(), os.fstat(fd)
            os.write(
                fd,
                encode(
                    {
                        "format": _FORMAT,
                        "root_id": root_id,
                        "directory_inode": str(directory.st_ino),
                        "marker_inode": str(marker.st_ino),
                        "device": str(directory.st_dev),
                        "boot_id": boot_id(),
                    }
                ),
            )
            full_sync(fd)
        finally:
            os.close(fd)
        probe("root.marker_written")
        aside.rename(path / _MARKER)
        sync_directory(path)
        probe("root.marker_named")


def is_vacant(path: Path) -> bool:
    """Tell whether there is no directory, or one in which only the making of a root began.

    Raises:
        StorageError: `storage_*`.
    """
    with file_step("root"):
        try:
            return {entry.name for entry in path.iterdir()} <= {_MARKER_ASIDE}
        except FileNotFoundError:
            return True


def _read_small(path: Path) -> bytes:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags)
    except OSError as error:
        raise _invalid(path, os.strerror(error.errno or 0)) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _invalid(path, "not a regular file")
        if status.st_size > _MARKER_BYTES_MAX:
            raise _invalid(path, "too large")
        with file_step("root"):
            return os.read(fd, _MARKER_BYTES_MAX)
    finally:
        os.close(fd)


def _parse_binding(path: Path, value: Json) -> Binding:
    names = {field.name for field in attrs.fields(Binding)}
    if not isinstance(value, dict) or value.keys() != names | {"format"}:
        raise _invalid(path, "other fields than a marker has")
    if value["format"] != _FORMAT:
        raise _invalid(path, f"format {value['format']!r}")
    texts = {name: text for name in names if isinstance(text := value[name], str)}
    numbers = {name: int(texts[name]) for name in _NUMBERS if texts.get(name, "").isdecimal()}
    if texts.keys() != names or len(numbers) < len(_NUMBERS):
        raise _invalid(path, "a field of another kind")
    return Binding(
        root_id=RootId(texts["root_id"]),
        directory_inode=numbers["directory_inode"],
        marker_inode=numbers["marker_inode"],
        device=numbers["device"],
        boot_id=texts["boot_id"],
    )


def _invalid(path: Path, reason: str) -> RootMarkerInvalidError:
    return RootMarkerInvalidError(path=str(path), reason=reason)
