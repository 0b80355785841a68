"""A person says that a copied or replaced root is a root of its own from now on (OWN-5)."""

from pathlib import Path

from ..probe import Probe, no_probe
from .lock import take_owner_lock
from .marker import read_marker
from .root import StateRoot, adopt_root, check_private


def adopt(path: Path, *, probe: Probe = no_probe) -> StateRoot:
    """Bind a root to where it lies, under its owner lock.

    The identity stays, for the facts carry it: so only one of a root and its copies should go on
    being used. Nothing can tell which; that is what a person is asked for.

    Raises:
        StoreNotFoundError: `not_found`.
        RootMarkerInvalidError: `root_marker_invalid`.
        RootPermissionsError: `root_permissions`.
        RootOwnedError: `root_owned`, by somebody who uses this very directory.
        LockReplacedError: `lock_replaced`.
        StorageError: `storage_*`.
    """
    check_private(path)
    root = StateRoot(path=path, root_id=read_marker(path).root_id)
    lock = take_owner_lock(root.owner_lock, probe=probe)
    try:
        return adopt_root(path, probe=probe)
    finally:
        lock.release()
