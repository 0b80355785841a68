"""The SQLite store: opened by one owner, written by one writer, closed in reverse order (OWN-3)."""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.abc
import attrs

from ..machines.facts.codes import CrashworthyError
from ..machines.facts.ids import RootId
from .anchor import Anchor, Head
from .batch import Batcher
from .checkpoint import Checkpointer
from .connect import Connector
from .epochs import assert_epoch
from .errors import StoreClosedError
from .journal.evidence import SqlView
from .journal.known import KnownCells
from .journal.ledger import View
from .journal.orders import Order
from .journal.records import Owner
from .journal.rows import sql_ledger
from .ownership.lock import anywhere
from .ownership.workers import WorkersProof
from .port import Capability
from .probe import Probe, no_probe
from .reader import Reader, open_reader, wal_of
from .runner import InlineRunner, Runner
from .schema import NEWEST
from .tenure import Means, Tenure, begin_tenure
from .txn import Health, Txn, WriteDoor
from .writer import Writer

T = TypeVar("T")


CAPABILITIES: Final = frozenset(Capability)


@attrs.define(eq=False)
class Heads:
    """The head of the log in memory, which always says what the last COMMIT says (STORE-9)."""

    now: Head
    _at_unit: Head = attrs.field(init=False)
    _at_commit: Head = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Begin with what is committed."""
        self._at_unit = self._at_commit = self.now

    def unit_begun(self) -> None:
        """Remember the present head."""
        self._at_unit = self.now

    def unit_undone(self) -> None:
        """Return to the head before the refused unit."""
        self.now = self._at_unit

    def committed(self) -> None:
        """Keep the present head."""
        self._at_commit = self.now

    def reverted(self) -> None:
        """Return to the head of the last COMMIT."""
        self.now = self._at_commit

    def committed_head(self) -> Head:
        """Return the head to anchor."""
        return self._at_commit

    def move(self, head: Head) -> None:
        """Note a new head inside the transaction."""
        self.now = head


@attrs.define(eq=False, kw_only=True)
class SqliteStore:
    """A store that this process writes.

    Attributes:
        heads: How far the committed log goes.
        tenure: What ends with the store; a store that was put together without one owns nothing.
        mended: Sessions whose stored fold state could not be used and was folded anew (STORE-4).
    """

    owner: Owner
    writer: Writer
    heads: Heads
    reader: Reader
    tenure: Tenure | None = None
    mended: list[str] = attrs.field(factory=list[str])
    _known: KnownCells = attrs.field(init=False, factory=KnownCells)
    _closed: bool = attrs.field(init=False, default=False)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Return what the store keeps: all of it."""
        return CAPABILITIES

    @property
    def proof(self) -> WorkersProof:
        """Say whether the epochs before this one are proven gone (OWN-2)."""
        return WorkersProof.WORKER_ALIVE if self.tenure is None else self.tenure.proof

    def write(self, order: Order[T]) -> T:
        """Carry an order out in place and return its result once it is durable.

        Raises:
            CrashworthyError: The order was refused, or the environment failed; nothing is kept.
        """
        return self.writer.submit_sync(self.unit_of(order), needs_clean=order.needs_clean)

    async def submit(self, order: Order[T]) -> T:
        """Carry an order out among others and return its result once it is durable (STORE-3).

        Raises:
            CrashworthyError: As `write`.
        """
        return await self.writer.submit(
            self.unit_of(order), needs_clean=order.needs_clean, size_bytes=order.size_bytes
        )

    async def drive(
        self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Commit what `submit` hands in until the store is closed; started once, by its host."""
        await self.writer.drive(task_status=task_status)

    def read(self, work: Callable[[View], T]) -> T:
        """Return what `work` finds in one snapshot of what is committed.

        Raises:
            StoreClosedError: `store_closed`; a client may outlive the host that it asks.
            StorageError: `storage_*`.
        """
        if self._closed:
            raise StoreClosedError
        with self.reader.snapshot():
            return work(SqlView(self.reader.fetch))

    def transact(self, work: Callable[[Txn], T]) -> T:
        """Run `work` as one unit in place, for the authority rows of `epochs`.

        Raises:
            CrashworthyError: As `write`.
        """
        return self.writer.submit_sync(work)

    def close(self, *, hung: bool = False) -> None:
        """End the epoch, empty the WAL, let go of the lock; again does nothing.

        Where a worker of this epoch lives on, or the door can no longer be used, the epoch's record
        stays open, and its successor finds out what is proven (OWN-2).

        Args:
            hung: Something of this process may still act: the epoch stays open, and the lock is
                kept until the process ends (OWN-3).
        """
        if self._closed:
            return
        self._closed = True
        try:
            # What cannot be written now is what a successor would have to find out anyway.
            with suppress(CrashworthyError):
                if not hung:
                    self._say_last_words()
            self.writer.close()
        finally:
            self._let_go(keep_lock=hung)

    async def aclose(self, *, hung: bool = False) -> None:
        """Carry out what is queued, then close as `close` does; again does nothing."""
        with anyio.CancelScope(shield=True):
            await self.writer.aclose_queue()
            await self.writer.runner.run(lambda: self.close(hung=hung))

    def _say_last_words(self) -> None:
        """Record the end of this epoch, if nothing of it can act any more.

        Raises:
            LockReplacedError: `lock_replaced`; what is at the root's path now is not asked, either.
            CrashworthyError: The environment failed.
        """
        clean = self.writer.batcher.door.health is Health.CLEAN
        if self.tenure is None or not clean:
            return
        self.tenure.check()
        if self.tenure.alone():
            self.writer.submit_sync(self.tenure.close_unit)

    def _let_go(self, *, keep_lock: bool) -> None:
        # The read connection goes last, so that SQLite leaves the side files where they are and
        # whoever only looks has to create none (STORE-10).
        self.reader.close()
        if self.tenure is not None and not keep_lock:
            self.tenure.release()

    def unit_of(self, order: Order[T]) -> Callable[[Txn], T]:
        """Return what carries an order out in one unit, for whoever batches units himself."""

        def unit(txn: Txn) -> T:
            ledger = sql_ledger(txn, self.heads.move, self._known)
            try:
                return order.write(ledger, self.owner)
            finally:
                self.mended.extend(ledger.mended)

        return unit


def open_store(
    path: Path,
    *,
    host: str,
    since: str,
    new_root_id: Callable[[], RootId] | None = None,
    connector: Connector | None = None,
    runner: Runner | None = None,
    probe: Probe = no_probe,
    pause: Callable[[float], None] = time.sleep,
    idle_s: float | None = 1.0,
    accept_loss: bool = False,
) -> SqliteStore:
    """Own the root at `path` until the store is closed.

    Args:
        path: The state root.
        host: The host's id, for the epoch row.
        since: When, in the host's own clock's words; shown to contenders.
        new_root_id: Gives a random id to a root that is to be made; None to make none.
        connector: Opens connections; the crash lab's counts statements.
        runner: Where commits run; in place unless given (STORE-9b).
        probe: Called after each step that is not SQL.
        pause: Waits some seconds.
        idle_s: Seconds without a unit after which the WAL is checkpointed; None for never.
        accept_loss: A person accepts that acknowledged facts are missing (STORE-9a).

    Raises:
        CrashworthyError: As `begin_tenure`.
    """
    means = Means(
        host=host,
        since=since,
        new_root_id=new_root_id,
        connector=connector or Connector(),
        probe=probe,
        pause=pause,
        accept_loss=accept_loss,
    )
    tenure = begin_tenure(path, means)
    try:
        reader = open_reader(means.connector, tenure.root.database, newest=NEWEST)
    except BaseException:
        tenure.door.close()
        tenure.anchor.close()
        tenure.release()
        raise
    owner = Owner(root=tenure.root.root_id, epoch=tenure.epoch)
    heads = Heads(tenure.head)
    writer = make_writer(
        tenure.door,
        owner,
        heads,
        database=tenure.root.database,
        anchor=tenure.anchor,
        runner=runner or InlineRunner(),
        idle_s=idle_s,
        in_place=tenure.check,
    )
    return SqliteStore(owner=owner, writer=writer, heads=heads, reader=reader, tenure=tenure)


def make_writer(
    door: WriteDoor,
    owner: Owner,
    heads: Heads,
    *,
    database: Path,
    anchor: Anchor | None,
    runner: Runner,
    idle_s: float | None,
    in_place: Callable[[], None] = anywhere,
) -> Writer:
    """Put together what writes through `door` for `owner`, fenced in each transaction.

    `in_place` demands that the root is still where it was: SQLite would go on in a file that was
    moved or removed, and nobody would find what it acknowledges there.
    """

    def fence(txn: Txn) -> None:
        # The epoch first: where both say no, it is the one that no clock and no file can fool.
        assert_epoch(txn, owner.epoch)
        in_place()

    return Writer(
        batcher=Batcher(
            door=door,
            fence=fence,
            memories=(heads,),
            anchor=anchor,
            head=heads.committed_head,
        ),
        runner=runner,
        checkpointer=Checkpointer(door=door, wal=wal_of(database), anchor=anchor),
        idle_s=idle_s,
    )
