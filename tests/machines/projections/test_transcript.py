"""What people read: all that happened, each thing as what it is."""

import attrs
import pytest
from hypothesis import given

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.ids import late_outcome_fact_id
from crashworthy.machines.facts.model import (
    ArtifactAdded,
    ErrorNoted,
    ErrorText,
    FunctionResponse,
    LateOutcome,
    MessageQueued,
    MessageReturned,
    Refs,
    RuntimeEvent,
    SessionOpened,
    Text,
    VerdictGiven,
)
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    Author,
    CloseReason,
    Failure,
    Finish,
    Intent,
    Kind,
    OutcomeResult,
    RequestResult,
    ReturnReason,
    Role,
    RunFailure,
    RunStatus,
    Verdict,
)
from crashworthy.machines.lifecycles import run
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.projections.history import history
from crashworthy.machines.projections.losses import LossReason
from crashworthy.machines.projections.status import RunState
from crashworthy.machines.projections.target import Capabilities
from crashworthy.machines.projections.transcript import transcript
from crashworthy.machines.projections.transcript_parts import (
    ErrorPart,
    Fragment,
    FragmentPart,
    Lane,
    MessageStatus,
    NoticePart,
    Part,
    Severity,
    TextPart,
    ToolPart,
    ToolStatus,
    Transcript,
    UserPart,
)
from crashworthy.machines.recovery.parks import EXPLANATIONS, Park

from ..lifecycles.story import DIGEST, Story
from .ledgers import Recorded, recorded, sessions


def seen(story: Story, *, live: bool = False) -> Transcript:
    return transcript(story.book.facts, live=live)


def parts(view: Transcript) -> list[Part]:
    return [part for turn in view.turns for part in turn.parts]


def tools(view: Transcript) -> list[ToolPart]:
    return [part for part in parts(view) if isinstance(part, ToolPart)]


def one_call() -> tuple[Story, RuntimeEvent]:
    story = Story().opened()
    call = story.call(1, 1, line="x")
    story.stepped(1, call)
    return story, call


def test_turn_reads_as_it_happened() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(call))
    story.stepped(2)
    story.book.tell(story.completed())

    (turn,) = seen(story).turns
    kinds = [part.part.value for part in turn.parts]
    assert kinds == ["user", "text", "tool", "text"]
    assert (turn.state, turn.output_retained) == (RunState.COMPLETED, True)
    assert [row.finish for row in turn.requests] == [Finish.TOOL_CALLS, Finish.STOP]


# --- tool rows ---


def test_tool_row_follows_a_call_through_its_life() -> None:
    story, call = one_call()
    statuses = [tools(seen(story, live=True))[0].status]
    name, opened = story.ask(call)
    for fact in (opened, story.answer(name)):
        story.book.tell(fact)
        statuses.append(tools(seen(story, live=True))[0].status)
    story.book.tell(story.dispatch(call, ask=name))
    statuses.append(tools(seen(story, live=True))[0].status)
    story.book.tell(story.outcome(call, OutcomeResult.TIMED_OUT))
    (row,) = tools(seen(story, live=True))

    assert statuses == [
        ToolStatus.PENDING,
        ToolStatus.WAITING,
        ToolStatus.PENDING,
        ToolStatus.RUNNING,
    ]
    assert (row.status, row.result) == (ToolStatus.SETTLED, OutcomeResult.TIMED_OUT)
    (ask,) = row.asks
    assert (ask.decision, ask.closed, ask.used) == (AnswerDecision.ALLOW, None, True)
    assert row.args.text == '{"line":"x"}'


def test_nothing_is_shown_running_without_a_live_owner() -> None:
    """BR-06: after the host's death and before any repair, no view says running."""
    story, call = one_call()
    story.book.tell(story.dispatch(call))

    assert tools(seen(story, live=True))[0].status is ToolStatus.RUNNING
    (turn,) = seen(story, live=False).turns
    assert turn.state is RunState.UNOWNED
    assert tools(seen(story, live=False))[0].status is ToolStatus.UNKNOWN


def test_closed_run_shows_not_started_and_unknown_apart() -> None:
    """BR-08: the two are never merged, and the unknown one has a sentence and an action."""
    story = Story().opened()
    first, second = story.call(1, 1, x=1), story.call(1, 2, x=2)
    story.stepped(1, first, second)
    story.book.tell(story.dispatch(second))
    story.book.tell(story.failed())
    never, maybe = tools(seen(story))

    assert (never.status, never.parking) == (ToolStatus.NOT_STARTED, None)
    assert maybe.status is ToolStatus.UNKNOWN
    assert maybe.parking is not None
    told = EXPLANATIONS[Park.OUTCOME_UNKNOWN]
    assert (maybe.parking.sentence, maybe.parking.action) == (told.sentence, told.action)


def test_late_outcome_and_verdict_stand_beside_the_unknown_they_speak_of() -> None:
    story, call = one_call()
    name = call.refs.operation
    assert name is not None
    opened = compose.session_opened(story.control, "f_o", SessionOpened(protocol=1))
    story.book.tell(opened)
    story.book.tell(story.dispatch(call))
    story.book.epoch, story.book.gone_epoch = 2, 1
    story.book.tell(story.failed())
    late = RuntimeEvent(
        id=late_outcome_fact_id(name),
        spine=story.control.spine,
        kind=Kind.LATE_OUTCOME,
        ts=story.clock,
        role=Role.TOOL,
        author=Author.TOOL,
        content=FunctionResponse(label="c", name="bump", result="done", is_error=False),
        actions=LateOutcome(run=story.run),
        refs=Refs(operation=name),
    )
    action = VerdictGiven(run=story.run, generation=1, verdict=Verdict.HAPPENED)
    verdict = compose.verdict_given(story.control, "fact_v", name, action)
    story.book.tell(late)
    story.book.tell(verdict)
    (row,) = tools(seen(story))

    assert row.status is ToolStatus.UNKNOWN
    assert row.late is not None
    assert row.late.text == "done"
    assert row.verdict is not None
    assert row.verdict.verdict is Verdict.HAPPENED
    assert {late.id, verdict.id} <= set(row.events)


def test_long_arguments_are_previewed_and_the_cut_is_counted() -> None:
    story = Story().opened()
    call = story.call(1, 1, line="\U0001f600" * 1000)
    story.stepped(1, call)
    (row,) = tools(seen(story))

    assert len(row.args.text.encode()) <= 512
    assert len(row.args.text) + row.args.cut == 1000 + len('{"line":""}')


def test_artifact_stands_with_the_call_that_made_it() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    made = ArtifactAdded(name="plot.png", media_type="image/png", blob=DIGEST, bytes=3)
    fact = compose.artifact_added(story.at, "fact_a", story.operation(1, 1), made)
    story.book.tell(story.outcome(call), fact)
    (row,) = tools(seen(story))

    assert [one.name for one in row.artifacts] == ["plot.png"]
    assert fact.id in row.events


# --- errors, notices, fragments, messages ---


def failed_once(story: Story) -> RuntimeEvent:
    story.book.tell(story.request(1))
    noted = compose.error_noted(
        story.at,
        story.fresh("fact"),
        ErrorText(message="slow down"),
        ErrorNoted(failure=Failure.RATE_LIMIT),
    )
    noted = attrs.evolve(noted, refs=Refs(request=story.request_name(1)))
    story.book.tell(noted, story.settle(1, None, result=RequestResult.FAILED))
    return noted


def errors(view: Transcript) -> list[ErrorPart]:
    return [part for part in parts(view) if isinstance(part, ErrorPart)]


@pytest.mark.proves("LOG-6")
def test_error_is_a_warning_once_a_later_attempt_succeeded() -> None:
    story = Story().opened()
    failed_once(story)
    (before,) = errors(seen(story))
    story.book.tell(story.request(1, 2, story.request_name(1)))
    story.book.tell(story.settle(1, Finish.STOP, attempt=2))
    (after,) = errors(seen(story))

    assert (before.severity, after.severity) == (Severity.ERROR, Severity.WARNING)
    assert (before.message, len(before.events)) == ("slow down", 2)
    assert history(story.book.facts, Capabilities()).messages[-1].role == "user"


@pytest.mark.proves("LOG-6")
@given(recorded())
def test_no_run_with_an_unrecovered_error_is_shown_completed(book: Recorded) -> None:
    """The severity of the view and the `troubled` of the run's table are one judgement."""
    for end, cells in book.states:
        for turn in transcript(book.facts[:end], live=True).turns:
            unrecovered = any(
                isinstance(part, ErrorPart) and part.severity is Severity.ERROR
                for part in turn.parts
            )
            state = cells[(Machine.RUN, turn.run)].state
            if isinstance(state, run.Active | run.Stopping):
                assert state.troubled == unrecovered
            assert not (unrecovered and turn.state is RunState.COMPLETED)


@pytest.mark.proves("RUN-3")
def test_notice_of_a_step_limit_follows_from_the_terminal_alone() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(call))
    end = story.failed(RunFailure.STEP_LIMIT)
    story.book.tell(end)
    notices = [part for part in parts(seen(story)) if isinstance(part, NoticePart)]

    assert [(one.id, one.code, one.ts) for one in notices] == [
        (f"{end.id}:notice", "step_limit", end.ts)
    ]
    assert "step limit" in notices[0].text


def fragment(owner: str, lane: Lane, text: str = "The first") -> Fragment:
    return Fragment(
        stream="stream_1", owner=owner, run="run_1", lane=lane, text=text, bytes_total=99
    )


@pytest.mark.proves("LOG-5")
def test_fragment_is_shown_incomplete_and_is_in_no_history() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    story.book.tell(story.settle(1, None, result=RequestResult.UNKNOWN))
    story.book.tell(story.failed(RunFailure.OWNER_LOST_AFTER_DISPATCH))
    one = fragment(story.request_name(1), Lane.TEXT)
    view = transcript(story.book.facts, live=False, fragments=[one])

    (shown,) = [part for part in parts(view) if isinstance(part, FragmentPart)]
    assert (shown.incomplete, shown.fragment) == (True, one)
    told = history(story.book.facts, Capabilities()).bodies()
    assert "The first" not in str(told)


@pytest.mark.proves("LOG-5")
def test_fragment_gives_way_to_the_final_fact_of_its_stream() -> None:
    story = Story().opened().stepped(1)
    one = fragment(story.request_name(1), Lane.TEXT)
    view = transcript(story.book.facts, live=True, fragments=[one])

    assert not [part for part in parts(view) if isinstance(part, FragmentPart)]
    assert [part.text for part in parts(view) if isinstance(part, TextPart)] == ["hello"]
    assert LossReason.SUPERSEDED in [
        loss.reason for loss in view.losses if loss.event_id == one.stream
    ]


def test_live_output_stands_in_the_row_of_its_call_until_the_outcome() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    one = fragment(story.operation(1, 1), Lane.OUTPUT, "line 1\n")

    (row,) = tools(transcript(story.book.facts, live=True, fragments=[one]))
    assert row.live == one
    story.book.tell(story.outcome(call))
    (row,) = tools(transcript(story.book.facts, live=True, fragments=[one]))
    assert row.live is None


def test_steering_reads_as_a_users_words_and_as_a_message_that_was_taken() -> None:
    story = Story().opened().stepped(1)
    queue = MessageQueued(intent=Intent.STEER)
    words = Text(text="also this")
    for name in ("msg_1", "msg_2"):
        fact = compose.message_queued(story.control, f"f_{name}", name, words, queue)
        story.book.tell(fact)
    take = compose.message_taken(story.control, "f_t", "msg_1", story.run)
    story.book.tell(take, compose.steering_text(story.at, "f_s", words, "msg_1"))
    back = MessageReturned(reason=ReturnReason.RUN_ENDED)
    returned = compose.message_returned(story.control, "f_r", "msg_2", back)
    story.book.tell(returned, story.failed())
    view = seen(story)

    users = [part for part in parts(view) if isinstance(part, UserPart)]
    assert [(part.text, part.steering) for part in users] == [("go", False), ("also this", True)]
    assert [(row.status, row.run, row.returned) for row in view.messages] == [
        (MessageStatus.TAKEN, "run_1", None),
        (MessageStatus.RETURNED, None, ReturnReason.RUN_ENDED),
    ]


def test_closed_ask_says_why() -> None:
    story, call = one_call()
    name, opened = story.ask(call)
    story.book.tell(opened)
    story.book.tell(story.stop())
    story.book.tell(story.close(name, CloseReason.STOPPED), story.aborted())
    (row,) = tools(seen(story))

    assert (row.status, row.asks[0].closed) == (ToolStatus.NOT_STARTED, CloseReason.STOPPED)


@given(sessions())
def test_closed_turn_shows_its_one_terminal(facts: list[RuntimeEvent]) -> None:
    ends = {fact.spine.run: fact for fact in facts if fact.kind is Kind.RUN_ENDED}
    for turn in transcript(facts, live=False).turns:
        end = ends.get(turn.run)
        assert (turn.terminal is None) == (end is None)
        if turn.terminal is not None and end is not None:
            assert turn.terminal.event == end.id
            assert turn.state.value == turn.terminal.status.value
            assert turn.terminal.status in set(RunStatus)
