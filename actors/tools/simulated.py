"""Tools without processes: virtual latency, deaths of their own, life beyond their host (OP-8a).

The world outlives any host that is killed in a simulation. It has a nursery of its own; a worker in
it goes on after its host is gone for as long as its script says, and its effect may land then: what
a successor must never take for "not done" while the worker lives (OWN-2).
"""

from collections.abc import Callable, Mapping
from math import inf

import attrs
import trio

from ...machines.facts.canonical import Json
from .runner import Audience, Ending, Finish, NotStarted, Returned, TimedOut, WorkerDied, WorkOrder


@attrs.frozen(kw_only=True)
class Script:
    """What a simulated tool does.

    Attributes:
        latency_ms: From the order to the effect.
        effect: The effect itself, and the result.
        answer_ms: From the effect to the answer.
        dies_after_ms: When the worker ends by itself; None for never.
        lingers_ms: How long it goes on after its host is gone; 0 ends it with the host's pipe.
    """

    latency_ms: int
    effect: Callable[[WorkOrder], Json]
    answer_ms: int = 0
    dies_after_ms: int | None = None
    lingers_ms: int = 0


@attrs.define(eq=False)
class World:
    """Where simulated workers live; its nursery belongs to the simulation, not to a host."""

    nursery: trio.Nursery
    alive: int = attrs.field(default=0, init=False)

    @property
    def workers_gone(self) -> bool:
        """Return what taking `workers.lock` exclusively would prove."""
        return self.alive == 0

    async def live(self, worker: "_SimulatedWorker") -> None:
        """Let one worker run to its end, whatever becomes of the host that asked for it."""
        try:
            await worker.perform()
        finally:
            self.alive -= 1
            worker.over.set()


@attrs.frozen(kw_only=True)
class SimulatedRunner:
    """Runs orders in the world instead of in processes (runner.Runner)."""

    world: World
    scripts: Mapping[str, Script]

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        """Return how the call ended, in virtual time; a simulated tool prints nothing."""
        del audience
        script = self.scripts.get(order.tool.name)
        if script is None:
            return Ending(finish=NotStarted(reason="the simulation has no such tool"))
        worker = _SimulatedWorker(order=order, script=script)
        self.world.alive += 1  # Before it can be lost: a started process counts.
        self.world.nursery.start_soon(self.world.live, worker)
        timeout_ms = order.tool.timeout_ms
        try:
            with trio.move_on_after(inf if timeout_ms is None else timeout_ms / 1000):
                await worker.over.wait()
                return Ending(finish=worker.finish or WorkerDied(exit_code=-9, detail=""))
        except BaseException:
            worker.outlive_host()
            raise
        assert timeout_ms is not None
        worker.scope.cancel()
        return Ending(finish=TimedOut(timeout_ms=timeout_ms))


@attrs.define(eq=False, kw_only=True)
class _SimulatedWorker:
    """One worker with its call: the answer appears here, if it lives to give it."""

    order: WorkOrder
    script: Script
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope, init=False)
    over: trio.Event = attrs.field(factory=trio.Event, init=False)
    finish: Finish | None = attrs.field(default=None, init=False)

    async def perform(self) -> None:
        """Reach the effect, then the answer, unless death comes first."""
        if self.script.dies_after_ms is not None:
            self.scope.deadline = min(
                self.scope.deadline, trio.current_time() + self.script.dies_after_ms / 1000
            )
        with self.scope:
            await trio.sleep(self.script.latency_ms / 1000)
            value = self.script.effect(self.order)
            await trio.sleep(self.script.answer_ms / 1000)
            self.finish = Returned(value=value)

    def outlive_host(self) -> None:
        """Go on for as long as the script says: the pipe has ended, the process has not yet."""
        last = trio.current_time() + self.script.lingers_ms / 1000
        self.scope.deadline = min(self.scope.deadline, last)
