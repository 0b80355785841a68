"""What one process of a death does: the victim's script, and each survivor's look at the ruins."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from .boundary import Passage, Point
from .counting import watch_foreign_connections
from .turnstile import Turnstile
from .wire import decode, encode
from .workload import Finding, Observation, Workload, load_workload, open_stage, read_acks


class Step(StrEnum):
    """The processes of a death, in their order."""

    SCRIPT = "script"
    RECOVER = "recover"
    REOPEN = "reopen"
    FINISH = "finish"


_DEADLY: Final = frozenset((Step.SCRIPT, Step.RECOVER))


@attrs.frozen(kw_only=True)
class Order:
    """One step for one process.

    Attributes:
        workload: Reference of the workload.
        home: The directory of this death.
        target: Where the process dies; `None` lets it live.
        seconds_max: After so long the kernel ends the process (SIGALRM).
    """

    step: Step
    workload: str
    home: str
    seed: int
    target: Point | None
    seconds_max: int


@attrs.frozen(kw_only=True)
class StepResult:
    """What a step that lived saw.

    Attributes:
        passages: The boundaries it passed; told only of the steps in which somebody may die.
        bypasses: What SQLite ran without the lab seeing it.
        looks: Observations in order; which ones depends on the step.
        findings: Broken promises of the workload.
        error: The traceback if the step failed, else empty.
    """

    passages: tuple[Passage, ...]
    bypasses: tuple[str, ...]
    looks: tuple[Observation, ...]
    findings: tuple[Finding, ...]
    error: str


def perform(order: Order, workload: Workload) -> None:
    """Do the step and write its result, or die in it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # The kernel's clock ends a step that hangs, even if Python never runs again.
    signal.alarm(order.seconds_max)
    run = _Run(order=order, workload=workload)
    error = ""
    try:
        _ACTS[order.step](run)
    except Exception:  # noqa: BLE001  # whatever the workload raises is this step's finding
        error = traceback.format_exc()
    result = StepResult(
        passages=tuple(run.turnstile.passages) if order.step in _DEADLY else (),
        bypasses=tuple(run.turnstile.bypasses),
        looks=tuple(run.looks),
        findings=tuple(run.findings),
        error=error,
    )
    _result_path(order.home, order.step).write_text(encode(result))


def read_result(home: str, step: Step) -> StepResult | None:
    """Return what the step wrote, or `None` if it died first."""
    path = _result_path(home, step)
    return decode(StepResult, path.read_bytes()) if path.exists() else None


def read_note(home: str, step: Step) -> str:
    """Return the key of the point at which the step said it is about to die; empty if none."""
    path = _note_path(home, step)
    return path.read_text().rstrip("\n") if path.exists() else ""


def run_alone() -> None:
    """Do the one step whose order stands on standard input, in this process of its own."""
    order = decode(Order, sys.stdin.buffer.read())
    perform(order, load_workload(order.workload))


@attrs.define(eq=False, kw_only=True)
class _Run:
    order: Order
    workload: Workload
    turnstile: Turnstile = attrs.field(init=False)
    watching: bool = False
    looks: list[Observation] = attrs.field(factory=list[Observation])
    findings: list[Finding] = attrs.field(factory=list[Finding])

    def __attrs_post_init__(self) -> None:
        note_path = str(_note_path(self.order.home, self.order.step))
        self.turnstile = Turnstile(target=self.order.target, note_path=note_path)
        if self.order.target is None:
            watch_foreign_connections(self._note_foreign)

    @property
    def root(self) -> Path:
        return Path(self.order.home) / "root"

    def look(self) -> None:
        self.looks.append(self.workload.observe(self.root))

    def check(self) -> None:
        acks = read_acks(Path(self.order.home))
        self.findings.extend(self.workload.check(self.root, acks))

    @contextmanager
    def watched(self) -> Generator[None]:
        """Hold the workload to the doors of its stage; its looks and checks need none."""
        self.watching = True
        try:
            yield
        finally:
            self.watching = False

    def _note_foreign(self, what: str) -> None:
        if self.watching:
            self.turnstile.bypasses.append(what)


def _act_script(run: _Run) -> None:
    stage = open_stage(home=Path(run.order.home), seed=run.order.seed, turnstile=run.turnstile)
    with run.watched():
        run.workload.script(stage)


def _act_recover(run: _Run) -> None:
    """Look, recover, look, check: two looks."""
    stage = open_stage(home=Path(run.order.home), seed=run.order.seed, turnstile=run.turnstile)
    run.look()
    with run.watched():
        run.workload.recover(stage)
    run.look()
    run.check()


def _act_reopen(run: _Run) -> None:
    """Look, recover again, look, rebuild, look, check: three looks."""
    stage = open_stage(home=Path(run.order.home), seed=run.order.seed, turnstile=run.turnstile)
    run.look()
    with run.watched():
        run.workload.recover(stage)
    run.look()
    run.workload.rebuild(run.root)
    run.look()
    run.check()


def _act_finish(run: _Run) -> None:
    stage = open_stage(home=Path(run.order.home), seed=run.order.seed, turnstile=run.turnstile)
    with run.watched():
        run.findings.extend(run.workload.finish(stage))
    run.look()
    run.check()


_ACTS: Final[dict[Step, Callable[[_Run], None]]] = {
    Step.SCRIPT: _act_script,
    Step.RECOVER: _act_recover,
    Step.REOPEN: _act_reopen,
    Step.FINISH: _act_finish,
}


def _result_path(home: str, step: Step) -> Path:
    return Path(home) / f"{step}.json"


def _note_path(home: str, step: Step) -> Path:
    return Path(home) / f"{step}.note"


def redirect_output(log_path: str) -> None:
    """Send what the process prints to a file, and give it no input."""
    log = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(nothing)
    os.close(log)
