"""What a backend is: one instance a run, one stream of closed events a request (RUN-1, RUN-2)."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import ClassVar, Protocol, TypeAlias

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.model import Usage
from ...machines.facts.vocabulary import Failure, Finish
from ...machines.projections.target import Capabilities

# --- what a backend is given ---


@attrs.frozen(kw_only=True)
class ToolOffer:
    """A tool as the model is told of it."""

    name: str
    description: str
    schema: Json


@attrs.frozen(kw_only=True)
class ModelRequest:
    """One model request; `body` is what goes over the wire, already durable (LOG-7).

    Attributes:
        step: From 1; which step of the run this request answers.
        attempt: From 1; a retry of the same step counts on.
        messages: The checked history, oldest first, in the target's form.
    """

    run: str
    step: int
    attempt: int
    system: str
    messages: Sequence[Json]
    tools: Sequence[ToolOffer]


# --- what it answers ---


@attrs.frozen(kw_only=True)
class TextPiece:
    """More words of the text block that is open, or of a new one."""

    text: str


@attrs.frozen(kw_only=True)
class ThinkingPiece:
    """More reasoning."""

    text: str


@attrs.frozen(kw_only=True)
class ThinkingSigned:
    """The signature over the whole thinking block; it ends the block."""

    signature: str


@attrs.frozen(kw_only=True)
class BlockEnded:
    """The open text or thinking block is whole; the next piece starts a new one."""


@attrs.frozen(kw_only=True)
class CallStated:
    """A whole tool call; a call that the stream cut off is never stated."""

    label: str
    name: str
    args: Json


@attrs.frozen(kw_only=True)
class UsageStated:
    """What the provider says the request cost."""

    usage: Usage


@attrs.frozen(kw_only=True)
class Finished:
    """The provider stated how the answer ends; nothing after it counts (RUN-3)."""

    finish: Finish


BackendEvent: TypeAlias = (
    TextPiece | ThinkingPiece | ThinkingSigned | BlockEnded | CallStated | UsageStated | Finished
)


@attrs.define(eq=False, kw_only=True)
class BackendFailedError(CrashworthyError):
    """A request failed in a way the backend can name; the kernel decides what follows.

    Attributes:
        failure: The closed kind, from typed evidence, never from words in a message (BACK-1).
        message: What may be shown to a person; free of credentials.
        retry_after_ms: How long the provider asked to wait, if it did.
    """

    code: ClassVar[Code] = Code.BACKEND_FAILED
    failure: Failure
    message: str
    retry_after_ms: int | None = None


class Backend(Protocol):
    """One run's source of model answers.

    A stream is entered, iterated and left once. Leaving early is how a request is cancelled; the
    backend lets go of whatever it holds. It may raise `BackendFailedError` at any moment; any other
    exception counts as `Failure.UNKNOWN`. Ending without `Finished` is a missing finish, which is a
    failure whatever was said before (RUN-3).

    To log, hold back or break what another backend does, put a `wrapped.WrappedBackend` around it.
    """

    @property
    def name(self) -> str:
        """Return the backend's name, as the execution profile records it (CONT-5)."""
        ...

    @property
    def model(self) -> str:
        """Return the resolved model, as the execution profile records it (CONT-5)."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Return what the target can carry."""
        ...

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[BackendEvent]]:
        """Open the answer to one request. The request has not left before this is entered."""
        ...


class BackendFactory(Protocol):
    """Makes the one backend of a run; a backend whose stop failed is never used again (RUN-1)."""

    def __call__(self) -> Backend:
        """Return a backend that no run has used."""
        ...
