"""The write door commits all or nothing, and knows when it does not know."""

import contextlib
import resource
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from crashworthy.machines.facts.json_values import TextUncleanError
from crashworthy.store.errors import (
    CommitOutcomeUnknownError,
    ConstraintRefusedError,
    StorageBusyError,
    StorageFullError,
    StorageIoError,
    StorageReadOnlyError,
    StoreClosedError,
    StorePoisonedError,
    TransactionLostError,
)
from crashworthy.store.sql import fetch
from crashworthy.store.txn import Health, Txn

from .conftest import StartChild
from .rig import Rig


def test_transact_commits_all_when_the_body_returns(rig: Rig) -> None:
    assert rig.door.transact(rig.append("a")) == 1
    assert rig.rows() == [(1, "a")]


def test_transact_leaves_nothing_when_the_body_raises(rig: Rig) -> None:
    def body(txn: Txn) -> None:
        rig.append("a")(txn)
        raise LookupError

    with pytest.raises(LookupError):
        rig.door.transact(body)
    assert rig.rows() == []
    assert rig.door.health is Health.CLEAN


def test_transact_is_refused_when_the_body_swallows_an_error(rig: Rig) -> None:
    """A unit ends at its first error, also when its author looked away."""

    def body(txn: Txn) -> None:
        rig.append("a")(txn)
        with pytest.raises(ConstraintRefusedError):
            txn.run("INSERT INTO rows VALUES (9, 'a')")

    with pytest.raises(ConstraintRefusedError):
        rig.door.transact(body)
    assert rig.rows() == []


def test_statement_is_not_run_alone_when_sqlite_ended_the_transaction(rig: Rig) -> None:
    """With autocommit on, a statement after SQLite's own rollback would be durable by itself."""

    def body(txn: Txn) -> None:
        rig.append("a")(txn)
        rig.connection.execute("ROLLBACK")  # what SQLite does by itself on some I/O errors
        rig.append("b")(txn)

    with pytest.raises(TransactionLostError):
        rig.door.transact(body)
    assert rig.rows() == []


def test_commit_is_not_run_when_sqlite_ended_the_transaction(rig: Rig) -> None:
    def body(txn: Txn) -> None:
        rig.append("a")(txn)
        rig.connection.execute("ROLLBACK")

    with pytest.raises(TransactionLostError):
        rig.door.transact(body)


def test_full_disk_is_typed_when_sqlite_has_no_page_left(rig: Rig) -> None:
    [(pages,)] = rig.connection.execute("PRAGMA page_count").fetchall()
    rig.connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageFullError):
        rig.door.transact(rig.append("x" * 100_000))
    assert not rig.connection.in_transaction
    assert rig.door.health is Health.PROBATION
    assert rig.rows() == []


def test_io_error_is_typed_when_a_file_may_not_grow(rig: Rig) -> None:
    """A real EFBIG from the system: nothing is injected between SQLite and the file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 * 1024, limits[1]))
    try:
        with pytest.raises((StorageIoError, CommitOutcomeUnknownError)):
            rig.door.transact(rig.append("x" * 500_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
    assert rig.door.health is not Health.CLEAN
    assert rig.rows() == []


def test_read_only_is_typed_when_the_connection_may_only_query(rig: Rig) -> None:
    rig.connection.execute("PRAGMA query_only = ON")
    with pytest.raises(StorageReadOnlyError):
        rig.door.transact(rig.append("a"))


def test_busy_begin_changes_nothing_when_another_connection_writes(rig: Rig) -> None:
    other = sqlite3.connect(rig.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageBusyError, match="begin"):
        rig.door.transact(rig.append("a"))
    assert rig.door.health is Health.CLEAN
    other.close()
    rig.door.transact(rig.append("a"))


@pytest.mark.parametrize(
    ("name", "kind"), [("SQLITE_BUSY", StorageBusyError), ("SQLITE_FULL", StorageFullError)]
)
def test_commit_did_not_happen_when_it_raises_busy_or_full(
    rig: Rig, name: str, kind: type[Exception]
) -> None:
    rig.faults.plan("before", "COMMIT", name)
    with pytest.raises(kind):
        rig.door.transact(rig.append("a"))
    assert rig.door.health is Health.PROBATION
    assert rig.rows() == []
    assert not rig.connection.in_transaction


@pytest.mark.parametrize(
    ("when", "durable"), [("before", []), ("after", [(1, "a")])], ids=["lost", "committed"]
)
def test_door_is_poisoned_when_commit_raises_anything_else(
    rig: Rig, when: str, durable: list[tuple[int, str]]
) -> None:
    """Both truths look the same from here, so neither may be assumed."""
    rig.faults.plan(when, "COMMIT", "SQLITE_IOERR_FSYNC")
    with pytest.raises(CommitOutcomeUnknownError, match="SQLITE_IOERR_FSYNC"):
        rig.door.transact(rig.append("a"))
    with pytest.raises(StorePoisonedError):
        rig.door.transact(rig.append("b"))
    rig.shut()
    assert rig.rows() == durable


def test_door_is_poisoned_when_a_signal_interrupts_commit(rig: Rig) -> None:
    rig.faults.plan("after", "COMMIT", KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        rig.door.transact(rig.append("a"))
    assert rig.door.health is Health.POISONED


def test_door_is_poisoned_when_rollback_fails_too(rig: Rig) -> None:
    """The caller hears the first error; the connection is of no more use."""
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")
    rig.faults.plan("before", "ROLLBACK", "SQLITE_IOERR_FSYNC")
    with pytest.raises(StorageFullError):
        rig.door.transact(rig.append("a"))
    assert rig.door.health is Health.POISONED
    rig.shut()
    assert rig.rows() == []


def test_probe_commit_ends_probation_and_writes_a_page_when_it_succeeds(rig: Rig) -> None:
    wal = rig.path.with_name(rig.path.name + "-wal")
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")
    with pytest.raises(StorageFullError):
        rig.door.transact(rig.append("a"))
    before = wal.stat().st_size
    rig.door.probe_commit()
    assert rig.door.health is Health.CLEAN
    assert wal.stat().st_size > before


def test_empty_commit_does_not_end_probation(rig: Rig) -> None:
    """It proves nothing about the disk."""
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")
    with pytest.raises(StorageFullError):
        rig.door.transact(rig.append("a"))
    rig.door.transact(lambda _txn: None)
    assert rig.door.health is Health.PROBATION


def test_unit_leaves_nothing_and_costs_nobody_when_refused(rig: Rig) -> None:
    def write_then_break(txn: Txn) -> None:
        rig.append("half")(txn)
        rig.append("a")(txn)

    def body(txn: Txn) -> None:
        txn.unit(rig.append("a"))
        with pytest.raises(ConstraintRefusedError):
            txn.unit(write_then_break)
        txn.unit(lambda inner: inner.run("INSERT INTO rows VALUES (4, 'd')"))

    rig.door.transact(body)
    assert rig.rows() == [(1, "a"), (4, "d")]


def test_unit_ends_the_transaction_when_it_hides_an_environment_error(rig: Rig) -> None:
    def hide(txn: Txn) -> None:
        rig.faults.plan("before", "INSERT", "SQLITE_FULL")
        try:
            rig.append("a")(txn)
        except StorageFullError:
            raise LookupError from None

    def body(txn: Txn) -> None:
        txn.unit(hide)

    with pytest.raises(StorageFullError):
        rig.door.transact(body)
    assert rig.rows() == []


def test_wrong_statement_keeps_its_own_type(rig: Rig) -> None:
    """A mistake of ours is neither the environment's failure nor a refusal."""
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        rig.door.transact(lambda txn: txn.run("SELECT * FROM nowhere"))
    assert rig.door.health is Health.CLEAN


def test_result_is_whole_when_a_statement_returns_rows(rig: Rig) -> None:
    """An unread RETURNING would block COMMIT."""
    rows = rig.door.transact(
        lambda txn: txn.run("INSERT INTO rows VALUES (1, 'a'), (2, 'b') RETURNING position")
    )
    assert rows == [(1,), (2,)]


def test_txn_is_of_no_use_when_its_transaction_is_over(rig: Rig) -> None:
    kept: list[Txn] = []
    rig.door.transact(kept.append)
    with pytest.raises(AssertionError, match="beyond its transaction"):
        kept[0].run("SELECT 1")


def test_door_refuses_and_closes_once_when_closed_twice(rig: Rig) -> None:
    rig.door.close()
    rig.door.close()
    with pytest.raises(StoreClosedError):
        rig.door.transact(rig.append("a"))


def test_probes_are_passed_in_order(rig: Rig) -> None:
    seen: list[str] = []
    record: Callable[[str], None] = seen.append
    rig.door.probe = record
    rig.door.transact(rig.append("a"))
    assert seen == ["txn.begun", "txn.written", "txn.committed"]


FORKING = """
import os, sys
from pathlib import Path
from crashworthy.store.connect import Connector
from crashworthy.store.errors import ForkedError
from crashworthy.store.txn import WriteDoor
door = WriteDoor(connection=Connector().open_owner(Path(sys.argv[1]), newest=1))
if (pid := os.fork()) == 0:
    try:
        door.transact(lambda txn: txn.run("CREATE TABLE child (x) STRICT"))
    except ForkedError:
        door.close()
        os._exit(42)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
print(door.transact(lambda txn: txn.run("SELECT count(*) FROM sqlite_master")), flush=True)
"""


def test_door_raises_forked_in_a_child_and_serves_its_parent(
    start_child: StartChild, tmp_path: Path
) -> None:
    child = start_child(FORKING, tmp_path / "ledger.sqlite3")
    assert [child.hear(), child.hear()] == ["42", "[(0,)]"]


@pytest.mark.proves("BYTE-3")
def test_parameter_without_a_utf_8_form_is_refused_by_its_code() -> None:
    """A person may type any bytes as the name of a run; that is no fault of ours."""
    with (
        contextlib.closing(sqlite3.connect(":memory:")) as connection,
        pytest.raises(TextUncleanError, match=r"^\[unclean_text\] .* at offset 1$"),
    ):
        fetch(connection, "SELECT ?", ("a\udcff",))
