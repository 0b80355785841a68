"""The in-memory model: the semantics of a store over plain dicts, and nothing else (STORE-13)."""

from collections.abc import Callable
from typing import Final, TypeVar

import anyio.lowlevel
import attrs

from ..machines.lifecycles import lease
from ..machines.lifecycles.table import Refused
from .errors import StoreClosedError
from .journal.append import assert_owner
from .journal.authority import LeaseMark
from .journal.dicts import DictLedger
from .journal.errors import UnitRefusedError
from .journal.ledger import View
from .journal.orders import Order
from .journal.records import Owner
from .port import Capability

T = TypeVar("T")

CAPABILITIES: Final = frozenset((Capability.SEMANTICS,))


@attrs.define(eq=False, kw_only=True)
class MemoryStore:
    """One owner's door to a ledger of dicts."""

    owner: Owner
    _ledger: DictLedger = attrs.field(alias="ledger")
    _closed: bool = attrs.field(init=False, default=False)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return what the store keeps: semantics only."""
        return CAPABILITIES

    def write(self, order: Order[T]) -> T:
        """Carry an order out; refused, it leaves nothing.

        Raises:
            CrashworthyError: The order was refused; nothing is kept.
            StoreClosedError: `store_closed`.
        """
        if self._closed:
            raise StoreClosedError
        assert_owner(self._ledger, self.owner)
        try:
            result = order.write(self._ledger, self.owner)
        except BaseException:
            self._ledger.take_back()
            raise
        self._ledger.keep()
        return result

    async def submit(self, order: Order[T]) -> T:
        """Carry an order out as `write` does.

        Raises:
            CrashworthyError: As `write`.
        """
        await anyio.lowlevel.checkpoint()
        return self.write(order)

    def read(self, work: Callable[[View], T]) -> T:
        """Return what `work` finds."""
        return work(self._ledger)

    def close(self) -> None:
        """Refuse every later order; again does nothing."""
        self._closed = True

    def taken_over(self, *, gone: bool) -> "MemoryStore":
        """Return the door of the next epoch; this one is fenced from now on (OWN-1).

        Args:
            gone: Whether every epoch before it is proven unable to act (OWN-2).
        """
        epoch = self.owner.epoch + 1
        _record(self._ledger, lease.Open(epoch=epoch, locked=True))
        if gone:
            _record(self._ledger, lease.Gone(epoch=epoch, gone=epoch - 1, workers=False))
        return MemoryStore(owner=Owner(root=self.owner.root, epoch=epoch), ledger=self._ledger)


def open_memory(root: str) -> MemoryStore:
    """Return the first owner's door to an empty root."""
    ledger = DictLedger(root=root)
    _record(ledger, lease.Open(epoch=1, locked=True))
    return MemoryStore(owner=Owner(root=root, epoch=1), ledger=ledger)


def _record(ledger: DictLedger, seen: lease.LeaseSeen) -> None:
    stepped = lease.TABLE.step(ledger.lease(), seen)
    if isinstance(stepped, Refused):
        raise UnitRefusedError.of(0, stepped)
    mark = LeaseMark(ordinal=ledger.last().ordinal, state=stepped[0])
    ledger.authority.leases.append(mark)
