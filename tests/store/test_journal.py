"""The journal on SQLite: constant work, state that is only a cache, and both doors (STORE-4)."""

import sqlite3
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar, cast

import anyio
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.codes import Code, CrashworthyError
from crashworthy.machines.facts.ids import RootId
from crashworthy.machines.facts.model import SessionAdopted, VerdictGiven, WorkspaceAttached
from crashworthy.machines.facts.vocabulary import Author, Finish, Intent, Kind, RunFailure, Verdict
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.recovery.runs import Repair
from crashworthy.store.connect import Connector
from crashworthy.store.journal import writers
from crashworthy.store.journal.append import Appended
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.recovery import RepairRun, unfinished_runs
from crashworthy.store.journal.starts import QueueMessage
from crashworthy.store.runner import ThreadRunner
from crashworthy.store.sql import SqlValue
from crashworthy.store.sqlite import SqliteStore, open_store

from .conformance.conftest import die
from .folded import rows_differing_from_fold
from .shared import share_store
from .tale import ROOT, Tale, ids_of, open_here, whole_run


class CountingConnection(sqlite3.Connection):
    """Keeps the statements that went through it."""

    seen: ClassVar[list[str]]

    def execute(self, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
        self.seen.append(sql)
        return super().execute(sql, cast("Sequence[SqlValue]", parameters))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def store(place: Path) -> Generator[SqliteStore]:
    CountingConnection.seen = []
    opened = open_here(place, connector=Connector(factory=CountingConnection))
    yield opened
    opened.close()


@pytest.fixture
def tale(store: SqliteStore) -> Tale:
    return Tale(store=store).begun()


def statements(tale: Tale, order: Order[object]) -> int:
    """Count the statements of one order, its transaction included."""
    CountingConnection.seen.clear()
    tale.do(order)
    return len(CountingConnection.seen)


# --- constant work ---


def test_number_of_statements_is_known_and_does_not_grow_with_history(tale: Tale) -> None:
    """BEGIN, lease, savepoint, session, ids, head, cells, last, rows, cells, release, COMMIT."""

    def counts() -> dict[str, int]:
        found = {"open": statements(tale, tale.run_order())}
        call = tale.call(1, 1)
        found["request"] = statements(tale, writers.dispatch_request(tale.request(1)))
        step = writers.settle_step(tale.text(1), call, tale.settle(1, Finish.TOOL_CALLS))
        found["step"] = statements(tale, step)
        found["T1"] = statements(tale, writers.dispatch(tale.dispatch(call)))
        found["T2"] = statements(tale, writers.settle(tale.outcome(call)))
        tale.do(writers.dispatch_request(tale.request(2)))
        found["text"] = statements(tale, writers.add_content(tale.text(2)))
        tale.do(writers.settle_step(tale.settle(2)))
        found["end"] = statements(tale, tale.end_order())
        return found

    early = counts()
    for _ in range(20):
        whole_run(tale)

    assert early == {
        "open": 19,
        "request": 14,
        "step": 21,
        "T1": 14,
        "T2": 16,
        "text": 13,
        "end": 23,
    }
    assert counts() == early


def vm_steps(store: SqliteStore, work: Callable[[], object]) -> int:
    """Count the instructions of SQLite's machine that some work takes."""
    steps = 0

    def count() -> int:
        nonlocal steps
        steps += 1
        return 0

    connection = store.writer.batcher.door.connection
    connection.set_progress_handler(count, 1)
    work()
    connection.set_progress_handler(None, 1)
    return steps


def test_work_of_a_unit_grows_with_neither_history_nor_sessions_nor_claims(
    store: SqliteStore,
) -> None:
    """STORE-4, counted below Python; what is measured is not durable, so syncs may be left out."""
    store.writer.batcher.door.connection.execute("PRAGMA synchronous = OFF")

    def told(number: int) -> Tale:
        tale = Tale(store=store, session=f"ses_{number}", number=number * 10, ids=number * 1000)
        tale.begun().running().step(1)
        tale.do(tale.end_order(RunFailure.STEP_LIMIT))
        return tale

    def work(number: int) -> tuple[int, int]:
        tale = told(number)
        order = tale.claim_order()
        claim = vm_steps(store, lambda: tale.do(order))
        tale.number += 1
        tale.running()
        tale.do(writers.dispatch_request(tale.request(1)))
        text = writers.add_content(tale.text(1))
        return claim, vm_steps(store, lambda: tale.do(text))

    early = work(1)
    for number in range(2, 60):
        told(number).claimed()
    later = work(60)

    assert all(last <= 1.15 * first for first, last in zip(early, later, strict=True))


def test_every_statement_of_an_append_uses_an_index(tale: Tale, place: Path) -> None:
    """A scan of a table of the log would make the cost of a write grow with it."""
    CountingConnection.seen.clear()
    whole_run(tale)
    tale.do(QueueMessage(fact=tale.queued("msg_1", Intent.FOLLOW_UP)))
    tale.claimed()
    words = ("SELECT", "UPDATE", "DELETE")
    asked = {sql for sql in CountingConnection.seen if sql.startswith(words)}
    scans: list[str] = []
    with closing(sqlite3.connect(place / "ledger.sqlite3")) as db:
        for sql in asked:
            plan = db.execute(f"EXPLAIN QUERY PLAN {sql}", [None] * sql.count("?")).fetchall()
            scans += [f"{row[3]}: {sql}" for row in plan if str(row[3]).startswith("SCAN")]

    # The newest row of a table is its last one, and one constant row is no table at all.
    known = ("ORDER BY ordinal DESC LIMIT 1", "ORDER BY number DESC LIMIT 1", "SELECT ? AS session")
    assert [scan for scan in scans if not any(word in scan for word in known)] == []


# --- the stored state is a cache ---


def test_live_rows_are_the_fold_of_the_log(tale: Tale, store: SqliteStore) -> None:
    attached = WorkspaceAttached(workspace="ws_1", path="notes")
    here = [
        compose.control(
            tale.control, tale.fresh("fact"), Kind.WORKSPACE_ATTACHED, attached, Author.HOST
        )
        for _ in range(2)
    ]
    # The second changes nothing: one unit here, two for a fold, and the same row from both.
    tale.do(writers.change_session(*here))
    whole_run(tale)
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    tale.do(writers.ask(tale.ask(call)[1]))
    tale.do(QueueMessage(fact=tale.queued("msg_1", key="k", stated_input="1" * 64)))

    assert rows_differing_from_fold(store) == []
    assert store.mended == []


def test_fold_sees_authority_as_of_each_fact(tale: Tale, place: Path) -> None:
    """A verdict was admitted before the claim that seals its run: a fold must see it unsealed."""
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    tale.do(writers.dispatch(tale.dispatch(call)))
    assert isinstance(tale.store, SqliteStore)
    die(tale.store)
    tale.store = later = open_here(place)
    assert later.write(RepairRun(run="run_1", now_ts=0)) is Repair.LOST
    given = VerdictGiven(run="run_1", generation=1, verdict=Verdict.HAPPENED)
    tale.do(
        writers.give_verdict(
            compose.verdict_given(tale.control, tale.fresh("fact"), tale.operation(1, 1), given)
        )
    )
    claim = tale.claimed()
    assert rows_differing_from_fold(later) == []

    tale.do(tale.start_order(claim))

    assert rows_differing_from_fold(later) == []
    later.close()


def test_model_step_is_one_commit_and_a_tool_call_two_more(tale: Tale) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.do(writers.dispatch_request(tale.request(1)))

    def commits(*orders: Order[object]) -> int:
        CountingConnection.seen.clear()
        for order in orders:
            tale.do(order)
        return CountingConnection.seen.count("COMMIT")

    settled = tale.settle(1, Finish.TOOL_CALLS)
    assert commits(writers.settle_step(tale.text(1), call, settled)) == 1
    tool_call = (writers.dispatch(tale.dispatch(call)), writers.settle(tale.outcome(call)))
    assert commits(*tool_call) == 2


SPOILS: Mapping[str, str] = {
    "another reducer": "UPDATE cells SET reducer = 0 WHERE machine = 'run'",
    "another head": "UPDATE cells SET moved = moved - 1 WHERE machine = 'run'",
    "no JSON": "UPDATE cells SET cell = x'7b' WHERE machine = 'run'",
    "no such phase": "UPDATE cells SET cell = x'7b7d' WHERE machine = 'request'",
}


@pytest.mark.parametrize("spoil", SPOILS.values(), ids=SPOILS.keys())
def test_stored_state_that_cannot_be_used_is_folded_anew_and_reported(
    tale: Tale, store: SqliteStore, place: Path, spoil: str
) -> None:
    tale.running().step(1)
    tale.do(QueueMessage(fact=tale.queued("msg_1", Intent.STEER)))
    tale.do(writers.steer(tale.taken("msg_1"), tale.steering("msg_1")))
    tale.do(writers.dispatch_request(tale.request(2)))
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute(spoil)

    tale.do(writers.add_content(tale.text(2)))
    tale.do(writers.settle_step(tale.settle(2)))

    assert store.mended == ["ses_1"]
    assert rows_differing_from_fold(store) == []


def test_looking_at_unusable_state_writes_nothing(
    tale: Tale, store: SqliteStore, place: Path
) -> None:
    tale.running()
    expected = tale.view(lambda view: view.cell(Machine.RUN, "run_1"))
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute(SPOILS["another reducer"])
        assert store.read(lambda view: view.cell(Machine.RUN, "run_1")) == expected
        assert db.execute("SELECT reducer FROM cells WHERE machine = 'run'").fetchall() == [(0,)]


def test_stored_fact_that_the_tables_refuse_is_no_evidence(
    tale: Tale, store: SqliteStore, place: Path
) -> None:
    """A fold over damaged facts refuses the unit instead of inventing a state."""
    tale.running().step(1)
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute("DELETE FROM facts WHERE kind = 'request_dispatched'")
        db.execute(SPOILS["another reducer"])

    with pytest.raises(CrashworthyError) as caught:
        tale.do(writers.add_content(tale.text(1)))

    assert caught.value.code is Code.FOLD_REFUSED
    assert store.heads.now == store.read(lambda view: view.last())


def test_run_whose_newest_fact_is_damaged_can_still_be_ended(tale: Tale, place: Path) -> None:
    """STORE-8: the end needs that fact's time and nothing else; it reads as 0 for everyone."""
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute("UPDATE facts SET body = x'7b' WHERE kind = 'request_dispatched'")

    ended = tale.do(tale.end_order(RunFailure.INTERNAL))

    assert [place.kind for place in ended.places] == [Kind.REQUEST_SETTLED, Kind.RUN_ENDED]
    closing_fact = tale.view(lambda view: view.fact(ended.places[0].id))
    assert closing_fact is not None
    assert closing_fact.event().ts == 0


def test_run_whose_head_is_of_an_unknown_kind_is_read_only(tale: Tale, place: Path) -> None:
    """LOG-2: a newer build may have written it, so it is neither skipped nor called damage."""
    tale.running()
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute("UPDATE facts SET kind = 'run_teleported' WHERE seq = 2 AND run = 'run_1'")

    with pytest.raises(CrashworthyError) as caught:
        tale.do(writers.dispatch_request(tale.request(1)))

    assert caught.value.code is Code.UNKNOWN_FACT


def test_imported_session_is_left_alone_until_a_person_adopts_it(tale: Tale, place: Path) -> None:
    """STORE-12: its open run is unfinished elsewhere; adoption makes it ours, to be closed."""
    tale.running()
    assert isinstance(tale.store, SqliteStore)
    die(tale.store)
    with closing(sqlite3.connect(place / "ledger.sqlite3", isolation_level=None)) as db:
        db.execute("INSERT INTO imports VALUES ('ses_1', 'root_other', 3)")
    tale.store = later = open_here(place)

    assert later.read(unfinished_runs) == ()
    with pytest.raises(CrashworthyError) as caught:
        tale.do(QueueMessage(fact=tale.queued("msg_1")))
    assert caught.value.code is Code.SESSION_FOREIGN
    adopted = SessionAdopted(root="root_other", chain="0" * 64)
    at, name = tale.control, tale.fresh("fact")
    tale.do(writers.change_session(compose.control(at, name, Kind.SESSION_ADOPTED, adopted)))

    assert later.read(unfinished_runs) == ("run_1",)
    assert tale.do(RepairRun(run="run_1", now_ts=0)) is Repair.RELEASE
    whole_run(tale)
    assert rows_differing_from_fold(later) == []
    later.close()


# --- both doors ---


def test_many_tasks_share_commits_and_each_gets_its_own_answer(place: Path) -> None:
    async def main() -> None:
        store = open_store(
            place,
            host="host_test",
            since="now",
            new_root_id=lambda: RootId(ROOT),
            runner=ThreadRunner(),
        )
        answers: dict[str, Appended] = {}
        refusals: list[Code] = []

        async def submit(fact: str, order: Order[Appended]) -> None:
            answers[fact] = await store.submit(order)

        async def misfit() -> None:
            try:
                await store.submit(tale_misfit)
            except CrashworthyError as error:
                refusals.append(error.code)

        async with anyio.create_task_group() as owner:
            await owner.start(store.drive)
            tale = Tale(store=store)
            await store.submit(tale.session_order())
            await store.submit(tale.run_order())
            await store.submit(writers.dispatch_request(tale.request(1)))
            tale_misfit = writers.settle_step(tale.settle(7))
            async with anyio.create_task_group() as tasks:
                for _ in range(40):
                    fact = tale.text(1)
                    tasks.start_soon(submit, fact.id, writers.add_content(fact))
                tasks.start_soon(misfit)
            await store.aclose()
        assert len({answer.places[0].ordinal for answer in answers.values()}) == 40
        assert all(answer.places[0].id == fact for fact, answer in answers.items())
        assert refusals == [Code.REQUEST_NOT_OPEN]

    anyio.run(main, backend="trio")
    again = open_here(place)
    assert len(ids_of(again)) == 44
    assert again.owner.epoch == 2
    assert again.read(lambda view: view.gone()) == 1
    again.close()


# --- the races' door: two writers in one epoch ---


def test_two_writers_of_one_epoch_meet_in_the_transaction(
    tale: Tale, store: SqliteStore, place: Path
) -> None:
    """What one commits the other sees at once: heads and state are read, never remembered."""
    other = Tale(store=share_store(place), number=1, ids=50_000)
    tale.running()
    request = tale.request(1)
    assert tale.do(writers.dispatch_request(request)).created
    assert not other.do(writers.dispatch_request(request)).created
    other.do(writers.settle_step(other.text(1), other.settle(1)))

    assert tale.do(tale.end_order()).created
    with pytest.raises(CrashworthyError) as caught:
        other.do(other.end_order(RunFailure.INTERNAL))

    assert caught.value.code is Code.RUN_SEALED
    assert rows_differing_from_fold(store) == []
    other.store.close()
