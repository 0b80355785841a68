"""A real host in a process of its own, told what to do in JSON, that can die at a stated point.

Run as a script. Every effect is a line in a file outside of the log (E), every model request a line
in another (M), so that whoever reads the log afterwards can count what really happened.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path
from typing import TypeVar, cast

import attrs
import trio

from crashworthy.actors.backends.contract import (
    Backend,
    BackendEvent,
    ModelRequest,
)
from crashworthy.actors.backends.script import Script, parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.backends.wrapped import WrappedBackend
from crashworthy.actors.errors import ProfileDriftError
from crashworthy.actors.live import Committed
from crashworthy.actors.means import Patience
from crashworthy.actors.permission import Approvals, Policy
from crashworthy.actors.runtime import Runtime, Settings, open_runtime
from crashworthy.actors.tools.builtin.asking import ask_user
from crashworthy.actors.tools.builtin.files import edit, write
from crashworthy.actors.tools.contract import (
    Idempotent,
    NeverAutoRetry,
    Permission,
    Place,
    ReplaySafe,
    Tool,
)
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.machines.facts.vocabulary import AnswerDecision
from crashworthy.store.errors import StorageFullError
from crashworthy.store.journal.orders import Append, Order
from crashworthy.store.sqlite import SqliteStore

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Scene:
    """Where everything lies, and what is to happen."""

    root: Path
    workspace: Path
    effects: Path
    requests: Path
    told: Mapping[str, object]

    def line(self, path: Path, value: object) -> None:
        """Append one line, at once and whole."""
        data = (json.dumps(value) + "\n").encode()
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)


def die() -> None:
    """End this process as a crash would."""
    os.kill(os.getpid(), signal.SIGKILL)


def counted(scene: Scene, script: Script) -> Backend:
    """Return a backend that writes down every request before it answers, and dies as it is told."""
    kill = cast("str | None", scene.told.get("kill_on_event"))

    def count(request: ModelRequest) -> None:
        messages = list(request.messages)
        scene.line(scene.requests, {"run": request.run, "step": request.step, "messages": messages})

    async def watched(
        _request: ModelRequest, events: AsyncIterator[BackendEvent]
    ) -> AsyncGenerator[BackendEvent]:
        async for event in events:
            if kill == type(event).__name__:
                die()
            yield event
            if kill == f"after {type(event).__name__}":
                await trio.sleep(0.05)
                die()

    return WrappedBackend(inner=ScriptedBackend(script=script), before=count, through=watched)


def tools(scene: Scene) -> tuple[Tool, ...]:
    """Return the tools of every case."""
    kill = scene.told.get("kill_in_tool")

    async def bump(line: str = "", gate: str = "") -> object:
        if kill == "before effect":
            die()
        scene.line(scene.effects, line)
        if kill == "after effect":
            die()
        while gate and not scene.effects.with_name(gate).exists():  # noqa: ASYNC110 - another process opens it
            await trio.sleep(0.02)
        return {"bumped": line}

    async def look(path: str = "", wait_ms: int = 0) -> object:
        if wait_ms:
            await trio.sleep(wait_ms / 1000)
        if kill == "look":
            die()
        return {"a": "A", "b": "B", "empty": ""}.get(path, path)

    def fail(reason: str = "") -> object:
        raise ValueError(reason)

    def made(name: str, function: object, **more: object) -> Tool:
        words: Json = {"type": "string"}
        schema: Json = {
            "type": "object",
            "properties": {
                "gate": words,
                "line": words,
                "path": words,
                "reason": words,
                "wait_ms": {"type": "integer"},
            },
            "additionalProperties": False,
        }
        return Tool(
            name=name,
            description=f"The {name} of the cases.",
            schema=schema,
            place=Place.HOST,
            entry=f"victim:{name}",
            function=function,  # type: ignore[arg-type]  # sync and async ones of many shapes
            **more,  # type: ignore[arg-type]  # any other field
        )

    free = Permission.FREE
    return (
        made("bump", bump, recovery=NeverAutoRetry(), permission=free, local=True),
        made("pay", bump, recovery=Idempotent(), permission=free, local=True),
        made("deploy", bump, recovery=NeverAutoRetry(), permission=Permission.ASK, local=True),
        made("look", look, recovery=ReplaySafe(), permission=free, local=True),
        made("fail", fail, recovery=ReplaySafe(), permission=free, local=True),
        ask_user,
        write,
        edit,
    )


def name_of(order: object) -> str:
    """Return the writer of ready facts, or the name of the order."""
    return str(order.writer) if isinstance(order, Append) else type(order).__name__


def arm(scene: Scene) -> None:
    """Make the store die before or after the stated commit."""
    point = cast("Mapping[str, object] | None", scene.told.get("kill_at"))
    if point is None:
        return
    submit, left = SqliteStore.submit, [cast("int", point.get("nth", 1))]

    async def deadly(self: SqliteStore, order: Order[T]) -> T:
        name = name_of(order)
        hit = name == point["order"]
        if hit:
            left[0] -= 1
        if hit and left[0] == 0 and point["when"] == "before":
            die()
        result = await submit(self, order)
        if hit and left[0] == 0 and point["when"] == "after":
            die()
        return result

    SqliteStore.submit = deadly  # type: ignore[method-assign]  # kills inside it


def starve(scene: Scene) -> None:
    """Make the stated commit fail as a full disk does, before or after it happened."""
    point = cast("Mapping[str, object] | None", scene.told.get("full_at"))
    if point is None:
        return
    submit, left = SqliteStore.submit, [cast("int", point.get("times", 1))]

    async def failing(self: SqliteStore, order: Order[T]) -> T:
        name = name_of(order)
        if name != point["order"] or left[0] == 0:
            return await submit(self, order)
        left[0] -= 1
        if point["when"] == "after":
            await submit(self, order)
        raise StorageFullError(stage="commit", cause="SQLITE_FULL")

    SqliteStore.submit = failing  # type: ignore[method-assign]  # a full disk


async def act(runtime: Runtime, step: Mapping[str, object]) -> object:
    """Do one thing and return what it came to, as JSON."""
    match step["do"]:
        case "session":
            session = await runtime.create_session(key=cast("str", step.get("in", "s")))
            return session.id
        case "send":
            session = await runtime.create_session(key=cast("str", step.get("in", "s")))
            text = cast("str", step["text"])
            run = await session.send(text, key=cast("str | None", step.get("key")))
            if step.get("wait") is False:
                return {"run": run.id, "created": run.created}
            await wait_for(runtime, run.id, cast("str | None", step.get("until")))
            end = run.end()
            return {
                "run": run.id,
                "created": run.created,
                "end": None if end is None else end.status.value,
                "failure": None if end is None or end.failure is None else end.failure.value,
                "source": None if end is None else end.source,
                "waits": run.waits,
            }
        case "stop":
            live = tuple(runtime.host.kernel.active) or (cast("str", step.get("run")),)
            return [str(await runtime.stop(name, "ui")) for name in live]
        case "pending":
            return [[one.ask, one.run, one.asked_ts] for one in runtime.pending()]
        case "answer":
            ask = cast("str | None", step.get("ask")) or runtime.pending()[0].ask
            decision = AnswerDecision(cast("str", step.get("decision", "allow")))
            answers = tuple(cast("list[str]", step.get("answers", [])))
            await runtime.answer(ask, decision, answers)
            return ask
        case "resume":
            for name in runtime.waiting_runs():
                handle = await runtime.resume(name)
                end = await handle.wait()
                return None if end is None else end.status.value
            return "nothing waits"
        case "steer":
            session = await runtime.create_session(key=cast("str", step.get("in", "s")))
            await session.steer(cast("str", step["text"]))
            return None
        case "follow_up":
            session = await runtime.create_session(key=cast("str", step.get("in", "s")))
            await session.follow_up(cast("str", step["text"]))
            return None
        case "send_many":
            session = await runtime.create_session(key=cast("str", step.get("in", "s")))
            text, key = cast("str", step["text"]), cast("str | None", step.get("key"))
            found: list[object] = []

            async def send() -> None:
                try:
                    run = await session.send(text, key=key)
                except CrashworthyError as error:
                    found.append(str(error.code))
                else:
                    found.append([run.id, run.created])
                    await run.wait()

            async with trio.open_nursery() as nursery:
                for _ in range(cast("int", step["times"])):
                    nursery.start_soon(send)
            return found
        case "die":
            die()
            return None
        case "sleep":
            await trio.sleep(cast("float", step["s"]))
            return None
        case other:
            raise AssertionError(other)


async def wait_for(runtime: Runtime, run: str, until: str | None) -> None:
    """Wait until the run ended, waits for a person, or wrote a fact of the stated kind."""
    async with runtime.events(run=run) as events:
        active = runtime.host.kernel.active.get(run)
        known = [] if active is None else [fact.kind.value for fact in active.pen.facts]
        if active is None or (until is not None and until in known):
            return
        async for event in events:
            if not isinstance(event, Committed):
                continue
            kind = event.event.kind.value
            if kind in {until, "run_ended"} or (until is None and kind == "ask_opened"):
                break
    if until is None and not runtime.host.waits(run):
        active = runtime.host.kernel.active.get(run)
        if active is not None:
            await active.finished.wait()


def tell(result: object) -> None:
    """Print one line of JSON."""
    sys.stdout.write(f"{json.dumps(result)}\n")
    sys.stdout.flush()


async def live(scene: Scene) -> None:
    """Open the runtime, do what is told, and print the results as one line of JSON each."""
    script: Script = parse_script(cast("Mapping[str, object]", scene.told["script"]))

    def backend() -> Backend:
        return counted(scene, script)

    settings = Settings(
        root=scene.root,
        workspace=scene.workspace,
        backend=backend,
        tools=tools(scene),
        policy=Policy(
            approvals=Approvals.ASK, ask_ms_max=cast("int | None", scene.told.get("ask_ms_max"))
        ),
        patience=Patience(idle_ms=5_000, attempts_max=2, retry_ms=1, partial_ms=10),
    )
    async with open_runtime(settings) as runtime:
        trace = [[done.step, list(done.decided)] for done in runtime.host.recovery.trace]
        head = runtime.host.store.read(lambda view: view.last().ordinal)
        tell({"recovery": trace, "head": head})
        for step in cast("list[Mapping[str, object]]", scene.told["steps"]):
            try:
                result: object = await act(runtime, step)
            except (CrashworthyError, ProfileDriftError) as error:
                result = {"refused": str(error.code)}
            tell(result)


def main() -> int:
    """Run the scene that standard input describes."""
    told = cast("dict[str, object]", json.loads(sys.stdin.read()))
    base = Path(cast("str", told["base"]))
    scene = Scene(
        root=base / "root",
        workspace=base / "workspace",
        effects=base / "effects",
        requests=base / "requests",
        told=told,
    )
    scene.workspace.mkdir(exist_ok=True)
    arm(scene)
    starve(scene)
    trio.run(live, scene)
    return 0


if __name__ == "__main__":
    sys.exit(main())
