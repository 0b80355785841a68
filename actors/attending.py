"""Sits with one run until it ends or waits for a person whom nobody here can be (ASK-1)."""

import math
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import attrs
import trio

from ..machines.facts.model import RunEnded
from ..machines.facts.vocabulary import AnswerDecision, Kind
from ..store.journal.ledger import View
from ..store.journal.pending import Pending
from .errors import AlreadyDecidedError, AskClosedError
from .live import Committed, LiveEvent
from .runtime import PendingAsk, RunHandle, Runtime, Session

_LOOK_S: Final = 0.02
_UNSETTLED: Final = (Pending.REQUEST_OPEN, Pending.OPERATION_DISPATCHED, Pending.ASK_DECIDED)


@attrs.frozen(kw_only=True)
class Answer:
    """What a person says to one request.

    Attributes:
        answers: One entry a question, None where it was left open; empty for approvals.
    """

    decision: AnswerDecision
    answers: tuple[str | None, ...] = ()


ALLOW: Final = Answer(decision=AnswerDecision.ALLOW)
DENY: Final = Answer(decision=AnswerDecision.DENY)

Answerer = Callable[[PendingAsk], Awaitable[Answer | None]]
"""Asks a person; None leaves the request open, for somebody else or a later day."""

Show = Callable[[LiveEvent], None]
"""Is shown each event once, in order."""

Begin = Callable[[], Awaitable[RunHandle]]
"""Starts or takes up the run that is to be attended."""


async def _nothing(_handle: RunHandle) -> None:
    """Do nothing beside the run."""


async def send(session: Session, text: str, *, key: str | None, answers: bool) -> RunHandle:
    """Start a turn, or find the one of this key; one that waits is taken up if it can go on.

    Args:
        session: Where.
        text: The user's words.
        key: As for `Session.send`.
        answers: Whether there is somebody who answers what it waits for.

    Raises:
        CrashworthyError: As `Session.send` and `Runtime.resume`.
    """
    handle = await session.send(text, key=key)
    runtime = session.runtime
    if handle.created or not handle.waits:
        return handle
    if answers or all(ask.run != handle.id for ask in runtime.pending()):
        return await runtime.resume(handle.id)
    return handle


@attrs.define(eq=False, kw_only=True)
class Attendant:
    """Attends one run of a session.

    Attributes:
        show: Is shown what happens, from before the run begins.
        answer: Is asked one request at a time, in the order in which they were opened.
        begun: Is told the run as soon as it is known, before its first event is shown.
        beside: Runs as long as the run is attended, and is cancelled then.
    """

    runtime: Runtime
    answer: Answerer
    show: Show
    begun: Callable[[RunHandle], None]
    beside: Callable[[RunHandle], Awaitable[None]] = _nothing
    _left: set[str] = attrs.field(factory=set[str], init=False)
    _asked: set[str] = attrs.field(factory=set[str], init=False)
    _seen: set[str] = attrs.field(factory=set[str], init=False)

    async def attend(self, session: Session, begin: Begin) -> RunEnded | None:
        """Begin a run and stay with it.

        Returns:
            Its end; None when all that is left of it waits for answers that nobody here gives.
        """
        send, receive = trio.open_memory_channel[PendingAsk](math.inf)
        self._seen.update(fact.id for fact in session.facts())
        async with self.runtime.events(session=session.id) as events:
            handle = await begin()
            self.begun(handle)
            rest = trio.Event()
            async with send, receive, _open_tasks() as tasks:
                tasks.start_soon(self._ask_all, receive, handle, rest)
                tasks.start_soon(self._follow, events, send, handle, rest)
                tasks.start_soon(self._outlast, events, handle, rest)
                tasks.start_soon(self.beside, handle)
                # What was open before this process took the run up has no new event.
                self._hand_over(send, handle)
                await rest.wait()
                tasks.cancel_scope.cancel()
        return handle.end()

    async def _follow(
        self,
        events: trio.MemoryReceiveChannel[LiveEvent],
        send: trio.MemorySendChannel[PendingAsk],
        handle: RunHandle,
        rest: trio.Event,
    ) -> None:
        """Show what happens; should this fall behind, nothing is lost but what is not shown."""
        async for event in events:
            self._see(event, handle)
            if not isinstance(event, Committed) or event.event.spine.run != handle.id:
                continue
            if event.event.kind is Kind.ASK_OPENED:
                self._hand_over(send, handle)
            if self._rests(handle.id):
                rest.set()

    async def _outlast(
        self,
        events: trio.MemoryReceiveChannel[LiveEvent],
        handle: RunHandle,
        rest: trio.Event,
    ) -> None:
        """Wait until nobody works on the run, and show what is left to be shown."""
        await handle.wait()
        # A stop writes the end after the work is over. Its event may be one that was dropped.
        while handle.end() is None and not handle.waits:  # noqa: ASYNC110 - nothing else tells
            await trio.sleep(_LOOK_S)
        # One reader keeps the order; what it was handed last is shown before we run again.
        while events.statistics().current_buffer_used:
            await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        # The end that we saw in the log is shown after its commit, so maybe not yet; and if we fell
        # behind and were dropped, pieces are lost to us. Facts are in the log.
        for fact in self.runtime.session(handle.session).facts():
            self._see(Committed(event=fact), handle)
        rest.set()

    def _see(self, event: LiveEvent, handle: RunHandle) -> None:
        if not isinstance(event, Committed):
            if event.run == handle.id:
                self.show(event)
        elif event.event.spine.run == handle.id and event.event.id not in self._seen:
            self._seen.add(event.event.id)
            self.show(event)

    def _hand_over(self, send: trio.MemorySendChannel[PendingAsk], handle: RunHandle) -> None:
        for ask in self.runtime.pending():
            if ask.run == handle.id and ask.ask not in self._asked:
                self._asked.add(ask.ask)
                send.send_nowait(ask)

    async def _ask_all(
        self, receive: trio.MemoryReceiveChannel[PendingAsk], handle: RunHandle, rest: trio.Event
    ) -> None:
        async for ask in receive:
            answer = await self.answer(ask)
            if answer is None:
                self._left.add(ask.ask)
                if self._rests(handle.id):
                    rest.set()
                continue
            try:
                await self.runtime.answer(ask.ask, answer.decision, answer.answers)
            except (AlreadyDecidedError, AskClosedError):
                continue  # Somebody else, a deadline or a stop was faster; its fact says so.

    def _rests(self, run: str) -> bool:
        """Say whether nothing can happen in the run but an answer that nobody here gives."""

        def look(view: View) -> bool:
            asks = view.pending(Pending.ASK_OPEN, run)
            if not asks or not self._left.issuperset(asks):
                return False
            if any(view.pending(word, run) for word in _UNSETTLED):
                return False
            return len(view.pending(Pending.CALL_PLACED, run)) == len(asks)

        return self.runtime.host.store.read(look)


@asynccontextmanager
async def _open_tasks() -> AsyncGenerator[trio.Nursery]:
    """Yield a nursery out of which a single error comes as it is, for callers to catch."""
    try:
        async with trio.open_nursery() as nursery:
            yield nursery
    except BaseExceptionGroup as group:
        if len(group.exceptions) != 1:
            raise
        [error] = group.exceptions
        raise error from None
