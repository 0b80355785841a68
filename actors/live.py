"""What observers see as it happens: committed facts, and what nothing may act on (STORE-2)."""

import math
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TypeAlias

import attrs
import trio

from ..machines.facts.codes import Code
from ..machines.facts.model import RuntimeEvent

BACKLOG_MAX = 10_000
"""How many events may wait for one observer before it is dropped."""


class PieceOf(StrEnum):
    """What a live piece belongs to."""

    TEXT = "text"
    THINKING = "thinking"
    TOOL = "tool"


@attrs.frozen(kw_only=True)
class Committed:
    """A fact, shown only after its COMMIT returned."""

    event: RuntimeEvent


@attrs.frozen(kw_only=True)
class Piece:
    """A piece of a stream, marked partial: it may never become a fact.

    Attributes:
        subject: The stream, or for tool output the operation.
    """

    session: str
    run: str
    of: PieceOf
    subject: str
    text: str


@attrs.frozen(kw_only=True)
class Notice:
    """Something keeps a run waiting that a person may mend, such as a full disk; never a fact.

    Told once when the wait begins, again when its reason changes, and once when it is over.

    Attributes:
        code: What the environment refuses (STORE-9).
        over: The wait is over: what had happened is stored.
    """

    session: str
    run: str
    code: Code
    over: bool


LiveEvent: TypeAlias = Committed | Piece | Notice


def session_of(event: LiveEvent) -> str:
    """Return the session an event belongs to."""
    return event.event.spine.session if isinstance(event, Committed) else event.session


@attrs.define(eq=False)
class _Observer:
    """One subscription."""

    wants: Callable[[LiveEvent], bool]
    send: trio.MemorySendChannel[LiveEvent]
    fell_behind: bool = False


@attrs.define(eq=False, kw_only=True)
class Bus:
    """Hands events to observers without ever waiting for one; who falls behind is dropped."""

    dropped: int = 0
    _observers: list[_Observer] = attrs.field(factory=list[_Observer])

    def publish(self, event: LiveEvent) -> None:
        """Show an event to everyone who wants it."""
        for observer in tuple(self._observers):
            if not observer.wants(event):
                continue
            try:
                observer.send.send_nowait(event)
            except trio.WouldBlock:
                observer.fell_behind = True
                self.dropped += 1
                self._observers.remove(observer)
                observer.send.close()
            except trio.BrokenResourceError:
                self._observers.remove(observer)

    @asynccontextmanager
    async def subscribe(
        self, wants: Callable[[LiveEvent], bool], backlog: float = BACKLOG_MAX
    ) -> AsyncGenerator[trio.MemoryReceiveChannel[LiveEvent]]:
        """Yield a channel of the events from now on; it ends if its reader falls behind.

        Args:
            wants: Which events to deliver.
            backlog: How many may wait; `math.inf` for readers that cannot fall behind.
        """
        limit = backlog if backlog == math.inf else int(backlog)
        send, receive = trio.open_memory_channel[LiveEvent](limit)
        observer = _Observer(wants, send)
        self._observers.append(observer)
        try:
            async with receive:
                yield receive
        finally:
            if observer in self._observers:
                self._observers.remove(observer)
            send.close()
