"""The strict history checker finds every way in which a history can be wrong (G2)."""

import copy
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.model import RuntimeEvent
from crashworthy.machines.projections.checker import Fault, check_history
from crashworthy.machines.projections.history import history
from crashworthy.machines.projections.target import Capabilities, ThinkingForm

from ..facts.json_strategies import json_values
from .ledgers import sessions

Block = dict[str, Json]

SIGNED: Final = Capabilities(thinking=ThinkingForm.SIGNED, images=True)
NARROW: Final = Capabilities(native_tools=False, consecutive_users=False)


def text(words: Json = "go") -> Block:
    return {"type": "text", "text": words}


def thinking(signature: Json = "sig", words: Json = "plan") -> Block:
    return {"type": "thinking", "text": words, "signature": signature}


def call(name: str = "op_1", args: Json = None, **more: Json) -> Block:
    return {
        "type": "tool_call",
        "label": "c",
        "operation": name,
        "name": "bump",
        "args": {} if args is None else args,
        **more,
    }


def result(operation: str = "op_1", **more: Json) -> Block:
    answer: Block = {
        "type": "tool_result",
        "operation": operation,
        "label": "c",
        "name": "bump",
        "result": "ok",
        "status": "settled",
        "is_error": False,
    }
    return {**answer, **more}


def image() -> Block:
    return {"type": "image", "media_type": "image/png", "bytes": 1, "digest": "d", "name": None}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


def said(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def tool(*blocks: Json) -> Json:
    return {"role": "tool", "content": list(blocks)}


SOUND: Final[tuple[Json, ...]] = (
    user(text(), image()),
    said(thinking(), text("I will"), call(), call("op_2")),
    tool(result(), result("op_2", result=None, status="unknown", is_error=True)),
    user(text()),
    user(text("again")),
    said(text("done")),
)


def deep(levels: int) -> Json:
    value: Json = "x"
    for _level in range(levels):
        value = [value]
    return value


# Each fault with a history that has it, and the target it is checked for.
CASES: Final[tuple[tuple[Fault, Capabilities, list[Json]], ...]] = (
    (Fault.NOT_STRICT_JSON, SIGNED, [user(text("\ud800"))]),
    (Fault.NOT_STRICT_JSON, SIGNED, [said(call(args={"x": deep(70)})), tool(result())]),
    (Fault.NOT_STRICT_JSON, SIGNED, [said(call(args={"x": float("nan")})), tool(result())]),
    (Fault.MESSAGE_MALFORMED, SIGNED, ["hello"]),
    (Fault.MESSAGE_MALFORMED, SIGNED, [{"role": "system", "content": [text()]}]),
    (Fault.MESSAGE_MALFORMED, SIGNED, [{"role": "user", "content": "go"}]),
    (Fault.MESSAGE_MALFORMED, SIGNED, [{"role": "user", "content": [text()], "id": "m"}]),
    (Fault.MESSAGE_MALFORMED, SIGNED, [{"role": "user", "content": [text(), "go"]}]),
    (Fault.MESSAGE_EMPTY, SIGNED, [user()]),
    (Fault.MESSAGE_EMPTY, SIGNED, [said()]),
    (Fault.BLOCK_MALFORMED, SIGNED, [user({"type": "sound"})]),
    (Fault.BLOCK_MALFORMED, SIGNED, [user({"text": "go"})]),
    (Fault.BLOCK_MALFORMED, SIGNED, [user(text(None))]),
    (Fault.BLOCK_MALFORMED, SIGNED, [user({**text(), "cache": True})]),
    (Fault.BLOCK_MALFORMED, SIGNED, [said(call()), tool(result(status="maybe"))]),
    (Fault.BLOCK_MALFORMED, SIGNED, [said(call()), tool(result(status=["settled"]))]),
    (Fault.BLOCK_MALFORMED, SIGNED, [said(call()), tool(result(is_error=1))]),
    (Fault.BLOCK_MALFORMED, SIGNED, [said(thinking(1), text())]),
    (Fault.BLOCK_MISPLACED, SIGNED, [user(call()), tool(result())]),
    (Fault.BLOCK_MISPLACED, SIGNED, [user(thinking(), text())]),
    (Fault.BLOCK_MISPLACED, SIGNED, [said(call()), tool(result(), text())]),
    (Fault.BLOCK_MISPLACED, SIGNED, [said(call()), user(result())]),
    (Fault.BLOCK_MISPLACED, SIGNED, [said(call(), text()), tool(result())]),
    (Fault.BLOCK_MALFORMED, SIGNED, [user({**image(), "bytes": "1"})]),
    (Fault.TEXT_EMPTY, SIGNED, [user(text(""))]),
    (Fault.TEXT_EMPTY, SIGNED, [user(text(" \n"))]),
    (Fault.PARTIAL, SIGNED, [said({**text(), "partial": True})]),
    (Fault.ARGUMENTS_NOT_OBJECT, SIGNED, [said(call(args=[])), tool(result())]),
    (Fault.ARGUMENTS_NOT_OBJECT, SIGNED, [said(call(args="{}")), tool(result())]),
    (Fault.CALL_REPEATED, SIGNED, [said(call()), tool(result()), said(call()), tool(result())]),
    (Fault.CALL_REPEATED, SIGNED, [said(call(), call()), tool(result())]),
    (Fault.CALL_UNANSWERED, SIGNED, [said(call())]),
    (Fault.CALL_UNANSWERED, SIGNED, [said(call(), call("op_2")), tool(result())]),
    (Fault.CALL_UNANSWERED, SIGNED, [said(call()), user(text()), tool(result())]),
    (Fault.CALL_UNANSWERED, SIGNED, [said(call()), "noise", tool(result())]),
    (Fault.CALL_ANSWERED_TWICE, SIGNED, [said(call()), tool(result(), result())]),
    (Fault.RESULT_ORPHAN, SIGNED, [user(text()), tool(result())]),
    (Fault.RESULT_ORPHAN, SIGNED, [said(call()), tool(result()), tool(result())]),
    (Fault.RESULT_ORPHAN, SIGNED, [said(call()), tool(result("op_2"), result())]),
    (
        Fault.RESULT_OUT_OF_ORDER,
        SIGNED,
        [said(call(), call("op_2")), tool(result("op_2"), result())],
    ),
    (Fault.RESULT_MISNAMED, SIGNED, [said(call()), tool(result(label="d"))]),
    (Fault.RESULT_MISNAMED, SIGNED, [said(call()), tool(result(name="read"))]),
    (Fault.RESULT_EMPTY, SIGNED, [said(call()), tool(result(result=""))]),
    (Fault.THINKING_REFUSED, NARROW, [said(thinking(), text())]),
    (Fault.THINKING_UNSIGNED, SIGNED, [said(thinking(None), text())]),
    (Fault.THINKING_UNSIGNED, SIGNED, [said(thinking(""), text())]),
    (
        Fault.THINKING_SIGNED,
        Capabilities(thinking=ThinkingForm.UNSIGNED),
        [said(thinking(), text())],
    ),
    (Fault.THINKING_EMPTY, SIGNED, [said(thinking(None, ""), text())]),
    (Fault.THINKING_LAST, SIGNED, [said(thinking())]),
    (Fault.THINKING_LAST, SIGNED, [said(text(), thinking())]),
    (Fault.TOOLS_REFUSED, NARROW, [said(call()), tool(result())]),
    (Fault.IMAGE_REFUSED, NARROW, [user(image(), text())]),
    (Fault.USERS_CONSECUTIVE, NARROW, [user(text()), user(text())]),
)


def faults(messages: list[Json], target: Capabilities) -> set[Fault]:
    return {finding.fault for finding in check_history(messages, target)}


def test_sound_history_has_no_finding() -> None:
    assert check_history(SOUND, SIGNED) == ()
    assert check_history((), SIGNED) == ()


@pytest.mark.parametrize(("fault", "target", "messages"), CASES)
def test_fault_is_found(fault: Fault, target: Capabilities, messages: list[Json]) -> None:
    assert fault in faults(messages, target)


def test_every_fault_has_a_case() -> None:
    assert {fault for fault, _target, _messages in CASES} == set(Fault)


def test_finding_names_message_and_block() -> None:
    (finding,) = check_history([user(text()), said(text(), text(""))], SIGNED)
    assert (finding.fault, finding.message, finding.block) == (Fault.TEXT_EMPTY, 1, 1)


# --- damage to sound histories ---

Damage = Callable[[list[dict[str, Json]], int], None]


def content(message: dict[str, Json]) -> list[Json]:
    blocks = message["content"]
    assert isinstance(blocks, list)
    return blocks


def lose_result(messages: list[dict[str, Json]], at: int) -> None:
    content(messages[at]).pop()


def lose_results(messages: list[dict[str, Json]], at: int) -> None:
    del messages[at]


def lose_call(messages: list[dict[str, Json]], at: int) -> None:
    content(messages[at - 1]).pop()


def lose_calls(messages: list[dict[str, Json]], at: int) -> None:
    del messages[at - 1]


def repeat_result(messages: list[dict[str, Json]], at: int) -> None:
    content(messages[at]).append(content(messages[at])[0])


def repeat_results(messages: list[dict[str, Json]], at: int) -> None:
    messages.insert(at, messages[at])


def repeat_step(messages: list[dict[str, Json]], at: int) -> None:
    messages[at + 1 : at + 1] = messages[at - 1 : at + 1]


def put_between(messages: list[dict[str, Json]], at: int) -> None:
    messages.insert(at, {"role": "user", "content": [text()]})


def swap(messages: list[dict[str, Json]], at: int) -> None:
    messages[at - 1], messages[at] = messages[at], messages[at - 1]


def rename(messages: list[dict[str, Json]], at: int) -> None:
    block = content(messages[at])[0]
    assert isinstance(block, dict)
    block["operation"] = "op_other"


@settings(max_examples=20)
@given(sessions(), st.data())
@pytest.mark.parametrize(
    "damage",
    [
        lose_result,
        lose_results,
        lose_call,
        lose_calls,
        repeat_result,
        repeat_results,
        repeat_step,
        put_between,
        swap,
        rename,
    ],
)
def test_damage_to_a_pair_is_found(
    damage: Damage, facts: list[RuntimeEvent], data: st.DataObject
) -> None:
    target = Capabilities()
    messages = [message.body() for message in history(facts, target).messages]
    places = [at for at, message in enumerate(messages) if message["role"] == "tool"]
    if not places:
        return
    damaged = copy.deepcopy(messages)
    damage(damaged, data.draw(st.sampled_from(places)))

    assert check_history(list[Json](damaged), target) != ()


@given(st.lists(json_values(), max_size=4))
def test_checker_judges_any_json_without_failing(messages: list[Json]) -> None:
    check_history(messages, SIGNED)
