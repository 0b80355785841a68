"""Each tool where it declares to run: in a worker, or in the host if only the host can load it."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Final, cast

import attrs
import trio

from .conduct import conclude, explain, given
from .context import CallContext
from .contract import Place
from .errors import ArtifactRefusedError
from .output import Window
from .runner import (
    Answer,
    ArtifactRecord,
    Audience,
    Ending,
    Finish,
    Runner,
    TimedOut,
    WorkOrder,
)

THREADS_MAX: Final = 8


@attrs.define(eq=False, kw_only=True)
class PlacedRunner:
    """Sends each order to the place that its tool declares (runner.Runner)."""

    workers: Runner
    _left: set[str] = attrs.field(factory=set[str], init=False)
    _threads: trio.CapacityLimiter = attrs.field(
        factory=lambda: trio.CapacityLimiter(THREADS_MAX), init=False
    )

    def left(self) -> tuple[str, ...]:
        """Return the operations whose functions still run in this process.

        Threads that were left behind, and async functions that shield themselves.
        """
        return tuple(sorted(self._left))

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        """Run one order; the kernel answers its own tools and never sends them here."""
        assert order.tool.place is not Place.KERNEL
        if order.tool.place is Place.WORKER:
            return await self.workers.run(order, audience)
        return await self._run_here(order, audience)

    async def _run_here(self, order: WorkOrder, audience: Audience) -> Ending:
        """Run a function of the host: async ones as part of its task, others in a thread.

        A thread cannot be ended. At a time-out, or when the run is stopped, it is left behind and
        what it still does counts as unknown, unless the tool is free of effects.
        """
        outlet = _HostOutlet(order=order)
        timeout_ms = order.tool.timeout_ms
        finish: Finish | None = None
        try:
            with trio.move_on_after(float("inf") if timeout_ms is None else timeout_ms / 1000):
                finish = await self._attempt(order, outlet)
        finally:
            outlet.closed = True
        abandoned = finish is None
        if finish is None:
            assert timeout_ms is not None
            finish = TimedOut(timeout_ms=timeout_ms)
        output = outlet.window.close(None) if outlet.window.bytes_total else None
        if output is not None:
            audience.show(output.inline)
        artifacts = await _kept(outlet, audience)
        return Ending(finish=finish, output=output, artifacts=artifacts, escaped=abandoned)

    async def _attempt(self, order: WorkOrder, outlet: "_HostOutlet") -> Answer:
        context = CallContext(
            operation=order.operation, key=order.key, workspace=order.workspace, outlet=outlet
        )
        function = order.tool.function
        arguments: dict[str, object] = {**order.args, **given(order.tool, context)}
        try:
            if inspect.iscoroutinefunction(function):
                returned = await self._await(order, lambda: function(**arguments))
            else:
                returned = await trio.to_thread.run_sync(
                    lambda: self._hold(outlet, lambda: function(**arguments)),
                    abandon_on_cancel=True,
                    limiter=self._threads,
                )
        except Exception as error:  # noqa: BLE001 - foreign code; its exception is its result
            return explain(error)
        return conclude(returned)

    async def _await(self, order: WorkOrder, work: Callable[[], object]) -> object:
        """Await an async function, which may shield itself, and know for as long that it runs."""
        self._left.add(order.operation)
        try:
            return await cast("Awaitable[object]", work())
        finally:
            self._left.discard(order.operation)

    def _hold(self, outlet: "_HostOutlet", work: Callable[[], object]) -> object:
        """Call a function in its thread, and know for as long as it runs that it does.

        A thread that comes to it after its call was given up finds the outlet closed, and calls
        nothing: so whoever gave up and then asks what is left is told all of it.
        """
        self._left.add(outlet.order.operation)
        try:
            return None if outlet.closed else work()
        finally:
            self._left.discard(outlet.order.operation)


@attrs.define(eq=False, kw_only=True)
class _HostOutlet:
    """Holds a bounded part of what a host tool prints until it has ended (context.Outlet).

    It may be called from a thread, so nothing here waits for the host.
    """

    order: WorkOrder
    closed: bool = False
    window: Window = attrs.field(init=False)
    artifacts: list[tuple[str, str, bytes]] = attrs.field(
        factory=list[tuple[str, str, bytes]], init=False
    )

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self.window = Window(self.order.tool.output)

    def write(self, data: bytes) -> None:
        """Take a piece; what an abandoned thread still says is dropped."""
        if not self.closed:
            self.window.write(data)

    def artifact(self, name: str, media_type: str, content: bytes) -> None:
        """Take one artifact.

        Raises:
            ArtifactRefusedError: `artifact_refused`, over the tool's rule.
        """
        rule = self.order.tool.artifacts
        if len(self.artifacts) == rule.count_max or len(content) > rule.size_bytes_max:
            raise ArtifactRefusedError(
                name=name, count_max=rule.count_max, size_bytes_max=rule.size_bytes_max
            )
        self.artifacts.append((name, media_type, content))


async def _kept(outlet: _HostOutlet, audience: Audience) -> tuple[ArtifactRecord, ...]:
    if audience.spools is None:
        return ()
    records: list[ArtifactRecord] = []
    for name, media_type, content in outlet.artifacts:
        spool = await audience.spools.open_spool()
        await spool.write(content)
        records.append(
            ArtifactRecord(
                name=name,
                media_type=media_type,
                bytes_total=len(content),
                blob=await spool.keep(),
            )
        )
    return tuple(records)
