"""The store's one writer: tasks hand in units, each is answered after its COMMIT (STORE-3)."""

from collections import deque
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import attrs

from .batch import Batcher, Piece, Ticket
from .checkpoint import Checkpointer
from .errors import StoreClosedError, StorePoisonedError
from .runner import Runner
from .txn import Health, Txn

T = TypeVar("T")

BATCH_UNITS_MAX: Final = 256
"""Units in one transaction at most."""

BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
"""Stated bytes in one transaction at most; a single larger unit still goes alone."""

_GATHER_TICKS: Final = 2


class Stage(StrEnum):
    """How far a unit has come."""

    QUEUED = "queued"  # may still be withdrawn
    WITHDRAWN = "withdrawn"  # cancelled before it was taken; never runs
    TAKEN = "taken"  # will be answered, whatever happens to its caller
    ANSWERED = "answered"


@attrs.define(eq=False)
class Entry(Ticket[T], Generic[T]):
    """A unit on its way through the queue.

    Attributes:
        round: Set when everything is answered that was taken together with it, or before it.
        size_bytes: Roughly how much it writes, for the bound of a batch.
    """

    round: anyio.Event = attrs.field(kw_only=True)
    size_bytes: int = 0
    stage: Stage = Stage.QUEUED

    async def wait_answered(self) -> None:
        """Wait for the answer; cancellation withdraws the unit only while it is queued."""
        try:
            await self._wait()
        except anyio.get_cancelled_exc_class():
            if self.stage is Stage.QUEUED:
                self.stage = Stage.WITHDRAWN
                raise
            # Taken: its outcome comes first. The scope stays cancelled, so that the caller's next
            # checkpoint raises; raising here would hide facts that are durable.
            with anyio.CancelScope(shield=True):
                await self._wait()

    async def _wait(self) -> None:
        # A round may end without this unit, where its batch was full; then it has another round.
        while self.stage is not Stage.ANSWERED:
            await self.round.wait()


class Queued(Piece, Protocol):
    """An entry of the queue, whatever its result's type."""

    stage: Stage
    round: anyio.Event

    @property
    def size_bytes(self) -> int:
        """Roughly how much the unit writes."""
        ...


@attrs.define(eq=False, kw_only=True)
class Writer:
    """The queue of units and the batch driver, which the store owns.

    A host starts `drive` in a task of its own and calls `submit` from any other; a program without
    a scheduler calls `submit_sync`. Closing also closes the door and the anchor, but not the read
    connection, which must be the last to go (STORE-10).

    Attributes:
        idle_s: Seconds without a unit after which the WAL is checkpointed; None for never.
    """

    batcher: Batcher
    runner: Runner
    checkpointer: Checkpointer
    idle_s: float | None = 1.0
    _queue: deque[Queued] = attrs.field(init=False, factory=deque[Queued])
    # One event wakes a whole batch, at a fraction of the cost of an event for each unit.
    _round: anyio.Event = attrs.field(init=False, factory=anyio.Event)
    _wake: anyio.Event = attrs.field(init=False, factory=anyio.Event)
    _driver_gone: anyio.Event | None = attrs.field(init=False, default=None)
    _closing: bool = attrs.field(init=False, default=False)

    async def submit(
        self, work: Callable[[Txn], T], *, needs_clean: bool = False, size_bytes: int = 0
    ) -> T:
        """Run `work` as one unit and return its result once it is durable and anchored.

        Cancelled while queued, the unit never runs. Cancelled later, the result is still returned
        and the caller's next checkpoint raises.

        Args:
            work: Runs in the transaction, in another thread perhaps.
            needs_clean: Whether it is a dispatch (T1) or a request, which probation refuses.
            size_bytes: Roughly how much it writes, for the bound of a batch.

        Raises:
            StorageError: `storage_*`; the batch did not commit.
            StoreOnProbationError: `store_on_probation`.
            CommitOutcomeUnknownError: `commit_outcome_unknown`.
            StorePoisonedError: `store_poisoned`.
            StoreClosedError: `store_closed`, also when the driver ended before the unit was taken.
        """
        await anyio.lowlevel.checkpoint_if_cancelled()
        self.batcher.door.check()
        if self._closing or self._driver_gone is None:
            raise StoreClosedError
        entry = Entry(work, needs_clean, round=self._round, size_bytes=size_bytes)
        self._queue.append(entry)
        self._wake.set()
        await entry.wait_answered()
        return entry.result()

    def submit_sync(self, work: Callable[[Txn], T], *, needs_clean: bool = False) -> T:
        """Run `work` as one unit in place; without a driver, or after it has ended.

        Raises:
            StorageError: `storage_*`, and the other errors of `submit`.
        """
        assert not self._is_driven(), "the driver is the only one who commits while it runs"
        ticket = Ticket(work, needs_clean)
        if self._commit([ticket]):
            self.checkpointer.passive()
        return ticket.result()

    async def drive(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Commit batch after batch until the store is closed; started once, by the store's owner.

        However it ends, whoever waits is answered: what was taken with its outcome, what was not
        with `store_closed`.
        """
        assert self._driver_gone is None, "a store has one driver"
        self._driver_gone = anyio.Event()
        task_status.started()
        try:
            async with self.runner.serving() as served:
                while batch := await self._next_batch(served):
                    if await self._settle(batch, served):
                        await served.run(self.checkpointer.passive)
        finally:
            self._closing = True
            self._refuse_queued()
            self._driver_gone.set()

    async def aclose_queue(self) -> None:
        """Refuse new units, commit the queued ones and let the driver end; again does nothing.

        Afterwards the owner can still write its last words by `submit_sync`, until it closes.
        """
        self._closing = True
        self._wake.set()
        if self._driver_gone is not None:
            with anyio.CancelScope(shield=True):
                await self._driver_gone.wait()

    async def aclose(self) -> None:
        """Close the queue, then empty the WAL and close; again does nothing."""
        await self.aclose_queue()
        await self.runner.run(self._release)

    def close(self) -> None:
        """Empty the WAL and close, without a driver or after it has ended; again does nothing."""
        assert not self._is_driven(), "close the queue first"
        self._closing = True
        self._release()

    def _is_driven(self) -> bool:
        return self._driver_gone is not None and not self._driver_gone.is_set()

    async def _next_batch(self, served: Runner) -> list[Queued]:
        """Wait for units and take as many as one transaction may hold; none when closing."""
        while True:
            await anyio.lowlevel.checkpoint_if_cancelled()
            batch = self._take()
            if batch or self._closing:
                return batch
            self._wake = anyio.Event()
            if self.idle_s is None or not self.checkpointer.dirty():
                await self._wake.wait()
                continue
            with anyio.move_on_after(self.idle_s) as idle:
                await self._wake.wait()
            if idle.cancelled_caught:
                await served.run(self.checkpointer.passive)

    def _take(self) -> list[Queued]:
        """Take queued units in order; nothing is awaited here, so withdrawing cannot interleave."""
        batch: list[Queued] = []
        size_bytes = 0
        while self._queue and len(batch) < BATCH_UNITS_MAX:
            entry = self._queue[0]
            if entry.stage is Stage.WITHDRAWN:
                self._queue.popleft()
                continue
            size_bytes += entry.size_bytes
            if batch and size_bytes > BATCH_BYTES_MAX:
                break
            self._queue.popleft()
            entry.stage = Stage.TAKEN
            batch.append(entry)
        if batch:
            self._round = anyio.Event()
            for left in self._queue:
                left.round = self._round
        return batch

    async def _settle(self, batch: list[Queued], served: Runner) -> bool:
        """Commit and answer `batch`; tell whether a checkpoint is due."""
        try:
            due = await served.run(lambda: self._commit(batch))
        except BaseException:
            # A mistake of ours or a simulated death: nobody knows what is durable.
            self.batcher.door.poison()
            for entry in batch:
                entry.fail(StorePoisonedError())
            raise
        finally:
            _answer(batch)
        if len(batch) > 1:
            # Those just answered usually have a next unit; let them hand it in, or two halves of
            # them would take turns and each batch would be half as large.
            for _ in range(_GATHER_TICKS):
                await anyio.lowlevel.checkpoint()
        return due

    def _commit(self, pieces: Sequence[Piece]) -> bool:
        self.batcher.commit(pieces)
        self.checkpointer.committed()
        return self.batcher.door.health is Health.CLEAN and self.checkpointer.due()

    def _refuse_queued(self) -> None:
        queued = [entry for entry in self._queue if entry.stage is Stage.QUEUED]
        for entry in queued:
            entry.fail(StoreClosedError())
        _answer(queued)
        self._queue.clear()

    def _release(self) -> None:
        if self.batcher.door.health in {Health.CLEAN, Health.PROBATION}:
            self.checkpointer.final()
        self.batcher.door.close()
        if self.batcher.anchor is not None:
            self.batcher.anchor.close()


def _answer(entries: Sequence[Queued]) -> None:
    """Wake the callers of one round."""
    for entry in entries:
        entry.stage = Stage.ANSWERED
    for entry in entries[:1]:
        entry.round.set()
