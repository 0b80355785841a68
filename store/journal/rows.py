"""The rows of one unit, written by SQL that changes no index without need (STORE-4)."""

# ruff: noqa: S608 - statements are put together from the constant column lists of `columns`

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import attrs

from ...machines.lifecycles.cells import REDUCER
from ..anchor import Head
from ..txn import Txn
from . import columns as c
from .evidence import SqlView
from .known import KnownCells
from .pending import pending_of
from .records import CellRow, ClaimRecord, KeyRow, Partial, Quarantine, SessionRow, Stored

_INSERT_FACT: Final = f"INSERT INTO facts ({c.STORED}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
_INSERT_CELL: Final = (
    "INSERT INTO cells (machine, instance, session, scope, phase, pending, made, moved, reducer,"
    " cell) VALUES (?,?,?,?,?,?,?,?,?,?)"
)
# Setting a column rewrites every index that has it, whatever the value: so the common move, which
# changes nothing that an index holds, has a statement of its own.
_MOVE_CELL: Final = (
    "UPDATE cells SET phase = ?, moved = ?, reducer = ?, cell = ?"
    " WHERE machine = ? AND instance = ?"
)
_STAY_CELL: Final = "UPDATE cells SET moved = ? WHERE machine = ? AND instance = ?"
_TURN_CELL: Final = (
    "UPDATE cells SET pending = ?, phase = ?, moved = ?, reducer = ?, cell = ?"
    " WHERE machine = ? AND instance = ?"
)
_DROP_CELLS: Final = "DELETE FROM cells WHERE session = ?"
_PUT_SESSION: Final = f"INSERT OR REPLACE INTO sessions ({c.SESSION}) VALUES (?,?,?,?,?,?,?)"
_PUT_KEY: Final = f"INSERT OR REPLACE INTO keys ({c.KEY}) VALUES (?,?,?,?,?,?)"
_PUT_PARTIAL: Final = f"INSERT OR REPLACE INTO partials ({c.PARTIAL}) VALUES (?,?,?,?,?,?,?,?,?,?)"
_DROP_OWNED: Final = "DELETE FROM partials WHERE owner = ?"
_DROP_OF_RUN: Final = "DELETE FROM partials WHERE run = ?"
_ADD_CLAIM: Final = f"INSERT INTO claims ({c.CLAIM}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_ADD_QUARANTINE: Final = f"INSERT INTO quarantine ({c.QUARANTINE}) VALUES (?,?,?,?,?,?)"
_ADD_SEAL: Final = "INSERT INTO seals (run, claim, ordinal) VALUES (?,?,?)"
_RESERVE: Final = "INSERT INTO reservations (word, id, claim, ordinal) VALUES (?,?,?,?)"


@attrs.define(eq=False)
class SqlLedger(SqlView):
    """A view inside the one write transaction, with the writes of a unit."""

    _tell_head: Callable[[Head], None]

    def insert(self, stored: Stored) -> None:
        """Add the next fact of the root."""
        self._run(_INSERT_FACT, c.stored_values(stored))
        place = stored.place
        self._heads[place.spine.invocation] = place
        self._tell_head(Head(ordinal=place.ordinal, chain=stored.root))

    def put_cell(self, row: CellRow) -> None:
        """Write an instance as it is now; `made` counts only where the instance is new."""
        known = self.cell_row(row.machine, row.instance)
        if known is None:
            self._insert_cell(row)
            self._cells[(row.machine, row.instance)] = row
            return
        machine, instance = row.machine.value, row.instance
        if row.cell == known.cell:
            self._run(_STAY_CELL, (row.moved, machine, instance))
        else:
            state = row.cell.state
            pending, phase = pending_of(state), type(state).__name__
            data = self._known.bytes_of(row.machine, row.cell)
            if pending is pending_of(known.cell.state):
                self._run(_MOVE_CELL, (phase, row.moved, REDUCER, data, machine, instance))
            else:
                self._run(_TURN_CELL, (pending, phase, row.moved, REDUCER, data, machine, instance))
        self._cells[(row.machine, row.instance)] = attrs.evolve(row, made=known.made)

    def put_session(self, row: SessionRow) -> None:
        """Write what a session is now."""
        beside = self._beside(row.session)
        self._run(
            _PUT_SESSION,
            (
                row.session,
                row.opened,
                row.context,
                row.last_run,
                int(row.abandoned),
                row.runs,
                row.adopted,
            ),
        )
        self._sessions[row.session] = attrs.evolve(beside, row=row)

    def put_key(self, row: KeyRow) -> None:
        """Write what a key stands for."""
        self._run(_PUT_KEY, (row.scope, row.key, row.input, row.fact, row.message, row.run))

    def put_partial(self, partial: Partial) -> None:
        """Write the snapshot of a stream."""
        spine = partial.spine
        self._run(
            _PUT_PARTIAL,
            (
                partial.owner,
                partial.stream,
                spine.session,
                spine.invocation,
                spine.run,
                spine.turn,
                partial.lane,
                int(partial.finished),
                partial.bytes_total,
                partial.snapshot,
            ),
        )

    def drop_partials(self, *, owner: str | None = None, run: str | None = None) -> None:
        """Forget the streams of a request or operation, or of a whole run."""
        if owner is not None:
            self._run(_DROP_OWNED, (owner,))
        if run is not None:
            self._run(_DROP_OF_RUN, (run,))

    def add_claim(self, record: ClaimRecord, sealed: Sequence[str]) -> None:
        """Add a claim, the seals of all its segments' runs and the reservation of its target."""
        self._run(_ADD_CLAIM, c.claim_values(record))
        for run in sealed:
            self._run(_ADD_SEAL, (run, record.claim, record.ordinal))
        target = record.target
        for word, name in (
            ("invocation", target.invocation),
            ("run", target.run),
            ("turn", target.turn),
        ):
            self._run(_RESERVE, (word, name, record.claim, record.ordinal))

    def add_quarantine(self, record: Quarantine) -> None:
        """Add the record that a session is damaged."""
        beside = self._beside(record.session)
        self._run(
            _ADD_QUARANTINE,
            (
                record.session,
                record.code,
                record.first_bad,
                record.head_seq,
                record.head_chain,
                record.ordinal,
            ),
        )
        self._sessions[record.session] = attrs.evolve(beside, quarantine=record)

    def _keep(self, _session: str, cells: Iterable[CellRow]) -> None:
        """Replace the session's stored cells by these."""
        rows = tuple(cells)
        self._run(_DROP_CELLS, (_session,))
        for row in rows:
            self._insert_cell(row)
        super()._keep(_session, rows)

    def _insert_cell(self, row: CellRow) -> None:
        state = row.cell.state
        self._run(
            _INSERT_CELL,
            (
                row.machine.value,
                row.instance,
                row.session,
                row.scope,
                type(state).__name__,
                pending_of(state),
                row.made,
                row.moved,
                REDUCER,
                self._known.bytes_of(row.machine, row.cell),
            ),
        )


def sql_ledger(
    txn: Txn, tell_head: Callable[[Head], None], known: KnownCells | None = None
) -> SqlLedger:
    """Return the ledger of one unit.

    Args:
        txn: The transaction's door.
        tell_head: Hears of each new head (STORE-9a).
        known: What the store remembers of states, from unit to unit.
    """
    return SqlLedger(txn.run, tell_head, known=known or KnownCells())
