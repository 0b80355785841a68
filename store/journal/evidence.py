"""Evidence from SQL: each answer is one point read on an index, kept for one unit (STORE-4)."""

# ruff: noqa: S608 - statements are put together from the constant column lists of `columns`

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import attrs

from ...machines.facts.chain import root_start
from ...machines.facts.codes import CrashworthyError
from ...machines.facts.model import Spine
from ...machines.lifecycles import lease
from ...machines.lifecycles.cells import REDUCER, Cell, Machine
from ..anchor import Head
from ..sql import Params, Row
from . import columns as c
from .authority import AuthorityRows, LeaseMark
from .dicts import fold_session
from .known import KnownCells
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

Run: TypeAlias = Callable[[str, Params], list[Row]]
"""Executes one statement and returns all rows: a transaction's or a reader's."""

_LAST: Final = "SELECT ordinal, root FROM facts ORDER BY ordinal DESC LIMIT 1"
_ROOT: Final = "SELECT root_id FROM root"
_FACT: Final = f"SELECT {c.STORED} FROM facts WHERE id = ?"
_HEAD: Final = f"SELECT {c.PLACE} FROM facts WHERE invocation = ? ORDER BY seq DESC LIMIT 1"
_AT: Final = f"SELECT {c.STORED} FROM facts WHERE invocation = ? AND seq = ?"
_OPENING: Final = f"SELECT {c.PLACE} FROM facts WHERE run = ? AND seq = 1"
_TURN: Final = "SELECT 1 FROM facts WHERE turn = ? AND seq = 1 LIMIT 1"
_LEDGER: Final = (
    f"SELECT {c.STORED} FROM facts WHERE invocation = ? AND seq > ? ORDER BY seq LIMIT ?"
)
_LOG: Final = f"SELECT {c.STORED} FROM facts WHERE ordinal > ? ORDER BY ordinal LIMIT ?"
_LOG_OF_SESSION: Final = (
    f"SELECT {c.STORED} FROM facts WHERE session = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
)
_CELL: Final = f"SELECT {c.CELL} FROM cells WHERE machine = ? AND instance = ?"
_PENDING: Final = (
    "SELECT instance FROM cells WHERE pending = ? AND scope = ? ORDER BY made, instance"
)
_PENDING_ALL: Final = "SELECT instance FROM cells WHERE pending = ? ORDER BY made, instance"
_PENDING_COUNT: Final = "SELECT count(*) FROM cells WHERE pending = ? AND scope = ?"
# One look at what stands beside a session, because the gates of each unit ask for all of it.
_BESIDE: Final = """
SELECT s.session, s.opened, s.context, s.last_run, s.abandoned, s.runs, s.adopted,
       q.session, q.code, q.first_bad, q.head_seq, q.head_chain, q.ordinal, i.ordinal
FROM (SELECT ? AS session) AS wanted
LEFT JOIN sessions AS s ON s.session = wanted.session
LEFT JOIN quarantine AS q ON q.session = wanted.session
LEFT JOIN imports AS i ON i.session = wanted.session
""".strip()
_KEY: Final = f"SELECT {c.KEY} FROM keys WHERE scope = ? AND key = ?"
_PARTIALS: Final = f"SELECT {c.PARTIAL} FROM partials WHERE run = ? ORDER BY owner, stream"
_PARTIAL: Final = f"SELECT {c.PARTIAL} FROM partials WHERE owner = ? AND stream = ?"
LEASE: Final = "SELECT held, epoch, gone FROM lease ORDER BY number DESC LIMIT 1"
_CLAIM: Final = f"SELECT {c.CLAIM} FROM claims WHERE claim = ?"
_CLAIM_ON: Final = "SELECT claim FROM claims WHERE source_run = ?"
_SEALED: Final = "SELECT 1 FROM seals WHERE run = ? LIMIT 1"
_RESERVED: Final = """
SELECT claim FROM reservations WHERE word = 'invocation' AND id = ?
UNION ALL SELECT claim FROM reservations WHERE word = 'run' AND id = ?
UNION ALL SELECT claim FROM reservations WHERE word = 'turn' AND id = ?
LIMIT 1
""".strip()
_LOSS: Final = "SELECT ordinal FROM accepted_losses ORDER BY number DESC LIMIT 1"
# What a fold asks for, once: authority rows with the ordinals at which they were made.
_LEASES: Final = "SELECT held, epoch, gone, ordinal FROM lease ORDER BY number"
_CLAIMS_OF: Final = f"SELECT {c.CLAIM} FROM claims WHERE session = ? ORDER BY ordinal"
_LOSSES: Final = "SELECT ordinal FROM accepted_losses ORDER BY number"


def lease_of(found: Sequence[Row]) -> lease.LeaseState:
    """Return the lease that the newest record left, which is the answer to `LEASE`."""
    for held, epoch, gone in found:
        state = lease.Held if held else lease.Free
        return state(epoch=c.integer(epoch), gone=c.integer(gone))
    return lease.Free(epoch=0, gone=0)


@attrs.frozen(kw_only=True)
class _Beside:
    """What one look at a session found."""

    row: SessionRow | None
    quarantine: Quarantine | None
    imported: int | None


@attrs.define(eq=False)
class SqlView:
    """The reads of a journal over SQL, true for one snapshot or transaction.

    Attributes:
        mended: Sessions whose stored fold state was not of this build or not at its ledger's head,
            and was folded anew from the facts (STORE-4).
    """

    _run: Run
    _known: KnownCells = attrs.field(factory=KnownCells, kw_only=True, alias="known")
    mended: list[str] = attrs.field(factory=list[str], init=False)
    _cells: dict[tuple[Machine, str], CellRow | None] = attrs.field(
        factory=dict[tuple[Machine, str], CellRow | None], init=False
    )
    _heads: dict[str, Place | None] = attrs.field(factory=dict[str, Place | None], init=False)
    _sessions: dict[str, _Beside] = attrs.field(factory=dict[str, _Beside], init=False)

    # --- facts ---

    def last(self) -> Head:
        """Return the root's last ordinal and root chain value."""
        for ordinal, root in self._run(_LAST, ()):
            return Head(ordinal=c.integer(ordinal), chain=c.data(root).hex())
        [(root_id,)] = self._run(_ROOT, ())
        return Head(ordinal=0, chain=root_start(c.text(root_id)))

    def fact(self, fact: str) -> Stored | None:
        """Return the fact of this id."""
        return c.first(map(c.stored_of, self._run(_FACT, (fact,))))

    def head(self, invocation: str) -> Place | None:
        """Return the last fact of a ledger."""
        if invocation not in self._heads:
            self._heads[invocation] = c.first(map(c.place_of, self._run(_HEAD, (invocation,))))
        return self._heads[invocation]

    def at(self, invocation: str, seq: int) -> Stored | None:
        """Return the fact at a position of a ledger."""
        return c.first(map(c.stored_of, self._run(_AT, (invocation, seq))))

    def opening(self, run: str) -> Place | None:
        """Return the first fact of the run."""
        return c.first(map(c.place_of, self._run(_OPENING, (run,))))

    def turn_used(self, turn: str) -> bool:
        """Say whether any ledger belongs to this turn."""
        return bool(self._run(_TURN, (turn,)))

    def ledger(self, invocation: str, *, after: int = 0, limit: int = 500) -> Sequence[Stored]:
        """Return a page of a ledger, from the fact behind sequence `after` on."""
        return [c.stored_of(row) for row in self._run(_LEDGER, (invocation, after, limit))]

    def log(
        self, *, after: int = 0, limit: int = 500, session: str | None = None
    ) -> Sequence[Stored]:
        """Return a page of the root's or a session's facts in commit order, behind `after`."""
        if session is None:
            found = self._run(_LOG, (after, limit))
        else:
            found = self._run(_LOG_OF_SESSION, (session, after, limit))
        return [c.stored_of(row) for row in found]

    # --- projections ---

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        """Return an instance's state, folded anew if the stored one cannot be used."""
        row = self.cell_row(machine, instance)
        return None if row is None else row.cell

    def cell_row(self, machine: Machine, instance: str) -> CellRow | None:
        """Return an instance with its place, folded anew if the stored one cannot be used."""
        key = (machine, instance)
        if key not in self._cells:
            self._cells[key] = self._read_cell(machine, instance)
        return self._cells[key]

    def pending(self, word: Pending, scope: str | None = None) -> tuple[str, ...]:
        """Return the instances that wait for `word`, in the order they were made."""
        if scope is None:
            found = self._run(_PENDING_ALL, (word.value,))
        else:
            found = self._run(_PENDING, (word.value, scope))
        return tuple(c.text(row[0]) for row in found)

    def session(self, session: str) -> SessionRow | None:
        """Return what a session is."""
        return self._beside(session).row

    def key(self, scope: str, key: str) -> KeyRow | None:
        """Return what a caller's key stands for."""
        return c.first(map(c.key_of, self._run(_KEY, (scope, key))))

    def partials(self, run: str) -> tuple[Partial, ...]:
        """Return the snapshots of the streams of a run that have no final fact yet."""
        found = map(c.partial_of, self._run(_PARTIALS, (run,)))
        return tuple(partial for partial in found if not partial.finished)

    def partial(self, owner: str, stream: str) -> Partial | None:
        """Return the snapshot of one stream, or the marker that it is finished."""
        return c.first(map(c.partial_of, self._run(_PARTIAL, (owner, stream))))

    # --- authority ---

    def quarantine(self, session: str) -> Quarantine | None:
        """Return why a session's tools are refused."""
        return self._beside(session).quarantine

    def lease(self) -> lease.LeaseState:
        """Return who owns the root."""
        return lease_of(self._run(LEASE, ()))

    def claim(self, claim: str) -> ClaimRecord | None:
        """Return a claim."""
        return c.first(map(c.claim_of, self._run(_CLAIM, (claim,))))

    def claim_on(self, source_run: str) -> str | None:
        """Return the claim whose immediate source is this run."""
        return c.first(c.text(row[0]) for row in self._run(_CLAIM_ON, (source_run,)))

    # --- what the tables ask (`Surroundings`) ---

    def open_run(self, session: str) -> str | None:
        """Return the session's open inline run."""
        return c.first(self.pending(Pending.RUN_LIVE, session))

    def steering(self, session: str) -> int:
        """Count the queued messages that are meant for the session's open run."""
        [(count,)] = self._run(_PENDING_COUNT, (Pending.MESSAGE_STEER.value, session))
        return c.integer(count)

    def reservation(self, spine: Spine) -> str | None:
        """Return the claim that reserves any id of this spine."""
        found = self._run(_RESERVED, (spine.invocation, spine.run, spine.turn))
        return c.first(c.text(row[0]) for row in found)

    def sealed(self, run: str) -> bool:
        """Say whether a claim rests on this run."""
        return bool(self._run(_SEALED, (run,)))

    def gone(self) -> int:
        """Return the highest owner epoch that is proven gone."""
        return self.lease().gone

    def released(self, run: str) -> bool:
        """Say whether an accepted loss or an adoption released the run from waiting."""
        opening = self.opening(run)
        if opening is None:
            return False
        session = self.session(opening.spine.session)
        released = [c.integer(row[0]) for row in self._run(_LOSS, ())]
        if session is not None and session.adopted is not None:
            released.append(session.adopted)
        return any(opening.ordinal <= ordinal for ordinal in released)

    def foreign(self, session: str) -> bool:
        """Say whether the session was imported and not adopted yet."""
        beside = self._beside(session)
        return beside.imported is not None and (beside.row is None or beside.row.adopted is None)

    # --- below the answers ---

    def authority(self, session: str) -> AuthorityRows:
        """Return what a fold of the session has to know as of each of its facts (MACH-5c)."""
        marks = [
            LeaseMark(
                ordinal=c.integer(ordinal),
                state=(lease.Held if held else lease.Free)(
                    epoch=c.integer(epoch), gone=c.integer(gone)
                ),
            )
            for held, epoch, gone, ordinal in self._run(_LEASES, ())
        ]
        rows = AuthorityRows(leases=marks)
        rows.losses.extend(c.integer(row[0]) for row in self._run(_LOSSES, ()))
        for record in map(c.claim_of, self._run(_CLAIMS_OF, (session,))):
            rows.add_claim(record)
        imported = self._beside(session).imported
        if imported is not None:
            rows.imports[session] = imported
        return rows

    def _beside(self, session: str) -> _Beside:
        if session not in self._sessions:
            [row] = self._run(_BESIDE, (session,))
            self._sessions[session] = _Beside(
                row=None if row[0] is None else c.session_of(row[:7]),
                quarantine=None if row[7] is None else c.quarantine_of(row[7:13]),
                imported=None if row[13] is None else c.integer(row[13]),
            )
        return self._sessions[session]

    def _read_cell(self, machine: Machine, instance: str) -> CellRow | None:
        found = self._run(_CELL, (machine.value, instance))
        if not found:
            return None
        _machine, _instance, session, scope, made, moved, reducer, data = found[0]
        if reducer != REDUCER:
            return self._mend(c.text(session), machine, instance)
        try:
            cell = self._known.cell_of(machine, c.data(data))
        except CrashworthyError:
            return self._mend(c.text(session), machine, instance)
        row = CellRow(
            machine=machine,
            instance=instance,
            session=c.text(session),
            scope=c.text(scope),
            cell=cell,
            made=c.integer(made),
            moved=c.integer(moved),
        )
        if machine is Machine.RUN and not self._at_head(row):
            return self._mend(row.session, machine, instance)
        return row

    def _at_head(self, row: CellRow) -> bool:
        """Say whether a run's state is the one after the last fact of its ledger."""
        invocation = row.cell.memo.get("invocation")
        head = self.head(invocation) if isinstance(invocation, str) else None
        return head is not None and head.ordinal == row.moved

    def _mend(self, session: str, machine: Machine, instance: str) -> CellRow | None:
        """Fold the instance's session anew and answer from that, never from what was stored."""
        self.mended.append(session)
        self._keep(session, fold_session(self, self.authority(session), session))
        return self._cells.get((machine, instance))

    def _keep(self, _session: str, cells: Iterable[CellRow]) -> None:
        """Answer from these cells from now on."""
        for row in cells:
            self._cells[(row.machine, row.instance)] = row
