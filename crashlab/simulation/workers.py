"""Simulated workers, and what becomes of them when their host dies under them (OP-8a, OWN-2).

While a host lives its workers are those of `SimulatedRunner`. A host that is killed takes the tasks
with it that stood for its workers, but processes would live on: so the last thing of a dying host
is a note of what is still to come of each, and the process of the next owner plays that, under the
workers' lock and in virtual time.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import attrs
import trio
from trio.testing import MockClock

from ...actors.tools.errors import ToolRefusedError
from ...actors.tools.paths import Workspace, workspace_boundary
from ...actors.tools.runner import Audience, Ending, WorkOrder
from ...actors.tools.simulated import Script, SimulatedRunner, World
from ...machines.facts.canonical import Json
from ...machines.facts.model import Dispatched, FunctionCall, RuntimeEvent
from ...store.ownership.root import StateRoot
from ...store.ownership.workers import join_workers
from ...store.probe import Probe, no_probe
from ..workloads.ownership import ROOT
from .tools import Course, course_of, happen, is_harmless, tool_named


@attrs.frozen(kw_only=True)
class Left:
    """A worker that lives on; times are milliseconds since 1970, in the history's own time.

    Attributes:
        effect_ts: When its effect happens; None if that is over.
        ends_ts: When it ends, whether it came to its effect or not.
    """

    operation: str
    effect_ts: int | None
    ends_ts: int


@attrs.define(eq=False, kw_only=True)
class VirtualClock:
    """The time of a history, which goes on from one owner to the next (clock.Clock).

    Attributes:
        began_ts: When the owner began, in milliseconds since 1970.
    """

    began_ts: int
    clock: MockClock

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return self.began_ts + round(self.clock.current_time() * 1000)


@attrs.define(eq=False, kw_only=True)
class _Running:
    order: WorkOrder
    course: Course
    since_ts: int
    acting: bool = False
    acted: bool = False


@attrs.define(eq=False, kw_only=True)
class Crew:
    """The workers of one living host (runner.Runner).

    Attributes:
        begins: Is started, apart from the call, whenever a worker gets its order.
    """

    seed: int
    root: Path
    world: World
    time: VirtualClock
    probe: Probe
    begins: Callable[[], Awaitable[None]]
    _running: dict[str, _Running] = attrs.field(factory=dict[str, _Running], init=False)

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        """Return how the call ended, in virtual time."""
        course = course_of(self.seed, order)
        mine = _Running(order=order, course=course, since_ts=self.time.now_ms())

        def act(order: WorkOrder) -> Json:
            mine.acting = True
            result = happen(self.root, order, self.probe)
            mine.acting, mine.acted = False, True
            return result

        script = Script(
            latency_ms=course.effect_ms,
            effect=act,
            answer_ms=course.answer_ms,
            dies_after_ms=course.dies_ms,
        )
        self._running[order.operation] = mine
        self.world.nursery.start_soon(self.begins)
        try:
            runner = SimulatedRunner(world=self.world, scripts={order.tool.name: script})
            return await runner.run(order, audience)
        finally:
            del self._running[order.operation]

    def left(self) -> tuple[Left, ...]:
        """Return what lives on if the host dies now."""
        found = (_left(mine, self.time.now_ms()) for mine in self._running.values())
        return tuple(left for left in found if left is not None)


def _left(mine: _Running, now_ts: int) -> Left | None:
    if mine.acting:
        return None  # The place of death is in the middle of its effect: it is the worker's own.
    course = mine.course
    effect_ts = mine.since_ts + course.effect_ms
    ends_ts = min(effect_ts + course.answer_ms, now_ts + course.lingers_ms)
    timeout_ms = mine.order.tool.timeout_ms
    for most_ms in (course.dies_ms, timeout_ms):
        if most_ms is not None:
            ends_ts = min(ends_ts, mine.since_ts + most_ms)
    if ends_ts <= now_ts:
        return None
    late = None if mine.acted else effect_ts
    return Left(operation=mine.order.operation, effect_ts=late, ends_ts=ends_ts)


@attrs.define(eq=False, kw_only=True)
class Haunting:
    """The workers of former owners, which still act beside the present one.

    Attributes:
        landed: The operations whose effect happened under this owner.
    """

    root: Path
    time: VirtualClock
    orders: Mapping[str, WorkOrder]
    landed: list[str] = attrs.field(factory=list[str], init=False)
    _gone: trio.Event = attrs.field(factory=trio.Event, init=False)
    _left: list[Left] = attrs.field(alias="left")
    _locks: dict[str, int] = attrs.field(factory=dict[str, int], init=False)

    def __attrs_post_init__(self) -> None:
        """Hold the workers' lock for each of them, as each of them would."""
        lock = StateRoot(path=self.root, root_id=ROOT).workers_lock
        for left in self._left:
            self._locks[left.operation] = join_workers(lock)
        self.advance()

    @property
    def left(self) -> tuple[Left, ...]:
        """Return those that still live."""
        return tuple(self._left)

    def advance(self) -> None:
        """Let everything happen whose time has come, in the order of the times."""
        while True:
            due = self._next()
            if due is None or due[0] > self.time.now_ms():
                return
            _ts, left, acts = due
            self._left.remove(left)
            if acts:
                self._act(left.operation)
                self._left.append(attrs.evolve(left, effect_ts=None))
            else:
                os.close(self._locks.pop(left.operation))

    def pause(self, seconds: float) -> None:
        """Wait in virtual time, in the middle of a blocking step (tenure.Means)."""
        self.time.clock.jump(seconds)
        self.advance()

    async def play(self) -> None:
        """Let them act at their times, until the last one has ended."""
        while (due := self._next()) is not None:
            await trio.sleep(max(0, due[0] - self.time.now_ms()) / 1000)
            self.advance()
        self._gone.set()

    async def gone(self) -> None:
        """Wait until the last one has ended."""
        await self._gone.wait()

    def _next(self) -> tuple[int, Left, bool] | None:
        """Return what comes next: when, of whom, and whether it is the effect."""
        coming = [
            (left.ends_ts, left.operation, left, False)
            if left.effect_ts is None or left.effect_ts > left.ends_ts
            else (left.effect_ts, left.operation, left, True)
            for left in self._left
        ]
        if not coming:
            return None
        ts, _operation, left, acts = min(coming, key=lambda one: one[:2])
        return ts, left, acts

    def _act(self, operation: str) -> None:
        order = self.orders[operation]
        # A file tool that finds another file than its plan refuses, and nobody hears it.
        with suppress(ToolRefusedError):
            happen(self.root, order, no_probe)
        if not is_harmless(order.tool.name):
            self.landed.append(operation)


def orders_of(
    facts: Sequence[RuntimeEvent], root: Path, workspace: Path, identity: str
) -> Mapping[str, WorkOrder]:
    """Return the order of every call that the log says was dispatched."""
    place = str(workspace.resolve())
    boundary = workspace_boundary(place, hidden=(str(root.resolve()),))
    where = Workspace(root=place, identity=identity, boundary=boundary)
    args = {f.refs.operation: f.content.args for f in facts if isinstance(f.content, FunctionCall)}
    found: dict[str, WorkOrder] = {}
    for fact in facts:
        operation, action = fact.refs.operation, fact.actions
        if isinstance(action, Dispatched) and operation is not None:
            told = args[operation]
            assert isinstance(told, dict)
            found[operation] = WorkOrder(
                tool=tool_named(action.tool),
                operation=operation,
                args=told,
                workspace=where,
                key=action.key,
                evidence=action.evidence,
            )
    return found
