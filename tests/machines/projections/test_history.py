"""What a model is told, case by case: the stop points and payloads that users would recognise."""

from typing import cast

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.canonical import DEPTH_MAX, Json
from crashworthy.machines.facts.model import (
    Attachment,
    FunctionResponse,
    OutputCut,
    RuntimeEvent,
    Text,
    Thinking,
    VerdictGiven,
)
from crashworthy.machines.facts.vocabulary import (
    AttachmentKind,
    Cause,
    Finish,
    OutcomeResult,
    RecoveryMode,
    RequestResult,
    RunFailure,
    Verdict,
    Visibility,
)
from crashworthy.machines.projections.history import History, history
from crashworthy.machines.projections.items import StepItem, trim
from crashworthy.machines.projections.losses import LossReason
from crashworthy.machines.projections.target import Capabilities, ThinkingForm
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.units import Interrupted, bundle

from ..lifecycles.story import DIGEST, Story
from .ledgers import continue_run

NATIVE = Capabilities()
SIGNED = Capabilities(thinking=ThinkingForm.SIGNED)
WORDS = Capabilities(native_tools=False, consecutive_users=False)


def told(story: Story, target: Capabilities = NATIVE) -> History:
    return history(story.book.facts, target)


def roles(view: History) -> list[str]:
    return [message.role for message in view.messages]


def blocks(view: History) -> list[dict[str, Json]]:
    return [block for message in view.messages for block in message.blocks]


def results(view: History) -> list[dict[str, Json]]:
    return [block for block in blocks(view) if block["type"] == "tool_result"]


def texts(view: History) -> list[Json]:
    return [block["text"] for block in blocks(view) if block["type"] == "text"]


def reasons(view: History, event: RuntimeEvent) -> list[LossReason]:
    return [one.reason for one in view.losses if one.event_id == event.id]


def one_call() -> tuple[Story, RuntimeEvent]:
    story = Story().opened()
    call = story.call(1, 1, line="x")
    story.stepped(1, call)
    return story, call


def die(story: Story) -> Story:
    """End the run as a successor does that found it interrupted, then start a new turn."""
    story.book.epoch, story.book.gone_epoch = story.book.epoch + 1, story.book.epoch
    story.book.tell(story.failed(RunFailure.OWNER_LOST))
    story.book.tell(*story.opening(text="what happened?"))
    return story


# --- BR-01: killed while a tool runs ---


def test_call_without_dispatch_is_answered_not_started_when_its_run_is_closed() -> None:
    story, _call = one_call()
    view = told(die(story))

    assert roles(view) == ["user", "assistant", "tool", "user"]
    (answer,) = results(view)
    assert (answer["status"], answer["is_error"]) == ("not_started", True)
    assert "nothing was done" in str(answer["result"])


def test_call_with_dispatch_alone_is_answered_unknown_when_its_run_is_closed() -> None:
    """BR-08: the text says it may or may not have happened and does not advise to retry."""
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    view = told(die(story))

    (answer,) = results(view)
    assert (answer["status"], answer["is_error"]) == ("unknown", True)
    assert "may or may not have happened" in str(answer["result"])
    assert "retry" not in str(answer["result"]).lower()


def test_recorded_result_is_told_byte_for_byte() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    fact = story.outcome(call)
    value: Json = {"b": [1.5, None, "\u00e9\x00"], "a": {}}
    content = FunctionResponse(label="c", name="bump", result=value, is_error=False)
    story.book.tell(attrs.evolve(fact, content=content))
    view = told(die(story))

    (answer,) = results(view)
    assert (answer["status"], answer["result"]) == ("settled", value)
    assert (answer["label"], answer["name"]) == ("c1", "bump")


def test_parallel_results_stand_in_call_order_whatever_order_they_finished_in() -> None:
    story = Story().opened()
    calls = [story.call(1, n, x=n) for n in (1, 2, 3)]
    story.stepped(1, *calls)
    for call in calls:
        story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(calls[2]))
    error = story.outcome(calls[0], OutcomeResult.ERROR)
    content = FunctionResponse(label="c", name="bump", result="no", is_error=True)
    story.book.tell(attrs.evolve(error, content=content))
    view = told(die(story))

    answers = [(one["label"], one["status"], one["is_error"]) for one in results(view)]
    assert answers == [("c1", "settled", True), ("c2", "unknown", True), ("c3", "settled", False)]


@pytest.mark.proves("PROJ-2")
def test_unanswered_step_of_an_open_run_is_left_out_whole() -> None:
    """Waiting for a person: neither the call nor its settled sibling may be sent (ASK-3)."""
    story = Story().opened()
    first, second = story.call(1, 1, x="a"), story.call(1, 2, x="b")
    story.stepped(1, first, second)
    story.book.tell(story.dispatch(first))
    outcome = story.outcome(first)
    story.book.tell(outcome)
    _name, opened = story.ask(second)
    story.book.tell(opened)
    view = told(story)

    assert roles(view) == ["user"]
    assert reasons(view, first) == [LossReason.PENDING]
    assert reasons(view, outcome) == [LossReason.PENDING]


def test_parked_call_is_told_unknown_with_its_reason() -> None:
    story, call = one_call()
    dispatch = story.dispatch(call, RecoveryMode.IDEMPOTENT, key="k")
    story.book.tell(dispatch)
    story.book.epoch, story.book.gone_epoch = 2, 1
    left = Interrupted(
        spine=dispatch.spine,
        operation=story.operation(1, 1),
        label="c1",
        tool="bump",
        ts=dispatch.ts,
        observed=DIGEST,
        result=None,
    )
    story.book.tell(*bundle(left, Settlement.PARK_BY_KEY))
    story.book.tell(story.failed())

    (answer,) = results(told(story))
    assert answer["status"] == "unknown"
    assert "retry_by_key" in str(answer["result"])


@pytest.mark.parametrize("verdict", list(Verdict), ids=str)
def test_verdict_changes_what_is_told_from_the_verdict_on(verdict: Verdict) -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    die(story)
    before = told(story)
    action = VerdictGiven(run="run_1", generation=1, verdict=verdict, note="I looked")
    name = call.refs.operation
    assert name is not None
    given = compose.verdict_given(story.control, "fact_v", name, action)
    story.book.tell(given)
    view = told(story)

    assert results(before)[0]["status"] == "unknown"
    (answer,) = results(view)
    assert answer["status"] == "settled"
    assert answer["is_error"] is (verdict is Verdict.DID_NOT_HAPPEN)
    assert "I looked" in str(answer["result"])
    assert reasons(view, given) == []
    assert history(story.book.facts, NATIVE, at=len(story.book.facts) - 1) == before


# --- BR-03: nothing is said by saying nothing ---


def test_runs_without_content_leave_only_the_users_words() -> None:
    story = Story()
    for _retry in range(3):
        story.opened()
        story.book.tell(story.request(1))
        story.book.tell(story.settle(1, None, result=RequestResult.FAILED))
        story.book.tell(story.failed(RunFailure.BACKEND_FAILED))
    story.opened()
    story.book.tell(story.request(1))
    story.book.tell(story.text(1, ""), story.settle(1))
    story.book.tell(story.completed())

    assert roles(told(story)) == ["user"] * 4
    merged = told(story, Capabilities(consecutive_users=False))
    assert roles(merged) == ["user"]
    assert texts(merged) == ["go"] * 4


def test_words_of_a_request_that_never_finished_are_not_told() -> None:
    """BR-04: only a stated finish makes words an answer."""
    story = Story().opened()
    story.book.tell(story.request(1))
    half = story.text(1, "half")
    story.book.tell(half)
    story.book.tell(story.settle(1, None, result=RequestResult.UNKNOWN))
    story.book.tell(story.failed(RunFailure.MISSING_TERMINAL_EVENT))
    view = told(story)

    assert roles(view) == ["user"]
    assert reasons(view, half) == [LossReason.NOT_FINISHED]


def test_answer_cut_by_its_length_is_told_and_its_calls_are_not_started() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    story.book.tell(story.text(1, "long"), story.call(1, 1), story.settle(1, Finish.LENGTH))
    story.book.tell(story.failed(RunFailure.LENGTH))
    view = told(story)

    assert texts(view) == ["go", "long"]
    assert [answer["status"] for answer in results(view)] == ["not_started"]


def answered(result: Json, cut: OutputCut | None = None) -> History:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    content = FunctionResponse(label="c", name="bump", result=result, is_error=False, cut=cut)
    story.book.tell(attrs.evolve(story.outcome(call), content=content))
    return told(story)


def test_empty_output_is_one_result_that_says_so() -> None:
    view = answered("")

    (answer,) = results(view)
    assert answer["result"] == "(this call gave no output)"
    assert LossReason.RESULT_EMPTY in [one.reason for one in view.losses]


@pytest.mark.proves("OP-7")
@pytest.mark.parametrize("result", ["", "head", {"value": 1, "output": "head"}], ids=str)
def test_bounded_result_says_how_much_of_it_is_missing(result: Json) -> None:
    view = answered(result, OutputCut(bytes_total=200_000_000, digest=DIGEST, blob=DIGEST))

    (answer,) = results(view)
    assert "of 200000000 are told here, the whole is kept" in str(answer["result"])
    assert LossReason.RESULT_CUT in [one.reason for one in view.losses]


def test_value_too_deep_for_a_request_is_told_as_json_text() -> None:
    value: Json = "x"
    for _level in range(DEPTH_MAX - 3):
        value = [value]
    view = answered(value)

    (answer,) = results(view)
    assert isinstance(answer["result"], str)
    assert answer["result"].startswith("[[[")
    assert LossReason.TOO_DEEP in [one.reason for one in view.losses]


# --- thinking: whole, or not at all ---


def thinking_step(*signatures: str | None, words: str = "so") -> tuple[Story, list[RuntimeEvent]]:
    story = Story().opened()
    story.book.tell(story.request(1))
    name = story.request_name(1)
    thoughts = [
        compose.model_thinking(
            story.at, story.fresh("fact"), name, Thinking(text="plan", signature=one)
        )
        for one in signatures
    ]
    said = [story.text(1, words)] if words else []
    story.book.tell(*thoughts, *said, story.settle(1))
    return story, thoughts


def thought(view: History) -> list[tuple[Json, Json]]:
    return [(b["text"], b["signature"]) for b in blocks(view) if b["type"] == "thinking"]


def test_signed_thinking_keeps_its_signature_before_the_words() -> None:
    view = told(thinking_step("s1", "s2")[0], SIGNED)

    assert thought(view) == [("plan", "s1"), ("plan", "s2")]
    assert [block["type"] for block in view.messages[1].blocks] == ["thinking", "thinking", "text"]


def test_one_unsigned_thought_takes_the_others_of_its_step_with_it() -> None:
    story, (signed, unsigned) = thinking_step("s1", None)
    view = told(story, SIGNED)

    assert thought(view) == []
    assert reasons(view, unsigned) == [LossReason.THINKING_UNSIGNED]
    assert reasons(view, signed) == [LossReason.THINKING_BROKEN]


def test_signature_of_another_backend_is_not_sent() -> None:
    story, (signed,) = thinking_step("s1")

    assert thought(told(story, attrs.evolve(SIGNED, signer="scripted"))) == [("plan", "s1")]
    other = told(story, attrs.evolve(SIGNED, signer="another"))
    assert thought(other) == []
    assert reasons(other, signed) == [LossReason.THINKING_FOREIGN]


def test_target_of_plain_thinking_gets_words_without_signatures() -> None:
    story, (signed, _unsigned) = thinking_step("s1", None)
    view = told(story, Capabilities(thinking=ThinkingForm.UNSIGNED))

    assert thought(view) == [("plan", None), ("plan", None)]
    assert reasons(view, signed) == [LossReason.SIGNATURE_DROPPED]


@pytest.mark.parametrize("target", [NATIVE, SIGNED], ids=["none", "signed"])
def test_step_of_thinking_alone_makes_no_message(target: Capabilities) -> None:
    story, (signed,) = thinking_step("s1", words="")
    view = told(story, target)

    assert roles(view) == ["user"]
    assert reasons(view, signed) == [LossReason.THINKING_ALONE]


def test_hidden_words_are_not_told_to_the_model() -> None:
    """Hidden is hidden whoever said it: a user, the model, or its reasoning."""
    story = Story()
    opening, words = story.opening(text="secret")
    words = attrs.evolve(words, visibility=Visibility.HIDDEN)
    story.book.tell(opening, words)
    story.book.tell(story.request(1))
    thought = compose.model_thinking(
        story.at, "f_t", story.request_name(1), Thinking(text="secret", signature="s")
    )
    hidden = [attrs.evolve(one, visibility=Visibility.HIDDEN) for one in (thought, story.text(1))]
    story.book.tell(*hidden, story.text(1, "shown"), story.settle(1))
    view = told(story, SIGNED)

    assert (texts(view), roles(view)) == (["shown"], ["assistant"])
    assert [reasons(view, one) for one in (words, *hidden)] == [[LossReason.HIDDEN]] * 3


# --- targets that carry less ---


def test_target_without_tools_is_told_calls_and_results_in_words() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    outcome = story.outcome(call)
    story.book.tell(outcome)
    view = told(die(story), WORDS)

    assert roles(view) == ["user", "assistant", "user"]
    assert texts(view)[1:] == [
        "hello",
        '[called bump with {"line":"x"}]',
        "[bump: result]\nok",
        "what happened?",
    ]
    assert reasons(view, call) == [LossReason.CALL_AS_TEXT]
    assert reasons(view, outcome) == [LossReason.RESULT_AS_TEXT]


def picture(size: int) -> Attachment:
    return Attachment(
        kind=AttachmentKind.IMAGE, media_type="image/png", bytes=size, digest=DIGEST, name="p.png"
    )


def test_newest_images_within_the_budget_are_sent_and_the_rest_are_notes() -> None:
    story = Story()
    for _turn in range(2):
        opening, text = story.opening()
        said = Text(text="look", attachments=(picture(6),))
        story.book.tell(opening, attrs.evolve(text, content=said))
        story.stepped(1)
        story.book.tell(story.completed())
    seeing = told(story, Capabilities(images=True, image_bytes_max=10))
    blind = told(story)

    assert [block["type"] for block in seeing.messages[0].blocks] == ["text"]
    assert [block["type"] for block in seeing.messages[2].blocks] == ["image", "text"]
    note = "look\n\n[attached image p.png: image/png, 6 bytes, not shown here]"
    assert texts(blind) == [note, "hello", note, "hello"]


# --- continuation (CONT-2) ---


def test_segment_ends_at_its_last_users_words_or_result() -> None:
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(call))
    story.book.tell(story.request(2))
    story.book.tell(story.text(2, "done"), story.settle(2))
    items = told(story).items

    kept, dropped = trim(items)

    assert list(kept) == list(items[:2])
    assert [cast("StepItem", item).texts[0].text for item in dropped] == ["done"]


def test_step_whose_calls_were_never_started_is_no_anchor() -> None:
    story, _call = one_call()
    story.book.tell(story.failed())

    kept, dropped = trim(told(story).items)

    assert (len(kept), len(dropped)) == (1, 1)


def cut_off_story() -> tuple[Story, RuntimeEvent]:
    """Tell a run that said something after its last result, and was then interrupted."""
    story, call = one_call()
    story.book.tell(story.dispatch(call))
    story.book.tell(story.outcome(call))
    story.book.tell(story.request(2))
    words = story.text(2, "and now")
    story.book.tell(words, story.call(2, 1), story.settle(2, Finish.TOOL_CALLS))
    story.book.tell(story.failed())
    return story, words


@pytest.mark.proves("CONT-2")
def test_what_a_continuation_trimmed_from_its_source_never_reappears() -> None:
    """It rests on the source's last result, so later turns must not be told what came after it."""
    story, words = cut_off_story()
    before = told(story)
    continue_run(story, Cause.RUNTIME_ADMISSION)
    opened = told(story)
    story.stepped(1)
    story.book.tell(story.completed())
    story.opened()

    assert "and now" in texts(before)
    assert roles(opened) == ["user", "assistant", "tool"]
    assert reasons(opened, words) == [LossReason.TRIMMED]
    assert texts(told(story)) == ["go", "hello", "hello", "go"]


@pytest.mark.proves("CONT-2")
def test_continuation_of_a_repaired_claim_trims_the_whole_lineage() -> None:
    story, words = cut_off_story()
    continue_run(story, Cause.CLAIM_REPAIR)
    repaired = told(story)
    continue_run(story, Cause.RUNTIME_ADMISSION)

    assert "and now" in texts(repaired)
    assert reasons(told(story), words) == [LossReason.TRIMMED]
