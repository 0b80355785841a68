"""The runtime's workloads: whole turns on the real host, killed at every boundary they pass."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import attrs

from ...actors.runtime import open_runtime
from ...store.connect import Connector
from ...store.probe import no_probe
from ...store.rebuild import refold
from ..workload import Doors, Finding, Observation, Promise, Stage
from .host_lives import NOTE, misconduct, unready_work
from .looking import broken, is_made, seen, unverified
from .ownership import own
from .runtime_acts import next_turns, take_up
from .runtime_life import Life, OpenRuntime, live, workspace_of
from .runtime_promised import NEXT_TURN_WORKS, RUNTIME_PROMISES
from .runtime_scenes import (
    APPROVAL,
    FILE_EDIT,
    PARALLEL_TOOLS,
    SESSION,
    SHUTDOWN,
    STARTUP_REPAIR,
    STOP,
    TEXT_TURN,
    Scene,
)
from .runtime_views import log_of, unexplained
from .world import Deed, happened

T = TypeVar("T")

_SOUND: Final = "sound"
_SHOWN: Final = "fact "


@attrs.frozen(kw_only=True)
class RuntimeWorkload:
    """One scene on the real runtime.

    Attributes:
        open_with: Opens each runtime; tests plant faults here.
    """

    scene: Scene
    open_with: OpenRuntime = open_runtime

    @property
    def name(self) -> str:
        """Return the name that reports show."""
        return self.scene.name

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Return all invariants that `check` and `finish` may report."""
        return RUNTIME_PROMISES

    def script(self, stage: Stage) -> None:
        """Play the scene on a new root."""
        self.scene.play(self.scene, stage, self.open_with)

    def recover(self, stage: Stage) -> None:
        """Open the runtime as its next owner, do nothing, and close it."""
        with stage.writer("recover"):
            self._live(stage, _do_nothing)

    def observe(self, root: Path) -> Observation:
        """Look at the root and the outside world; change nothing."""
        return seen(root)

    def check(self, root: Path, acks: Sequence[str]) -> Sequence[Finding]:
        """Return every promise that the recovered root breaks.

        A log that looks exactly as it did when it was found sound is not judged again: facts and
        views, acknowledgements, the world outside and files are all that the judgement rests on,
        and matrices are long. A host that came and went since without a fact took on no work.
        """
        workspace, sound = workspace_of(root), root.parent / _SOUND
        lives = [ack for ack in acks if ack.startswith(NOTE)]
        findings = misconduct(lives)
        told = [ack for ack in dict.fromkeys(acks) if not ack.startswith(NOTE)]
        looks = f"{seen(root)} {told} {_contents(workspace)}"
        if sound.exists() and sound.read_text("utf-8") == looks:
            return findings
        shown = [ack.removeprefix(_SHOWN) for ack in told if ack.startswith(_SHOWN)]
        heads = [ack for ack in told if not ack.startswith(_SHOWN)]
        log = log_of(root)
        wrong = [
            *broken(root, heads),
            *unverified(root),
            *unexplained(
                [fact.event for fact in log],
                shown=shown,
                effects=happened(root, Deed.EFFECT),
                workspace=workspace,
            ),
            *unready_work(log, lives),
        ]
        if not wrong:
            sound.write_text(looks, "utf-8")
        return [*findings, *wrong]

    def rebuild(self, root: Path) -> None:
        """Make all projections anew, as the next owner; runs that wait stay open beside it."""
        plain = Doors(factory=Connector().factory, probe=no_probe)
        if is_made(root):
            store = own(root, plain, "host_rebuild")
            refold(store)
            store.close()

    def finish(self, stage: Stage) -> Sequence[Finding]:
        """Take up whatever waits, and take one more turn in every session."""
        with stage.writer("finish"):
            return self._live(stage, _go_on)

    def _live(self, stage: Stage, act: Callable[[Life], Awaitable[T]]) -> T:
        scene = self.scene
        return live(stage, scene.tools, scene.script, act, open_with=self.open_with)


def text_turn() -> RuntimeWorkload:
    """Return a turn of words: thinking, text in pieces, an end, and the same start once more."""
    return RuntimeWorkload(scene=TEXT_TURN)


def parallel_tools() -> RuntimeWorkload:
    """Return a step of four calls side by side, one of them refused."""
    return RuntimeWorkload(scene=PARALLEL_TOOLS)


def approval() -> RuntimeWorkload:
    """Return a run that is allowed, denied and asked, the last of it by its next owner."""
    return RuntimeWorkload(scene=APPROVAL)


def stop() -> RuntimeWorkload:
    """Return a run that is stopped in a call, with words queued for it and for the next turn."""
    return RuntimeWorkload(scene=STOP)


def file_edit() -> RuntimeWorkload:
    """Return a file that is written and then edited."""
    return RuntimeWorkload(scene=FILE_EDIT)


def shutdown() -> RuntimeWorkload:
    """Return hosts that are cancelled and broken as they open, and left with work under way."""
    return RuntimeWorkload(scene=SHUTDOWN)


def startup_repair() -> RuntimeWorkload:
    """Return the repair of everything that a killed host can leave behind."""
    return RuntimeWorkload(scene=STARTUP_REPAIR)


def _contents(workspace: Path) -> dict[str, bytes]:
    """Return every file of a workspace; those of the lab are short."""
    found = sorted(path for path in workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(workspace)): path.read_bytes() for path in found}


async def _do_nothing(_life: Life) -> None:
    """Leave everything as recovery left it."""


async def _go_on(life: Life) -> list[Finding]:
    await take_up(life.runtime)
    left = await next_turns(life.runtime, SESSION)
    return [Finding(promise=NEXT_TURN_WORKS.id, detail=detail) for detail in left]
