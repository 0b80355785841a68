"""Runtime workloads with one planted fault each: a lab that finds none of them proves nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import attrs

from crashworthy.actors.host import HostSettings
from crashworthy.actors.runtime import Runtime, Settings, open_runtime
from crashworthy.actors.tools.runner import Audience, Ending, Runner, WorkOrder
from crashworthy.crashlab.workloads.runtime import RuntimeWorkload
from crashworthy.crashlab.workloads.runtime_scenes import PARALLEL_TOOLS, TEXT_TURN


@attrs.frozen(kw_only=True)
class Twice:
    """Runs every order a second time, as a retry of what is not idempotent would."""

    inner: Runner

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        await self.inner.run(order, audience)
        return await self.inner.run(order, audience)


@asynccontextmanager
async def open_twice(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    assert host.tools is not None
    host = attrs.evolve(host, tools=Twice(inner=host.tools))
    async with open_runtime(settings, host) as runtime:
        yield runtime


@asynccontextmanager
async def open_eagerly(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    """Take a turn that nobody asked for, as a host would that re-sends what was interrupted."""
    async with open_runtime(settings, host) as runtime:
        yield runtime
        session = await runtime.create_session(key="s")
        handle = await session.send("say something")
        await handle.wait()


def acts_twice() -> RuntimeWorkload:
    return RuntimeWorkload(scene=PARALLEL_TOOLS, open_with=open_twice)


def goes_on_by_itself() -> RuntimeWorkload:
    return RuntimeWorkload(scene=TEXT_TURN, open_with=open_eagerly)
