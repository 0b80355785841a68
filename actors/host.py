"""The host: takes a root, recovers, serves, and releases everything in reverse order (OWN-3)."""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio

from ..machines.facts.canonical import Json
from ..machines.facts.codes import CrashworthyError
from ..machines.facts.ids import IdSource, RootId
from ..machines.facts.model import Spine
from ..machines.lifecycles import host as machine
from ..machines.lifecycles import run
from ..machines.lifecycles.cells import Machine
from ..store.blobs import BlobStore
from ..store.connect import Connector
from ..store.epochs import record_worker, record_worker_ended
from ..store.errors import StorageError, StorePoisonedError
from ..store.operational import OperationalBook, OperationalKind
from ..store.ownership.errors import LockReplacedError
from ..store.ownership.hung import HungOwner, clear_hung, mark_hung, read_hung
from ..store.ownership.root import StateRoot
from ..store.ownership.workers import LeftWorker, WorkersProof
from ..store.probe import Probe, no_probe
from ..store.quarantine import damage_behind
from ..store.runner import Runner as StoreRunner
from ..store.runner import ThreadRunner
from ..store.sqlite import SqliteStore, open_store
from .clock import Clock, FreshIds, SystemClock
from .errors import HostHungError
from .gravity import gravest
from .kernel import Active, Kernel
from .lifecycle import HostLife
from .live import Bus
from .people import People
from .recovery import Recovery, recover
from .run import Historian
from .snapshots import StreamSnapshots
from .tools.placed import PlacedRunner
from .tools.pool import open_pool
from .tools.process import WorkerSettings
from .tools.runner import Runner as ToolRunner
from .tools.spooling import BlobSpools

_BLOB_THREADS: Final = 4
_LEFT_POLL_S: Final = 0.02
STOPPED_BY_HOST: Final = "host.shutdown"


@attrs.frozen(kw_only=True)
class HostSettings:
    """How a host is opened; everything that is not pure is injected.

    Attributes:
        make: Whether a missing root is made.
        accept_loss: A person accepts that acknowledged facts are missing (STORE-9a).
        connector: Opens connections; the crash lab's counts statements.
        pause: Waits some seconds in a blocking step, while workers of former owners end.
        idle_s: Seconds without a unit after which the WAL is checkpointed; None for never.
        tools: Runs what is declared for workers; None starts processes (OP-8a).
        workers_max: Tool workers at once.
        partial_s: Seconds between two snapshots of a stream.
        grace_s: How long closing may take before the host gives up and keeps the lock (OWN-3).
    """

    root: Path
    make: bool = True
    accept_loss: bool = False
    clock: Clock = attrs.field(factory=SystemClock)
    ids: IdSource | None = None
    runner: StoreRunner = attrs.field(factory=ThreadRunner)
    connector: Connector = attrs.field(factory=Connector)
    probe: Probe = no_probe
    pause: Callable[[float], None] = time.sleep
    idle_s: float | None = 1.0
    tools: ToolRunner | None = None
    workers_max: int = 4
    partial_s: float = 0.25
    grace_s: float = 10.0


@attrs.define(eq=False, kw_only=True)
class Host:
    """An owned root that serves work.

    Attributes:
        recovery: What this owner found and decided when it opened (OWN-4).
        operational: Where it tells people how things went (LOG-10).
    """

    settings: HostSettings
    store: SqliteStore
    life: HostLife
    recovery: Recovery
    kernel: Kernel
    people: People
    blobs: BlobStore
    spools: BlobSpools
    tools: PlacedRunner
    operational: OperationalBook
    _threads: trio.CapacityLimiter = attrs.field(alias="threads")

    async def keep(self, data: bytes) -> str:
        """Make bytes durable in the blob store (means.Keep).

        Raises:
            StorageError: `storage_*`.
        """
        ref = await trio.to_thread.run_sync(
            lambda: self.blobs.put(data), limiter=self._threads, abandon_on_cancel=False
        )
        return ref.blob

    def waits(self, name: str) -> bool:
        """Say whether a run waits for a person (ASK-3)."""
        cell = self.store.read(lambda view: view.cell(Machine.RUN, name))
        return cell is not None and isinstance(cell.state, run.Active) and run.waits(cell.state)


@asynccontextmanager
async def open_host(settings: HostSettings, historian: Historian) -> AsyncGenerator[Host]:
    """Own the root, recover it, and yield a host that is ready; leaving releases everything.

    Raises:
        RootOwnedError: `root_owned`, with the pid and epoch of the live owner.
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`.
        HostHungError: `host_hung`, on leaving; the lock is kept until the process ends.
        CrashworthyError: As `store.sqlite.open_store`.
    """
    life = HostLife()
    raised: BaseException | None = None
    try:
        async with _owned(settings, historian, life) as host:
            yield host
    except BaseException as error:  # noqa: BLE001 - raised again below, or why the host hung
        raised = error
    if life.left:  # Whatever else went wrong, and also to a caller who is cancelled.
        raise HostHungError(left=life.left) from raised
    if raised is not None:
        raise raised


@asynccontextmanager
async def _owned(
    settings: HostSettings, historian: Historian, life: HostLife
) -> AsyncGenerator[Host]:
    """Own the root while its host lives, and let go of it last, if nothing is left that acts."""
    ids = settings.ids or FreshIds(clock=settings.clock)
    try:
        store = await trio.to_thread.run_sync(lambda: _open(settings, ids))
    except BaseException:
        life.move(machine.Broke(released=True))
        raise
    raised: BaseException | None = None
    async with trio.open_nursery() as service:
        try:
            await service.start(store.drive)
            async with _recovered(settings, store, life, ids, historian) as host:
                yield host
        except BaseException as error:  # noqa: BLE001 - raised again below
            # Raised again outside of the nursery, so that a caller's own error reaches it as it is.
            raised = error
        hung = isinstance(life.state, machine.Failed)
        with trio.CancelScope(shield=True):
            await store.aclose(hung=hung)
        if isinstance(life.state, machine.Ready):
            life.move(machine.Drain())  # Its workers could not be opened: it never served.
        if not hung:
            released = isinstance(life.state, machine.Draining)
            life.move(machine.Released() if released else machine.Broke(released=True))
        service.cancel_scope.cancel()
    if raised is not None:
        raise raised


@asynccontextmanager
async def _recovered(
    settings: HostSettings,
    store: SqliteStore,
    life: HostLife,
    ids: IdSource,
    historian: Historian,
) -> AsyncGenerator[Host]:
    """Recover, serve while the caller works, and drain when it leaves, however it leaves."""
    life.move(machine.Owned(anchor=machine.Anchor.MATCHES))
    gone = store.proof is WorkersProof.GONE
    began = trio.current_time()
    recovery = await recover(store, settings.clock, partial(_contain, store), gone=gone)
    recovery_ms = round((trio.current_time() - began) * 1000)
    life.move(machine.Recovered(trace=bool(recovery.trace)))
    raised: BaseException | None = None
    async with _serving(settings, store, life, recovery, ids, historian) as host:
        decided = sum(len(done.decided) for done in recovery.trace)
        _note(host, OperationalKind.HOST_OPENED, recovery_ms=recovery_ms, decided=decided)
        _tell_hung(host)
        try:
            yield host
        except BaseException as error:  # noqa: BLE001 - raised again below
            raised = error
        failed = await _drain(host)
        raised = raised or failed
        why = {} if raised is None else {"error": _code_of(raised)}
        _note(host, OperationalKind.HOST_CLOSED, left=len(life.left), **why)
    if raised is not None:
        raise raised


def _open(settings: HostSettings, ids: IdSource) -> SqliteStore:
    now = datetime.fromtimestamp(settings.clock.now_ms() / 1000, tz=UTC)

    def root_id() -> RootId:
        return RootId(ids.next_id("root"))

    return open_store(
        settings.root,
        host=ids.next_id("host"),
        since=now.isoformat(timespec="seconds"),
        new_root_id=root_id if settings.make else None,
        connector=settings.connector,
        runner=settings.runner,
        probe=settings.probe,
        pause=settings.pause,
        idle_s=settings.idle_s,
        accept_loss=settings.accept_loss,
    )


async def _contain(store: SqliteStore, session: str, error: CrashworthyError) -> bool:
    """Quarantine a session whose facts are why `error` came; say whether they are (STORE-8)."""
    damage = await trio.to_thread.run_sync(lambda: damage_behind(store, session, error))
    if damage is not None:
        await store.submit(damage)
    return damage is not None


@asynccontextmanager
async def _serving(
    settings: HostSettings,
    store: SqliteStore,
    life: HostLife,
    recovery: Recovery,
    ids: IdSource,
    historian: Historian,
) -> AsyncGenerator[Host]:
    """Open what a ready host has beyond its store: blobs, workers, kernel."""
    assert store.tenure is not None
    root = store.tenure.root
    # A file that is there already is synced again unless a committed fact names it; nobody keeps an
    # index of names, so it always is (OP-6a).
    blobs = BlobStore(
        place=root.blobs,
        is_named=lambda _blob: False,
        probe=settings.probe,
        in_place=store.tenure.check,
    )
    bus = Bus()
    book = OperationalBook(
        root.operational, store.owner.epoch, settings.connector, in_place=store.tenure.check
    )
    with closing(book) as operational:
        async with (
            _tool_workers(settings, store, root) as workers,
            trio.open_nursery() as runs,
        ):

            def snapshots(spine: Spine) -> StreamSnapshots:
                return StreamSnapshots(store=store, spine=spine, every_s=settings.partial_s)

            kernel = Kernel(
                store=store,
                nursery=runs,
                bus=bus,
                clock=settings.clock,
                ids=ids,
                historian=historian,
                snapshots=snapshots,
                operational=operational,
            )
            people = People(
                store=store,
                bus=bus,
                clock=settings.clock,
                ids=ids,
                waiting=kernel.waiting,
                pens=kernel.pen_of,
            )
            yield Host(
                settings=settings,
                store=store,
                life=life,
                recovery=recovery,
                kernel=kernel,
                people=people,
                blobs=blobs,
                spools=BlobSpools(blobs),
                tools=PlacedRunner(workers=workers),
                operational=operational,
                threads=trio.CapacityLimiter(_BLOB_THREADS),
            )
            runs.cancel_scope.cancel()


@asynccontextmanager
async def _tool_workers(
    settings: HostSettings, store: SqliteStore, root: StateRoot
) -> AsyncGenerator[ToolRunner]:
    """Yield what runs the tools that are declared for workers; processes unless injected."""
    if settings.tools is not None:
        yield settings.tools
        return
    workers = WorkerSettings(lock_path=root.workers_lock, workers_max=settings.workers_max)
    async with open_pool(workers, _Log(store=store)) as pool:
        yield pool


def _note(host: Host, kind: OperationalKind, **details: Json) -> None:
    """Tell people of the host itself, under no run (LOG-10)."""
    host.operational.note("", host.settings.clock.now_ms(), kind, details)


def _code_of(error: BaseException) -> str:
    return str(error.code) if isinstance(error, CrashworthyError) else type(error).__name__


def _tell_hung(host: Host) -> None:
    """Tell people that the shutdown of an owner before hung, and take its mark away (OWN-3)."""
    assert host.store.tenure is not None
    hung = read_hung(host.store.tenure.root)
    if hung is not None:
        left = ", ".join(hung.left)
        _note(host, OperationalKind.HOST_HUNG, epoch=hung.epoch, pid=hung.pid, left=left)
        clear_hung(host.store.tenure.root)


async def _drain(host: Host) -> BaseException | None:
    """Admit nothing more; stop what runs, and leave alone what waits for a person (ASK-3).

    Whatever goes wrong meanwhile, and whoever gives up on the closing, a second signal included:
    what is left is asked, for to let go of the lock beside it is the one thing never done (OWN-3).

    Returns:
        What went wrong.
    """
    host.life.move(machine.Drain())
    host.kernel.closing = True
    failed: BaseException | None = None
    try:
        failed = await _stop_all(host)
    except BaseException as error:  # noqa: BLE001 - returned, and raised behind what is left
        failed = error
    if not host.life.left:
        await _mark_left(host)
    return failed


async def _stop_all(host: Host) -> BaseException | None:
    """End the work on every run; where patience ends, mark what is left, and wait on.

    Returns:
        The gravest refusal that says more than that something cannot be written now.
    """
    refused: list[BaseException] = []
    with trio.CancelScope(shield=True):
        async with trio.open_nursery() as stops:
            for name, active in tuple(host.kernel.active.items()):
                stops.start_soon(_stop, host, name, active, refused)
            with trio.move_on_after(host.settings.grace_s):
                await _quiet(host)
            # Here and not behind the stops, for they wait for what shields itself.
            await _mark_left(host)
            stops.cancel_scope.cancel()
    return gravest(refused) if refused else None


async def _stop(host: Host, name: str, active: Active, refused: list[BaseException]) -> None:
    """End the work on a run, durably where the log can be written."""
    try:
        if not host.waits(name):
            await host.kernel.stop(name, STOPPED_BY_HOST)
    except (StorageError, StorePoisonedError):
        pass  # What cannot be written now, the next owner's recovery reads from the facts.
    except CrashworthyError as error:
        refused.append(error)
    active.scope.cancel()  # Nothing is lost of a run that waits: it waits in its facts.


async def _quiet(host: Host) -> None:
    """Wait until no run is executed any more, and no function of a host tool."""
    for active in tuple(host.kernel.active.values()):
        await active.finished.wait()
    while host.tools.left():  # noqa: ASYNC110 - a thread may outlive the loop it would tell
        await trio.sleep(_LEFT_POLL_S)


async def _mark_left(host: Host) -> None:
    """Note what may still act; if anything does, the lock is kept from here on (OWN-3).

    The mark is durable behind it, if anything can be written.
    """
    host.life.left = host.tools.left()
    if host.life.left:
        host.life.move(machine.Hung())
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(_mark_hung, host, host.life.left)


def _mark_hung(host: Host, left: tuple[str, ...]) -> None:
    """Leave the mark, if anything can be written: the lock is kept with and without it."""
    tenure = host.store.tenure
    assert tenure is not None
    hung = HungOwner(epoch=host.store.owner.epoch, pid=os.getpid(), left=left)
    with suppress(StorageError, LockReplacedError):
        tenure.check()
        mark_hung(tenure.root, hung, probe=host.settings.probe)


@attrs.frozen(kw_only=True)
class _Log:
    """Records workers in the store, so that a successor can end what is left (pool.WorkerLog)."""

    store: SqliteStore

    async def started(self, record: LeftWorker) -> None:
        """Record durably that this worker lives."""
        name, epoch = _name(record), self.store.owner.epoch
        await self.store.writer.submit(lambda txn: record_worker(txn, name, epoch, record))

    async def ended(self, record: LeftWorker) -> None:
        """Record that its group is gone, if anything can be recorded now.

        The record saves the next owner a look at the process, which it would find gone; an outcome
        on its way to a full disk is not given up for that.
        """
        name = _name(record)
        with suppress(StorageError, StorePoisonedError):
            await self.store.writer.submit(lambda txn: record_worker_ended(txn, name))


def _name(record: LeftWorker) -> str:
    return f"{record.process.pid}-{record.process.started}"
