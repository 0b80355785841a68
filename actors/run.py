"""The run actor: a loop that reads its facts, takes the next step, and states the end (RUN-3)."""

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import attrs
import trio

from ..machines.facts import compose
from ..machines.facts.canonical import CanonicalError, Json, check
from ..machines.facts.codes import CrashworthyError
from ..machines.facts.model import (
    ErrorNoted,
    ErrorText,
    FunctionCall,
    Loss,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RuntimeEvent,
    Text,
    Thinking,
)
from ..machines.facts.text import repair_text
from ..machines.facts.vocabulary import (
    Failure,
    Finish,
    RequestResult,
    RunFailure,
    RunStatus,
)
from ..machines.projections.target import Capabilities
from ..store.journal import writers
from ..store.operational import OperationalKind
from .answering import Block, BlockOf, Reply, StatedCall, Watch, read_reply
from .backends.contract import Backend, BackendFailedError, ModelRequest, ToolOffer
from .calls import Calls, Tail
from .live import Piece, PieceOf
from .means import Means
from .pen import Pen
from .permission import unclean_args
from .progress import Progress, read_progress
from .waiting import Waiting
from .wire import WireBook

_RETRIED: Final = frozenset(
    (Failure.NETWORK, Failure.UNAVAILABLE, Failure.RATE_LIMIT, Failure.TIMEOUT)
)
_CUTS: Final = {
    Finish.LENGTH: RunFailure.LENGTH,
    Finish.CONTENT_FILTER: RunFailure.CONTENT_FILTER,
}
_MISSING: Final = "the stream ended without a stated finish"

Historian = Callable[[Sequence[RuntimeEvent], Capabilities], Sequence[Json]]
"""The history projector: the facts of the session up to now, as checked messages (PROJ-2)."""


class Snapshots(Protocol):
    """Keeps one bounded snapshot of each open stream (LOG-5)."""

    async def keep(self, stream: str, block: Block) -> None:
        """Take a stream's newest words; written at once the first time, then now and then."""
        ...

    def tail(self, operation: str) -> Tail:
        """Return what keeps the tail of a call's live output."""
        ...


class Mail(Protocol):
    """The messages that wait for the next step boundary of this run (RUN-6)."""

    def waiting(self) -> Sequence[RuntimeEvent]:
        """Return the queued messages, oldest first."""
        ...


@attrs.define(eq=False, kw_only=True)
class RunActor:
    """Drives one run from where its facts are to its end, or until it is cancelled.

    Cancelling is a crash by another name: nothing is saved on the way out (RUN-7).

    Attributes:
        past: The facts of the session before this run, in commit order.
    """

    pen: Pen
    means: Means
    waiting: Waiting
    historian: Historian
    snapshots: Snapshots
    mail: Mail
    past: Sequence[RuntimeEvent]
    _wires: WireBook = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with no request written."""
        self._wires = WireBook(keep=self.means.keep)

    async def run(self) -> RunEnded | None:
        """Work until the run has an end to state; return it, unwritten.

        Returns:
            The end that the kernel is to write; None if the run was stopped or ended by others.
        """
        backend = self.means.backend()
        while True:
            progress = read_progress(self.pen.facts)
            if progress.ended or progress.stopped:
                return None
            end = await self._advance(progress, backend)
            if end is not None:
                return end

    async def _advance(self, progress: Progress, backend: Backend) -> RunEnded | None:
        """Take one step; return the end if there is nothing more to do."""
        if progress.step == 0 or progress.steered:
            return await self._request(progress, backend)
        if progress.finish is Finish.TOOL_CALLS:
            if progress.open_calls():
                return await self._settle_calls()
            await self._deliver()
            return await self._request(progress, backend)
        if progress.finish is Finish.STOP:
            if await self._deliver():
                return None
            return RunEnded(status=RunStatus.COMPLETED)
        if progress.finish is not None:
            return _failed(_CUTS.get(progress.finish, RunFailure.INTERNAL))
        return _failed(RunFailure.BACKEND_FAILED)

    async def _settle_calls(self) -> RunEnded | None:
        calls = Calls(
            pen=self.pen, means=self.means, waiting=self.waiting, tails=self.snapshots.tail
        )
        return None if await calls.settle_all() else _failed(RunFailure.OUTCOME_UNKNOWN)

    async def _deliver(self) -> bool:
        """Deliver what was queued for this run; say whether anything was (RUN-6)."""
        queued = self.mail.waiting()
        for message in queued:
            name = message.refs.message
            assert name is not None
            assert isinstance(message.content, Text)
            control = compose.At(
                spine=compose.control_spine(self.pen.spine.session), ts=self.means.clock.now_ms()
            )
            taken = compose.message_taken(control, self.pen.fresh(), name, self.pen.spine.run)
            text = compose.steering_text(self.pen.at(), self.pen.fresh(), message.content, name)
            await self.pen.append(writers.steer(taken, text), (taken, text))
        return bool(queued)

    # --- requests ---

    def _over_budget(self, progress: Progress) -> RunFailure | None:
        """Return the backstop that was reached, if one was (RUN-8)."""
        if self.means.steps_max is not None and progress.step >= self.means.steps_max:
            return RunFailure.STEP_LIMIT
        opened = self.pen.facts[0].actions
        budgets = getattr(opened, "budgets", None)
        if budgets is None:
            return None
        if budgets.steps_max is not None and progress.step >= budgets.steps_max:
            return RunFailure.STEP_LIMIT
        if budgets.tokens_max is not None and progress.usage_tokens >= budgets.tokens_max:
            return RunFailure.BUDGET_EXHAUSTED
        now = self.means.clock.now_ms()
        if budgets.deadline_ts is not None and now >= budgets.deadline_ts:
            return RunFailure.DEADLINE
        return None

    async def _request(self, progress: Progress, backend: Backend) -> RunEnded | None:
        """Ask for the next step, with retries of ours (BACK-1)."""
        over = self._over_budget(progress)
        if over is not None:
            return _failed(over)
        step, retries, wait_ms = progress.step + 1, None, self.means.patience.retry_ms
        attempt = 0
        while True:
            attempt += 1
            request, reply = await self._exchange(backend, step, attempt, retries)
            if reply.finish is not None:
                await self._settle_step(request, reply)
                return None
            await self._settle_failure(request, reply)
            if reply.failure is None:
                return _failed(RunFailure.MISSING_TERMINAL_EVENT)
            last = attempt == self.means.patience.attempts_max
            if reply.failure not in _RETRIED or reply.observable or last:
                return _failed(RunFailure.BACKEND_FAILED)
            pause_ms = max(wait_ms, reply.retry_after_ms or 0)
            self.pen.note(
                OperationalKind.REQUEST_RETRIED,
                request=request,
                step=step,
                attempt=attempt,
                failure=str(reply.failure),
                message=reply.message,
                pause_ms=pause_ms,
            )
            await trio.sleep(pause_ms / 1000)
            wait_ms = min(wait_ms * 2, self.means.patience.retry_ms_max)
            retries = request

    async def _exchange(
        self, backend: Backend, step: int, attempt: int, retries: str | None
    ) -> tuple[str, Reply]:
        """Make one request durable, send it, and read its answer (LOG-7)."""
        messages = self.historian([*self.past, *self.pen.facts], backend.capabilities)
        offers = tuple(
            ToolOffer(name=tool.name, description=tool.description, schema=tool.schema)
            for tool in self.means.registry
        )
        wire = await self._wires.write(self.means.system, offers, messages)
        request = self.pen.fresh("req")
        action = RequestDispatched(
            step=step,
            attempt=attempt,
            profile=self.means.profile_digest,
            wire=wire.digest,
            parts=wire.parts,
            retries=retries,
        )
        fact = compose.request_dispatched(self.pen.at(), self.pen.fresh(), request, action)
        await self.pen.append(writers.dispatch_request(fact), (fact,))
        told = ModelRequest(
            run=self.pen.spine.run,
            step=step,
            attempt=attempt,
            system="\n\n".join(text for _name, text in self.means.system),
            messages=messages,
            tools=offers,
        )
        return request, await self._answer(backend, told, request)

    async def _answer(self, backend: Backend, told: ModelRequest, request: str) -> Reply:
        """Read the answer; a stream that cannot be opened, or fails to close, is a failure too.

        Raises:
            CrashworthyError: The store failed while a snapshot was kept.
        """
        idle_ms = self.means.patience.idle_ms
        reply = Reply()
        began = trio.current_time()
        try:
            async with backend.stream(told) as stream:
                reply = await read_reply(
                    stream, self._watcher(request), None if idle_ms is None else idle_ms / 1000
                )
        except BackendFailedError as error:
            reply.fail(error)
        except CrashworthyError:
            raise
        except Exception as error:  # noqa: BLE001 - a backend is foreign code
            reply.fail(error)
        self._note_answer(told, request, reply, began)
        return reply

    def _note_answer(self, told: ModelRequest, request: str, reply: Reply, began: float) -> None:
        """Tell people how long an answer took, and what came behind its end (LOG-10)."""
        self.pen.note(
            OperationalKind.REQUEST_TIMED,
            request=request,
            step=told.step,
            attempt=told.attempt,
            ms=round((trio.current_time() - began) * 1000),
            ended=str(reply.finish or reply.failure or "without_a_word"),
        )
        if reply.late is not None:
            self.pen.note(
                OperationalKind.LATE_ERROR,
                request=request,
                error=type(reply.late).__name__,
                message=str(reply.late),
            )

    def _watcher(self, request: str) -> Watch:
        spine = self.pen.spine

        async def watch(block: Block, piece: str) -> None:
            stream = _stream(request, block)
            of = PieceOf.TEXT if block.of is BlockOf.TEXT else PieceOf.THINKING
            text, _losses = repair_text(piece)
            self.pen.bus.publish(
                Piece(session=spine.session, run=spine.run, of=of, subject=stream, text=text)
            )
            await self.snapshots.keep(stream, block)

        return watch

    async def _settle_step(self, request: str, reply: Reply) -> None:
        """Make the whole step durable as one unit (LOG-7a)."""
        assert reply.finish is not None
        sent = self._sent(request)
        at = self.pen.at()
        facts: list[RuntimeEvent] = []
        for block in reply.blocks:
            facts.extend(self._said(at, request, block))
        here = self.pen.at(sent.ts)
        action = sent.actions
        assert isinstance(action, RequestDispatched)
        for position, stated in enumerate(reply.calls, 1):
            content = _call_content(stated)
            facts.append(compose.call(here, request, content, action.step, position))
        settled = RequestSettled(
            result=RequestResult.FINISHED, finish=_finish(reply), usage=reply.usage
        )
        facts.append(compose.request_settled(at, self.pen.fresh(), request, settled))
        await self.pen.append(writers.settle_step(*facts), facts)

    def _said(self, at: compose.At, request: str, block: Block) -> Sequence[RuntimeEvent]:
        """Return the fact of one block; a block that says nothing is none."""
        words, repaired = repair_text(block.text)
        losses = tuple(
            Loss(path="text", reason=str(loss.reason), count=loss.count) for loss in repaired
        )
        stream = _stream(request, block)
        if block.of is BlockOf.THINKING:
            if not words and block.signature is None:
                return ()
            thinking = Thinking(text=words, signature=block.signature, losses=losses)
            return (compose.model_thinking(at, self.pen.fresh(), request, thinking, stream),)
        if not words:
            return ()
        text = Text(text=words, losses=losses)
        return (compose.model_text(at, self.pen.fresh(), request, text, stream),)

    async def _settle_failure(self, request: str, reply: Reply) -> None:
        """Write the error, and that the request failed (LOG-6)."""
        failure = reply.failure or Failure.PROTOCOL
        message, _losses = repair_text(reply.message or _MISSING)
        noted = compose.error_noted(
            self.pen.at(),
            self.pen.fresh(),
            ErrorText(message=message or failure.value),
            ErrorNoted(failure=failure),
        )
        settled = compose.request_settled(
            self.pen.at(),
            self.pen.fresh(),
            request,
            RequestSettled(result=RequestResult.FAILED, failure=failure, usage=reply.usage),
        )
        await self.pen.append(writers.settle_request(noted, settled), (noted, settled))

    def _sent(self, request: str) -> RuntimeEvent:
        return next(
            fact
            for fact in reversed(self.pen.facts)
            if isinstance(fact.actions, RequestDispatched) and fact.refs.request == request
        )


def _failed(failure: RunFailure) -> RunEnded:
    return RunEnded(status=RunStatus.FAILED, failure=failure)


def _stream(request: str, block: Block) -> str:
    return f"{request}.{block.number}"


def _finish(reply: Reply) -> Finish:
    """Return the finish that fits what was said: the calls are the stronger statement (RUN-3)."""
    assert reply.finish is not None
    if reply.calls and reply.finish is Finish.STOP:
        return Finish.TOOL_CALLS
    if not reply.calls and reply.finish is Finish.TOOL_CALLS:
        return Finish.OTHER
    return reply.finish


def _call_content(stated: StatedCall) -> FunctionCall:
    """Return a call as it is stored: its arguments exactly, or a mark that they were unclean."""
    args: Json = stated.args if isinstance(stated.args, dict) else {"$value": stated.args}
    try:
        check(args)
    except CanonicalError:
        args = unclean_args()
    label, _losses = repair_text(stated.label)
    name, _more = repair_text(stated.name)
    return FunctionCall(label=label, name=name, args=args)
