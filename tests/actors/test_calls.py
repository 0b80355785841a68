"""One call: durable before it runs, settled before it is shown, refused without a start (OP-1)."""

from collections.abc import Mapping

import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.model import Outcome
from crashworthy.machines.facts.vocabulary import Kind, OutcomeState
from crashworthy.store.journal.ends import Stop
from crashworthy.store.journal.orders import Append
from crashworthy.store.sqlite import SqliteStore

from .scene import SUBMIT, Event, Intrude, Scene, call, full


@pytest.mark.proves("OP-1", "STORE-2")
def test_call_is_durable_before_it_runs_and_settled_before_it_is_shown(scene: Scene) -> None:
    scene.turn([call("bump")])

    assert scene.said == [
        "dispatch durable",
        "dispatched shown",
        "runs",
        "settle durable",
        "outcome shown",
    ]
    assert scene.kinds()[Kind.RUN_ENDED] == 1


def test_each_fact_is_shown_once_as_it_is_stored(scene: Scene) -> None:
    scene.turn([call("bump"), call("fail", word="why")])

    shown = [fact for fact in scene.shown if fact.spine == scene.facts[0].spine]
    assert len(shown) == len(scene.facts)
    assert {fact.id: fact for fact in shown} == {fact.id: fact for fact in scene.facts}


async def by_another_hand(store: SqliteStore, order: Append) -> None:
    assert (await SUBMIT(store, order)).created


async def stop_first(store: SqliteStore, order: Append) -> None:
    at = compose.At(spine=order.facts[0].spine, ts=order.facts[0].ts)
    await SUBMIT(store, Stop(fact=compose.stop_requested(at, "fact_stop", "ui")))


@pytest.mark.parametrize(
    ("intrude", "dispatched"),
    [(full, 0), (by_another_hand, 1), (stop_first, 0)],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.proves("OP-1", "RUN-4")
def test_tool_does_not_run_unless_its_own_dispatch_made_it_durable(
    scene: Scene, intrude: Intrude, dispatched: int
) -> None:
    scene.intrude["dispatch"] = intrude

    scene.turn([call("bump")])

    assert "runs" not in scene.said
    assert scene.kinds()[Kind.DISPATCHED] == dispatched
    assert scene.kinds()[Kind.OUTCOME] == 0


@pytest.mark.proves("STORE-9")
def test_outcome_is_not_shown_before_it_could_be_stored(scene: Scene) -> None:
    left = ["once", "twice"]

    async def full_for_a_while(store: SqliteStore, order: Append) -> None:
        assert "outcome shown" not in scene.said
        if left:
            left.pop()
            await full(store, order)

    scene.intrude["settle"] = full_for_a_while

    scene.turn([call("bump")])

    assert left == []
    assert scene.said.count("runs") == 1
    assert scene.said[-2:] == ["settle durable", "outcome shown"]


REFUSED: Mapping[str, Event] = {
    "tool_unknown": call("nothing"),
    "arguments_invalid": call("bump", word=1),
    "approval_refused": call("deploy", word="x"),
    "sandbox_boundary_required": call("read", path="/etc/hostname"),
    "path_denied": call("read", path="../root/ledger.sqlite3"),
}


@pytest.mark.proves("OP-2")
def test_refused_calls_are_told_not_started_beside_one_that_runs(scene: Scene) -> None:
    scene.turn([*REFUSED.values(), call("bump", word="a")])

    outcomes = [fact for fact in scene.facts if isinstance(fact.actions, Outcome)]
    by_call = {fact.refs.operation: fact for fact in outcomes}
    calls = [fact for fact in scene.facts if fact.kind is Kind.CALL]
    assert len(outcomes) == len(by_call) == len(calls)
    told = [by_call[fact.refs.operation] for fact in calls]
    codes = [getattr(fact.content, "result", None) for fact in told[:-1]]
    assert [isinstance(code, dict) and code["code"] for code in codes] == list(REFUSED)
    assert {getattr(fact.actions, "state", None) for fact in told[:-1]} == {
        OutcomeState.NOT_STARTED
    }
    [dispatched] = [fact for fact in scene.facts if fact.kind is Kind.DISPATCHED]
    assert dispatched.refs.operation == calls[-1].refs.operation
    assert scene.said.count("runs") == 1


def test_third_identical_failure_is_not_started_until_something_else_was_called(
    scene: Scene,
) -> None:
    again = [call("fail", word="x")]

    scene.turn(again, again, again, again, [call("bump")], again)

    began, refused = OutcomeState.SETTLED, OutcomeState.NOT_STARTED
    states = [state for state, _result in scene.outcomes()]
    assert states == [began, began, refused, refused, began, began]
