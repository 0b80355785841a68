"""A ledger over plain dicts: the model of all stores, and the fold of what one holds (STORE-13)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NoReturn, TypeVar

import attrs

from ...machines.facts.chain import root_start
from ...machines.facts.codes import Code
from ...machines.facts.model import RuntimeEvent, Spine
from ...machines.lifecycles.cells import Cell, Machine
from ...machines.lifecycles.lease import LeaseState
from ...machines.lifecycles.unit import UnitMaking, UnitRefused
from ..anchor import Head
from .append import record_unit
from .authority import AuthorityRows, claim_cell
from .errors import FoldRefusedError
from .ledger import View
from .pending import Pending, pending_of
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

K = TypeVar("K")
V = TypeVar("V")
_PAGE: Final = 500


@attrs.define(eq=False, kw_only=True)
class DictLedger:
    """All rows of a root, or of one session, in memory.

    Attributes:
        root: The root's id, where its root chain starts.
        authority: Asked as of `upcoming`, so that a replay knows no more than the live unit did.
        upcoming: The ordinal of the next fact.
    """

    root: str = ""
    authority: AuthorityRows = attrs.field(factory=AuthorityRows)
    upcoming: int = 1
    cells: dict[tuple[Machine, str], CellRow] = attrs.field(
        factory=dict[tuple[Machine, str], CellRow]
    )
    sessions: dict[str, SessionRow] = attrs.field(factory=dict[str, SessionRow])
    keys: dict[tuple[str, str], KeyRow] = attrs.field(factory=dict[tuple[str, str], KeyRow])
    streams: dict[tuple[str, str], Partial] = attrs.field(factory=dict[tuple[str, str], Partial])
    _log: list[Stored] = attrs.field(factory=list[Stored])
    _by_id: dict[str, Stored] = attrs.field(factory=dict[str, Stored])
    _ledgers: dict[str, list[Stored]] = attrs.field(factory=dict[str, list[Stored]])
    _openings: dict[str, Place] = attrs.field(factory=dict[str, Place])
    _turns: dict[str, str] = attrs.field(factory=dict[str, str])
    _waiting: dict[Pending, dict[str, CellRow]] = attrs.field(
        factory=dict[Pending, dict[str, CellRow]]
    )
    _undo: list[Callable[[], object]] = attrs.field(factory=list[Callable[[], object]])

    # --- facts ---

    def last(self) -> Head:
        """Return the root's last ordinal and root chain value."""
        if not self._log:
            return Head(ordinal=0, chain=root_start(self.root))
        return Head(ordinal=self._log[-1].place.ordinal, chain=self._log[-1].root)

    def fact(self, fact: str) -> Stored | None:
        """Return the fact of this id."""
        return self._by_id.get(fact)

    def head(self, invocation: str) -> Place | None:
        """Return the last fact of a ledger."""
        ledger = self._ledgers.get(invocation)
        return ledger[-1].place if ledger else None

    def at(self, invocation: str, seq: int) -> Stored | None:
        """Return the fact at a position of a ledger."""
        ledger = self._ledgers.get(invocation, [])
        return ledger[seq - 1] if 1 <= seq <= len(ledger) else None

    def opening(self, run: str) -> Place | None:
        """Return the first fact of the run."""
        return self._openings.get(run)

    def turn_used(self, turn: str) -> bool:
        """Say whether any ledger belongs to this turn."""
        return turn in self._turns

    def ledger(self, invocation: str, *, after: int = 0, limit: int = _PAGE) -> Sequence[Stored]:
        """Return a page of a ledger, from the fact behind sequence `after` on."""
        return self._ledgers.get(invocation, [])[after : after + limit]

    def log(
        self, *, after: int = 0, limit: int = _PAGE, session: str | None = None
    ) -> Sequence[Stored]:
        """Return a page of the root's or a session's facts in commit order, behind `after`."""
        found = (
            stored
            for stored in self._log
            if stored.place.ordinal > after and session in (None, stored.place.spine.session)
        )
        return [stored for stored, _ in zip(found, range(limit), strict=False)]

    # --- projections ---

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        """Return an instance's state."""
        row = self.cells.get((machine, instance))
        return None if row is None else row.cell

    def cell_row(self, machine: Machine, instance: str) -> CellRow | None:
        """Return an instance with its place."""
        return self.cells.get((machine, instance))

    def pending(self, word: Pending, scope: str | None = None) -> tuple[str, ...]:
        """Return the instances that wait for `word`, in the order they were made."""
        found = [row for row in self._waiting.get(word, {}).values() if scope in (None, row.scope)]
        return tuple(
            row.instance for row in sorted(found, key=lambda row: (row.made, row.instance))
        )

    def session(self, session: str) -> SessionRow | None:
        """Return what a session is."""
        return self.sessions.get(session)

    def key(self, scope: str, key: str) -> KeyRow | None:
        """Return what a caller's key stands for."""
        return self.keys.get((scope, key))

    def partials(self, run: str) -> tuple[Partial, ...]:
        """Return the snapshots of the streams of a run that have no final fact yet."""
        found = (self.streams[key] for key in sorted(self.streams))
        return tuple(p for p in found if p.spine.run == run and not p.finished)

    def partial(self, owner: str, stream: str) -> Partial | None:
        """Return the snapshot of one stream, or the marker that it is finished."""
        return self.streams.get((owner, stream))

    # --- authority ---

    def quarantine(self, session: str) -> Quarantine | None:
        """Return why a session's tools are refused."""
        return self.authority.quarantines.get(session)

    def lease(self) -> LeaseState:
        """Return who owns the root."""
        return self.authority.lease_at(self.upcoming)

    def claim(self, claim: str) -> ClaimRecord | None:
        """Return a claim."""
        return self.authority.claims.get(claim)

    def claim_on(self, source_run: str) -> str | None:
        """Return the claim whose immediate source is this run."""
        return self.authority.claim_on(source_run)

    # --- what the tables ask (`Surroundings`) ---

    def open_run(self, session: str) -> str | None:
        """Return the session's open inline run."""
        return next(iter(self.pending(Pending.RUN_LIVE, session)), None)

    def steering(self, session: str) -> int:
        """Count the queued messages that are meant for the session's open run."""
        return len(self.pending(Pending.MESSAGE_STEER, session))

    def reservation(self, spine: Spine) -> str | None:
        """Return the claim that reserves any id of this spine."""
        return self.authority.reservation_at(spine, self.upcoming)

    def sealed(self, run: str) -> bool:
        """Say whether a claim rests on this run."""
        return self.authority.sealed_at(run, self.upcoming)

    def gone(self) -> int:
        """Return the highest owner epoch that is proven gone."""
        return self.lease().gone

    def released(self, run: str) -> bool:
        """Say whether an accepted loss or an adoption released the run from waiting."""
        opening = self._openings.get(run)
        if opening is None:
            return False
        session = self.sessions[opening.spine.session]
        released = max(self.authority.loss_at(self.upcoming), session.adopted or 0)
        return opening.ordinal <= released

    def foreign(self, session: str) -> bool:
        """Say whether the session was imported and not adopted yet."""
        row = self.sessions.get(session)
        return session in self.authority.imports and (row is None or row.adopted is None)

    # --- writes ---

    def insert(self, stored: Stored) -> None:
        """Add the next fact of the root."""
        place, spine = stored.place, stored.place.spine
        before = self.upcoming
        self._undo.append(lambda: setattr(self, "upcoming", before))
        self.upcoming = place.ordinal + 1
        self._log.append(stored)
        self._undo.append(self._log.pop)
        self._set(self._by_id, place.id, stored)
        ledger = self._ledgers.setdefault(spine.invocation, [])
        ledger.append(stored)
        self._undo.append(ledger.pop)
        if place.seq == 1:
            self._set(self._openings, spine.run, place)
            self._set(self._turns, spine.turn, spine.run)

    def put_cell(self, row: CellRow) -> None:
        """Write an instance as it is now; `made` counts only where the instance is new."""
        key = (row.machine, row.instance)
        known = self.cells.get(key)
        if known is not None:
            row = attrs.evolve(row, made=known.made)
            before = pending_of(known.cell.state)
            if before is not None:
                self._set(self._waiting.setdefault(before, {}), row.instance, None)
        self._set(self.cells, key, row)
        word = pending_of(row.cell.state)
        if word is not None:
            self._set(self._waiting.setdefault(word, {}), row.instance, row)

    def put_session(self, row: SessionRow) -> None:
        """Write what a session is now."""
        self._set(self.sessions, row.session, row)

    def put_key(self, row: KeyRow) -> None:
        """Write what a key stands for."""
        self._set(self.keys, (row.scope, row.key), row)

    def put_partial(self, partial: Partial) -> None:
        """Write the snapshot of a stream."""
        self._set(self.streams, (partial.owner, partial.stream), partial)

    def drop_partials(self, *, owner: str | None = None, run: str | None = None) -> None:
        """Forget the streams of a request or operation, or of a whole run."""
        for key, partial in tuple(self.streams.items()):
            if partial.owner == owner or partial.spine.run == run:
                self._set(self.streams, key, None)

    def add_claim(self, record: ClaimRecord, sealed: Sequence[str]) -> None:
        """Add a claim, the seals of all its segments' runs and the reservation of its target."""
        assert sealed
        self.authority.add_claim(record)
        self._undo.append(lambda: self.authority.remove_claim(record))

    def add_quarantine(self, record: Quarantine) -> None:
        """Add the record that a session is damaged."""
        self._set(self.authority.quarantines, record.session, record)

    # --- all or nothing ---

    def keep(self) -> None:
        """Keep what was written since the last `keep`."""
        self._undo.clear()

    def take_back(self) -> None:
        """Return to the last `keep`."""
        while self._undo:
            self._undo.pop()()

    def _set(self, rows: dict[K, V], key: K, value: V | None) -> None:
        before = rows.get(key)
        self._undo.append(lambda: _assign(rows, key, before))
        _assign(rows, key, value)


def _assign(rows: dict[K, V], key: K, value: V | None) -> None:
    if value is None:
        rows.pop(key, None)
    else:
        rows[key] = value


# --- the fold of what is stored ---


def replay(book: DictLedger, facts: Iterable[Stored]) -> None:
    """Fold stored facts into `book` in commit order, judging each as the live unit was judged.

    Where a unit ended is not stored; a unit is the shortest run of facts after which every machine
    may rest, which is enough evidence for each of them (MACH-5c).

    Raises:
        FoldRefusedError: `fold_refused`, with the ordinal of the refused fact.
        CrashworthyError: A body that cannot be decoded.
    """
    claims = sorted(book.authority.claims.values(), key=lambda record: record.ordinal)
    unit = _OpenUnit(book)
    for stored in facts:
        while claims and claims[0].ordinal < stored.place.ordinal:
            book.put_cell(claim_cell(claims.pop(0)))
        if unit.add(stored):
            unit = _OpenUnit(book)
            book.keep()
    if unit.facts:
        _refuse(unit.facts[-1], Code.UNIT_INCOMPLETE)
    for record in claims:
        book.put_cell(claim_cell(record))


@attrs.define(eq=False)
class _OpenUnit:
    """The facts that were read since the last machine rested."""

    _book: DictLedger
    facts: list[Stored] = attrs.field(factory=list[Stored], init=False)
    _events: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent], init=False)
    _making: UnitMaking = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._making = UnitMaking.on(self._book)

    def add(self, stored: Stored) -> bool:
        """Fold one more fact, and say whether the unit ended with it."""
        if not self.facts:
            self._book.upcoming = stored.place.ordinal
        event = stored.event()
        refused = self._making.add(event, stored.place.epoch)
        if refused is not None:
            _refuse(stored, refused.refusal.code)
        self.facts.append(stored)
        self._events.append(event)
        admitted = self._making.admitted()
        if isinstance(admitted, UnitRefused):
            return False
        for kept in self.facts:
            self._book.insert(kept)
        record_unit(self._book, self._events, [kept.place for kept in self.facts], admitted)
        return True


def _refuse(stored: Stored, reason: Code) -> NoReturn:
    place = stored.place
    raise FoldRefusedError(session=place.spine.session, ordinal=place.ordinal, reason=reason)


def fold_session(view: View, authority: AuthorityRows, session: str) -> Iterable[CellRow]:
    """Return the instances of a session as its facts alone give them (STORE-7).

    Raises:
        FoldRefusedError: `fold_refused`.
    """
    book = DictLedger(authority=authority)
    replay(book, pages(view, session))
    return book.cells.values()


def pages(view: View, session: str | None = None) -> Iterator[Stored]:
    """Yield all facts of the root or of a session in commit order, a page at a time."""
    after = 0
    while page := view.log(after=after, limit=_PAGE, session=session):
        yield from page
        after = page[-1].place.ordinal
