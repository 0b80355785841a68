"""The scripted model answers from the request alone, cancels at once, and fails as it is told."""

import gc
from collections.abc import Sequence

import pytest
import trio

from crashworthy.actors.backends.contract import (
    BackendEvent,
    BackendFailedError,
    BlockEnded,
    CallStated,
    Finished,
    ModelRequest,
    TextPiece,
    UsageStated,
)
from crashworthy.actors.backends.script import Script, parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend, choose
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.model import Usage
from crashworthy.machines.facts.vocabulary import Failure, Finish


def user(text: str) -> Json:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def result(name: str, value: Json) -> Json:
    return {"role": "tool", "content": [{"type": "tool_result", "name": name, "result": value}]}


def request(step: int, *messages: Json) -> ModelRequest:
    return ModelRequest(run="r", step=step, attempt=1, system="", messages=messages, tools=())


def script(*turns: dict[str, object]) -> Script:
    return parse_script({"turn": list(turns)})


def said(text: str, **more: object) -> dict[str, object]:
    return {"event": [{"text": text}, {"finish": "stop"}], **more}


def first_text(chosen: Script, asked: ModelRequest) -> object:
    return choose(chosen, asked)[0].value


async def events(chosen: Script, asked: ModelRequest) -> Sequence[BackendEvent]:
    async with ScriptedBackend(script=chosen).stream(asked) as stream:
        return [event async for event in stream]


def test_turn_is_chosen_by_words_then_by_position() -> None:
    chosen = script(
        {"step": [said("first")]},
        {"user": "bug", "step": [said("named")]},
        {"step": [said("second")]},
    )

    assert first_text(chosen, request(1, user("hello"))) == "first"
    assert first_text(chosen, request(1, user("hello"), user("again"))) == "second"
    assert first_text(chosen, request(1, user("a"), user("b"), user("c"))) == "second"
    assert first_text(chosen, request(1, user("a bug"))) == "named"


def test_step_branches_on_what_the_newest_tools_returned() -> None:
    chosen = script(
        {
            "step": [
                said("begin"),
                said("red", when={"tool": "shell", "contains": "failed"}),
                said("green", when={"tool": "shell", "lacks": "failed"}, **{"or": True}),
                said("no shell", **{"or": True}),
            ]
        }
    )

    assert first_text(chosen, request(2, user("x"), result("shell", {"out": "1 failed"}))) == "red"
    assert first_text(chosen, request(2, user("x"), result("shell", "ok"))) == "green"
    assert first_text(chosen, request(2, user("x"), result("read", "failed"))) == "no shell"
    old = (result("shell", "failed"), user("y"), result("shell", "ok"))
    assert first_text(chosen, request(2, user("x"), *old)) == "green"


def test_request_beyond_the_script_says_so_and_stops() -> None:
    chosen = script({"step": [said("only")]})

    assert "no answer" in str(first_text(chosen, request(9, user("x"))))


@pytest.mark.trio
async def test_events_come_in_order_and_a_cut_call_is_never_stated() -> None:
    step = {
        "event": [
            {"text": "abcd", "pieces": 2},
            {"call": "bump", "args": {"n": 1}, "label": "c1"},
            {"call": "bump", "args": {"n": 2}, "cut_after_bytes": 3},
            {"usage": {"input": 3, "output": 4}},
            {"finish": "tool_calls"},
        ]
    }

    assert await events(script({"step": [step]}), request(1, user("x"))) == [
        TextPiece(text="ab"),
        TextPiece(text="cd"),
        BlockEnded(),
        CallStated(label="c1", name="bump", args={"n": 1}),
        UsageStated(usage=Usage(input=3, output=4)),
        Finished(finish=Finish.TOOL_CALLS),
    ]


@pytest.mark.trio
async def test_end_of_stream_ends_without_a_finish() -> None:
    step = {"event": [{"text": "half"}, {"eof": True}, {"finish": "stop"}]}

    found = await events(script({"step": [step]}), request(1, user("x")))

    assert Finished(finish=Finish.STOP) not in found


@pytest.mark.trio
async def test_error_is_raised_with_its_closed_kind() -> None:
    step = {"event": [{"error": "rate_limit", "message": "slow down", "retry_after_ms": 5}]}

    with pytest.raises(BackendFailedError) as caught:
        await events(script({"step": [step]}), request(1, user("x")))

    assert (caught.value.failure, caught.value.retry_after_ms) == (Failure.RATE_LIMIT, 5)


@pytest.mark.trio
async def test_stream_that_is_left_in_the_middle_of_a_text_leaves_nothing_behind() -> None:
    """What is not closed is complained about when it is collected, which fails the test."""
    chosen = script({"step": [{"event": [{"text": "so be it", "pieces": 3}, {"finish": "stop"}]}]})

    async with ScriptedBackend(script=chosen).stream(request(1, user("x"))) as stream:
        first = await anext(stream)
    gc.collect()

    assert first == TextPiece(text="so ")


@pytest.mark.trio
async def test_cancel_is_obeyed_during_a_delay_and_ignored_where_the_script_says(
    autojump_clock: trio.testing.MockClock,
) -> None:
    slow = script({"step": [{"event": [{"delay_ms": 60_000}, {"finish": "stop"}]}]})
    deaf = script({"step": [{"event": [{"ignore_cancel_ms": 60_000}, {"finish": "stop"}]}]})

    for chosen, seconds in ((slow, 1), (deaf, 60)):
        start = trio.current_time()
        with trio.move_on_after(1):
            await events(chosen, request(1, user("x")))
        assert round(trio.current_time() - start) == seconds
    assert autojump_clock.autojump_threshold == 0
