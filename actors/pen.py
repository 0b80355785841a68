"""The one hand that writes for a run: durable first, then true in memory, then visible (RUN-2)."""

from collections.abc import Sequence
from typing import Final, Protocol, TypeVar

import attrs
import trio

from ..machines.facts import compose
from ..machines.facts.canonical import Json
from ..machines.facts.codes import Code
from ..machines.facts.ids import IdSource
from ..machines.facts.model import RuntimeEvent, Spine
from ..store.errors import StorageError
from ..store.journal.append import Appended
from ..store.journal.orders import Order
from ..store.operational import OperationalBook, OperationalKind
from .clock import Clock
from .live import Bus, Committed, Notice

T = TypeVar("T")

_RETRY_S: Final = 0.1
_RETRY_S_MAX: Final = 5.0


class Desk(Protocol):
    """The part of a store that a run writes through (store.port.Store)."""

    async def submit(self, order: Order[T]) -> T:
        """Carry an order out and return its result once it is durable."""
        ...


@attrs.define(eq=False, kw_only=True)
class Pen:
    """Writes the facts of one run and keeps them in memory, in that order.

    Attributes:
        facts: The run's ledger as far as this process wrote or read it; what the model is shown
            next is built from it, and it never holds a fact that is not durable (BR-13).
    """

    desk: Desk
    bus: Bus
    clock: Clock
    ids: IdSource
    spine: Spine
    facts: list[RuntimeEvent]
    operational: OperationalBook

    def note(self, kind: OperationalKind, **details: Json) -> None:
        """Tell people how something of this run went; best effort, read by no decision (LOG-10)."""
        self.operational.note(self.spine.run, self.clock.now_ms(), kind, details)

    def at(self, ts: int | None = None) -> compose.At:
        """Return where the next fact of the run stands.

        Args:
            ts: The time it repeats, for facts with derived ids; None takes the clock (BYTE-5a).
        """
        return compose.At(spine=self.spine, ts=self.clock.now_ms() if ts is None else ts)

    def fresh(self, prefix: str = "fact") -> str:
        """Return a fresh id."""
        return self.ids.next_id(prefix)

    async def append(self, order: Order[Appended], facts: Sequence[RuntimeEvent]) -> Appended:
        """Write `facts` by `order`; once durable they are in memory, and then observers see them.

        Raises:
            CrashworthyError: The order was refused or the environment failed; nothing happened.
        """
        appended = await self.desk.submit(order)
        self.take(facts)
        return appended

    async def append_surely(
        self, order: Order[Appended], facts: Sequence[RuntimeEvent]
    ) -> Appended:
        """Write what must not be lost while this process lives: an outcome that already happened.

        While the environment refuses, the same bytes are tried again; nobody is shown the outcome
        and no step is taken past it before it is durable (STORE-9). Observers are told that it
        waits, and for what, because only a person can make room.

        Raises:
            CrashworthyError: The order was refused for good, or the store cannot be used any more.
        """
        wait_s = _RETRY_S
        told: Code | None = None
        while True:
            try:
                appended = await self.desk.submit(order)
            except StorageError as error:
                if error.code is not told:
                    told = error.code
                    self._notice(told, over=False)
                await trio.sleep(wait_s)
                wait_s = min(wait_s * 2, _RETRY_S_MAX)
                continue
            if told is not None:
                self._notice(told, over=True)
            self.take(facts)
            return appended

    def _notice(self, code: Code, *, over: bool) -> None:
        spine = self.spine
        self.note(OperationalKind.STORE_RETRIED, code=str(code), over=over)
        self.bus.publish(Notice(session=spine.session, run=spine.run, code=code, over=over))

    def take(self, facts: Sequence[RuntimeEvent]) -> None:
        """Keep and show facts that are durable; what is known already is not shown again."""
        known = {fact.id for fact in self.facts}
        for fact in facts:
            if fact.id in known:
                continue
            if fact.spine == self.spine:
                self.facts.append(fact)
            self.bus.publish(Committed(event=fact))
