"""The owner alone moves the WAL, and says when it cannot."""

import sqlite3

import pytest

from crashworthy.store import checkpoint

from .rig import Rig


def test_passive_moves_everything_when_nobody_reads(rig: Rig) -> None:
    rig.writer.submit_sync(rig.append("a"))
    rig.writer.checkpointer.passive()
    condition = rig.writer.checkpointer.condition
    assert condition.wal_bytes > 0
    assert (condition.pending_bytes, condition.over_bound, condition.failure) == (0, False, None)


def test_passive_reports_what_a_reader_holds_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "WAL_BYTES_BOUND", 100_000)
    reader = sqlite3.connect(rig.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM rows").fetchall()
    for number in range(40):
        rig.writer.submit_sync(rig.append(f"{number}" * 1000))
    rig.writer.checkpointer.passive()
    condition = rig.writer.checkpointer.condition
    reader.close()
    assert condition.pending_bytes > 0
    assert condition.over_bound


def test_checkpoint_is_due_when_the_wal_is_past_its_size(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "WAL_BYTES_SOFT", 50_000)
    rig.writer.checkpointer.passive()
    assert not rig.writer.checkpointer.due()
    for number in range(40):
        rig.batcher.door.transact(rig.append(f"{number}" * 1000))
    assert rig.writer.checkpointer.due()
    rig.writer.checkpointer.passive()
    assert not rig.writer.checkpointer.due()


def test_checkpoint_is_due_when_many_commits_reused_a_wal(rig: Rig) -> None:
    """A used WAL file starts over without shrinking, so its size alone would say nothing."""
    for _ in range(checkpoint.COMMITS_MAX):
        rig.writer.checkpointer.committed()
    assert rig.writer.checkpointer.due()


def test_final_leaves_an_empty_wal_and_a_synced_anchor(rig: Rig) -> None:
    seen: list[str] = []
    rig.anchor.probe = seen.append
    rig.writer.submit_sync(rig.append("a"))
    rig.writer.checkpointer.final()
    assert rig.writer.checkpointer.wal.stat().st_size == 0
    assert seen == ["anchor.written", "anchor.synced"]


def test_failure_is_a_condition_and_costs_no_fact(rig: Rig) -> None:
    rig.writer.submit_sync(rig.append("a"))
    rig.faults.plan("before", "PRAGMA wal_checkpoint", "SQLITE_IOERR_FSYNC")
    rig.writer.checkpointer.passive()
    failure = rig.writer.checkpointer.condition.failure
    assert failure is not None
    assert failure.stage == "checkpoint"
    assert rig.writer.submit_sync(rig.append("b")) == 2
