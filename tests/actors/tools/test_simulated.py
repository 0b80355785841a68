"""Simulated tools take virtual time, may die, and may act after their host is gone (OP-8a)."""

from collections.abc import Callable

import pytest
import trio
import trio.testing

from crashworthy.actors.tools.builtin.shell import shell
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.paths import Workspace, workspace_boundary
from crashworthy.actors.tools.runner import (
    Audience,
    Finish,
    NotStarted,
    Returned,
    TimedOut,
    WorkerDied,
    WorkOrder,
)
from crashworthy.actors.tools.simulated import Script, SimulatedRunner, World

QUIET = Audience(show=list[str]().append, spools=None)
HOUR_MS = 3_600_000


def order(tool: Tool = shell) -> WorkOrder:
    place = Workspace(root="/w", identity="w", boundary=workspace_boundary("/w"))
    return WorkOrder(tool=tool, operation="op-1", args={"command": "x"}, workspace=place)


class Stage:
    """A world, a runner in it, and the effects that landed there with their virtual times."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.world = World(nursery)
        self.landed: list[float] = []
        self.start = trio.current_time()

    def runner(self, latency_ms: int, **script: int) -> SimulatedRunner:
        return SimulatedRunner(
            world=self.world,
            scripts={
                "shell": Script(
                    latency_ms=latency_ms,
                    effect=lambda _: self.landed.append(trio.current_time() - self.start),
                    **script,
                )
            },
        )


def simulate(play: Callable[[Stage], object]) -> Stage:
    stages: list[Stage] = []

    async def main() -> None:
        async with trio.open_nursery() as nursery:
            stages.append(Stage(nursery))
            await play(stages[0])  # type: ignore[misc]  # an async function

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
    return stages[0]


@pytest.mark.parametrize(
    ("script", "finish", "landed"),
    [
        ({"latency_ms": 9000, "answer_ms": 1000}, Returned(value=None), [9.0]),
        ({"latency_ms": 9000, "dies_after_ms": 5000}, WorkerDied(exit_code=-9, detail=""), []),
        (
            {"latency_ms": 1000, "answer_ms": 9000, "dies_after_ms": 5000},
            WorkerDied(exit_code=-9, detail=""),
            [1.0],
        ),
        ({"latency_ms": HOUR_MS}, TimedOut(timeout_ms=600_000), []),
    ],
    ids=str,
)
@pytest.mark.proves("OP-8a")
def test_simulated_call_ends_as_scripted(
    script: dict[str, int], finish: Finish, landed: list[float]
) -> None:
    async def play(stage: Stage) -> None:
        ending = await stage.runner(**script).run(order(), QUIET)
        assert ending.finish == finish

    stage = simulate(play)
    assert stage.landed == landed
    assert stage.world.workers_gone


@pytest.mark.proves("OP-8a", "OWN-2")
def test_effect_may_land_after_its_host_is_gone() -> None:
    """The case that makes "not done yet" unsafe to conclude while a worker lives."""

    async def play(stage: Stage) -> None:
        with trio.move_on_after(2):
            await stage.runner(latency_ms=5000, lingers_ms=4000).run(order(), QUIET)
        assert (stage.landed, stage.world.workers_gone) == ([], False)
        await trio.sleep(10)
        assert stage.world.workers_gone

    assert simulate(play).landed == [5.0]


@pytest.mark.proves("OP-8a")
def test_worker_ends_with_its_host_when_it_does_not_linger() -> None:
    async def play(stage: Stage) -> None:
        with trio.move_on_after(2):
            await stage.runner(latency_ms=5000).run(order(), QUIET)
        await trio.testing.wait_all_tasks_blocked()
        assert stage.world.workers_gone

    assert simulate(play).landed == []


def test_tool_without_a_script_is_not_started() -> None:
    async def play(stage: Stage) -> None:
        runner = SimulatedRunner(world=stage.world, scripts={})
        ending = await runner.run(order(), QUIET)
        assert isinstance(ending.finish, NotStarted)

    simulate(play)
