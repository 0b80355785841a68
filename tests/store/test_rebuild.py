"""Rebuilt projections are those that were there, byte for byte; a damaged session keeps its own."""

from pathlib import Path

import pytest

from crashworthy.machines.facts.codes import Code
from crashworthy.store.audit.report import Status
from crashworthy.store.rebuild import (
    RunsOpenError,
    dump_projections,
    projections_digest,
    rebuild,
    refold,
)
from crashworthy.store.schema import PROJECTION_TABLES
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.txn import Txn
from crashworthy.store.verify import verify

from .logs import long_log, ruin, varied_log
from .tale import Tale, open_here, whole_run


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return varied_log(tmp_path / "root")


def empty(store: SqliteStore) -> None:
    """Drop all that a rebuild makes."""

    def unit(txn: Txn) -> None:
        for table in PROJECTION_TABLES:
            txn.run(f"DELETE FROM {table}")  # noqa: S608 - constant names

    store.writer.submit_sync(unit)


@pytest.mark.proves("STORE-7")
def test_rebuild_from_nothing_gives_the_same_bytes(log: Path) -> None:
    store = open_here(log)
    before = list(dump_projections(store.reader.fetch))
    empty(store)
    assert list(dump_projections(store.reader.fetch)) == []

    rebuilt = refold(store)

    assert list(dump_projections(store.reader.fetch)) == before
    assert (rebuilt.kept, rebuilt.findings) == ((), ())
    store.close()
    assert verify(log).status is Status.CLEAN


def test_rebuild_replaces_what_is_wrong_and_what_no_fact_makes(log: Path) -> None:
    store = open_here(log)
    before = projections_digest(store.reader.fetch)
    store.close()
    ruin(
        log,
        ("UPDATE cells SET phase = 'Ended', pending = NULL WHERE machine = 'request'", ()),
        ("UPDATE keys SET scope = 'nobody' WHERE key = 'k1'", ()),
        ("UPDATE sessions SET runs = 0", ()),
    )
    store = open_here(log)
    assert projections_digest(store.reader.fetch) != before

    refold(store)

    assert projections_digest(store.reader.fetch) == before
    store.close()


def test_rebuild_is_refused_while_a_run_is_open(tmp_path: Path) -> None:
    store = open_here(tmp_path / "root")
    Tale(store=store).begun().running()
    before = projections_digest(store.reader.fetch)

    with pytest.raises(RunsOpenError) as refused:
        rebuild(store)

    assert (refused.value.code, refused.value.runs) == (Code.RUNS_OPEN, ("run_1",))
    assert projections_digest(store.reader.fetch) == before
    store.close()


def test_rebuild_that_fails_half_way_leaves_everything_as_it_was(tmp_path: Path) -> None:
    store = open_here(tmp_path / "root")
    whole_run(Tale(store=store).begun())
    before = projections_digest(store.reader.fetch)

    def fail(_facts: int) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        rebuild(store, progress=fail)

    assert projections_digest(store.reader.fetch) == before
    whole_run(Tale(store=store, number=5, ids=500))
    store.close()
    assert verify(tmp_path / "root").status is Status.CLEAN


def test_session_with_damaged_facts_keeps_its_rows_and_others_are_rebuilt(log: Path) -> None:
    """What was folded before the damage knows more than what can be folded after it (STORE-8)."""
    store = open_here(log)
    before = projections_digest(store.reader.fetch)
    store.close()
    ruin(log, ("UPDATE facts SET body = x'7b7d' WHERE ordinal = 12", ()))
    ruin(log, ("DELETE FROM cells WHERE session = 'ses_b'", ()))
    store = open_here(log)

    rebuilt = refold(store)

    assert rebuilt.kept == ("ses_a",)
    assert [found.ordinal for found in rebuilt.findings] == [12]
    assert projections_digest(store.reader.fetch) == before
    store.close()


@pytest.mark.slow
def test_ten_thousand_facts_are_verified_and_rebuilt(tmp_path: Path) -> None:
    """More instances than stay in memory, so that laying aside and loading again are part of it."""
    log = long_log(tmp_path / "root", runs=420, sessions=2)
    first = verify(log)
    store = open_here(log)
    before = projections_digest(store.reader.fetch)
    empty(store)

    rebuilt = rebuild(store)

    assert (first.status, first.facts) == (Status.CLEAN, 2 * (420 * 12 + 1))
    assert rebuilt.facts == first.facts
    assert projections_digest(store.reader.fetch) == before
    store.close()
