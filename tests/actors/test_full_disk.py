"""A run on a full disk waits, says so once, and loses nothing while its process lives (STORE-9)."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import pytest
import trio

from crashworthy.actors import host
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.vocabulary import RunFailure
from crashworthy.store.audit.report import Status
from crashworthy.store.errors import StorageFullError, StorageIoError, StoreOnProbationError
from crashworthy.store.journal.orders import Append, Order
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.verify import verify

from .scene import SUBMIT, Scene
from .terminal_rig import ASKS, HELLO, Desk, Typed, make_desk

T = TypeVar("T")

_FILLS = """
[[turn]]
[[turn.step]]
event = [
  { call = "shell", args = { command = "echo ran >> ran.txt; \
      dd if=/dev/zero of=../filler bs=4096 2>/dev/null; echo filled" } },
  { finish = "tool_calls" },
]
[[turn.step]]
event = [{ text = "There was room again." }, { finish = "stop" }]
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Desk]:
    """Make a desk on a disk of its own, so small that one command fills it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root of a Linux machine can make a small disk")
    words = ("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(tmp_path))
    if subprocess.run(words, check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine mounts nothing")
    desk = make_desk(tmp_path)
    assert desk.run(desk.script(HELLO)).status == 0
    # A reader of the database as it is now lets no checkpoint pass. Else a WAL that was emptied
    # meanwhile would have room for an outcome, however full the disk is.
    with contextlib.closing(sqlite3.connect(desk.root / "ledger.sqlite3")) as reader:
        reader.execute("BEGIN")
        assert reader.execute("SELECT count(*) FROM facts").fetchone() != (0,)
        yield desk
    desk.clear()
    subprocess.run(("umount", "-l", str(tmp_path)), check=True)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def _notices(lines: list[dict[str, Json]]) -> list[tuple[Json, Json]]:
    return [(line["code"], line["over"]) for line in lines if line["type"] == "notice"]


def _until_notice(typed: Typed) -> None:
    assert any(line["type"] == "notice" for line in typed.lines())


def test_full_disk_is_told_once_and_the_run_goes_on_when_there_is_room(small_disk: Desk) -> None:
    typed = small_disk.start("run", "Go.", "--yes", "--script", small_disk.script(_FILLS))
    _until_notice(typed)
    (small_disk.home / "filler").unlink()
    rest = typed.end()

    assert rest.status == 0, rest.err
    lines = [*typed.seen, *rest.lines()]
    assert _notices(lines) == [("storage_full", False), ("storage_full", True)]
    assert lines[-1]["text"] == "There was room again."
    assert (small_disk.workspace / "ran.txt").read_text("utf-8") == "ran\n"
    assert verify(small_disk.root).status is Status.CLEAN


def test_interrupt_on_a_full_disk_is_told_and_kept_until_there_is_room(small_disk: Desk) -> None:
    """RUN-4: the intent is durable first, and there is no room for it."""
    typed = small_disk.start("run", "Go.", "--yes", "--script", small_disk.script(_FILLS))
    _until_notice(typed)
    typed.signal(signal.SIGINT)
    told = typed.wait_for_words("cannot be stopped while its log cannot be written")
    (small_disk.home / "filler").unlink()
    rest = typed.end()

    assert "Traceback" not in told + rest.err
    assert (rest.status, rest.result()["source"]) in ((1, "user"), (0, None))
    assert verify(small_disk.root).status is Status.CLEAN


def test_second_interrupt_on_a_full_disk_leaves_what_the_next_owner_reads(
    small_disk: Desk,
) -> None:
    typed = small_disk.start("run", "Go.", "--yes", "--script", small_disk.script(_FILLS))
    _until_notice(typed)
    typed.signal(signal.SIGINT)
    typed.wait_for_words("cannot be stopped")
    typed.signal(signal.SIGINT)
    assert typed.end().status == -signal.SIGINT
    (small_disk.home / "filler").unlink()

    assert small_disk.ask("stop", str(typed.seen[0]["run"])).status == 0
    assert "unknown" in small_disk.ask("show").out
    assert verify(small_disk.root).status is Status.CLEAN


# --- where no small disk can be made ---


def test_each_reason_to_wait_is_told_once_to_people_and_programs(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = StorageFullError(stage="commit", cause="SQLITE_FULL")
    failing = StorageIoError(stage="statement", cause="SQLITE_IOERR")
    script = desk.script(ASKS)

    _refuse_outcomes(monkeypatch, full, full, failing)
    lines = desk.run(script, "--yes").lines()
    assert _notices(lines) == [
        ("storage_full", False),
        ("storage_io", False),
        ("storage_io", True),
    ]
    assert lines[-1]["state"] == "completed"

    _refuse_outcomes(monkeypatch, full, full)
    place = ("--workspace", str(desk.workspace), "--script", script)
    told = desk.ask("run", "Go.", "--yes", *place)
    assert told.status == 0
    assert told.err.count("waiting for room on the disk [storage_full]") == 1
    assert told.err.count("no longer waiting for room on the disk") == 1
    assert "waiting" not in told.out, "what somebody pipes on is the run alone"


def _refuse_outcomes(monkeypatch: pytest.MonkeyPatch, *errors: Exception) -> None:
    left = list(errors)

    async def submit(store: SqliteStore, order: Order[T]) -> T:
        if getattr(order, "writer", None) == "settle" and left:
            raise left.pop(0)
        return await SUBMIT(store, order)

    monkeypatch.setattr(SqliteStore, "submit", submit)


def test_request_that_a_full_disk_forbids_ends_the_run_as_storage(scene: Scene) -> None:
    """STORE-9: after a COMMIT that found no room no request leaves; that is no fault of ours."""

    async def refuse(_store: SqliteStore, _order: Append) -> None:
        await trio.lowlevel.checkpoint()
        raise StoreOnProbationError(probe_code=StorageFullError.code)

    scene.intrude["dispatch_request"] = refuse
    scene.turn()
    assert scene.end().failure is RunFailure.STORAGE


def test_worker_that_cannot_be_recorded_gets_no_order(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OWN-2: no successor could end it. The call is not started, which is known for certain."""
    _refuse_records(monkeypatch, "record_worker")
    lines = desk.run(desk.script(ASKS), "--yes").lines()
    assert lines[-1]["state"] == "completed"
    assert lines[-1]["text"] == "Then not."
    assert not (desk.workspace / "ran.txt").exists()
    assert "worker_unavailable" in desk.ask("show").out


def test_end_of_a_worker_that_cannot_be_recorded_costs_no_outcome(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    _refuse_records(monkeypatch, "record_worker_ended")
    ended = desk.run(desk.script(ASKS), "--yes")
    assert (ended.status, ended.result()["text"]) == (0, "It is done.")
    assert verify(desk.root).status is Status.CLEAN


def _refuse_records(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def refuse(*_record: object) -> None:
        raise StorageFullError(stage="statement", cause="SQLITE_FULL")

    monkeypatch.setattr(host, name, refuse)
