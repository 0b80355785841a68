"""Units through the production tables, told as the stories that users would recognise."""

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import (
    CallPlaced,
    ErrorNoted,
    ErrorText,
    MessageQueued,
    MessageReturned,
    RunEnded,
    RunReattached,
    RuntimeEvent,
    SessionOpened,
    SettingsChanged,
    Text,
    VerdictGiven,
)
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    CloseReason,
    Failure,
    Finish,
    Intent,
    Kind,
    OutcomeResult,
    Purpose,
    RecoveryMode,
    RequestResult,
    ReturnReason,
    RunFailure,
    RunStatus,
    Verdict,
)
from crashworthy.machines.lifecycles import interaction, operation, run
from crashworthy.machines.lifecycles.cells import (
    Cell,
    Machine,
    cell_from_json,
    cell_to_json,
)
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.runs import Repair
from crashworthy.machines.recovery.units import Interrupted, OpenRun, bundle, closing_unit

from .story import Story


def op_state(story: Story, step: int = 1, position: int = 1) -> object:
    cell = story.book.cell(Machine.OPERATION, story.operation(step, position))
    return None if cell is None else cell.state


def test_text_turn_completes_through_the_rows_of_three_machines() -> None:
    story = Story().opened().stepped(1)

    rows = story.book.tell(story.completed())

    assert rows == (("RUN.T35",),)
    assert story.book.rows[:2] == [("RUN.T1",), ("RUN.T4",)]
    assert story.book.rows[2:5] == [
        ("RUN.T6", "REQ.T1"),
        ("RUN.T7", "REQ.T2"),
        ("RUN.T9", "REQ.T3"),
    ]
    assert story.book.refused(story.text(1)) is Code.RUN_SEALED


def test_opening_alone_is_refused_because_the_user_text_is_its_other_half() -> None:
    story = Story()
    opening, _text = story.opening()

    assert story.book.refused(opening) is Code.UNIT_INCOMPLETE


def test_second_run_is_refused_while_the_session_has_an_open_one() -> None:
    story = Story().opened()

    assert story.book.refused(*story.opening()) is Code.SESSION_BUSY


def test_parallel_calls_settle_each_on_its_own() -> None:
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)

    story.book.tell(story.dispatch(first))
    story.book.tell(story.dispatch(second))
    story.book.tell(story.outcome(second))

    assert op_state(story, 1, 2) == operation.Settled()
    assert isinstance(op_state(story, 1, 1), operation.Dispatched)
    assert story.book.refused(story.request(2)) is Code.RUN_NOT_QUIET
    story.book.tell(story.outcome(first))
    story.stepped(2)


def test_call_with_chosen_ids_or_other_arguments_is_refused() -> None:
    story = Story().opened()
    call = story.call(1, 1, x="a")
    story.book.tell(story.request(1))

    assert story.book.refused(attrs.evolve(call, id="fact_mine")) is Code.ID_NOT_DERIVED
    assert isinstance(call.actions, CallPlaced)
    moved = attrs.evolve(call, actions=attrs.evolve(call.actions, args_digest="1" * 64))
    assert story.book.refused(moved) is Code.REQUEST_NOT_OPEN


def test_grant_is_consumed_by_the_dispatch_that_uses_it() -> None:
    story = Story().opened()
    call = story.call(1, 1, env="prod")
    story.stepped(1, call)
    ask, opened = story.ask(call)
    story.book.tell(opened)

    assert story.book.refused(story.dispatch(call)) is Code.OPERATION_NOT_CALLED
    assert story.book.refused(story.dispatch(call, ask=ask)) is Code.GRANT_MISSING
    story.book.tell(story.answer(ask))
    assert story.book.refused(story.answer(ask, AnswerDecision.DENY)) is Code.ASK_UNKNOWN
    rows = story.book.tell(story.dispatch(call, ask=ask))

    assert rows == (("RUN.T17", "OP.T5", "ASK.T6"),)
    cell = story.book.cell(Machine.INTERACTION, ask)
    assert cell is not None
    assert cell.state == interaction.Consumed()


def test_one_approval_releases_one_of_two_equal_calls() -> None:
    story = Story().opened()
    first, second = story.call(1, 1, x="same"), story.call(1, 2, x="same")
    story.stepped(1, first, second)
    ask_one, opened_one = story.ask(first)
    _ask_two, opened_two = story.ask(second)
    story.book.tell(opened_one)
    story.book.tell(opened_two)
    story.book.tell(story.answer(ask_one))

    assert story.book.refused(story.dispatch(second, ask=ask_one)) is Code.GRANT_MISSING
    story.book.tell(story.dispatch(first, ask=ask_one))


def test_denial_reaches_the_model_as_a_call_that_was_not_started() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    ask, opened = story.ask(call)
    story.book.tell(opened)
    story.book.tell(story.answer(ask, AnswerDecision.DENY))

    assert story.book.refused(story.request(2)) is Code.RUN_NOT_QUIET
    rows = story.book.tell(story.refusal(call, OutcomeResult.DENIED, ask))

    assert rows == (("RUN.T21", "OP.T7", "ASK.T7"),)
    story.stepped(2)


def test_expired_request_is_a_denial_and_cannot_be_answered() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    ask, opened = story.ask(call, deadline=5_000)
    story.book.tell(opened)

    early = story.close(ask, CloseReason.EXPIRED, ts=4_999)
    assert story.book.refused(early) is Code.ASK_NOT_DUE
    assert story.book.refused(story.answer(ask, ts=5_000)) is Code.ASK_EXPIRED
    story.book.tell(story.close(ask, CloseReason.EXPIRED, ts=5_000))
    state = story.state()
    assert isinstance(state, run.Active)
    assert run.waits(state)
    story.book.tell(story.refusal(call, OutcomeResult.DENIED, ask))


def test_question_takes_an_answer_and_no_allow() -> None:
    story = Story().opened()
    call = story.call(1, 1, tool="ask_user")
    story.stepped(1, call)
    ask, opened = story.ask(call, Purpose.QUESTION)
    story.book.tell(opened)

    assert story.book.refused(story.answer(ask)) is Code.ANSWER_MISFITS
    story.book.tell(story.answer(ask, AnswerDecision.ANSWER))
    story.book.tell(story.dispatch(call, ask=ask))


def test_waiting_run_is_kept_by_a_later_owner_and_taken_up_once() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    ask, opened = story.ask(call)
    story.book.tell(opened)
    story.book.epoch = 2

    assert story.book.refused(story.failed()) is Code.RUN_NOT_ATTACHED
    closing = story.close(ask)
    assert story.book.refused(closing, story.failed()) is Code.RUN_NOT_ATTACHED
    story.book.tell(story.answer(ask))
    assert story.book.refused(story.dispatch(call, ask=ask)) is Code.RUN_NOT_ATTACHED
    reattach = compose.run_reattached(story.at, story.fresh("fact"), "0" * 64)
    assert isinstance(reattach.actions, RunReattached)
    story.book.tell(reattach)
    again = compose.run_reattached(story.at, story.fresh("fact"), "0" * 64)
    assert story.book.refused(again) is Code.ALREADY_OPENED
    story.book.tell(story.dispatch(call, ask=ask))


def test_person_may_abandon_a_waiting_run_in_one_unit() -> None:
    story = Story()
    story.book.tell(compose.session_opened(story.control, "fact_open", SessionOpened(protocol=1)))
    story.opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    ask, opened = story.ask(call)
    story.book.tell(opened)
    story.book.epoch = 2
    give_up = compose.run_abandoned(story.control, "fact_giveup", story.run)

    assert story.book.refused(give_up) is Code.UNIT_INCOMPLETE
    story.book.tell(give_up, story.close(ask), story.failed(RunFailure.ABANDONED_BY_PERSON))
    assert story.state() == run.Ended()


def test_stop_beats_every_later_end_but_aborted_with_its_source() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    story.book.tell(story.stop("ui"))

    assert story.book.refused(story.completed()) is Code.RUN_STOPPING
    assert story.book.refused(story.text(1)) is Code.RUN_STOPPING
    assert story.book.refused(story.aborted("ui")) is Code.RUN_NOT_QUIET
    story.book.tell(story.settle(1, None, result=RequestResult.ABORTED))
    assert story.book.refused(story.aborted("other")) is Code.STOP_SOURCE_DIFFERS
    story.book.tell(story.aborted("ui"))
    assert story.book.refused(story.completed()) is Code.RUN_SEALED


def test_unrecovered_error_is_not_masked_by_completed() -> None:
    story = Story().opened().stepped(1)
    failed = compose.error_noted(
        story.at,
        story.fresh("fact"),
        ErrorText(message="x"),
        ErrorNoted(failure=Failure.NETWORK),
    )
    story.book.tell(failed)

    assert story.book.refused(story.completed()) is Code.RUN_NOT_FINISHED
    story.book.tell(story.failed(RunFailure.BACKEND_FAILED))


@pytest.mark.parametrize("mode", list(RecoveryMode), ids=str)
def test_recovery_settles_nothing_before_the_epoch_is_gone(mode: RecoveryMode) -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    key = "k" if mode is RecoveryMode.IDEMPOTENT else None
    dispatch = story.dispatch(call, mode, key=key)
    story.book.tell(dispatch)
    story.book.epoch = 2
    left = Interrupted(
        spine=dispatch.spine,
        operation=story.operation(1, 1),
        label="c1",
        tool="bump",
        ts=dispatch.ts,
        observed="0" * 64,
        result="ok",
    )
    unit = {
        RecoveryMode.REPLAY_SAFE: Settlement.INTERRUPT,
        RecoveryMode.IDEMPOTENT: Settlement.PARK_BY_KEY,
    }.get(mode, Settlement.FINALISE)
    forbidden = mode in (RecoveryMode.NEVER_AUTO_RETRY, RecoveryMode.OUTCOME_UNKNOWN)
    wanted = Code.RECOVERY_MODE_FORBIDS if forbidden else Code.EPOCH_NOT_GONE

    assert story.book.refused(*bundle(left, unit)) is wanted
    story.book.gone_epoch = 1
    if forbidden:
        assert story.book.refused(*bundle(left, unit)) is wanted
        return
    story.book.tell(*bundle(left, unit))
    assert type(op_state(story)) in (operation.Recovered, operation.Parked)


def test_half_a_recovery_bundle_is_refused_whole() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    dispatch = story.dispatch(call, RecoveryMode.RECONCILE)
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
    whole = bundle(left, Settlement.FINALISE)

    assert story.book.refused(*whole[:1]) is Code.UNIT_INCOMPLETE
    assert story.book.refused(*whole[:2]) is Code.UNIT_INCOMPLETE
    assert story.book.refused(whole[0], *bundle(left, Settlement.PARK_PRIOR)[1:]) is (
        Code.DECISION_CONTRADICTS
    )
    story.book.tell(*whole)


def test_operation_parked_for_its_key_may_be_retried_by_a_new_call() -> None:
    story = Story().opened()
    call = story.call(1, 1, x="pay")
    story.stepped(1, call)
    dispatch = story.dispatch(call, RecoveryMode.IDEMPOTENT, key="k1")
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
    story.book.tell(*bundle(left, Settlement.PARK_BY_KEY))
    old = story.operation(1, 1)
    story.book.tell(story.failed())
    story.opened()
    again = story.call(1, 1, x="pay")
    story.stepped(1, again)

    other = story.dispatch(again, RecoveryMode.IDEMPOTENT, key="k2", retry_of=old)
    assert story.book.refused(other) is Code.RETRY_NOT_PARKED
    story.book.tell(story.dispatch(again, RecoveryMode.IDEMPOTENT, key="k1", retry_of=old))


@pytest.mark.parametrize(
    ("epoch", "open_request", "repair"),
    [(2, True, Repair.LOST_AFTER_DISPATCH), (2, False, Repair.ABANDON)],
)
def test_closing_unit_ends_what_a_gone_owner_left(
    epoch: int,
    open_request: bool,  # noqa: FBT001 - a parametrised case
    repair: Repair,
) -> None:
    story = Story().opened()
    if open_request:
        story.book.tell(story.request(1))
    story.book.epoch = epoch
    left = OpenRun(
        spine=story.at.spine,
        ts=story.clock,
        request=story.request_name(1) if open_request else None,
        asks=(),
        steering=(),
        stop=None,
    )

    story.book.tell(*closing_unit(left, repair))

    assert story.state() == run.Ended()
    end = story.book.facts[-1].actions
    assert isinstance(end, RunEnded)
    assert end.status is RunStatus.FAILED


def test_steering_is_delivered_with_its_text_or_not_at_all() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    queue = MessageQueued(intent=Intent.STEER)
    story.book.tell(compose.message_queued(story.control, "f_q", "msg_1", Text(text="hm"), queue))
    take = compose.message_taken(story.control, "f_t", "msg_1", story.run)
    text = compose.steering_text(story.at, "f_s", Text(text="hm"), "msg_1")

    assert story.book.refused(take, text) is Code.MESSAGE_WRONG_RUN
    story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(call))
    assert story.book.refused(take) is Code.UNIT_INCOMPLETE
    assert story.book.refused(text) is Code.MESSAGE_NOT_TAKEN
    story.book.tell(take, text)
    story.stepped(2)


def test_run_does_not_end_over_queued_steering() -> None:
    story = Story().opened().stepped(1)
    queue = MessageQueued(intent=Intent.STEER)
    story.book.tell(compose.message_queued(story.control, "f_q", "msg_1", Text(text="hm"), queue))

    assert story.book.refused(story.completed()) is Code.UNIT_INCOMPLETE
    returned = MessageReturned(reason=ReturnReason.RUN_ENDED)
    back = compose.message_returned(story.control, "f_r", "msg_1", returned)
    story.book.tell(back, story.completed())


def test_verdict_waits_for_the_end_of_the_run_and_is_sealed_by_a_claim() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    story.book.tell(story.dispatch(call))
    name = story.operation(1, 1)

    def verdict(generation: int, fact: str) -> RuntimeEvent:
        action = VerdictGiven(run=story.run, generation=generation, verdict=Verdict.HAPPENED)
        return compose.verdict_given(story.control, fact, name, action)

    first, second = verdict(1, "f_v1"), verdict(2, "f_v2")
    assert story.book.refused(first) is Code.RUN_NOT_ENDED
    story.book.epoch = 2
    story.book.tell(story.failed())
    assert story.book.refused(first) is Code.EPOCH_NOT_GONE
    story.book.gone_epoch = 1
    assert story.book.refused(second) is Code.GENERATION_DIFFERS
    story.book.tell(first)
    story.book.seals.add(story.run)
    assert story.book.refused(second) is Code.SEALED_BY_CLAIM


def test_settings_change_between_runs_only() -> None:
    """CONT-5: what a run was opened with is what it is executed with, to its end."""
    story = Story()
    story.book.tell(compose.session_opened(story.control, "f_open", SessionOpened(protocol=1)))
    story.opened()
    action = SettingsChanged(revision=1, settings={"model": "m"})
    change = compose.control(story.control, "f_change", Kind.SETTINGS_CHANGED, action)

    assert story.book.refused(change) is Code.SESSION_BUSY
    story.book.tell(story.failed())
    story.book.tell(change)


def test_retry_names_the_request_that_failed() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    story.book.tell(story.settle(1, None, result=RequestResult.FAILED))

    assert story.book.refused(story.request(2)) is Code.REQUEST_MUST_NAME_RETRIED
    story.book.tell(story.request(1, 2, story.request_name(1)))
    assert story.book.facts[-1].kind is Kind.REQUEST_DISPATCHED
    story.book.tell(story.settle(1, Finish.STOP, attempt=2))
    story.book.tell(story.completed())


def test_stored_cells_read_back_as_they_were() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    story.book.tell(story.dispatch(call))

    for (machine, _name), cell in story.book.cells.items():
        stored = cell_to_json(cell)
        back = cell_from_json(machine, stored)
        assert Cell(state=back.state, memo=dict(back.memo)) == Cell(
            state=cell.state, memo=dict(cell.memo)
        )
