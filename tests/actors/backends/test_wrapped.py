"""A wrapper passes on what it is not told to change, and lets go of what it wraps in order."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

import attrs
import pytest
import trio

from crashworthy.actors.backends.contract import (
    Backend,
    BackendEvent,
    BackendFailedError,
    Finished,
    ModelRequest,
    TextPiece,
)
from crashworthy.actors.backends.wrapped import WrappedBackend
from crashworthy.machines.facts.vocabulary import Failure, Finish
from crashworthy.machines.projections.target import Capabilities, ThinkingForm

REQUEST = ModelRequest(run="r", step=1, attempt=2, system="", messages=(), tools=())
WORDS: tuple[BackendEvent, ...] = (
    TextPiece(text="so"),
    TextPiece(text="be it"),
    Finished(finish=Finish.STOP),
)


@attrs.frozen
class Spoken:
    """A backend that says its words, and notes in a log when it is entered and left."""

    log: list[str]

    @property
    def name(self) -> str:
        return "spoken"

    @property
    def model(self) -> str:
        return "voice"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(thinking=ThinkingForm.SIGNED)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[BackendEvent]]:
        self.log.append(f"sent {request.attempt}")
        async with aclosing(self.words()) as words:
            try:
                yield words
            finally:
                self.log.append("left")

    async def words(self) -> AsyncGenerator[BackendEvent]:
        for word in WORDS:
            await trio.lowlevel.checkpoint()
            yield word


def heard(backend: Backend, most: int = len(WORDS)) -> list[BackendEvent]:
    async def listen() -> list[BackendEvent]:
        found: list[BackendEvent] = []
        async with backend.stream(REQUEST) as events:
            async for event in events:
                found.append(event)
                if len(found) == most:
                    break
        return found

    return trio.run(listen)


def test_wrapper_with_nothing_to_do_is_its_inner_backend() -> None:
    log: list[str] = []
    inner = Spoken(log)
    wrapped = WrappedBackend(inner=inner)

    told = (wrapped.name, wrapped.model, wrapped.capabilities)
    assert told == (inner.name, inner.model, inner.capabilities)
    assert heard(wrapped) == list(WORDS)
    assert log == ["sent 2", "left"]


def test_request_leaves_only_after_it_was_told_of() -> None:
    log: list[str] = []

    def told(request: ModelRequest) -> None:
        log.append(f"told {request.attempt}")

    heard(WrappedBackend(inner=Spoken(log), before=told))

    assert log == ["told 2", "sent 2", "left"]


def test_request_waits_for_whoever_holds_it_back() -> None:
    log: list[str] = []

    async def held_back(_request: ModelRequest) -> None:
        log.append("waits")
        await trio.lowlevel.checkpoint()
        log.append("waited")

    heard(WrappedBackend(inner=Spoken(log), before=held_back))

    assert log == ["waits", "waited", "sent 2", "left"]


def test_request_that_is_refused_never_leaves() -> None:
    log: list[str] = []

    def refuse(_request: ModelRequest) -> None:
        raise BackendFailedError(failure=Failure.RATE_LIMIT, message="later", retry_after_ms=5)

    with pytest.raises(BackendFailedError, match="later"):
        heard(WrappedBackend(inner=Spoken(log), before=refuse))

    assert log == []


def test_answer_is_what_it_goes_through() -> None:
    async def shout(
        request: ModelRequest, events: AsyncIterator[BackendEvent]
    ) -> AsyncGenerator[BackendEvent]:
        assert request is REQUEST
        async for event in events:
            yield TextPiece(text=event.text.upper()) if isinstance(event, TextPiece) else event

    wrapped = WrappedBackend(inner=WrappedBackend(inner=Spoken([])), through=shout)

    assert heard(wrapped) == [TextPiece(text="SO"), TextPiece(text="BE IT"), WORDS[-1]]


def test_answer_that_fails_on_the_way_leaves_the_inner_backend() -> None:
    log: list[str] = []

    async def fail(
        _request: ModelRequest, events: AsyncIterator[BackendEvent]
    ) -> AsyncGenerator[BackendEvent]:
        yield await anext(events)
        raise BackendFailedError(failure=Failure.NETWORK, message="planted")

    with pytest.raises(BackendFailedError, match="planted"):
        heard(WrappedBackend(inner=Spoken(log), through=fail))

    assert log == ["sent 2", "left"]


def test_answer_that_is_left_early_is_closed_from_the_outside_in() -> None:
    """A wrapper that is closed late would run beside a connection that is gone."""
    log: list[str] = []

    async def noted(
        _request: ModelRequest, events: AsyncIterator[BackendEvent]
    ) -> AsyncGenerator[BackendEvent]:
        try:
            async for event in events:
                yield event
        finally:
            log.append("closed")

    heard(WrappedBackend(inner=Spoken(log), through=noted), most=1)

    assert log == ["sent 2", "closed", "left"]
