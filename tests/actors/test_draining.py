"""On a slow disk a host that closes takes on nothing more: no step, and no run (OWN-3)."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from crashworthy.actors.backends.script import parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.host import STOPPED_BY_HOST
from crashworthy.actors.runtime import (
    RunHandle,
    Runtime,
    Session,
    Settings,
    host_settings,
    open_runtime,
)
from crashworthy.actors.tools.contract import Permission, Place, Tool
from crashworthy.crashlab.seeded import run_seeded
from crashworthy.machines.facts.model import StopRequested
from crashworthy.machines.facts.vocabulary import Kind, RunFailure
from crashworthy.store.errors import StoreClosedError
from crashworthy.store.journal.dicts import pages
from crashworthy.store.runner import InlineRunner

DISK_S = 0.05
HOUR_S = 3_600
STEPS = 40
BUSY = {
    "turn": [
        {
            "step": [
                {"event": [{"call": "nod", "args": {"n": n}}, {"finish": "tool_calls"}]}
                for n in range(STEPS)
            ]
        }
    ]
}


async def nod(*_args: object, **_kwargs: object) -> object:
    await trio.lowlevel.checkpoint()
    return "yes"


TOOL = Tool(
    name="nod",
    description="Nod.",
    schema={
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "additionalProperties": False,
    },
    permission=Permission.FREE,
    place=Place.HOST,
    entry="test:nod",
    function=nod,
)


def opened(home: Path, act: Callable[[Runtime, trio.Nursery], Awaitable[None]]) -> None:
    """Own the root of `home` on a slow disk, act, and leave; clients live in the nursery."""

    async def whole() -> None:
        settings = Settings(
            root=home / "root",
            workspace=home / "work",
            backend=lambda: ScriptedBackend(script=parse_script(BUSY)),
            tools=(TOOL,),
        )
        slow = attrs.evolve(host_settings(settings), runner=InlineRunner(latency_s=lambda: DISK_S))
        async with trio.open_nursery() as outside, open_runtime(settings, slow) as runtime:
            await act(runtime, outside)

    (home / "work").mkdir(exist_ok=True)
    run_seeded(1, whole, clock=MockClock(autojump_threshold=0))


@pytest.mark.proves("OWN-3")
def test_run_takes_no_further_step_while_another_one_is_stopped(tmp_path: Path) -> None:
    """Stopped one after the other, the last run would go on for as long as the others take."""
    kinds: list[tuple[Kind, bool]] = []

    async def act(runtime: Runtime, _outside: trio.Nursery) -> None:
        for _ in range(4):
            session = await runtime.create_session()
            await session.send("go")
        await trio.sleep(20 * DISK_S)

    async def look(runtime: Runtime, _outside: trio.Nursery) -> None:
        await trio.lowlevel.checkpoint()
        log = runtime.host.store.read(lambda view: list(pages(view)))
        for stored in log:
            action = stored.event().actions
            stop = isinstance(action, StopRequested) and action.source == STOPPED_BY_HOST
            kinds.append((stored.place.kind, stop))

    opened(tmp_path, act)
    opened(tmp_path, look)
    first = next(n for n, (_kind, stop) in enumerate(kinds) if stop)
    last = max(n for n, (_kind, stop) in enumerate(kinds) if stop)
    assert sum(stop for _kind, stop in kinds) == 4
    assert {kind for kind, _stop in kinds[last:]} == {Kind.STOP_REQUESTED, Kind.RUN_ENDED}
    assert last - first == 3


@pytest.mark.proves("OWN-3")
def test_run_that_was_under_way_to_a_host_that_drains_is_not_begun(tmp_path: Path) -> None:
    """Its opening is durable, so its caller gets it; the next owner says what became of it."""
    handles: list[RunHandle] = []

    async def send(session: Session) -> None:
        handles.append(await session.send("go"))

    async def act(runtime: Runtime, outside: trio.Nursery) -> None:
        session = await runtime.create_session()
        outside.start_soon(send, session)
        await trio.sleep(DISK_S / 2)

    async def look(runtime: Runtime, _outside: trio.Nursery) -> None:
        await trio.lowlevel.checkpoint()
        end = RunHandle(
            id=handles[0].id, session=handles[0].session, runtime=runtime, created=False
        ).end()
        assert end is not None
        assert end.failure is RunFailure.ABANDONED_BEFORE_DISPATCH

    opened(tmp_path, act)
    assert [handle.created for handle in handles] == [True]
    opened(tmp_path, look)


def test_client_that_outlives_its_host_is_told_that_the_store_is_closed(tmp_path: Path) -> None:
    """Never by an error of the driver, which says nothing that a client could act on."""
    codes: list[str] = []

    async def come_late(runtime: Runtime) -> None:
        await trio.sleep(HOUR_S)
        try:
            runtime.pending()
        except StoreClosedError as error:
            codes.append(str(error.code))

    async def act(runtime: Runtime, outside: trio.Nursery) -> None:
        outside.start_soon(come_late, runtime)
        await trio.lowlevel.checkpoint()

    opened(tmp_path, act)
    assert codes == ["store_closed"]
