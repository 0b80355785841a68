"""The fold of a whole log, at a constant memory, with evidence in hindsight (STORE-7)."""

from collections.abc import Sequence
from typing import Never, TypeAlias

import attrs

from ...machines.facts.model import RuntimeEvent, Spine
from ...machines.lifecycles.cells import Cell, Machine
from ...machines.lifecycles.lease import LeaseState
from ...machines.lifecycles.unit import Admitted, UnitMaking, UnitRefused
from ..journal.append import record_unit
from ..journal.authority import claim_cell
from ..journal.columns import key_of, session_of
from ..journal.evidence import SqlView
from ..journal.pending import Pending, pending_of
from ..journal.records import (
    CellRow,
    ClaimRecord,
    KeyRow,
    Partial,
    Place,
    Quarantine,
    SessionRow,
    Stored,
)
from .hindsight import Hindsight
from .shelf import Shelf
from .tables import (
    CELLS,
    KEYS,
    SESSIONS,
    Tables,
    cell_of,
    cell_values,
    key_values,
    session_values,
)

CellKey: TypeAlias = tuple[Machine, str]


@attrs.define(eq=False)
class Fold(SqlView):
    """What the facts so far make of machines, sessions and keys.

    It answers as the live store answered before the fact at `upcoming`; only facts are read from
    the store, by id.

    Attributes:
        upcoming: The ordinal of the next fact.
    """

    hindsight: Hindsight
    _tables: Tables
    upcoming: int = 1
    _shelf: "Shelf[CellKey, CellRow]" = attrs.field(init=False)
    _rows: "Shelf[str, SessionRow]" = attrs.field(init=False)
    _keys: "Shelf[tuple[str, str], KeyRow]" = attrs.field(init=False)
    _making: UnitMaking = attrs.field(init=False)
    _unit: list[tuple[RuntimeEvent, Place]] = attrs.field(init=False)
    _live: dict[str, str] = attrs.field(factory=dict[str, str], init=False)
    _steering: dict[str, int] = attrs.field(factory=dict[str, int], init=False)

    def __attrs_post_init__(self) -> None:
        """Put the shelves before the tables."""
        self.begin(self.upcoming)
        tables = self._tables

        def load_cell(key: CellKey) -> CellRow | None:
            row = tables.row(CELLS, (key[0].value, key[1]))
            return None if row is None else cell_of(row)

        def load_session(key: str) -> SessionRow | None:
            row = tables.row(SESSIONS, (key,))
            return None if row is None else session_of(row)

        def load_key(key: tuple[str, str]) -> KeyRow | None:
            row = tables.row(KEYS, key)
            return None if row is None else key_of(row)

        self._shelf = Shelf(load=load_cell, save=lambda row: tables.put(CELLS, cell_values(row)))
        self._rows = Shelf(
            load=load_session, save=lambda row: tables.put(SESSIONS, session_values(row))
        )
        self._keys = Shelf(load=load_key, save=lambda row: tables.put(KEYS, key_values(row)))

    # --- one unit ---

    def begin(self, ordinal: int) -> None:
        """Begin a unit whose first fact is the one at `ordinal`; one that did not end is gone."""
        self.upcoming = ordinal
        self._making = UnitMaking.on(self)
        self._unit = []

    def add(self, event: RuntimeEvent, place: Place) -> Admitted | UnitRefused:
        """Fold one more fact of the unit, and keep the unit if it may end here.

        Returns:
            The kept unit; `unit_incomplete` if more has to follow; or the refusal of this fact.
        """
        refused = self._making.add(event, place.epoch)
        if refused is not None:
            return refused
        self._unit.append((event, place))
        admitted = self._making.admitted()
        if isinstance(admitted, Admitted):
            events = [event for event, _place in self._unit]
            record_unit(self, events, [place for _event, place in self._unit], admitted)
        return admitted

    def take_claim(self, record: ClaimRecord) -> None:
        """Add the instance that a claim makes.

        Raises:
            CrashworthyError: The stored manifest is not the one its digest names.
        """
        self.put_cell(claim_cell(record))

    def flush(self) -> None:
        """Bring the tables to where the fold is."""
        self._shelf.flush()
        self._rows.flush()
        self._keys.flush()

    # --- what the tables ask (`Surroundings`) ---

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        """Return an instance's state."""
        row = self._shelf.get((machine, instance))
        return None if row is None else row.cell

    def cell_row(self, machine: Machine, instance: str) -> CellRow | None:
        """Return an instance with its place."""
        return self._shelf.get((machine, instance))

    def open_run(self, session: str) -> str | None:
        """Return the session's open inline run."""
        return self._live.get(session)

    def steering(self, session: str) -> int:
        """Count the queued messages that are meant for the session's open run."""
        return self._steering.get(session, 0)

    def reservation(self, spine: Spine) -> str | None:
        """Return the claim that reserves any id of this spine."""
        return self.hindsight.reservation_at(spine, self.upcoming)

    def sealed(self, run: str) -> bool:
        """Say whether a claim rests on this run."""
        return self.hindsight.sealed_at(run, self.upcoming)

    def lease(self) -> LeaseState:
        """Return who owned the root."""
        return self.hindsight.lease_at(self.upcoming)

    def gone(self) -> int:
        """Return the highest owner epoch that was proven gone."""
        return self.lease().gone

    def released(self, run: str) -> bool:
        """Say whether an accepted loss or an adoption released the run from waiting."""
        row = self._shelf.get((Machine.RUN, run))
        if row is None:
            return False
        session = self._rows.get(row.session)
        adopted = 0 if session is None else session.adopted or 0
        return row.made <= max(self.hindsight.loss_at(self.upcoming), adopted)

    def foreign(self, session: str) -> bool:
        """Say whether the session was imported and not adopted yet."""
        row = self._rows.get(session)
        return session in self.hindsight.imports and (row is None or row.adopted is None)

    # --- projections ---

    def session(self, session: str) -> SessionRow | None:
        """Return what a session is."""
        return self._rows.get(session)

    def key(self, scope: str, key: str) -> KeyRow | None:
        """Return what a caller's key stands for."""
        return self._keys.get((scope, key))

    def pending(self, word: Pending, scope: str | None = None) -> tuple[str, ...]:
        """Return the open run of a session: the one list that a fold keeps."""
        assert word is Pending.RUN_LIVE
        assert scope is not None
        run = self._live.get(scope)
        return () if run is None else (run,)

    def put_cell(self, row: CellRow) -> None:
        """Write an instance as it is now; `made` counts only where the instance is new."""
        key = (row.machine, row.instance)
        known = self._shelf.get(key)
        before = None
        if known is not None:
            before = pending_of(known.cell.state)
            row = CellRow(
                machine=row.machine,
                instance=row.instance,
                session=row.session,
                scope=row.scope,
                cell=row.cell,
                made=known.made,
                moved=row.moved,
            )
        self._shelf.put(key, row)
        after = pending_of(row.cell.state)
        if before is not after:
            self._count(row, before, after)

    def _count(self, row: CellRow, before: Pending | None, after: Pending | None) -> None:
        if after is Pending.RUN_LIVE:
            self._live[row.scope] = row.instance
        elif before is Pending.RUN_LIVE:
            del self._live[row.scope]
        if Pending.MESSAGE_STEER in (before, after):
            moved = 1 if after is Pending.MESSAGE_STEER else -1
            count = self._steering.get(row.scope, 0) + moved
            self._steering[row.scope] = count
            if count == 0:
                del self._steering[row.scope]

    def put_session(self, row: SessionRow) -> None:
        """Write what a session is now."""
        self._rows.put(row.session, row)

    def put_key(self, row: KeyRow) -> None:
        """Write what a key stands for."""
        self._keys.put((row.scope, row.key), row)

    def put_partial(self, partial: Partial) -> None:
        """Do nothing: snapshots of streams are never rebuilt (STORE-7)."""

    def drop_partials(self, *, owner: str | None = None, run: str | None = None) -> None:
        """Do nothing: snapshots of streams are never rebuilt (STORE-7)."""

    def insert(self, stored: Stored) -> Never:
        """Refuse: a fold reads facts and adds none.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError(stored.place.id)

    def add_quarantine(self, record: Quarantine) -> Never:
        """Refuse: a fold accuses nobody.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError(record.session)

    def add_claim(self, record: ClaimRecord, sealed: Sequence[str]) -> Never:
        """Refuse: a fold reads claims and makes none.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError(record.claim, sealed)
