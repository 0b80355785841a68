"""A unit that fails at any statement leaves nothing behind and can be told again (STORE-2)."""

import sqlite3
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import ClassVar, cast

import pytest

from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.machines.facts.vocabulary import Finish, Observation, RecoveryMode, RunFailure
from crashworthy.store.connect import Connector
from crashworthy.store.journal import writers
from crashworthy.store.journal.ends import EndRun
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.recovery import Seen, SettleLeft
from crashworthy.store.sql import SqlValue
from crashworthy.store.sqlite import SqliteStore

from .conformance.conftest import die
from .conformance.test_recovery import DIGEST, with_evidence
from .folded import rows_differing_from_fold
from .logs import database
from .rig import sqlite_error
from .tale import Tale, open_here


class FailingConnection(sqlite3.Connection):
    """Fails once, before the statement whose turn it is."""

    left: ClassVar[int] = 0

    def execute(self, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
        type(self).left -= 1
        if self.left == 0:
            raise sqlite_error("SQLITE_FULL")
        return super().execute(sql, cast("Sequence[SqlValue]", parameters))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def tale(place: Path) -> Generator[Tale]:
    tale = Tale(store=own(place)).begun()
    yield tale
    tale.store.close()


def own(place: Path) -> SqliteStore:
    FailingConnection.left = 0
    return open_here(place, connector=Connector(factory=FailingConnection))


def everything(place: Path) -> dict[str, list[tuple[SqlValue, ...]]]:
    """Read all rows of all tables, as a process that opens the file now would."""
    with closing(sqlite3.connect(database(place))) as db:
        names = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: db.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()  # noqa: S608 - names of the schema
            for (name,) in names
        }


# --- units, each with what comes before it ---


def step(tale: Tale) -> Order[object]:
    tale.running().do(writers.dispatch_request(tale.request(1)))
    calls = tale.call(1, 1), tale.call(1, 2)
    return writers.settle_step(tale.text(1), *calls, tale.settle(1, Finish.TOOL_CALLS))


def t1_with_a_grant(tale: Tale) -> Order[object]:
    call = tale.running().call(1, 1)
    ask, opened = tale.step(1, call).ask(call)
    tale.do(writers.ask(opened))
    tale.do(writers.answer(tale.answer(ask)))
    return writers.dispatch(tale.dispatch(call, ask=ask))


def t2(tale: Tale) -> Order[object]:
    call = tale.running().call(1, 1)
    tale.step(1, call).do(writers.dispatch(tale.dispatch(call)))
    return writers.settle(tale.outcome(call))


def end_over_an_open_request(tale: Tale) -> Order[object]:
    tale.running().do(writers.dispatch_request(tale.request(1)))
    return EndRun(end=tale.failed(RunFailure.BACKEND_FAILED))


def bundle(tale: Tale, saw: Observation = Observation.MATCHES_EXPECTED_STATE) -> Order[object]:
    call = tale.running().call(1, 1)
    dispatch = with_evidence(tale.dispatch(call, RecoveryMode.RECONCILE))
    tale.step(1, call).do(writers.dispatch(dispatch))
    succeed(tale)
    seen = Seen(observation=saw, observed=DIGEST)
    return SettleLeft(operation=tale.operation(1, 1), seen=seen)


def parked(tale: Tale) -> Order[object]:
    return bundle(tale, Observation.DIVERGED)


def claim(tale: Tale) -> Order[object]:
    tale.running().step(1).do(tale.end_order(RunFailure.STEP_LIMIT))
    return tale.claim_order()


def start(tale: Tale) -> Order[object]:
    tale.do(claim(tale))
    answer = tale.view(lambda view: view.claim_on(tale.run))
    assert answer is not None
    return tale.start_order(answer)


def succeed(tale: Tale) -> None:
    """Let the owner die, and the next one take over."""
    store = tale.store
    assert isinstance(store, SqliteStore)
    assert store.tenure is not None
    place = store.tenure.root.path
    die(store)
    tale.store = own(place)


UNITS: tuple[Callable[[Tale], Order[object]], ...] = (
    step,
    t1_with_a_grant,
    t2,
    end_over_an_open_request,
    bundle,
    parked,
    claim,
    start,
)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.__name__)
@pytest.mark.proves("STORE-2", "STORE-6", "OP-4")
def test_unit_that_fails_at_any_statement_leaves_nothing_and_can_be_told_again(
    tale: Tale, place: Path, unit: Callable[[Tale], Order[object]]
) -> None:
    order = unit(tale)
    before = everything(place)
    store = tale.store
    assert isinstance(store, SqliteStore)
    failures, done = 0, None
    while done is None:
        FailingConnection.left = failures + 1
        try:
            done = tale.do(order)
        except CrashworthyError:
            failures += 1
            assert everything(place) == before
            store.writer.batcher.door.probe_commit()  # off probation, so that none is spared
    FailingConnection.left = 0

    assert failures > 10, "not only the first statement failed"
    after = everything(place)
    assert after != before
    again = tale.do(order)
    assert everything(place) == after, "an exact retry is success without effect"
    assert (getattr(done, "created", True), getattr(again, "created", False)) == (True, False)
    assert rows_differing_from_fold(store) == []
