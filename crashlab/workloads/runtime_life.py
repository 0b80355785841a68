"""One life of the real runtime in the lab: its own trio and host, and no doors but a stage's."""

import importlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import attrs
import trio

from ...actors.backends.contract import Backend, ModelRequest
from ...actors.backends.script import parse_script
from ...actors.backends.scripted import ScriptedBackend
from ...actors.backends.wrapped import WrappedBackend
from ...actors.host import HostSettings
from ...actors.live import Committed, LiveEvent
from ...actors.means import Patience
from ...actors.runtime import Runtime, Settings, host_settings, open_runtime
from ...actors.tools.contract import Tool
from ...actors.tools.simulated import SimulatedRunner, World
from ...machines.facts.vocabulary import Kind
from ...store.connect import Connector
from ...store.runner import InlineRunner
from ..seeded import run_seeded
from ..workload import Stage
from .host_lives import HostWatch
from .runtime_tools import FOR_EVER_MS, Effects
from .world import Deed, note

T = TypeVar("T")

# anyio finds its backend when it is first used; a child of the zygote should find it there already.
importlib.import_module("anyio._backends._trio")

Script = Mapping[str, object]
"""A scripted model, in the form of `backends.script`."""

OpenRuntime = Callable[[Settings, HostSettings], AbstractAsyncContextManager[Runtime]]
"""Opens a runtime; tests plant faults here."""


@attrs.define(eq=False, kw_only=True)
class Life:
    """A ready runtime and what its acts need beside it.

    Attributes:
        outside: Tasks in it outlive the host: they are clients, like another process.
    """

    runtime: Runtime
    stage: Stage
    outside: trio.Nursery

    def acknowledge(self) -> None:
        """Record that everything up to the present head was acknowledged to a caller."""
        head = self.runtime.host.store.heads.now
        self.stage.ack(f"head {head.ordinal} {head.chain}")

    @asynccontextmanager
    async def until(self, kind: Kind) -> AsyncGenerator[None]:
        """Leave the block only after a fact of this kind was shown that was written since."""
        async with self.runtime.events() as events:
            yield
            async for event in events:
                if isinstance(event, Committed) and event.event.kind is kind:
                    return


def live(
    stage: Stage,
    tools: tuple[Tool, ...],
    script: Script,
    act: Callable[[Life], Awaitable[T]],
    *,
    lasting: tuple[Tool, ...] = (),
    open_with: OpenRuntime = open_runtime,
) -> T:
    """Open the root as its next owner, act, and let go of everything.

    Args:
        stage: Where.
        tools: What the model may call.
        script: What the model says.
        act: What is done while the runtime is ready.
        lasting: Tools that do not answer in this life.
        open_with: Opens the runtime.
    """

    async def whole() -> T:
        workers = Effects(stage=stage, lasting=lasting).scripts(tools)
        async with trio.open_nursery() as outside:
            world = World(outside)
            runner = SimulatedRunner(world=world, scripts=workers)
            watch = HostWatch(stage=stage, world=world)
            box: list[Runtime] = []
            settings = _settings(stage, tools, script, box)
            host = attrs.evolve(
                host_settings(settings),
                runner=InlineRunner(),
                connector=Connector(factory=stage.host.factory),
                probe=stage.host.probe,
                idle_s=None,
                tools=runner,
            )
            with watch.living():
                async with open_with(settings, host) as runtime:
                    box.append(runtime)
                    life = Life(runtime=runtime, stage=stage, outside=outside)
                    life.acknowledge()
                    shows = runtime.host.kernel.bus.subscribe(acknowledging(life))
                    with watch.serving(runtime):
                        async with shows:
                            return await act(life)
        raise AssertionError

    return run_seeded(stage.seed, whole)


def workspace_of(root: Path) -> Path:
    """Return the directory that the tools work in, beside the root."""
    return root.parent / "workspace"


def _settings(
    stage: Stage, tools: tuple[Tool, ...], script: Script, box: list[Runtime]
) -> Settings:
    parsed = parse_script(script)
    workspace = workspace_of(stage.root)
    workspace.mkdir(exist_ok=True)

    def leaves(request: ModelRequest) -> None:
        # The request that this run made durable last, under the name that the log knows it by.
        newest = box[0].host.kernel.active[request.run].pen.facts[-1]
        assert newest.refs.request is not None
        stage.host.probe("request.starts")
        note(stage.root, Deed.REQUEST, newest.refs.request)
        stage.host.probe("request.done")

    def backend() -> Backend:
        return WrappedBackend(inner=ScriptedBackend(script=parsed), before=leaves)

    return Settings(
        root=stage.root,
        workspace=workspace,
        backend=backend,
        tools=tools,
        # Nothing may happen because time passed: a boundary would be another one in each run.
        patience=Patience(idle_ms=None, retry_ms=0, partial_ms=FOR_EVER_MS),
    )


def acknowledging(life: Life) -> Callable[[LiveEvent], bool]:
    """Return an observer that notes at once what it is shown, and never wants it delivered."""

    def shown(event: LiveEvent) -> bool:
        if isinstance(event, Committed):
            life.stage.ack(f"fact {event.event.id}")
            life.acknowledge()
        return False

    return shown
