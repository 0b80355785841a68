"""What writers need of any store: point reads as evidence, and row writes (STORE-4, STORE-13).

Writers, gates and tables are written once against this; SQLite and the in-memory model differ only
below it. Every read is one indexed look-up, and every list is as long as its answer.
"""

from collections.abc import Sequence
from typing import Protocol

from ...machines.lifecycles.cells import Machine
from ...machines.lifecycles.classify.scene import Surroundings
from ...machines.lifecycles.lease import LeaseState
from ..anchor import Head
from .pending import Pending
from .records import (
    CellRow,
    ClaimRecord,
    KeyRow,
    Partial,
    Place,
    Quarantine,
    SessionRow,
    Stored,
)


class View(Surroundings, Protocol):
    """The reads. A view sees one moment: a snapshot, or the transaction under way."""

    # --- facts ---

    def last(self) -> Head:
        """Return the root's last ordinal and root chain value."""
        ...

    def fact(self, fact: str) -> Stored | None:
        """Return the fact of this id."""
        ...

    def head(self, invocation: str) -> Place | None:
        """Return the last fact of a ledger."""
        ...

    def at(self, invocation: str, seq: int) -> Stored | None:
        """Return the fact at a position of a ledger."""
        ...

    def opening(self, run: str) -> Place | None:
        """Return the first fact of the run (or control run)."""
        ...

    def turn_used(self, turn: str) -> bool:
        """Say whether any ledger belongs to this turn."""
        ...

    def ledger(self, invocation: str, *, after: int = 0, limit: int = 500) -> Sequence[Stored]:
        """Return a page of a ledger, from the fact behind sequence `after` on."""
        ...

    def log(
        self, *, after: int = 0, limit: int = 500, session: str | None = None
    ) -> Sequence[Stored]:
        """Return a page of the root's or a session's facts in commit order, behind `after`."""
        ...

    # --- what is kept beside them ---

    def cell_row(self, machine: Machine, instance: str) -> CellRow | None:
        """Return an instance with its place."""
        ...

    def pending(self, word: Pending, scope: str | None = None) -> tuple[str, ...]:
        """Return the instances that wait for `word`, in the order they were made."""
        ...

    def session(self, session: str) -> SessionRow | None:
        """Return what a session is."""
        ...

    def key(self, scope: str, key: str) -> KeyRow | None:
        """Return what a caller's key stands for."""
        ...

    def partials(self, run: str) -> tuple[Partial, ...]:
        """Return the snapshots of the streams of a run that have no final fact yet."""
        ...

    def partial(self, owner: str, stream: str) -> Partial | None:
        """Return the snapshot of one stream, or the marker that it is finished."""
        ...

    # --- authority ---

    def quarantine(self, session: str) -> Quarantine | None:
        """Return why a session's tools are refused."""
        ...

    def lease(self) -> LeaseState:
        """Return who owns the root."""
        ...

    def claim(self, claim: str) -> ClaimRecord | None:
        """Return a claim."""
        ...

    def claim_on(self, source_run: str) -> str | None:
        """Return the claim whose immediate source is this run."""
        ...


class Ledger(View, Protocol):
    """The reads and the writes of one unit."""

    def insert(self, stored: Stored) -> None:
        """Add the next fact of the root."""
        ...

    def put_cell(self, row: CellRow) -> None:
        """Write an instance as it is now; `made` counts only where the instance is new."""
        ...

    def put_session(self, row: SessionRow) -> None:
        """Write what a session is now."""
        ...

    def put_key(self, row: KeyRow) -> None:
        """Write what a key stands for."""
        ...

    def put_partial(self, partial: Partial) -> None:
        """Write the snapshot of a stream."""
        ...

    def drop_partials(self, *, owner: str | None = None, run: str | None = None) -> None:
        """Forget the streams of a request or operation, or of a whole run."""
        ...

    def add_claim(self, record: ClaimRecord, sealed: Sequence[str]) -> None:
        """Add a claim, the seals of all its segments' runs and the reservation of its target."""
        ...

    def add_quarantine(self, record: Quarantine) -> None:
        """Add the record that a session is damaged."""
        ...
