"""A backend around another one: what is logged, held back or broken on the way (RUN-1)."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from typing import TypeAlias

import attrs

from ...machines.projections.target import Capabilities
from .contract import Backend, BackendEvent, ModelRequest

Before: TypeAlias = Callable[[ModelRequest], Awaitable[None] | None]
"""Is told of a request right before it leaves; what it returns is awaited, if anything.

It may wait, for instance for a rate limit: the run waits with it, and its patience counts. It may
raise `BackendFailedError`: then the request does not leave, and the runtime decides what follows.
"""

Through: TypeAlias = Callable[
    [ModelRequest, AsyncIterator[BackendEvent]], AsyncGenerator[BackendEvent]
]
"""Is given the answer to a request, and gives what the runtime gets in its place.

It is closed before the answer is, also where a request is cancelled half-way.
"""


def pass_by(_request: ModelRequest) -> None:
    """Let a request leave as it is."""


@attrs.frozen(kw_only=True)
class WrappedBackend:
    """Passes everything on to another backend, and does what it is given to do on the way.

    The execution profile records the inner backend and its model (CONT-5): a run that waits for a
    person can be taken up with or without the wrapper. Wrappers nest. For a backend that logs what
    it sends, and stops listening after so many words:

        def log(request: ModelRequest) -> None:
            print(request.run, request.step, request.attempt)

        async def cut(
            request: ModelRequest, events: AsyncIterator[BackendEvent]
        ) -> AsyncGenerator[BackendEvent]:
            left = 1_000
            async for event in events:
                if isinstance(event, TextPiece):
                    left -= len(event.text.split())
                if left < 0:
                    raise BackendFailedError(failure=Failure.PROTOCOL, message="too many words")
                yield event

        Settings(backend=lambda: WrappedBackend(inner=make(), before=log, through=cut), ...)

    Attributes:
        inner: Answers the requests.
        before: Is told of each request right before it leaves.
        through: What each answer goes through; None leaves it as it is.
    """

    inner: Backend
    before: Before = pass_by
    through: Through | None = None

    @property
    def name(self) -> str:
        """Return the name of the inner backend."""
        return self.inner.name

    @property
    def model(self) -> str:
        """Return the model of the inner backend."""
        return self.inner.model

    @property
    def capabilities(self) -> Capabilities:
        """Return what the inner backend can carry."""
        return self.inner.capabilities

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncGenerator[AsyncIterator[BackendEvent]]:
        """Let the request leave after `before`, and yield its answer as `through` gives it."""
        waiting = self.before(request)
        if waiting is not None:
            await waiting
        async with self.inner.stream(request) as events:
            if self.through is None:
                yield events
            else:
                async with aclosing(self.through(request, events)) as told:
                    yield told
