"""The acts of the runtime's workloads: what a person does, and what the model answers."""

import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

import attrs
import trio

from ...actors.runtime import RunHandle
from ...actors.tools.builtin.asking import ask_user
from ...actors.tools.builtin.files import edit, write
from ...actors.tools.contract import Tool
from ...machines.facts.vocabulary import AnswerDecision, Kind
from ...store.connect import Connector
from ...store.probe import no_probe
from ..workload import Doors, Stage
from .runtime_acts import NEXT_TURN, rest, take_up
from .runtime_life import Life, OpenRuntime, Script, live
from .runtime_tools import bump, deploy, linger, look, pay, stare
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
STARTUP_REPAIR: Final = Scene(
    name="startup_repair",
    tools=(linger, pay, stare, write, deploy),
    script=_play(
        _turn("linger", _calls(_call("linger", "c1", line="x")), _DONE),
        _turn("pay", _calls(_call("pay", "c1", line="y")), _DONE),
        _turn("stare", _calls(_call("stare", "c1", path="a")), _DONE),
        _turn("write", _calls(_call("write", "c1", path="a.txt", content="one\n")), _DONE),
        _turn("ask", _calls(_call("deploy", "c1", line="z")), _DONE),
        _turn("wait", _step({"delay_ms": 3_600_000}, {"text": "late"}, {"finish": "stop"})),
    ),
    play=_after_a_death,
)

SCENES: Final[Sequence[Scene]] = (
    TEXT_TURN,
    PARALLEL_TOOLS,
    APPROVAL,
    STOP,
    FILE_EDIT,
    STARTUP_REPAIR,
)
