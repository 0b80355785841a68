"""One call: durable before it runs, settled before it is shown, refused without a start (OP-1)."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar, cast

import attrs
import pytest
import trio

from crashworthy.actors.backends.script import parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.live import Bus, Committed, LiveEvent
from crashworthy.actors.permission import Approvals, Policy
from crashworthy.actors.runtime import Settings, open_runtime
from crashworthy.actors.tools.builtin.looking import read
from crashworthy.actors.tools.contract import NeverAutoRetry, Permission, Place, Tool, ToolFunction
from crashworthy.machines.facts import compose
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.model import Outcome, RuntimeEvent
from crashworthy.machines.facts.vocabulary import Kind, OutcomeState
from crashworthy.store.errors import StorageFullError
from crashworthy.store.journal.ends import Stop
from crashworthy.store.journal.orders import Append, Order
from crashworthy.store.journal.shapes import Writer
from crashworthy.store.sqlite import SqliteStore

T = TypeVar("T")
Intrude = Callable[[SqliteStore, Append], Awaitable[None]]
SUBMIT = SqliteStore.submit
SCHEMA: Json = {
    "type": "object",
    "properties": {"word": {"type": "string"}},
    "additionalProperties": False,
}


def tool(name: str, function: ToolFunction, permission: Permission = Permission.FREE) -> Tool:
    return Tool(
        name=name,
        description=f"The {name} of these tests.",
        schema=SCHEMA,
        place=Place.HOST,
        entry=f"tests:{name}",
        function=function,
        recovery=NeverAutoRetry(),
        permission=permission,
        local=True,
    )


def call(name: str, **args: object) -> Mapping[str, object]:
    return {"call": name, "args": args}


@attrs.define
class Scene:
    """A runtime over real files whose store can be intruded upon, and all that came of a turn."""

    place: Path
    said: list[str] = attrs.field(factory=list[str])
    facts: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    shown: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    intrude: dict[Writer, Intrude] = attrs.field(factory=dict[Writer, Intrude])

    def watch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Note every T1 and T2 that is durable, and every fact that is shown."""
        scene, publish = self, Bus.publish

        async def submit(store: SqliteStore, order: Order[T]) -> T:
            writer = getattr(order, "writer", None)
            intrude = None if writer is None else scene.intrude.get(writer)
            if intrude is not None:
                await intrude(store, cast("Append", order))
            result = await SUBMIT(store, order)
            if writer in {Writer.DISPATCH, Writer.SETTLE}:
                scene.said.append(f"{writer} durable")
            return result

        def show(bus: Bus, event: LiveEvent) -> None:
            if isinstance(event, Committed):
                scene.shown.append(event.event)
                if event.event.kind in {Kind.DISPATCHED, Kind.OUTCOME}:
                    scene.said.append(f"{event.event.kind} shown")
            publish(bus, event)

        monkeypatch.setattr(SqliteStore, "submit", submit)
        monkeypatch.setattr(Bus, "publish", show)

    def bump(self, *_args: object, **said: object) -> object:
        self.said.append("runs")
        return f"bumped {said}"

    def fail(self, *_args: object, **said: object) -> object:
        self.said.append("runs")
        raise ValueError(said)

    def turn(self, *steps: Sequence[Mapping[str, object]]) -> None:
        """Take a turn whose steps make these calls, and read its facts."""
        told = [{"event": [*calls, {"finish": "tool_calls"}]} for calls in steps]
        last = {"event": [{"text": "done"}, {"finish": "stop"}]}
        script = parse_script({"turn": [{"step": [*told, last]}]})
        workspace = self.place / "workspace"
        workspace.mkdir()
        settings = Settings(
            root=self.place / "root",
            workspace=workspace,
            backend=lambda: ScriptedBackend(script=script),
            tools=(
                tool("bump", self.bump),
                tool("fail", self.fail),
                tool("deploy", self.bump, Permission.ASK),
                read,
            ),
            policy=Policy(approvals=Approvals.REFUSE),
        )
        trio.run(self._take, settings)

    async def _take(self, settings: Settings) -> None:
        with trio.fail_after(30):
            async with open_runtime(settings) as runtime:
                session = await runtime.create_session()
                run = await session.send("go")
                await run.wait()
                self.facts = [fact for fact in session.facts() if fact.spine.run == run.id]

    def kinds(self) -> Counter[Kind]:
        return Counter(fact.kind for fact in self.facts)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    made = Scene(tmp_path)
    made.watch(monkeypatch)
    return made


@pytest.mark.proves("OP-1", "STORE-2")
def test_call_is_durable_before_it_runs_and_settled_before_it_is_shown(scene: Scene) -> None:
    scene.turn([call("bump")])

    assert scene.said == [
        "dispatch durable",
        "dispatched shown",
        "runs",
        "settle durable",
        "outcome shown",
    ]
    assert scene.kinds()[Kind.RUN_ENDED] == 1


def test_each_fact_is_shown_once_as_it_is_stored(scene: Scene) -> None:
    scene.turn([call("bump"), call("fail", word="why")])

    shown = [fact for fact in scene.shown if fact.spine == scene.facts[0].spine]
    assert len(shown) == len(scene.facts)
    assert {fact.id: fact for fact in shown} == {fact.id: fact for fact in scene.facts}


async def full(_store: SqliteStore, _order: Append) -> None:
    await trio.lowlevel.checkpoint()
    raise StorageFullError(stage="commit", cause="SQLITE_FULL")


async def by_another_hand(store: SqliteStore, order: Append) -> None:
    assert (await SUBMIT(store, order)).created


async def stop_first(store: SqliteStore, order: Append) -> None:
    at = compose.At(spine=order.facts[0].spine, ts=order.facts[0].ts)
    await SUBMIT(store, Stop(fact=compose.stop_requested(at, "fact_stop", "ui")))


@pytest.mark.parametrize(
    ("intrude", "dispatched"),
    [(full, 0), (by_another_hand, 1), (stop_first, 0)],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.proves("OP-1", "RUN-4")
def test_tool_does_not_run_unless_its_own_dispatch_made_it_durable(
    scene: Scene, intrude: Intrude, dispatched: int
) -> None:
    scene.intrude[Writer.DISPATCH] = intrude

    scene.turn([call("bump")])

    assert "runs" not in scene.said
    assert scene.kinds()[Kind.DISPATCHED] == dispatched
    assert scene.kinds()[Kind.OUTCOME] == 0


@pytest.mark.proves("STORE-9")
def test_outcome_is_not_shown_before_it_could_be_stored(scene: Scene) -> None:
    left = ["once", "twice"]

    async def full_for_a_while(store: SqliteStore, order: Append) -> None:
        assert "outcome shown" not in scene.said
        if left:
            left.pop()
            await full(store, order)

    scene.intrude[Writer.SETTLE] = full_for_a_while

    scene.turn([call("bump")])

    assert left == []
    assert scene.said.count("runs") == 1
    assert scene.said[-2:] == ["settle durable", "outcome shown"]


REFUSED: Mapping[str, Mapping[str, object]] = {
    "tool_unknown": call("nothing"),
    "arguments_invalid": call("bump", word=1),
    "approval_refused": call("deploy", word="x"),
    "sandbox_boundary_required": call("read", path="/etc/hostname"),
    "path_denied": call("read", path="../root/ledger.sqlite3"),
}


@pytest.mark.proves("OP-2")
def test_refused_calls_are_told_not_started_beside_one_that_runs(scene: Scene) -> None:
    scene.turn([*REFUSED.values(), call("bump", word="a")])

    outcomes = [fact for fact in scene.facts if isinstance(fact.actions, Outcome)]
    by_call = {fact.refs.operation: fact for fact in outcomes}
    calls = [fact for fact in scene.facts if fact.kind is Kind.CALL]
    assert len(outcomes) == len(by_call) == len(calls)
    told = [by_call[fact.refs.operation] for fact in calls]
    codes = [getattr(fact.content, "result", None) for fact in told[:-1]]
    assert [isinstance(code, dict) and code["code"] for code in codes] == list(REFUSED)
    assert {getattr(fact.actions, "state", None) for fact in told[:-1]} == {
        OutcomeState.NOT_STARTED
    }
    [dispatched] = [fact for fact in scene.facts if fact.kind is Kind.DISPATCHED]
    assert dispatched.refs.operation == calls[-1].refs.operation
    assert scene.said.count("runs") == 1


def test_third_identical_failure_is_not_started_until_something_else_was_called(
    scene: Scene,
) -> None:
    again = [call("fail", word="x")]

    scene.turn(again, again, again, again, [call("bump")], again)

    told = [fact.actions.state for fact in scene.facts if isinstance(fact.actions, Outcome)]
    began, refused = OutcomeState.SETTLED, OutcomeState.NOT_STARTED
    assert told == [began, began, refused, refused, began, began]
