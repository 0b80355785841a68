"""The ground on which is measured: real roots, long logs made fast, and a raw twin beside them."""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from ...machines.facts.ids import RootId
from ...machines.facts.model import RuntimeEvent
from ...machines.facts.vocabulary import Finish
from ...store.batch import Ticket
from ...store.connect import Connector
from ...store.journal import columns, writers
from ...store.journal.append import Appended
from ...store.journal.ends import EndRun
from ...store.journal.ledger import Ledger
from ...store.journal.orders import Order
from ...store.journal.records import Owner, Stored
from ...store.migrate import migrate
from ...store.probe import Probe, no_probe
from ...store.reader import wal_of
from ...store.runner import Runner
from ...store.schema import MIGRATIONS, NEWEST
from ...store.sql import Row
from ...store.sqlite import SqliteStore, open_store
from ...store.txn import WriteDoor
from ..workloads.teller import Teller

WORDS: Final = "The model says what it found, in a sentence of about a hundred bytes, as models do."
"""The text of a measured fact."""

TEXTS_A_STEP: Final = 24
CALLS_A_STEP: Final = 12
STEPS_A_RUN: Final = 16
_TOGETHER: Final = 200
_FRAME_HEADER_BYTES: Final = 24
_WAL_HEADER_BYTES: Final = 32


@attrs.frozen(kw_only=True)
class Sizes:
    """How much is measured.

    Attributes:
        facts: Facts of the long log.
        few: Facts of the short one.
        claims: Claims beside which claims and appends are measured.
        bundles: Operations that recovery settles.
        rounds: Measured commits of each kind.
        runs: Concurrent runs of the group commit.
        units: Units that each of them hands in.
    """

    facts: int = 100_000
    few: int = 100
    claims: int = 1_000
    bundles: int = 100
    rounds: int = 300
    runs: int = 32
    units: int = 40


QUICK: Final = Sizes(facts=2_000, claims=20, bundles=4, rounds=12, units=4)
"""Sizes that show that everything is measured; the numbers mean little."""


@attrs.frozen(kw_only=True)
class Together(Order[None]):
    """Many orders as one unit: how a long log is made fast."""

    orders: tuple[Order[object], ...]

    def write(self, ledger: Ledger, owner: Owner) -> None:
        """Carry all of them out, in order."""
        for order in self.orders:
            order.write(ledger, owner)


@contextmanager
def opened(
    place: Path,
    *,
    runner: Runner | None = None,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
    probe: Probe = no_probe,
    name: str = "root",
) -> Generator[SqliteStore]:
    """Own the root `place/name`, making it if there is none, and close it with the block."""
    store = open_store(
        place / name,
        host="host_bench",
        since="bench",
        new_root_id=lambda: RootId(f"root_{name}"),
        connector=Connector(factory=factory),
        runner=runner,
        probe=probe,
        idle_s=None,
    )
    try:
        yield store
    finally:
        store.close()


def connection_of(store: SqliteStore) -> sqlite3.Connection:
    """Return the one writing connection."""
    return store.writer.batcher.door.connection


def commit_together(store: SqliteStore, orders: Sequence[Order[Appended]]) -> None:
    """Commit each order as a unit of its own, all in one transaction, without a scheduler.

    Raises:
        CrashworthyError: One of them was refused.
    """
    tickets = [Ticket(store.unit_of(order)) for order in orders]
    store.writer.batcher.commit(tickets)
    for ticket in tickets:
        ticket.result()


def wal_bytes(store: SqliteStore) -> int:
    """Return the size of the WAL file, asked by name (STORE-1a)."""
    assert store.tenure is not None
    path = wal_of(store.tenure.root.database)
    return path.stat().st_size if path.exists() else 0


def emptied_wal(store: SqliteStore) -> None:
    """Let the WAL start over, so that what is in it next is one unit's."""
    store.writer.checkpointer.final()


def wal_frames(store: SqliteStore) -> float:
    """Return how many frames the WAL file has; after `emptied_wal`, those written since."""
    [(page,)] = connection_of(store).execute("PRAGMA page_size").fetchall()
    return max(0, wal_bytes(store) - _WAL_HEADER_BYTES) / (
        columns.integer(page) + _FRAME_HEADER_BYTES
    )


def last_stored(store: SqliteStore, count: int) -> list[Stored]:
    """Return the newest facts of the log as they are stored."""
    return store.read(lambda view: list(view.log(after=view.last().ordinal - count)))


# --- logs ---


def fill(store: SqliteStore, teller: Teller, facts: int) -> None:
    """Bring the log to at least `facts` facts: runs of many steps, with text and tool calls.

    The session is open and has no open run, before and after.
    """
    waiting: list[Order[object]] = []
    count = store.heads.now.ordinal
    while count < facts:
        for order, size in _whole_run(teller, facts - count):
            waiting.append(order)
            count += size
            if len(waiting) >= _TOGETHER:
                store.write(Together(orders=tuple(waiting)))
                waiting.clear()
    if waiting:
        store.write(Together(orders=tuple(waiting)))


def _whole_run(teller: Teller, wanted: int) -> Generator[tuple[Order[object], int]]:
    """Yield the orders of one run, each with its number of facts, until enough are told."""
    yield teller.open_run(), 2
    told = 3
    step = 0
    for step in range(1, STEPS_A_RUN + 1):
        yield writers.dispatch_request(teller.request(step)), 1
        calls = [
            teller.call(step, position, path=f"dir/{position}")
            for position in range(1, CALLS_A_STEP + 1)
        ]
        facts = (*_texts(teller), *calls, teller.settled(Finish.TOOL_CALLS))
        yield writers.settle_step(*facts), len(facts)
        for call in calls:
            yield writers.dispatch(teller.dispatch(call)), 1
            yield writers.settle(teller.outcome(call)), 1
        told += 1 + len(facts) + 2 * CALLS_A_STEP
        if told >= wanted:
            break
    yield writers.dispatch_request(teller.request(step + 1)), 1
    yield writers.settle_step(teller.text(), teller.settled(Finish.STOP)), 2
    yield EndRun(end=teller.completed()), 1


def _texts(teller: Teller) -> list[RuntimeEvent]:
    return [teller.text(WORDS) for _ in range(TEXTS_A_STEP)]


# --- the raw twin ---


@attrs.frozen(kw_only=True)
class RawTwin:
    """The same event table with the same indexes and pragmas, and nothing else done to it."""

    connection: sqlite3.Connection

    def insert(self, stored: Sequence[Stored]) -> None:
        """Insert facts and commit, as the least that any store has to do."""
        run = self.connection.execute
        run("BEGIN IMMEDIATE")
        for fact in stored:
            run(_INSERT, columns.stored_values(fact))
        run("COMMIT")


_INSERT: Final = f"INSERT INTO facts ({columns.STORED}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"  # noqa: S608 - constant names


@contextmanager
def raw_twin(place: Path) -> Generator[RawTwin]:
    """Open an empty twin in `place`, with the pragmas and the schema of a store."""
    connection = Connector().open_owner(place / "twin.sqlite3", newest=NEWEST)
    try:
        migrate(WriteDoor(connection=connection), MIGRATIONS)
        yield RawTwin(connection=connection)
    finally:
        connection.close()


@attrs.define(eq=False, kw_only=True)
class Meter:
    """Counts what a connection does while it is installed.

    Attributes:
        steps: Instructions of SQLite's virtual machine.
        statements: Statements begun, BEGIN, SAVEPOINT and COMMIT included.
        rows: Rows returned.
        commits: COMMIT statements begun; each syncs the WAL once (synchronous=FULL).
    """

    steps: int = 0
    statements: int = 0
    rows: int = 0
    commits: int = 0

    def count_step(self) -> int:
        """Count an instruction; zero lets SQLite go on."""
        self.steps += 1
        return 0

    def count_statement(self, sql: str) -> None:
        """Count a statement."""
        self.statements += 1
        self.commits += sql == "COMMIT"

    def count_row(self, _cursor: sqlite3.Cursor, row: Row) -> Row:
        """Count a row and pass it on."""
        self.rows += 1
        return row


@contextmanager
def metered(store: SqliteStore) -> Generator[Meter]:
    """Count what the store's writing connection does in the block."""
    meter, connection = Meter(), connection_of(store)
    connection.set_progress_handler(meter.count_step, 1)
    connection.set_trace_callback(meter.count_statement)
    connection.row_factory = meter.count_row
    try:
        yield meter
    finally:
        connection.set_progress_handler(None, 0)
        connection.set_trace_callback(None)
        connection.row_factory = None
