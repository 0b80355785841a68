"""A state root is one directory that knows itself, and belongs to one user alone (OWN-5, OWN-7)."""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

import attrs

from ...machines.facts.codes import CrashworthyError
from ...machines.facts.ids import RootId
from ..errors import StoreNotFoundError, file_step
from ..platform import boot_id, make_directory
from ..probe import Probe, no_probe
from .errors import RootCopiedError, RootPermissionsError, RootReplacedError
from .marker import check_binding, is_vacant, making, read_marker, write_marker


@attrs.frozen(kw_only=True)
class StateRoot:
    """The places in one state root.

    Attributes:
        path: The directory.
        root_id: Its random identity, which moves with it.
    """

    path: Path
    root_id: RootId

    @property
    def database(self) -> Path:
        """The ledger."""
        return self.path / "ledger.sqlite3"

    @property
    def anchor(self) -> Path:
        """What was acknowledged (STORE-9a)."""
        return self.path / "anchor"

    @property
    def operational(self) -> Path:
        """How things went, for people; nothing depends on it (LOG-10)."""
        return self.path / "operational.sqlite3"

    @property
    def owner_lock(self) -> Path:
        """Held by the one owner (OWN-1)."""
        return self.path / "owner.lock"

    @property
    def workers_lock(self) -> Path:
        """Shared by the workers (OWN-2)."""
        return self.path / "workers.lock"

    @property
    def blobs(self) -> Path:
        """Large bodies (OP-6a)."""
        return self.path / "blobs"


def open_root(
    path: Path, *, new_root_id: Callable[[], RootId] | None, probe: Probe = no_probe
) -> StateRoot:
    """Open a root to own it, making one where there is nothing yet.

    Args:
        path: The directory; only its last part is created.
        new_root_id: Gives a random identity to a new root; None to make none.
        probe: Called after each step.

    Raises:
        StoreNotFoundError: `not_found`, when there is none and none is to be made.
        RootMarkerInvalidError: `root_marker_invalid`, also for a directory with other contents.
        RootPermissionsError: `root_permissions`.
        RootCopiedError: `root_copied`, until it is adopted.
        RootReplacedError: `root_replaced`, until it is adopted.
        RootOwnedError: `root_owned`, when another process is making it at this moment.
        StorageError: `storage_*`.
    """
    if new_root_id is not None and is_vacant(path):
        with file_step("root"):
            make_directory(path)
        check_private(path)
        with making(path):
            if is_vacant(path):
                write_marker(path, new_root_id(), probe=probe)
    check_private(path)
    binding = read_marker(path)
    check_binding(path, binding)
    return StateRoot(path=path, root_id=binding.root_id)


def look_at_root(path: Path) -> tuple[StateRoot, CrashworthyError | None]:
    """Return a root for looking, with what would keep its owner from opening it (STORE-10).

    Raises:
        StoreNotFoundError: `not_found`.
        RootMarkerInvalidError: `root_marker_invalid`.
        StorageError: `storage_*`.
    """
    binding = read_marker(path)
    root = StateRoot(path=path, root_id=binding.root_id)
    try:
        check_private(path)
        check_binding(path, binding)
    except (RootPermissionsError, RootCopiedError, RootReplacedError) as problem:
        return root, problem
    return root, None


def adopt_root(path: Path, *, probe: Probe = no_probe) -> StateRoot:
    """Bind the marker to where it is now, because a person says that this is the root.

    The identity stays: the facts of the root carry it. Called under the owner lock.

    Raises:
        StoreNotFoundError: `not_found`.
        RootMarkerInvalidError: `root_marker_invalid`.
        RootPermissionsError: `root_permissions`.
        StorageError: `storage_*`.
    """
    check_private(path)
    binding = read_marker(path)
    write_marker(path, binding.root_id, probe=probe)
    return StateRoot(path=path, root_id=binding.root_id)


def note_boot(root: StateRoot, *, probe: Probe = no_probe) -> None:
    """Bind the root to this boot's device number, which another boot may have changed.

    Called by the owner under its lock, after `open_root` found the binding whole.

    Raises:
        RootMarkerInvalidError: `root_marker_invalid`.
        StorageError: `storage_*`.
    """
    if read_marker(root.path).boot_id != boot_id():
        write_marker(root.path, root.root_id, probe=probe)


def check_private(path: Path) -> None:
    """Demand that nobody else may reach the directory and what lies directly in it (OWN-7).

    Raises:
        RootPermissionsError: `root_permissions`.
        StoreNotFoundError: `not_found`.
        StorageError: `storage_*`.
    """
    with file_step("root"):
        try:
            _check_private(path, path.lstat(), directory=True)
        except FileNotFoundError:
            raise StoreNotFoundError(path=str(path)) from None
        for entry in path.iterdir():
            # A file may go while we look: a side file of SQLite, a marker being written.
            with contextlib.suppress(FileNotFoundError):
                status = entry.lstat()
                _check_private(entry, status, directory=stat.S_ISDIR(status.st_mode))


def _check_private(path: Path, status: os.stat_result, *, directory: bool) -> None:
    kind_is_known = (
        stat.S_ISDIR(status.st_mode)
        if directory
        else stat.S_ISREG(status.st_mode) or stat.S_ISSOCK(status.st_mode)
    )
    if kind_is_known and status.st_uid == os.geteuid() and not status.st_mode & 0o077:
        return
    found = f"{stat.filemode(status.st_mode)} uid={status.st_uid}"
    raise RootPermissionsError(path=str(path), found=found)
