"""Faults look to their caller as SQLite's own do, and what really happened is as ordered."""

import errno
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from crashworthy.crashlab.boundary import Kind
from crashworthy.crashlab.faults import (
    Fault,
    Illness,
    Injector,
    Truth,
    bit_positions,
    cap_pages,
    file_size_limited,
    flip_bit,
)


@contextmanager
def opened(path: Path, injector: Injector) -> Generator[sqlite3.Connection]:
    with closing(
        sqlite3.connect(path / "a.db", factory=injector.factory, isolation_level=None)
    ) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE IF NOT EXISTS t (a INTEGER) STRICT")
        yield db


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path / "a.db")) as db:
        count: int = db.execute("SELECT count(*) FROM t").fetchone()[0]
    return count


def insert_many(db: sqlite3.Connection) -> None:
    for _ in range(2000):
        db.execute("INSERT INTO t VALUES (1234567)")


@pytest.mark.parametrize("illness", Illness)
def test_fault_carries_the_error_code_of_its_illness(illness: Illness, tmp_path: Path) -> None:
    injector = Injector(fault=Fault(illness=illness, kind=Kind.INSERT))
    with opened(tmp_path, injector) as db:
        with pytest.raises(sqlite3.OperationalError) as caught:
            db.execute("INSERT INTO t VALUES (1)")
        assert caught.value.sqlite_errorname == illness.value
        assert caught.value.sqlite_errorcode == getattr(sqlite3, illness.value)
    assert (injector.fired, rows(tmp_path)) == (1, 0)


@pytest.mark.parametrize(
    ("truth", "durable", "still_open"),
    [(Truth.NOT_DONE, 0, True), (Truth.ROLLED_BACK, 0, False), (Truth.DONE, 1, False)],
)
def test_commit_that_raises_leaves_what_was_ordered(
    truth: Truth, durable: int, *, still_open: bool, tmp_path: Path
) -> None:
    injector = Injector(fault=Fault(illness=Illness.IOERR_FSYNC, truth=truth, kind=Kind.COMMIT))
    with opened(tmp_path, injector) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(sqlite3.OperationalError):
            db.execute("COMMIT")
        assert db.in_transaction == still_open
    assert rows(tmp_path) == durable


def test_fault_meets_the_chosen_visits_only(tmp_path: Path) -> None:
    fault = Fault(illness=Illness.BUSY, kind=Kind.INSERT, occurrence=2, times=2)
    injector = Injector(fault=fault)
    told: list[bool] = []
    with opened(tmp_path, injector) as db:
        for _ in range(5):
            try:
                db.execute("INSERT INTO t VALUES (1)")
                told.append(True)
            except sqlite3.OperationalError:
                told.append(False)
    assert told == [True, False, False, True, True]
    assert (injector.fired, rows(tmp_path)) == (2, 3)


def test_slow_sync_delays_the_answer_of_commit_alone(tmp_path: Path) -> None:
    with opened(tmp_path, Injector(sync_seconds=0.05)) as db:
        db.execute("BEGIN IMMEDIATE")
        before = time.monotonic()
        db.execute("COMMIT")
        assert time.monotonic() - before >= 0.05


def test_capped_database_is_really_full(tmp_path: Path) -> None:
    with opened(tmp_path, Injector()) as db:
        cap_pages(db, 2)
        with pytest.raises(sqlite3.OperationalError) as caught:
            insert_many(db)
        assert caught.value.sqlite_errorname == "SQLITE_FULL"


def test_limited_file_size_makes_real_write_errors(tmp_path: Path) -> None:
    with opened(tmp_path, Injector()) as db:
        with file_size_limited(20_000), pytest.raises(sqlite3.OperationalError) as caught:
            insert_many(db)
        assert caught.value.sqlite_errorname == "SQLITE_IOERR_WRITE"
        db.execute("INSERT INTO t VALUES (1)")
    with file_size_limited(10), pytest.raises(OSError, match="File too large") as refused:
        (tmp_path / "b").write_bytes(b"x" * 100)
    assert refused.value.errno == errno.EFBIG


def test_flipped_bit_is_exactly_one_and_flips_back(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(64)))
    positions = bit_positions(path, 20, seed=5)
    assert len(set(positions)) == 20
    assert positions == bit_positions(path, 20, seed=5)
    for position in positions:
        flip_bit(path, position)
        changed = int.from_bytes(path.read_bytes(), "little") ^ int.from_bytes(
            bytes(range(64)), "little"
        )
        assert changed == 1 << position
        flip_bit(path, position)
    assert path.read_bytes() == bytes(range(64))
