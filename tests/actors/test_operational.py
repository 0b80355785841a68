"""How a run went is told to people, apart from the log and from every decision (LOG-10)."""

import re
from pathlib import Path

import pytest

from crashworthy.actors.backends.contract import (
    Backend,
)
from crashworthy.actors.backends.wrapped import WrappedBackend
from crashworthy.actors.runtime import RunHandle, Runtime
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.model import Outcome
from crashworthy.machines.facts.vocabulary import Kind, RunFailure, RunStatus
from crashworthy.store.audit.report import Status
from crashworthy.store.journal.orders import Append
from crashworthy.store.operational import OperationalKind, OperationalRecord, read_operational
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.verify import verify

from .scene import Scene, call, fail_to_close, full, unreachable_once
from .terminal_rig import HELLO, make_desk

SOURCE = Path(__file__).parents[2] / ".src" / "crashworthy"


def closing_badly(inner: Backend) -> Backend:
    """Return a backend that fails behind its stated finish."""
    return WrappedBackend(inner=inner, through=fail_to_close)


def records(scene: Scene, kind: OperationalKind) -> list[OperationalRecord]:
    read = read_operational(scene.place / "root" / "operational.sqlite3")
    assert read.damaged == 0
    return [one for one in read.records if one.kind == kind]


def details(scene: Scene, kind: OperationalKind, *names: str) -> list[list[Json]]:
    return [[one.details[name] for name in names] for one in records(scene, kind)]


@pytest.mark.proves("LOG-10", "RUN-2")
def test_error_behind_a_stated_finish_is_told_there_and_nowhere_else(scene: Scene) -> None:
    scene.turn(backend=closing_badly)

    assert scene.end().status is RunStatus.COMPLETED
    assert scene.kinds()[Kind.ERROR_NOTED] == 0
    told = details(scene, OperationalKind.LATE_ERROR, "error", "message")
    assert told == [["OSError", "Bearer [redacted] was refused"]]


@pytest.mark.proves("LOG-10")
def test_each_request_and_each_tool_is_timed(scene: Scene) -> None:
    scene.turn([call("bump"), call("fail")], backend=unreachable_once)

    timed = details(scene, OperationalKind.REQUEST_TIMED, "step", "attempt", "ended")
    assert timed == [[1, 1, "network"], [1, 2, "tool_calls"], [2, 1, "stop"]]
    retried = details(scene, OperationalKind.REQUEST_RETRIED, "attempt", "failure", "message")
    assert retried == [[1, "network", "gone"]]
    tools = details(scene, OperationalKind.TOOL_TIMED, "tool", "ended")
    assert sorted(map(str, tools)) == ["['bump', 'ok']", "['fail', 'error']"]
    [executed] = records(scene, OperationalKind.RUN_EXECUTED)
    assert executed.run == scene.facts[0].spine.run
    assert len(records(scene, OperationalKind.HOST_OPENED)) == 1
    assert len(records(scene, OperationalKind.HOST_CLOSED)) == 1


def test_fact_that_found_no_room_at_first_is_told(scene: Scene) -> None:
    async def full_once(store: SqliteStore, order: Append) -> None:
        del scene.intrude["settle"]
        await full(store, order)

    scene.intrude["settle"] = full_once

    scene.turn([call("bump")])

    told = details(scene, OperationalKind.STORE_RETRIED, "code", "over")
    assert told == [["storage_full", False], ["storage_full", True]]


def test_run_that_ends_for_want_of_room_says_which_code_that_was(scene: Scene) -> None:
    scene.intrude["dispatch"] = full

    scene.turn([call("bump")])

    assert scene.end().failure is RunFailure.STORAGE
    assert details(scene, OperationalKind.STORE_FAILED, "code") == [["storage_full"]]


@pytest.mark.proves("LOG-10")
@pytest.mark.parametrize("spoiled", ["garbage", "a directory"])
def test_book_that_cannot_be_used_costs_the_run_nothing(scene: Scene, spoiled: str) -> None:
    scene.turn([call("bump")])
    book = scene.place / "root" / "operational.sqlite3"
    book.unlink()
    if spoiled == "garbage":
        book.write_bytes(b"garbage" * 1_000)
        book.chmod(0o600)
    else:
        (book / "inside").mkdir(parents=True)
        book.chmod(0o700)

    scene.turn([call("bump")])

    assert scene.end().status is RunStatus.COMPLETED
    assert [fact.actions.result for fact in scene.facts if isinstance(fact.actions, Outcome)]
    assert verify(scene.place / "root").status is Status.CLEAN
    if spoiled == "garbage":
        assert records(scene, OperationalKind.RUN_EXECUTED)


def test_api_reads_the_records_of_one_run(scene: Scene) -> None:
    found: list[str] = []

    async def meanwhile(runtime: Runtime, run: RunHandle) -> None:
        await run.wait()
        found.extend(one.kind for one in runtime.operational(run.id).records)

    scene.turn(meanwhile=meanwhile)

    assert "request_timed" in found
    assert "host_opened" not in found


def test_command_shows_them_and_survives_their_damage(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    desk.run(desk.script(HELLO))

    shown = desk.ask("events", "--operational")
    assert shown.status == 0
    assert re.search(r"^host\n.* host_opened ", shown.out, re.MULTILINE)
    assert re.search(r"^run run_.*\n.* request_timed .*ended=stop", shown.out, re.MULTILINE)
    listed = desk.ask("events", "--operational", "--json").lines()
    assert all(set(one) == {"run", "id", "ts", "kind", "details"} for one in listed)
    run = str(next(one["run"] for one in listed if one["run"]))
    of_run = desk.ask("events", "--operational", "--json", run).lines()
    assert of_run == [one for one in listed if one["run"] == run]
    [book] = tmp_path.rglob("operational.sqlite3")
    book.write_bytes(b"garbage" * 1_000)
    damaged = desk.ask("events", "--operational")
    assert (damaged.status, damaged.out) == (0, "")
    assert "1 operational record unreadable" in damaged.err


def test_nothing_that_decides_reads_them() -> None:
    """LOG-10: who may read them is who shows them."""
    readers = {
        str(path.relative_to(SOURCE))
        for folder in ("actors", "store", "machines", "crashlab", "spec")
        for path in (SOURCE / folder).rglob("*.py")
        if "read_operational" in path.read_text(encoding="utf-8")
    }

    assert readers == {
        "actors/cli/events.py",
        "actors/runtime.py",
        "store/checkup.py",
        "store/operational.py",
    }
