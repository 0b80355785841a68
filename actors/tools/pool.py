"""The tool workers of one host: started when needed, one call each, all ended with it (OP-8)."""

import signal
from base64 import b64decode
from binascii import Error as Base64Error
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf
from typing import Protocol

import attrs
import trio

from ...machines.facts.canonical import Json
from ...store.errors import StorageError
from ...store.ownership.workers import LeftWorker
from .output import OutputRecord, OutputSink, Spool
from .process import (
    WorkerEnd,
    WorkerProcess,
    WorkerSettings,
    WorkerUnavailableError,
    start_worker,
)
from .runner import (
    ArtifactRecord,
    Audience,
    Ending,
    Finish,
    NotStarted,
    Returned,
    TimedOut,
    WorkerDied,
    WorkOrder,
)
from .worker.frames import FrameInvalidError, int_field, text_field
from .worker.messages import order_json, read_finish


class WorkerLog(Protocol):
    """Where it is recorded which workers live, so that a successor can end what is left (OWN-2)."""

    async def started(self, record: LeftWorker) -> None:
        """Record durably that this worker lives; it gets no order before this returned."""
        ...

    async def ended(self, record: LeftWorker) -> None:
        """Record that its group is gone."""
        ...


@asynccontextmanager
async def open_pool(settings: WorkerSettings, log: WorkerLog) -> AsyncGenerator["WorkerPool"]:
    """Yield the one owner of all workers; leaving ends every worker that is idle.

    Calls run in their callers' tasks, which must have ended before: each call owns its worker.
    """
    pool = WorkerPool(settings=settings, log=log)
    try:
        yield pool
    finally:
        with trio.CancelScope(shield=True):
            await pool.close()


@attrs.define(eq=False, kw_only=True)
class WorkerPool:
    """Runs orders in worker processes (runner.Runner)."""

    settings: WorkerSettings
    log: WorkerLog
    _slots: trio.Semaphore = attrs.field(init=False)
    _idle: deque[WorkerProcess] = attrs.field(factory=deque[WorkerProcess], init=False)

    def __attrs_post_init__(self) -> None:
        """Open as many slots as there may be workers."""
        self._slots = trio.Semaphore(self.settings.workers_max)

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        """Run one order in a worker of its own for that time (OP-8a)."""
        async with self._slots:
            try:
                worker = await self._take()
            except WorkerUnavailableError as error:
                return Ending(finish=NotStarted(reason=str(error)))
            call = _Call(worker=worker, order=order, audience=audience, settings=self.settings)
            try:
                return await call.run()
            finally:
                if call.reusable:
                    self._idle.append(worker)
                else:
                    with trio.CancelScope(shield=True):
                        await self._retire(worker)

    async def warm(self, count: int) -> None:
        """Have `count` workers wait for their first order, so that it need not wait for one.

        Raises:
            WorkerUnavailableError: `worker_unavailable`, or why.
        """
        while len(self._idle) < min(count, self.settings.workers_max):
            self._idle.append(await self._start())

    async def close(self) -> None:
        """End all idle workers; double close is nothing."""
        while self._idle:
            await self._retire(self._idle.pop())

    async def _take(self) -> WorkerProcess:
        """Return a worker that is alive and recorded."""
        while self._idle:
            worker = self._idle.pop()
            if not worker.is_gone():
                return worker
            await self._retire(worker)
        return await self._start()

    async def _start(self) -> WorkerProcess:
        worker = await start_worker(self.settings)
        try:
            await self.log.started(worker.record)
        except StorageError as error:
            # One that no successor could end gets no order (OWN-2): the call is not started.
            await worker.end()
            raise WorkerUnavailableError(reason=str(error)) from error
        except BaseException:
            await worker.end()
            raise
        return worker

    async def _retire(self, worker: WorkerProcess) -> None:
        await worker.end()
        await self.log.ended(worker.record)


@attrs.define(eq=False, kw_only=True)
class _Artifact:
    """An artifact on its way to the blob store."""

    name: str
    media_type: str
    size_bytes: int
    spool: Spool | None
    came_bytes: int = 0


@attrs.define(eq=False, kw_only=True)
class _Call:
    """One order and everything that comes back for it.

    Attributes:
        reusable: Whether the worker is free of this call and may take another.
    """

    worker: WorkerProcess
    order: WorkOrder
    audience: Audience
    settings: WorkerSettings
    reusable: bool = attrs.field(default=False, init=False)
    _deadline: float = attrs.field(default=inf, init=False)
    _expired: bool = attrs.field(default=False, init=False)
    _output: OutputSink = attrs.field(init=False)
    _result: OutputSink = attrs.field(init=False)
    _artifact: _Artifact | None = attrs.field(default=None, init=False)
    _artifacts: list[ArtifactRecord] = attrs.field(factory=list[ArtifactRecord], init=False)

    def __attrs_post_init__(self) -> None:
        """Open the two sinks: what the call prints, and a result too large for one message."""
        rule, spools = self.order.tool.output, self.audience.spools
        self._output = OutputSink(rule, spools, self.audience.show)
        self._result = OutputSink(rule, spools, _hide)

    async def run(self) -> Ending:
        """Return how the call ended; cancelled or failed, the group is ended before this raises."""
        if self.order.tool.timeout_ms is not None:
            self._deadline = trio.current_time() + self.order.tool.timeout_ms / 1000
        try:
            last = await self._converse()
            left_behind = last is not None and last.get("left_behind") is True
            end = await self.worker.end() if last is None or left_behind else None
            finish = self._cut_short(end) if last is None else self._answered(last)
            ending = await self._ending(finish)
        except BaseException:
            with trio.CancelScope(shield=True):
                await self._stop()
                await self._drop()
            raise
        self.reusable = end is None
        escaped = end is not None and end.escaped
        return attrs.evolve(ending, left_behind=left_behind, escaped=escaped)

    async def _converse(self) -> dict[str, Json] | None:
        """Return the worker's last message of this call, or None if it ended before that."""
        try:
            await self.worker.send(order_json(self.order))
            while (message := await self._receive()) is not None:
                if message.get("t") == "done":
                    return message
                await self._take(message)
        except (FrameInvalidError, trio.BrokenResourceError):
            pass  # Nothing that it says from here on could be trusted.
        return None

    async def _receive(self) -> dict[str, Json] | None:
        """Return the next message; at the time-out the group is asked to end, then given up."""
        while True:
            with trio.move_on_at(self._deadline):
                return await self.worker.receive()
            if self._expired:
                return None
            self._expired = True
            self.worker.signal_group(signal.SIGTERM)
            self._deadline = trio.current_time() + self.settings.grace_ms / 1000

    async def _take(self, message: dict[str, Json]) -> None:
        """Take one piece of what the call leaves.

        Raises:
            FrameInvalidError: `frame_invalid`, not a message that belongs here.
        """
        kind, channel = text_field(message, "t"), message.get("channel")
        if kind == "artifact":
            await self._open_artifact(message)
        elif kind == "output" and channel == "output":
            await self._output.write(_data(message))
        elif kind == "output" and channel == "result":
            await self._result.write(_data(message))
        elif kind == "output" and channel == "artifact":
            await self._grow_artifact(_data(message))
        else:
            raise FrameInvalidError(reason=f"unexpected: {kind[:40]}")

    async def _open_artifact(self, message: dict[str, Json]) -> None:
        rule, size_bytes = self.order.tool.artifacts, int_field(message, "bytes")
        if len(self._artifacts) >= rule.count_max or not 0 <= size_bytes <= rule.size_bytes_max:
            raise FrameInvalidError(reason="an artifact over the tool's rule")
        spools = self.audience.spools
        self._artifact = _Artifact(
            name=text_field(message, "name"),
            media_type=text_field(message, "media_type"),
            size_bytes=size_bytes,
            spool=None if spools is None else await spools.open_spool(),
        )
        await self._grow_artifact(b"")

    async def _grow_artifact(self, data: bytes) -> None:
        artifact = self._artifact
        if artifact is None or artifact.came_bytes + len(data) > artifact.size_bytes:
            raise FrameInvalidError(reason="more of an artifact than was announced")
        artifact.came_bytes += len(data)
        if artifact.spool is not None:
            await artifact.spool.write(data)
        if artifact.came_bytes < artifact.size_bytes:
            return
        self._artifact = None
        if artifact.spool is not None:
            self._artifacts.append(
                ArtifactRecord(
                    name=artifact.name,
                    media_type=artifact.media_type,
                    bytes_total=artifact.size_bytes,
                    blob=await artifact.spool.keep(),
                )
            )

    def _answered(self, last: dict[str, Json]) -> Finish:
        """Return the worker's word, unless it only says how it met our own signal."""
        try:
            finish = read_finish(last)
        except FrameInvalidError as error:
            return WorkerDied(exit_code=0, detail=str(error))
        timeout_ms = self.order.tool.timeout_ms
        done = isinstance(finish, Returned) and not finish.failed
        if self._expired and not done and timeout_ms is not None:
            return TimedOut(timeout_ms=timeout_ms)
        return finish

    def _cut_short(self, end: WorkerEnd | None) -> Finish:
        assert end is not None
        timeout_ms = self.order.tool.timeout_ms
        if self._expired and timeout_ms is not None:
            return TimedOut(timeout_ms=timeout_ms)
        return WorkerDied(exit_code=end.exit_code, detail=end.words)

    async def _ending(self, finish: Finish) -> Ending:
        if isinstance(finish, Returned) and self._result.bytes_total:
            finish = attrs.evolve(finish, whole=await self._result.finish())
        output: OutputRecord | None = None
        if self._output.bytes_total:
            output = await self._output.finish()
        return Ending(finish=finish, output=output, artifacts=tuple(self._artifacts))

    async def _stop(self) -> None:
        """Ask the group to end, wait for its answer no longer than the grace, then end it."""
        self.worker.signal_group(signal.SIGTERM)
        try:
            with trio.move_on_after(self.settings.grace_ms / 1000):
                while (message := await self.worker.receive()) is not None:
                    if message.get("t") == "done":
                        break
        except FrameInvalidError:
            pass  # It is ended now, whatever it said.
        await self.worker.end()

    async def _drop(self) -> None:
        """Drop what will never be recorded."""
        await self._output.discard()
        await self._result.discard()
        if self._artifact is not None and self._artifact.spool is not None:
            await self._artifact.spool.discard()


def _hide(_text: str) -> None:
    """Show nothing: a large result is no progress."""


def _data(message: dict[str, Json]) -> bytes:
    try:
        return b64decode(text_field(message, "data"), validate=True)
    except Base64Error as error:
        raise FrameInvalidError(reason="not base64") from error
