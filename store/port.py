"""The port: what the runtime asks of any store, and what a store can keep of it (STORE-13)."""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, TypeVar

from .journal.ledger import View
from .journal.orders import Order
from .journal.records import Owner

T = TypeVar("T")


class Capability(StrEnum):
    """The parts of the conformance suite; a store passes those it declares."""

    SEMANTICS = "semantics"  # gates, tables, chain, keys, claims
    DURABILITY = "durability"  # what was acknowledged is there after reopening
    OWNERSHIP = "ownership"  # a second process is refused, a stale owner fenced
    PROOF_OF_DEATH = "proof_of_death"  # it can tell that a former owner's workers are gone


class Store(Protocol):
    """An owned store.

    Without `Capability.PROOF_OF_DEATH` nothing may reconcile, repair or close what another epoch
    left.
    """

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return what the store keeps."""
        ...

    @property
    def owner(self) -> Owner:
        """Return whose root and epoch stamp the facts."""
        ...

    def write(self, order: Order[T]) -> T:
        """Carry an order out in place and return its result once it is durable.

        For programs without a scheduler; a store whose `drive` runs refuses it.

        Raises:
            CrashworthyError: The order was refused, or the environment failed; nothing is kept.
        """
        ...

    async def submit(self, order: Order[T]) -> T:
        """Carry an order out among others and return its result once it is durable.

        Cancelled while it is queued it never runs; cancelled later, the result is still returned
        and the caller's next checkpoint raises (STORE-3).

        Raises:
            CrashworthyError: As `write`.
        """
        ...

    def read(self, work: Callable[[View], T]) -> T:
        """Return what `work` finds in one snapshot of what is committed; keep it short."""
        ...

    def close(self) -> None:
        """Let go of the root; again does nothing."""
        ...
