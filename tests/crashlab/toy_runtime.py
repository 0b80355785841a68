"""Runtime workloads with one planted fault each: a lab that finds none of them proves nothing."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from unittest.mock import patch

import attrs
import trio

from crashworthy.actors import host as hosts
from crashworthy.actors.host import HostSettings
from crashworthy.actors.lifecycle import HostLife
from crashworthy.actors.recovery import Done, Recovery, RecoveryStep
from crashworthy.actors.runtime import Runtime, Settings, open_runtime
from crashworthy.actors.tools.runner import Audience, Ending, Runner, WorkOrder
from crashworthy.crashlab.workloads.runtime import RuntimeWorkload
from crashworthy.crashlab.workloads.runtime_scenes import (
    PARALLEL_TOOLS,
    SHUTDOWN,
    STARTUP_REPAIR,
    TEXT_TURN,
)


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


def admit_anything(_life: HostLife) -> None:
    """Ask nothing."""


@asynccontextmanager
async def open_deaf(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    """Admit whatever is asked for, in any phase (HST.I1)."""
    with patch.object(HostLife, "admit", admit_anything):
        async with open_runtime(settings, host) as runtime:
            yield runtime


@asynccontextmanager
async def open_early(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    """Be ready at once, as if everything were recovered (HST.I1)."""

    async def recovers_nothing(*_args: object, **_options: object) -> Recovery:
        await trio.lowlevel.checkpoint()
        return Recovery(trace=tuple(Done(step=step, decided=()) for step in RecoveryStep))

    with patch.object(hosts, "recover", recovers_nothing):
        async with open_runtime(settings, host) as runtime:
            yield runtime


@asynccontextmanager
async def open_loosely(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    """Let go of the root first, and of everything else after it (HST.I2)."""
    async with open_runtime(settings, host) as runtime:
        yield runtime
        assert runtime.host.store.tenure is not None
        runtime.host.store.tenure.release()


@asynccontextmanager
async def open_for_ever(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
    """Close, and keep the root (HST.I3)."""
    async with open_runtime(settings, host) as runtime:
        yield runtime
        runtime.host.store.tenure = None


def acts_twice() -> RuntimeWorkload:
    return RuntimeWorkload(scene=PARALLEL_TOOLS, open_with=open_twice)


def goes_on_by_itself() -> RuntimeWorkload:
    return RuntimeWorkload(scene=TEXT_TURN, open_with=open_eagerly)


def admits_in_any_phase() -> RuntimeWorkload:
    return RuntimeWorkload(scene=SHUTDOWN, open_with=open_deaf)


def is_ready_too_early() -> RuntimeWorkload:
    return RuntimeWorkload(scene=STARTUP_REPAIR, open_with=open_early)


def lets_go_too_early() -> RuntimeWorkload:
    return RuntimeWorkload(scene=TEXT_TURN, open_with=open_loosely)


def never_lets_go() -> RuntimeWorkload:
    return RuntimeWorkload(scene=TEXT_TURN, open_with=open_for_ever)
