"""What may follow what around one call: any other order is refused with a code of its own."""

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.ids import decision_fact_id, dispatch_fact_id, outcome_fact_id
from crashworthy.machines.facts.model import FunctionCall, RecoveryDecision, Refs, RuntimeEvent
from crashworthy.machines.facts.vocabulary import DecisionReason, OutcomeResult, RecoveryMode
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.units import Interrupted, bundle

from .story import Story


def in_step(story: Story) -> RuntimeEvent:
    """Tell a step with one call, and return the call."""
    call = story.call(1, 1, x="a")
    story.stepped(1, call)
    return call


def test_dispatch_before_its_call_is_refused() -> None:
    story = Story().opened()
    call = story.call(1, 1, x="a")

    assert story.book.refused(story.dispatch(call)) is Code.OPERATION_NOT_CALLED


def test_second_dispatch_of_one_call_is_refused() -> None:
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)
    story.book.tell(story.dispatch(first))

    assert story.book.refused(story.dispatch(first)) is Code.OPERATION_DISPATCHED


def test_outcome_without_a_call_or_without_a_dispatch_is_refused() -> None:
    story = Story().opened()
    call = story.call(1, 1, x="a")
    assert story.book.refused(story.outcome(call)) is Code.OPERATION_NOT_DISPATCHED
    story.stepped(1, call)

    assert story.book.refused(story.outcome(call)) is Code.OPERATION_NOT_DISPATCHED


def test_second_outcome_is_refused_whoever_writes_it() -> None:
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)
    story.book.tell(story.dispatch(first))
    story.book.tell(story.dispatch(second))
    story.book.tell(story.outcome(first))

    assert story.book.refused(story.outcome(first)) is Code.OPERATION_SETTLED
    assert story.book.refused(story.refusal(first)) is Code.OPERATION_NOT_CALLED


def test_dispatch_after_a_refusal_is_refused() -> None:
    """A call that was said not to have started never starts (OP-2)."""
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)
    story.book.tell(story.refusal(first))

    assert story.book.refused(story.dispatch(first)) is Code.OPERATION_SETTLED


def test_dispatch_of_other_arguments_than_the_call_is_refused() -> None:
    story = Story().opened()
    in_step(story)
    other = story.dispatch(story.call(1, 1, x="b"))

    assert story.book.refused(other) is Code.ARGUMENTS_DIFFER


def test_same_label_in_one_step_names_two_operations() -> None:
    """Provider ids are labels: they may repeat or be empty (ID-2)."""
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="a")
    assert isinstance(second.content, FunctionCall)
    second = attrs.evolve(second, content=attrs.evolve(second.content, label="c1"))

    story.stepped(1, first, second)

    assert first.refs.operation != second.refs.operation


def test_call_out_of_its_place_is_refused() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))

    assert story.book.refused(story.call(1, 2)) is Code.REQUEST_NOT_OPEN
    assert story.book.refused(story.call(2, 1)) is Code.REQUEST_NOT_OPEN


@pytest.mark.parametrize("settlement", [Settlement.FINALISE, Settlement.PARK_BY_KEY], ids=str)
def test_recovery_of_a_call_without_dispatch_is_refused(settlement: Settlement) -> None:
    story = Story().opened()
    in_step(story)
    story.book.epoch, story.book.gone_epoch = 2, 1
    left = Interrupted(
        spine=story.at.spine,
        operation=story.operation(1, 1),
        label="c",
        tool="bump",
        ts=1,
        observed="0" * 64,
        result=None,
    )

    assert story.book.refused(*bundle(left, settlement)) is Code.OPERATION_NOT_DISPATCHED


@pytest.mark.parametrize("size", [1, 2, 4])
def test_decision_names_exactly_the_facts_it_rests_on(size: int) -> None:
    story = Story().opened()
    call = in_step(story)
    dispatch = story.dispatch(call, RecoveryMode.REPLAY_SAFE)
    story.book.tell(dispatch)
    story.book.epoch, story.book.gone_epoch = 2, 1
    operation = story.operation(1, 1)
    left = Interrupted(
        spine=dispatch.spine,
        operation=operation,
        label="c1",
        tool="bump",
        ts=dispatch.ts,
        observed="0" * 64,
        result=None,
    )
    outcome, decision = bundle(left, Settlement.INTERRUPT)
    assert isinstance(decision.actions, RecoveryDecision)
    named = (call.id, dispatch_fact_id(operation), outcome_fact_id(operation), "fact_more")[:size]
    wrong = attrs.evolve(decision, actions=attrs.evolve(decision.actions, evidence=named))

    assert story.book.refused(outcome, wrong) is Code.DECISION_CONTRADICTS
    story.book.tell(outcome, decision)
    assert decision.id == decision_fact_id(operation)
    assert decision.actions.reason is DecisionReason.INTERRUPTED_NO_EFFECT


def test_outcome_and_park_never_stand_in_one_bundle() -> None:
    """OP-4: an outcome needs the expected state, and then nothing but completed may follow."""
    story = Story().opened()
    dispatch = story.dispatch(in_step(story), RecoveryMode.RECONCILE)
    story.book.tell(dispatch)
    story.book.epoch, story.book.gone_epoch = 2, 1
    left = Interrupted(
        spine=dispatch.spine,
        operation=story.operation(1, 1),
        label="c1",
        tool="bump",
        ts=dispatch.ts,
        observed="0" * 64,
        result="ok",
    )
    expected, outcome, completed = bundle(left, Settlement.FINALISE)
    diverged, parked = bundle(left, Settlement.PARK_DIVERGED)

    for wrong in (
        (expected, outcome, parked),
        (diverged, outcome, parked),
        (diverged, outcome, completed),
        (expected, parked),
    ):
        assert story.book.refused(*wrong) is Code.DECISION_CONTRADICTS
    story.book.tell(diverged, parked)


def test_parked_operation_takes_no_second_decision() -> None:
    story = Story().opened()
    call = in_step(story)
    dispatch = story.dispatch(call, RecoveryMode.IDEMPOTENT, key="k")
    story.book.tell(dispatch)
    story.book.epoch, story.book.gone_epoch = 2, 1
    left = Interrupted(
        spine=dispatch.spine,
        operation=story.operation(1, 1),
        label="c1",
        tool="bump",
        ts=dispatch.ts,
        observed="0" * 64,
        result=None,
    )
    parked = bundle(left, Settlement.PARK_BY_KEY)
    story.book.tell(*parked)

    assert story.book.refused(*parked) is Code.OPERATION_PARKED


def test_tool_of_a_fenced_owner_settles_nothing_after_the_run_moved_on() -> None:
    story = Story().opened()
    call = in_step(story)
    story.book.tell(story.dispatch(call))
    story.book.epoch = 2

    assert story.book.refused(story.outcome(call)) is Code.RUN_NOT_ATTACHED


def test_grant_named_for_a_call_nobody_was_asked_about_is_refused() -> None:
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)
    ask, opened = story.ask(first)
    story.book.tell(opened)
    story.book.tell(story.answer(ask))

    assert story.book.refused(story.dispatch(second, ask=ask)) is Code.GRANT_UNASKED
    assert story.book.refused(story.refusal(second, OutcomeResult.DENIED, ask)) is (
        Code.GRANT_UNASKED
    )


def test_outcome_must_name_its_operation_to_reach_it() -> None:
    story = Story().opened()
    call = in_step(story)
    story.book.tell(story.dispatch(call))
    stray = attrs.evolve(story.outcome(call), refs=Refs(operation="op_other"))

    assert story.book.refused(stray) is Code.ID_NOT_DERIVED


def test_unknown_request_is_not_settled() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    other = story.settle(2)

    assert story.book.refused(other) is Code.REQUEST_NOT_OPEN


def test_stopping_run_asks_nobody_and_starts_nothing() -> None:
    story = Story().opened()
    call = in_step(story)
    story.book.tell(story.stop())

    assert story.book.refused(story.ask(call)[1]) is Code.RUN_STOPPING
    assert story.book.refused(story.dispatch(call)) is Code.RUN_STOPPING


def test_ask_that_was_never_opened_cannot_be_answered_or_closed() -> None:
    story = Story().opened()
    in_step(story)

    assert story.book.refused(story.answer("ask_none")) is Code.ASK_UNKNOWN
    assert story.book.refused(story.close("ask_none")) is Code.ASK_UNKNOWN


def test_control_ledger_facts_need_their_session() -> None:
    story = Story()
    give_up = compose.run_abandoned(story.control, "fact_1", "run_1")

    assert story.book.refused(give_up) is Code.NOT_OPENED
