"""A model that plays a script: the same history always gets the same answer (BACK-1)."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Final, cast

import attrs
import trio

from ...machines.facts.canonical import Json
from ...machines.facts.model import Usage
from ...machines.facts.vocabulary import Failure, Finish
from ...machines.projections.target import Capabilities, ThinkingForm
from .contract import (
    BackendEvent,
    BackendFailedError,
    BlockEnded,
    CallStated,
    Finished,
    ModelRequest,
    TextPiece,
    ThinkingPiece,
    ThinkingSigned,
    UsageStated,
)
from .script import Say, Script, ScriptEvent, Step, Turn

_DONE: Final = (
    ScriptEvent(say=Say.TEXT, value="(the script has no answer to this)", more={}),
    ScriptEvent(say=Say.FINISH, value=Finish.STOP.value, more={}),
)


@attrs.frozen(kw_only=True)
class ScriptedBackend:
    """Answers from a script; which step it plays follows from the request alone.

    The turn is the first whose `user` text stands in the newest user message, else the turn at the
    position of that message in the session (the last turn repeats). Within it the request's step
    number picks the step, and the newest tool results pick among its alternatives.
    """

    script: Script

    @property
    def name(self) -> str:
        """Return `scripted`."""
        return "scripted"

    @property
    def model(self) -> str:
        """Return the name that the script gives its model."""
        return self.script.model

    @property
    def capabilities(self) -> Capabilities:
        """Return that tools and signed thinking are carried natively."""
        return Capabilities(thinking=ThinkingForm.SIGNED)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[BackendEvent]]:
        """Play the events of the step that fits; cancelling stops at the next event or delay."""
        events = _play(choose(self.script, request))
        try:
            yield events
        finally:
            await events.aclose()


def choose(script: Script, request: ModelRequest) -> Sequence[ScriptEvent]:
    """Return the events that answer a request. Pure: it reads the request and nothing else."""
    users = [text for message in request.messages for text in _texts(message, "user")]
    turn = _turn(script, users)
    if request.step > len(turn.steps):
        return _DONE
    results = _newest_results(request.messages)
    for step in turn.steps[request.step - 1]:
        if _holds(step, results):
            return step.events
    return _DONE


def _turn(script: Script, users: Sequence[str]) -> Turn:
    newest = users[-1] if users else ""
    for turn in script.turns:
        if turn.user is not None and turn.user in newest:
            return turn
    unnamed = [turn for turn in script.turns if turn.user is None] or list(script.turns)
    return unnamed[min(max(len(users), 1), len(unnamed)) - 1]


def _holds(step: Step, results: Sequence[tuple[str, str]]) -> bool:
    texts = [text for name, text in results if step.tool is None or name == step.tool]
    if step.tool is not None and not texts:
        return False
    if step.contains is not None and not any(step.contains in text for text in texts):
        return False
    return step.lacks is None or not any(step.lacks in text for text in texts)


def _blocks(message: Json) -> Sequence[dict[str, Json]]:
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return ()
    return [block for block in content if isinstance(block, dict)]


def _texts(message: Json, role: str) -> Sequence[str]:
    if not isinstance(message, dict) or message.get("role") != role:
        return ()
    texts = [block.get("text") for block in _blocks(message) if block.get("type") == "text"]
    return [text for text in texts if isinstance(text, str)]


def _newest_results(messages: Sequence[Json]) -> Sequence[tuple[str, str]]:
    """Return (tool name, result as text) of the newest step's results."""
    found: list[tuple[str, str]] = []
    for message in reversed(messages):
        blocks = [block for block in _blocks(message) if block.get("type") == "tool_result"]
        if not blocks:
            break
        found[:0] = [(str(block.get("name")), _shown(block.get("result"))) for block in blocks]
    return found


def _shown(result: Json) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


async def _play(events: Sequence[ScriptEvent]) -> AsyncGenerator[BackendEvent]:
    for event in events:
        await trio.lowlevel.checkpoint()
        match event.say:
            case Say.TEXT:
                async with aclosing(_pieces(event)) as pieces:
                    async for piece in pieces:
                        yield piece
                yield BlockEnded()
            case Say.THINK:
                yield ThinkingPiece(text=cast("str", event.value))
                signature = event.more.get("signature")
                if isinstance(signature, str):
                    yield ThinkingSigned(signature=signature)
                yield BlockEnded()
            case Say.CALL:
                if "cut_after_bytes" not in event.more:  # A call that was cut off was never stated.
                    yield _call(event)
            case Say.USAGE:
                yield UsageStated(usage=_usage(cast("dict[str, Json]", event.value)))
            case Say.FINISH:
                yield Finished(finish=Finish(cast("str", event.value)))
            case Say.ERROR:
                raise _failure(event)
            case Say.END_OF_STREAM:
                return
            case Say.DELAY:
                await trio.sleep(cast("int", event.value) / 1000)
            case Say.IGNORE_CANCEL:
                with trio.CancelScope(shield=True):
                    await trio.sleep(cast("int", event.value) / 1000)


async def _pieces(event: ScriptEvent) -> AsyncGenerator[TextPiece]:
    text = cast("str", event.value)
    pieces, delay_ms = event.more.get("pieces", 1), event.more.get("piece_delay_ms", 0)
    assert isinstance(pieces, int)
    assert isinstance(delay_ms, int)
    size = max(1, -(-len(text) // max(1, pieces)))
    for start in range(0, len(text), size):
        if delay_ms:
            await trio.sleep(delay_ms / 1000)
        yield TextPiece(text=text[start : start + size])
    if not text:
        yield TextPiece(text="")


def _call(event: ScriptEvent) -> CallStated:
    label, args = event.more.get("label", ""), event.more.get("args", {})
    return CallStated(label=str(label), name=cast("str", event.value), args=args)


def _usage(value: dict[str, Json]) -> Usage:
    counts = {key: number for key, number in value.items() if isinstance(number, int)}
    return Usage(
        input=counts.get("input", 0),
        output=counts.get("output", 0),
        cache_read=counts.get("cache_read"),
        cache_write=counts.get("cache_write"),
        reasoning=counts.get("reasoning"),
        cost_micros=counts.get("cost_micros"),
    )


def _failure(event: ScriptEvent) -> BackendFailedError:
    after = event.more.get("retry_after_ms")
    return BackendFailedError(
        failure=Failure(cast("str", event.value)),
        message=str(event.more.get("message", event.value)),
        retry_after_ms=after if isinstance(after, int) else None,
    )
