"""The acts of the runtime's workloads: what a person does, and what the model answers."""

import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final

import attrs
import trio

from ...actors.host import HostSettings
from ...actors.runtime import RunHandle, Runtime, Session, Settings
from ...actors.tools.builtin.asking import ask_user
from ...actors.tools.builtin.files import edit, write
from ...actors.tools.contract import Tool
from ...machines.facts.codes import CrashworthyError
from ...machines.facts.vocabulary import AnswerDecision, Kind
from ...machines.lifecycles.host import Ready
from ...store.connect import Connector
from ...store.probe import no_probe
from ..workload import Doors, Stage
from .runtime_acts import NEXT_TURN, rest, take_up
from .runtime_life import Life, OpenRuntime, Script, live
from .runtime_tools import FOR_EVER_MS, bump, deploy, linger, look, pay, stare
from .world import Deed, happened

SESSION: Final = "s"
"""The key of the session that every act begins with."""

Event = Mapping[str, object]


def _step(*events: Event) -> Mapping[str, object]:
    return {"event": list(events)}


def _calls(*calls: Event) -> Mapping[str, object]:
    return _step(*calls, {"finish": "tool_calls"})


def _call(name: str, label: str, **args: object) -> Event:
    return {"call": name, "label": label, "args": args}


_DONE: Final = _step({"text": "done"}, {"finish": "stop"})


def _turn(user: str, *steps: Mapping[str, object]) -> Mapping[str, object]:
    return {"user": user, "step": list(steps)}


def _play(*turns: Mapping[str, object]) -> Script:
    """Return the script of a model that also answers what comes after a death."""
    return {"turn": [*turns, _turn(NEXT_TURN, _DONE)]}


async def begin(life: Life, text: str, *, session: str = SESSION) -> RunHandle:
    """Start a turn, as a caller does who tries again until it is told that it worked."""
    opened = await life.runtime.create_session(key=session)
    life.acknowledge()
    return await opened.send(text, key=text)


async def _take_up(life: Life) -> None:
    await take_up(life.runtime)


# --- the acts ---


async def _text_turn(life: Life) -> None:
    run = await begin(life, "say something")
    await rest(life.runtime)
    again = await begin(life, "say something")
    assert (again.id, again.created) == (run.id, False)


async def _parallel_tools(life: Life) -> None:
    await begin(life, "do it all")
    await rest(life.runtime)


async def _ask(life: Life) -> None:
    async with life.until(Kind.ASK_OPENED):
        await begin(life, "deploy it")
    [first] = life.runtime.pending()
    async with life.until(Kind.ASK_OPENED):
        await life.runtime.answer(first.ask, AnswerDecision.ALLOW)
    [second] = life.runtime.pending()
    async with life.until(Kind.ASK_OPENED):
        await life.runtime.answer(second.ask, AnswerDecision.DENY)


async def _stop(life: Life) -> None:
    async with life.until(Kind.DISPATCHED):
        run = await begin(life, "never end")
    while not happened(life.stage.root, Deed.EFFECT):
        await trio.lowlevel.checkpoint()
    session = life.runtime.session(run.session)
    await session.steer("and something else")
    await session.follow_up("and then this", key="later")
    await run.stop("lab")
    await run.stop("lab")
    await rest(life.runtime)


async def _file_edit(life: Life) -> None:
    await begin(life, "write it down")
    await rest(life.runtime)


_LEFT: Final = ("linger", "pay", "stare", "write", "ask", "wait")


async def _left_behind(life: Life) -> None:
    """Bring one session each into every state that a host can leave behind, and die."""
    for name in _LEFT:
        await begin(life, name, session=name)
    root = life.stage.root
    while not (  # noqa: ASYNC110 - the world outside tells nobody
        len(happened(root, Deed.EFFECT)) == len((linger, pay, write))
        and len(happened(root, Deed.REQUEST)) == len(_LEFT)
        and life.runtime.pending()
    ):
        await trio.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGKILL)


class _GaveUpError(Exception):
    """The caller of a runtime fails, for reasons of its own."""


async def _shut_down(life: Life) -> None:
    """Leave the host beside a call, a request and a question under way, and a client that stays."""
    for name in ("linger", "wait", "ask"):
        await begin(life, name, session=name)
    root = life.stage.root
    while not (
        len(happened(root, Deed.EFFECT)) == len((linger,))
        and len(happened(root, Deed.REQUEST)) == len(("linger", "wait", "ask"))
        and life.runtime.pending()
    ):
        await trio.lowlevel.checkpoint()
    idle = await life.runtime.create_session(key="idle")
    life.outside.start_soon(_come_late, life, idle)


async def _come_late(life: Life, idle: Session) -> None:
    """Ask for all that a client can ask for, of a host that drains: it takes on nothing more."""
    runtime = life.runtime
    [asked] = runtime.pending()
    while isinstance(runtime.host.life.state, Ready):
        await trio.lowlevel.checkpoint()
    with suppress(CrashworthyError):
        await begin(life, "too late", session="late")
    with suppress(CrashworthyError):
        await idle.send("too late")
    with suppress(CrashworthyError):
        await runtime.resume(asked.run)
    with suppress(CrashworthyError):
        await runtime.answer(asked.ask, AnswerDecision.ALLOW)
    with suppress(CrashworthyError):
        await idle.follow_up("too late")


async def _give_up(life: Life) -> None:
    """Leave the host by an error, in the middle of a call.

    Raises:
        _GaveUpError: Always.
    """
    async with life.until(Kind.DISPATCHED):
        await begin(life, "once more", session="again")
    raise _GaveUpError


_LOOK_S: Final = 0.005
_CHILD_S: Final = 20


# --- the scripts of the workloads ---


@attrs.frozen(kw_only=True)
class Scene:
    """One workload of the runtime.

    Attributes:
        tools: What the model may call; each is written aside once a run (LOG-7).
        script: What the model answers.
        play: Does everything, in the process that the lab kills.
    """

    name: str
    tools: tuple[Tool, ...]
    script: Script
    play: "Play"


Play = Callable[[Scene, Stage, OpenRuntime], None]
"""Does everything that a scene is about, on a new root."""


def _lives(**acts: Callable[[Life], Awaitable[None]]) -> Play:
    """Return a play of one life for each act, one after the other, under its name."""

    def play(scene: Scene, stage: Stage, open_with: OpenRuntime) -> None:
        for name, act in acts.items():
            with stage.writer(name):
                live(stage, scene.tools, scene.script, act, open_with=open_with)

    return play


def _cancelled_at(name: str, open_with: OpenRuntime) -> OpenRuntime:
    """Return how a runtime is opened by who is cancelled when it first passes this probe."""

    @asynccontextmanager
    async def opened(settings: Settings, host: HostSettings) -> AsyncGenerator[Runtime]:
        with trio.CancelScope() as scope:

            def probe(passed: str) -> None:
                host.probe(passed)
                if passed == name:
                    scope.cancel()

            async with open_with(settings, attrs.evolve(host, probe=probe)) as runtime:
                yield runtime
        if scope.cancelled_caught:
            raise _GaveUpError

    return opened


def _broken_at(name: str, open_with: OpenRuntime) -> OpenRuntime:
    """Return how a runtime is opened that breaks when it first passes this probe."""

    def opened(settings: Settings, host: HostSettings) -> AbstractAsyncContextManager[Runtime]:
        def probe(passed: str) -> None:
            host.probe(passed)
            if passed == name:
                raise _GaveUpError

        return open_with(settings, attrs.evolve(host, probe=probe))

    return opened


def _fails(
    scene: Scene, stage: Stage, act: Callable[[Life], Awaitable[None]], open_with: OpenRuntime
) -> None:
    """Live a life that ends by an error of its own, and by no other."""
    gave_up = False
    try:
        live(stage, scene.tools, scene.script, act, open_with=open_with)
    except* _GaveUpError:
        gave_up = True
    assert gave_up, "the life that was to fail did not"


def _end_in_each_phase(scene: Scene, stage: Stage, open_with: OpenRuntime) -> None:
    """Fail as the root is made and as it is opened, work and leave, work and fail."""
    with stage.writer("opening_cancelled"):
        _fails(scene, stage, _nothing, _cancelled_at("lock.taken", open_with))
    with stage.writer("opening_broken"):
        _fails(scene, stage, _nothing, _broken_at("txn.committed", open_with))
    with stage.writer("shut_down"):
        live(stage, scene.tools, scene.script, _shut_down, open_with=open_with)
    with stage.writer("given_up"):
        _fails(scene, stage, _give_up, open_with)


async def _nothing(_life: Life) -> None:
    await trio.lowlevel.checkpoint()
    raise AssertionError  # No host may open where this is the act.


def _after_a_death(scene: Scene, stage: Stage, open_with: OpenRuntime) -> None:
    """Let a host that nobody watches leave everything behind, then open the root as its heir."""
    child = os.fork()
    if child == 0:
        # The clock of the lab is not inherited; whatever happens, this process does not stay.
        signal.alarm(_CHILD_S)
        plain = Doors(factory=Connector().factory, probe=no_probe)
        unseen = attrs.evolve(stage, host=plain, worker=plain)
        lasting = (pay, write)
        live(unseen, scene.tools, scene.script, _left_behind, lasting=lasting, open_with=open_with)
        os._exit(1)
    _pid, ended = os.waitpid(child, 0)
    assert os.WIFSIGNALED(ended), "the host that was to die lived"
    assert os.WTERMSIG(ended) == signal.SIGKILL
    with stage.writer("repair_cancelled"):
        # The writer of a host writes the anchor, and before it is ready only recovery writes.
        _fails(scene, stage, _nothing, _cancelled_at("anchor.written", open_with))
    with stage.writer("repair"):
        live(stage, scene.tools, scene.script, _take_up, open_with=open_with)


TEXT_TURN: Final = Scene(
    name="text_turn",
    tools=(),
    script=_play(
        _turn(
            "say something",
            _step(
                {"think": "hm", "signature": "sig"},
                {"text": "something", "pieces": 3},
                {"usage": {"input": 10, "output": 2}},
                {"finish": "stop"},
            ),
        )
    ),
    play=_lives(turn=_text_turn),
)
PARALLEL_TOOLS: Final = Scene(
    name="parallel_tools",
    tools=(look, bump, pay),
    script=_play(
        _turn(
            "do it all",
            _calls(
                _call("look", "c1", path="a"),
                _call("bump", "c2", line="x"),
                _call("pay", "c3", line="y"),
                _call("bump", "c4", words="not in the schema"),
            ),
            _DONE,
        )
    ),
    play=_lives(turn=_parallel_tools),
)
APPROVAL: Final = Scene(
    name="approval",
    tools=(deploy, ask_user),
    script=_play(
        _turn(
            "deploy it",
            _calls(_call("deploy", "c1", line="x")),
            _calls(_call("deploy", "c2", line="y")),
            _calls(_call("ask_user", "c3", questions=[{"text": "And now?"}])),
            _DONE,
        )
    ),
    play=_lives(asked=_ask, taken_up=_take_up),
)
STOP: Final = Scene(
    name="stop",
    tools=(look, linger),
    script=_play(
        _turn(
            "never end",
            _calls(_call("look", "c1", path="a"), _call("linger", "c2", line="x")),
        ),
        _turn("and then this", _DONE),
    ),
    play=_lives(stopped=_stop),
)
FILE_EDIT: Final = Scene(
    name="file_edit",
    tools=(write, edit),
    script=_play(
        _turn(
            "write it down",
            _calls(_call("write", "c1", path="a.txt", content="one\n")),
            _calls(_call("edit", "c2", path="a.txt", old="one", new="two")),
            _DONE,
        )
    ),
    play=_lives(turn=_file_edit),
)
SHUTDOWN: Final = Scene(
    name="shutdown",
    tools=(linger, deploy),
    script=_play(
        _turn("linger", _calls(_call("linger", "c1", line="x")), _DONE),
        _turn("wait", _step({"delay_ms": FOR_EVER_MS}, {"text": "late"}, {"finish": "stop"})),
        _turn("ask", _calls(_call("deploy", "c1", line="z")), _DONE),
        _turn("once more", _calls(_call("linger", "c1", line="y")), _DONE),
    ),
    play=_end_in_each_phase,
)
STARTUP_REPAIR: Final = Scene(
    name="startup_repair",
    tools=(linger, pay, stare, write, deploy),
    script=_play(
        _turn("linger", _calls(_call("linger", "c1", line="x")), _DONE),
        _turn("pay", _calls(_call("pay", "c1", line="y")), _DONE),
        _turn("stare", _calls(_call("stare", "c1", path="a")), _DONE),
        _turn("write", _calls(_call("write", "c1", path="a.txt", content="one\n")), _DONE),
        _turn("ask", _calls(_call("deploy", "c1", line="z")), _DONE),
        _turn("wait", _step({"delay_ms": FOR_EVER_MS}, {"text": "late"}, {"finish": "stop"})),
    ),
    play=_after_a_death,
)

SCENES: Final[Sequence[Scene]] = (
    TEXT_TURN,
    PARALLEL_TOOLS,
    APPROVAL,
    STOP,
    FILE_EDIT,
    SHUTDOWN,
    STARTUP_REPAIR,
)
