"""Logs with something of everything, or much of one thing, and ways to ruin them."""

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from crashworthy.machines.facts.vocabulary import Intent, RunFailure
from crashworthy.store.audit.findings import Finding, Findings
from crashworthy.store.audit.fold import Fold
from crashworthy.store.audit.heads import head_shelf
from crashworthy.store.audit.hindsight import Hindsight
from crashworthy.store.audit.judge import RowJudge
from crashworthy.store.audit.look import Look
from crashworthy.store.audit.tables import Tables, open_scratch
from crashworthy.store.audit.walk import Walk
from crashworthy.store.connect import Connector
from crashworthy.store.journal import writers
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.partials import Lane, UpsertPartial
from crashworthy.store.journal.rows import sql_ledger
from crashworthy.store.journal.starts import QueueMessage
from crashworthy.store.port import Store
from crashworthy.store.sql import Row, SqlValue, fetch
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.txn import Txn

from .conformance.conftest import die
from .tale import ROOT, Tale, open_here, whole_run

T = TypeVar("T")
INPUT = "1" * 64
FACT_COLUMNS = (
    *("ordinal", "seq", "id", "kind", "epoch", "session", "invocation", "run", "turn"),
    *("chain", "root", "stamp", "body"),
)

ALL_FACTS = f"SELECT {', '.join(FACT_COLUMNS)} FROM facts ORDER BY ordinal"  # noqa: S608 - constant names


def varied_log(place: Path) -> Path:
    """Tell two sessions under two owners: tools, asks, messages, a claim, a partial, keys."""
    store = open_here(place)
    one = Tale(store=store, session="ses_a")
    one.do(one.session_order(key="first", title="one"))
    whole_run(one)
    one.do(one.run_order(key="k2", stated_input=INPUT))
    steer = one.queued("msg_1", Intent.STEER, key="k1", stated_input=INPUT)
    one.do(QueueMessage(fact=steer))
    call = one.call(1, 1, x="c")
    one.step(1, call).called(call)
    one.do(writers.steer(one.taken("msg_1"), one.steering("msg_1")))
    one.step(2)
    one.do(one.end_order(RunFailure.STEP_LIMIT))
    die(store)
    store = open_here(place)
    one.store = store
    claim = one.claimed()
    one.number += 1
    assert one.do(one.start_order(claim)).created
    one.step(1).ended()
    _ask(Tale(store=store, session="ses_b", number=100, ids=1000).begun())
    store.close()
    return place


def _ask(tale: Tale) -> None:
    tale.running()
    call = tale.call(1, 1, x="b")
    tale.step(1, call)
    name, asked = tale.ask(call)
    tale.do(writers.ask(asked))
    tale.do(writers.answer(tale.answer(name)))
    tale.do(writers.dispatch(tale.dispatch(call, ask=name)))
    tale.do(writers.settle(tale.outcome(call)))
    tale.do(writers.dispatch_request(tale.request(2)))
    tale.do(
        UpsertPartial(
            spine=tale.at.spine,
            owner=tale.request_name(2),
            stream="stream_1",
            lane=Lane.TEXT,
            text="hal",
            bytes_total=3,
        )
    )
    tale.stopped()


@attrs.frozen
class _Bulk:
    """A store's place for many units in one transaction: as many facts, without as many syncs."""

    store: SqliteStore
    txn: Txn

    def write(self, order: Order[T]) -> T:
        return order.write(sql_ledger(self.txn, self.store.heads.move), self.store.owner)


def long_log(place: Path, *, runs: int, sessions: int = 1) -> Path:
    """Tell `runs` runs of twelve facts in each of some sessions."""
    store = open_here(place)
    for number in range(sessions):
        store.writer.submit_sync(_told(store, number, runs))
    store.close()
    return place


def _told(store: SqliteStore, number: int, runs: int) -> Callable[[Txn], None]:
    def work(txn: Txn) -> None:
        # It has only the part of the port that a tale uses.
        told: Store = _Bulk(store, txn)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
        first = number * 1_000_000
        tale = Tale(store=told, session=f"ses_{number}", number=first, ids=first).begun()
        for _ in range(runs):
            whole_run(tale)

    return work


def copied(place: Path, other: Path) -> Path:
    """Copy a root that nobody has open; its marker says so, which looking does not mind."""
    shutil.copytree(place, other)
    return other


def database(place: Path) -> Path:
    return place / "ledger.sqlite3"


def ruin(place: Path, *statements: tuple[str, Sequence[SqlValue]]) -> None:
    """Change rows behind everybody's back."""
    connection = sqlite3.connect(database(place), isolation_level=None)
    try:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for sql, values in statements:
            changed = connection.execute(sql, values)
            assert changed.rowcount != 0, sql
    finally:
        connection.close()


def fact_rows(place: Path) -> list[Row]:
    """Read all facts as they are stored."""
    connection = sqlite3.connect(database(place))
    try:
        return connection.execute(ALL_FACTS).fetchall()
    finally:
        connection.close()


def flipped(value: SqlValue, at: int, mask: int) -> SqlValue:
    """Return a column with one byte changed; an integer has the byte that tells it from others."""
    if isinstance(value, bytes):
        return value[:at] + bytes([value[at] ^ mask]) + value[at + 1 :]
    if isinstance(value, str):
        data = value.encode()
        return (data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]).decode(
            errors="surrogateescape"
        )
    assert isinstance(value, int)
    return value ^ mask


def width(value: SqlValue) -> int:
    """Return how many bytes of a column `flipped` can change."""
    if isinstance(value, str):
        return len(value.encode())
    return len(value) if isinstance(value, bytes) else 1


@contextlib.contextmanager
def looking(log: Path) -> Generator[Look]:
    """Look at a log as verification does."""
    with contextlib.closing(Look(path=database(log), connector=Connector())) as look:
        yield look


def findings_of(look: Look, rows: Sequence[Row]) -> list[Finding]:
    """Walk over these rows as verification walks over those of a file."""
    with contextlib.closing(open_scratch()) as scratch:
        own = Tables(run=lambda sql, params: fetch(scratch, sql, params))
        own.create()
        hindsight = Hindsight(look.run)
        hindsight.read_again()
        walk = Walk(
            judge=RowJudge(root=ROOT, hindsight=hindsight, heads=head_shelf(own.run)),
            fold=Fold(look.run, hindsight, own),
            findings=Findings(),
        )
        walk.take(rows)
        walk.finish()
        return walk.findings.kept
