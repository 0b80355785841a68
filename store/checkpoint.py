"""Only the owning writer moves the WAL into the database, and says when it cannot (STORE-9a)."""

from pathlib import Path
from typing import Final

import attrs

from .anchor import Anchor
from .errors import StorageError
from .sql import fetch
from .txn import WriteDoor

WAL_BYTES_SOFT: Final = 4 * 1024 * 1024
"""A WAL that has grown past this is checkpointed without waiting for an idle moment."""

WAL_BYTES_BOUND: Final = 64 * 1024 * 1024
"""A WAL that stays past this (a reader holds it) is a reported condition."""

COMMITS_MAX: Final = 500
"""A used WAL file keeps its size when it starts over, so commits are counted as well."""


@attrs.frozen(kw_only=True)
class WalCondition:
    """What the last checkpoint left.

    Attributes:
        wal_bytes: Bytes of frames in the WAL.
        pending_bytes: Bytes of them that are not in the database yet.
        over_bound: Whether `wal_bytes` is past `WAL_BYTES_BOUND`.
        failure: The environment's error, if the checkpoint failed; the facts stay safe in the WAL.
    """

    wal_bytes: int = 0
    pending_bytes: int = 0
    over_bound: bool = False
    failure: StorageError | None = None


@attrs.define(eq=False, kw_only=True)
class Checkpointer:
    """Decides when to checkpoint, and does it on the owner's connection.

    Attributes:
        wal: The WAL's path, asked for its size by name, never opened (STORE-1a).
        condition: What the last checkpoint left.
    """

    door: WriteDoor
    wal: Path
    anchor: Anchor | None = None
    condition: WalCondition = WalCondition()
    _commits: int = 0
    _size_known: int = 0

    def committed(self) -> None:
        """Count a commit."""
        self._commits += 1

    def dirty(self) -> bool:
        """Tell whether there were commits since the last checkpoint."""
        return self._commits > 0

    def due(self) -> bool:
        """Tell whether the WAL is past its stated size."""
        if self._commits >= COMMITS_MAX:
            return True
        return self._wal_size() > max(WAL_BYTES_SOFT, self._size_known)

    def passive(self) -> None:
        """Move what no reader holds back, and make the anchor durable."""
        self._checkpoint("PASSIVE")

    def final(self) -> None:
        """Move everything, empty the WAL and make the anchor durable; only at close."""
        self._checkpoint("TRUNCATE")

    def _checkpoint(self, mode: str) -> None:
        self.door.check()
        self._commits = 0
        try:
            _busy, frames, moved = fetch(
                self.door.connection, f"PRAGMA wal_checkpoint({mode})", stage="checkpoint"
            )[0]
            page = fetch(self.door.connection, "PRAGMA page_size")[0][0]
            if self.anchor is not None:
                self.anchor.sync()
        except StorageError as error:
            self.condition = attrs.evolve(self.condition, failure=error)
            return
        assert isinstance(frames, int)
        assert isinstance(moved, int)
        assert isinstance(page, int)
        self._size_known = self._wal_size()
        self.condition = WalCondition(
            wal_bytes=max(frames, 0) * page,
            pending_bytes=max(frames - moved, 0) * page,
            over_bound=frames * page > WAL_BYTES_BOUND,
        )

    def _wal_size(self) -> int:
        try:
            return self.wal.stat().st_size
        except OSError:
            return 0  # Not there, or the root is not: a size alone is no reason to fail.
