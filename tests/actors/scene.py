"""A runtime over real files, in this process: what its store is told can be watched and refused."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import attrs
import pytest
import trio

from crashworthy.actors.backends.contract import (
    Backend,
    BackendEvent,
    BackendFailedError,
    ModelRequest,
)
from crashworthy.actors.backends.script import parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.backends.wrapped import WrappedBackend
from crashworthy.actors.live import Bus, Committed, LiveEvent
from crashworthy.actors.means import Patience
from crashworthy.actors.permission import Approvals, Policy
from crashworthy.actors.runtime import RunHandle, Runtime, Settings, open_runtime
from crashworthy.actors.tools.builtin.looking import read
from crashworthy.actors.tools.contract import NeverAutoRetry, Permission, Place, Tool, ToolFunction
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.model import Outcome, RunEnded, RuntimeEvent
from crashworthy.machines.facts.vocabulary import Failure, Kind, OutcomeState
from crashworthy.store.errors import StorageFullError
from crashworthy.store.journal.orders import Append, Order
from crashworthy.store.sqlite import SqliteStore

T = TypeVar("T")
Event = Mapping[str, object]
Intrude = Callable[[SqliteStore, Append], Awaitable[None]]
Meanwhile = Callable[[Runtime, RunHandle], Awaitable[None]]

SUBMIT = SqliteStore.submit
PATIENCE = Patience(idle_ms=5_000, attempts_max=2, retry_ms=1, partial_ms=10)
STOP: Event = {"finish": "stop"}
_SCHEMA: Json = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "additionalProperties": False,
}


def call(name: str, **args: object) -> Event:
    return {"call": name, "args": args}


async def full(_store: SqliteStore, _order: Append) -> None:
    """Refuse an order as a full disk does."""
    await trio.lowlevel.checkpoint()
    raise StorageFullError(stage="commit", cause="SQLITE_FULL")


def unreachable_once(inner: Backend) -> Backend:
    """Return a backend whose first stream cannot be opened."""
    sent: list[int] = []

    def refuse_the_first(request: ModelRequest) -> None:
        sent.append(request.attempt)
        if len(sent) == 1:
            raise BackendFailedError(failure=Failure.NETWORK, message="gone")

    return WrappedBackend(inner=inner, before=refuse_the_first)


async def fail_to_close(
    _request: ModelRequest, events: AsyncIterator[BackendEvent]
) -> AsyncGenerator[BackendEvent]:
    """Fail behind the stated finish."""
    try:
        async for event in events:
            yield event
    finally:
        raise OSError("Bearer abcdefgh12345678 was refused")


def _tool(name: str, function: ToolFunction, permission: Permission = Permission.FREE) -> Tool:
    return Tool(
        name=name,
        description=f"The {name} of these tests.",
        schema=_SCHEMA,
        place=Place.HOST,
        entry=f"tests:{name}",
        function=function,
        recovery=NeverAutoRetry(),
        permission=permission,
        local=True,
    )


@attrs.define(kw_only=True)
class Scene:
    """One root and workspace, and all that came of the newest turn.

    Attributes:
        said: What happened to calls, in order: written, shown, run.
        facts: The facts of the run.
        shown: The facts that observers saw.
        intrude: What to do before the store is told an order of this name; it may raise.
    """

    place: Path
    said: list[str] = attrs.field(factory=list[str])
    facts: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    shown: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    intrude: dict[str, Intrude] = attrs.field(factory=dict[str, Intrude])
    slow_s: float = 0

    @property
    def workspace(self) -> Path:
        return self.place / "workspace"

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Note every T1 and T2 that is durable, and every fact that is shown."""
        scene, publish = self, Bus.publish

        async def submit(store: SqliteStore, order: Order[T]) -> T:
            name = str(getattr(order, "writer", type(order).__name__))
            if name in scene.intrude:
                await scene.intrude[name](store, cast("Append", order))
            result = await SUBMIT(store, order)
            if name in {"dispatch", "settle"}:
                scene.said.append(f"{name} durable")
            return result

        def show(bus: Bus, event: LiveEvent) -> None:
            if isinstance(event, Committed):
                scene.shown.append(event.event)
                if event.event.kind in {Kind.DISPATCHED, Kind.OUTCOME}:
                    scene.said.append(f"{event.event.kind} shown")
            publish(bus, event)

        monkeypatch.setattr(SqliteStore, "submit", submit)
        monkeypatch.setattr(Bus, "publish", show)

    # --- tools ---

    async def bump(self, *_args: object, **said: object) -> object:
        self.said.append("runs")
        await trio.sleep(self.slow_s)
        return f"bumped {said}"

    def fail(self, *_args: object, **said: object) -> object:
        self.said.append("runs")
        raise ValueError(said)

    # --- turns ---

    def turn(
        self,
        *steps: Sequence[Event],
        meanwhile: Meanwhile | None = None,
        backend: Callable[[Backend], Backend] = lambda backend: backend,
        policy: Policy | None = None,
        patience: Patience = PATIENCE,
    ) -> None:
        """Take a turn of these steps, and read its facts; steps of calls alone are finished."""
        told = [
            {"event": [*step, {"finish": "tool_calls"}] if set(step[-1]) >= {"call"} else step}
            for step in steps
        ]
        script = parse_script({"turn": [{"step": [*told, {"event": [{"text": "done"}, STOP]}]}]})
        self.workspace.mkdir(exist_ok=True)
        settings = Settings(
            root=self.place / "root",
            workspace=self.workspace,
            backend=lambda: backend(ScriptedBackend(script=script)),
            tools=(
                _tool("bump", self.bump),
                _tool("fail", self.fail),
                _tool("deploy", self.bump, Permission.ASK),
                read,
            ),
            policy=policy or Policy(approvals=Approvals.REFUSE),
            patience=patience,
        )
        trio.run(self._take, settings, meanwhile)

    async def _take(self, settings: Settings, meanwhile: Meanwhile | None) -> None:
        with trio.fail_after(30):
            async with open_runtime(settings) as runtime:
                session = await runtime.create_session(key="s")
                run = await session.send("go")
                if meanwhile is not None:
                    await meanwhile(runtime, run)
                await run.wait()
                self.facts = [fact for fact in session.facts() if fact.spine.run == run.id]

    # --- what came of it ---

    def kinds(self) -> Counter[Kind]:
        return Counter(fact.kind for fact in self.facts)

    def end(self) -> RunEnded:
        action = self.facts[-1].actions
        assert isinstance(action, RunEnded)
        return action

    def outcomes(self) -> list[tuple[OutcomeState, object]]:
        """Return state and result of each call that has an outcome, in the order of outcomes."""
        return [
            (fact.actions.state, getattr(fact.content, "result", None))
            for fact in self.facts
            if isinstance(fact.actions, Outcome)
        ]


async def until(runtime: Runtime, run: RunHandle, kind: Kind) -> None:
    """Wait until the run has a fact of this kind."""
    while True:
        active = runtime.host.kernel.active.get(run.id)
        if active is None or kind in {fact.kind for fact in active.pen.facts}:
            return
        await trio.sleep(0.005)
