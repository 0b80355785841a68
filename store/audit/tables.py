"""The projection tables, wherever they are: filled by a fold, compared, digested (STORE-7)."""

# ruff: noqa: S608 - statements are put together from constant names of tables and columns

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs

from ...machines.facts import canonical
from ...machines.lifecycles.cells import REDUCER, Machine, cell_to_json, start_cell
from ..journal import columns as c
from ..journal.pending import pending_of
from ..journal.records import CellRow, KeyRow, SessionRow
from ..schema import PROJECTION_TABLES
from ..sql import Params, Row, SqlValue, fetch

Run: TypeAlias = Callable[[str, Params], list[Row]]
"""Executes one statement and returns all rows."""

Key: TypeAlias = tuple[SqlValue, ...]

PAGE: Final = 1_000
"""Rows that one short snapshot reads."""


@attrs.frozen(kw_only=True)
class TableForm:
    """One projection table; its rows are read and written in the order of its key.

    Attributes:
        columns: All its columns, those of the key first.
        width: How many of them are the key.
    """

    name: str
    columns: tuple[str, ...]
    width: int

    @property
    def key(self) -> str:
        """The columns of the key, for SQL."""
        return ", ".join(self.columns[: self.width])

    @property
    def all(self) -> str:
        """All columns, for SQL."""
        return ", ".join(self.columns)


CELLS: Final = TableForm(
    name="cells",
    columns=(
        *("machine", "instance", "session", "scope", "phase", "pending"),
        *("made", "moved", "reducer", "cell"),
    ),
    width=2,
)
SESSIONS: Final = TableForm(
    name="sessions",
    columns=("session", "opened", "context", "last_run", "abandoned", "runs", "adopted"),
    width=1,
)
KEYS: Final = TableForm(
    name="keys", columns=("scope", "key", "input", "fact", "message", "run"), width=2
)
FORMS: Final = (CELLS, SESSIONS, KEYS)
assert tuple(form.name for form in FORMS) == PROJECTION_TABLES


@attrs.frozen(kw_only=True)
class Tables:
    """The three tables behind one statement door: the stored ones, or those of a fold."""

    run: Run

    def create(self) -> None:
        """Make the tables without checks and indexes: their rows only pass through."""
        for form in FORMS:
            self.run(
                f"CREATE TABLE {form.name} ({form.all}, PRIMARY KEY ({form.key})) WITHOUT ROWID",
                (),
            )

    def put(self, form: TableForm, values: Params) -> None:
        """Write a row over that of the same key."""
        marks = ",".join("?" * len(form.columns))
        self.run(
            f"INSERT OR REPLACE INTO {form.name} ({form.all}) VALUES ({marks})",
            values,
        )

    def row(self, form: TableForm, key: Key) -> Row | None:
        """Return the row of a key."""
        where = " AND ".join(f"{name} = ?" for name in form.columns[: form.width])
        return c.first(self.run(f"SELECT {form.all} FROM {form.name} WHERE {where}", key))

    def page(self, form: TableForm, after: Key | None) -> list[Row]:
        """Return the rows behind a key, at most `PAGE`."""
        where = ""
        params: Key = (PAGE,)
        if after is not None:
            where = f" WHERE ({form.key}) > ({','.join('?' * form.width)})"
            params = (*after, PAGE)
        return self.run(
            f"SELECT {form.all} FROM {form.name}{where} ORDER BY {form.key} LIMIT ?",
            params,
        )

    def rows(self, form: TableForm) -> Iterator[Row]:
        """Yield all rows of a table, a page at a time."""
        after: Key | None = None
        while page := self.page(form, after):
            yield from page
            after = page[-1][: form.width]


# --- rows of a fold as columns, and back ---


def cell_values(row: CellRow) -> Row:
    """Return the columns of an instance."""
    state = row.cell.state
    pending = pending_of(state)
    return (
        row.machine.value,
        row.instance,
        row.session,
        row.scope,
        type(state).__name__,
        None if pending is None else pending.value,
        row.made,
        row.moved,
        REDUCER,
        canonical.encode_trusted(cell_to_json(row.cell)),
    )


def cell_of(row: Row) -> CellRow:
    """Read what `cell_values` wrote."""
    machine, instance, session, scope, _phase, _pending, made, moved, reducer, cell = row
    packed = c.packed_cell_of(
        (machine, instance, session, scope, made, moved, reducer, cell),
        start_cell(Machine(c.text(machine))),
    )
    return attrs.evolve(packed.row, cell=c.cell_state_of(packed.row.machine, cell))


def session_values(row: SessionRow) -> Row:
    """Return the columns of a session."""
    return (
        row.session,
        row.opened,
        row.context,
        row.last_run,
        int(row.abandoned),
        row.runs,
        row.adopted,
    )


def key_values(row: KeyRow) -> Row:
    """Return the columns of a caller's key."""
    return (row.scope, row.key, row.input, row.fact, row.message, row.run)


# --- a place of one's own ---


def open_scratch() -> sqlite3.Connection:
    """Open an empty database that only this connection sees and that is gone when it closes.

    SQLite keeps it in a few pages of memory and lays the rest in an unnamed file of the system's
    temporary directory: so a fold of any length needs the same memory, and no file of the root.
    """
    connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    # Nothing in it outlives the process, so nothing has to be undone or synced.
    fetch(connection, "PRAGMA journal_mode = OFF")
    fetch(connection, "PRAGMA synchronous = OFF")
    fetch(connection, "BEGIN")
    return connection
