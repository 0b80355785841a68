"""What the lab noted of a host's life is held against the host's table, word by word."""

from pathlib import Path

import pytest

from crashworthy.crashlab.turnstile import Turnstile
from crashworthy.crashlab.workload import open_stage, read_acks
from crashworthy.crashlab.workloads.host_lives import is_owned, misconduct, unready_work
from crashworthy.crashlab.workloads.runtime_acts import rest
from crashworthy.crashlab.workloads.runtime_life import Life, live
from crashworthy.crashlab.workloads.runtime_scenes import TEXT_TURN, begin
from crashworthy.crashlab.workloads.runtime_views import log_of
from crashworthy.store.ownership.lock import take_owner_lock


@pytest.fixture
def told(tmp_path: Path) -> list[str]:
    """Live one life on a new root, and return everything that was noted."""
    stage = open_stage(
        home=tmp_path, seed=1, turnstile=Turnstile(target=None, note_path=str(tmp_path / "note"))
    )

    async def act(life: Life) -> None:
        assert is_owned(stage.root)
        await begin(life, "say something")
        await rest(life.runtime)

    live(stage, TEXT_TURN.tools, TEXT_TURN.script, act)
    assert not is_owned(stage.root)
    return list(read_acks(tmp_path))


def test_life_that_kept_to_its_table_is_noted_from_end_to_end(
    tmp_path: Path, told: list[str]
) -> None:
    log = log_of(tmp_path / "root")
    notes = [note for note in told if note.startswith("host ")]

    head = log[-1].place.ordinal
    assert notes == [
        "host opens",
        "host ready 1 0",
        f"host drains 1 {head}",
        "host over Closed free 0",
    ]
    assert [*misconduct(notes), *unready_work(log, notes)] == []


@pytest.mark.parametrize(
    ("note", "promise"),
    [
        ("host loose anchor.synced", "RUNTIME.I9"),
        ("host over Closed free 1", "RUNTIME.I9"),
        ("host over Closed held 0", "RUNTIME.I10"),
        ("host over - held 0", "RUNTIME.I10"),
        ("host over Draining free 0", "RUNTIME.I10"),
    ],
)
def test_end_that_leaves_something_behind_is_found(note: str, promise: str) -> None:
    assert [finding.promise for finding in misconduct([note])] == [promise]


def test_work_of_a_host_that_was_never_ready_is_found(tmp_path: Path, told: list[str]) -> None:
    del told
    found = {finding.detail for finding in unready_work(log_of(tmp_path / "root"), ())}

    assert found == {
        "session_opened at 1 before its host was ready",
        "run_opened at 3 before its host was ready",
        "request_dispatched at 5 before its host was ready",
    }


def test_lock_is_owned_as_long_as_anybody_holds_it(tmp_path: Path) -> None:
    assert not is_owned(tmp_path)
    lock = take_owner_lock(tmp_path / "owner.lock")
    assert is_owned(tmp_path)
    assert is_owned(tmp_path)
    lock.release()
    assert not is_owned(tmp_path)
