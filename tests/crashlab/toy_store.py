"""The store workload with one planted fault each: a lab that finds none of them proves nothing."""

from pathlib import Path
from typing import TypeVar

import attrs

from crashworthy.crashlab.workload import Doors, Stage
from crashworthy.crashlab.workloads.ownership import own
from crashworthy.crashlab.workloads.store import StoreWorkload
from crashworthy.store.batch import no_fence
from crashworthy.store.journal.ledger import Ledger
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.records import Owner
from crashworthy.store.sqlite import SqliteStore

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Hasty(Order[T]):
    """Acknowledges the head that a unit will have, in the transaction that writes it."""

    order: Order[T]
    stage: Stage

    def write(self, ledger: Ledger, owner: Owner) -> T:
        result = self.order.write(ledger, owner)
        head = ledger.last()
        self.stage.ack(f"head {head.ordinal} {head.chain}")
        return result


def acknowledged_early(stage: Stage, store: SqliteStore, order: Order[T]) -> T:
    return store.write(Hasty(order=order, stage=stage))


def own_unfenced(path: Path, doors: Doors, host: str) -> SqliteStore:
    store = own(path, doors, host)
    store.writer.batcher.fence = no_fence
    return store


def own_unanchored(path: Path, doors: Doors, host: str) -> SqliteStore:
    store = own(path, doors, host)
    store.writer.batcher.anchor = None
    return store


def acks_early() -> StoreWorkload:
    return StoreWorkload(do=acknowledged_early)


def unfenced() -> StoreWorkload:
    return StoreWorkload(open=own_unfenced)


def unanchored() -> StoreWorkload:
    return StoreWorkload(open=own_unanchored)
