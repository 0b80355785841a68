"""What each scene of the script works with: a store, an acknowledgement, and a world outside."""

from typing import Final, Protocol, TypeVar

import attrs

from ...machines.facts.digests import Domain, digest
from ...machines.facts.ids import BlobId
from ...machines.facts.model import RuntimeEvent
from ...store.blobs import BlobRef, BlobStore
from ...store.journal import writers
from ...store.journal.orders import Order
from ...store.sqlite import SqliteStore
from ..workload import Stage
from .ownership import Open
from .teller import Teller
from .world import Deed, note

T = TypeVar("T")

WIRE_PART: Final = b"a part of a wire body"
"""What every request of the script sends; its blob is durable before the first of them."""

SESSIONS: Final = ("rich", "left", "stopped", "overdue")

DAMAGED: Final = "damaged"
"""A session that is contained; it stays so, and is told nothing more."""


class Do(Protocol):
    """Carries an order out and acknowledges it once it is durable."""

    def __call__(self, stage: Stage, store: SqliteStore, order: Order[T]) -> T:
        """Return the order's result."""
        ...


def acknowledged(stage: Stage, store: SqliteStore, order: Order[T]) -> T:
    """Carry an order out, and then acknowledge the head that the log has with it."""
    result = store.write(order)
    head = store.heads.now
    stage.ack(f"head {head.ordinal} {head.chain}")
    return result


@attrs.define(eq=False, kw_only=True)
class Stagehand:
    """Carries units out under their writer's name.

    Attributes:
        open: How each owner opens the root.
        do: How each order is carried out and acknowledged.
        store: The present owner's.
    """

    stage: Stage
    open: Open
    do: Do
    store: SqliteStore = attrs.field(init=False)

    def begin(self, host: str) -> None:
        """Open the root as its next owner."""
        with self.stage.writer("open"):
            self.store = self.open(self.stage.root, self.stage.host, host)
        self.stage.ack(f"epoch {self.store.owner.epoch}")

    def checkpoint(self) -> None:
        """Move the WAL into the database; the head is anchored for good with that (STORE-9a)."""
        with self.stage.writer("checkpoint"):
            self.store.writer.checkpointer.passive()
        self._anchored()

    def close(self) -> None:
        """End the present owner cleanly."""
        with self.stage.writer("close"):
            self.store.close()
        self._anchored()

    def teller(self, session: str, past: int = 0) -> Teller:
        """Return who tells of a session; runs and facts are numbered behind `past`."""
        part = digest(Domain.BLOB, WIRE_PART)
        return Teller(session=session, number=past, told=past, parts=(part,))

    def unit(self, writer: str, order: Order[T]) -> T:
        """Carry one unit out."""
        with self.stage.writer(writer):
            return self.do(self.stage, self.store, order)

    def request(self, fact: RuntimeEvent) -> None:
        """Make a request durable, and then let it leave."""
        if self.unit("dispatch_request", writers.dispatch_request(fact)).created:
            assert fact.refs.request is not None
            self._act(Deed.REQUEST, fact.refs.request)

    def effect(self, dispatch: RuntimeEvent) -> None:
        """Make a dispatch durable, and then touch the world (OP-1)."""
        if self.unit("dispatch", writers.dispatch(dispatch)).created:
            assert dispatch.refs.operation is not None
            self._act(Deed.EFFECT, dispatch.refs.operation)

    def blob(self, data: bytes) -> BlobRef:
        """Make a blob durable before any fact names it (OP-6a)."""
        assert self.store.tenure is not None
        blobs = BlobStore(
            place=self.store.tenure.root.blobs,
            is_named=_never_named,
            probe=self.stage.host.probe,
        )
        with self.stage.writer("blob"):
            return blobs.put(data)

    def _anchored(self) -> None:
        head = self.store.heads.now
        self.stage.ack(f"anchored {head.ordinal} {head.chain}")

    def _act(self, deed: Deed, name: str) -> None:
        with self.stage.writer(deed.value):
            self.stage.worker.probe(f"{deed}.starts")
            note(self.stage.root, deed, name)
            self.stage.worker.probe(f"{deed}.done")


def _never_named(_blob: BlobId) -> bool:
    """Take no blob for durable, as a new host does that has not looked yet."""
    return False
