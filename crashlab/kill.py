"""One death from start to end: the victim dies where it was told to, and survivors judge."""

import shutil
import signal
from pathlib import Path

import attrs

from .boundary import Passage, Point
from .launch import Ending, Launcher, Mode
from .promises import (
    DIES_THERE,
    FINISHES,
    LOOKS_ONLY,
    REBUILDS,
    REPAIR_ONLY,
    SEES_ALL,
    SETTLES,
    SURVIVES,
)
from .steps import Order, Step, StepResult, read_note, read_result
from .workload import Finding, Observation


@attrs.frozen(kw_only=True)
class Death:
    """Where a victim dies, and where its first recovery dies then, if at all."""

    point: Point
    then: Point | None = None

    @property
    def key(self) -> str:
        """Return the text that `--at` accepts."""
        return self.point.key if self.then is None else f"{self.point.key} => {self.then.key}"


@attrs.frozen(kw_only=True)
class Course:
    """One job of the lab: a death, or the undisturbed course if `death` is `None`.

    Attributes:
        number: Unique in the matrix; names the directory.
        home: The directory of this course; made, and removed unless `keep`.
        seconds_max: Time of one process.
    """

    number: int
    workload: str
    home: str
    seed: int
    death: Death | None
    mode: Mode
    seconds_max: int
    keep: bool = False


@attrs.frozen(kw_only=True)
class Violation:
    """A promise that did not hold, and in which step of the course that was seen."""

    promise: str
    step: Step
    detail: str


@attrs.frozen(kw_only=True)
class Outcome:
    """What came of a course.

    Attributes:
        number: Which course.
        reached: Whether every victim died exactly where it should.
        script: The boundaries that the script passed, if it lived.
        recovery: The boundaries that the first surviving recovery passed.
        violations: Everything that did not hold.
    """

    number: int
    reached: bool
    script: tuple[Passage, ...]
    recovery: tuple[Passage, ...]
    violations: tuple[Violation, ...]


def run_course(launcher: Launcher, course: Course) -> Outcome:
    """Run the victims and then the survivors, each in a process of its own (CRASH-2)."""
    Path(course.home).mkdir(parents=True, mode=0o700)
    run = _Course(launcher=launcher, course=course)
    try:
        return run.go()
    finally:
        if not course.keep:
            shutil.rmtree(course.home)


@attrs.define(eq=False, kw_only=True)
class _Course:
    launcher: Launcher
    course: Course
    violations: list[Violation] = attrs.field(factory=list[Violation])

    def go(self) -> Outcome:
        death = self.course.death
        script: tuple[Passage, ...] = ()
        reached = True
        if death is None:
            lived = self.survive(Step.SCRIPT)
            script = lived.passages if lived is not None else ()
        else:
            reached = self.die(Step.SCRIPT, death.point)
            if reached and death.then is not None:
                reached = self.die(Step.RECOVER, death.then)
        # A victim that did not die proved nothing; what it left behind is no ruin to judge.
        recovery = self.judge() if reached else ()
        return Outcome(
            number=self.course.number,
            reached=reached,
            script=script,
            recovery=recovery,
            violations=tuple(self.violations),
        )

    def judge(self) -> tuple[Passage, ...]:
        first = self.survive(Step.RECOVER)
        if first is None:
            return ()
        self.compare_recovery(first.looks[0], first.looks[1])
        again = self.survive(Step.REOPEN)
        if again is not None:
            self.compare_reopening(first.looks[1], again.looks)
            self.survive(Step.FINISH)
        return first.passages

    def compare_recovery(self, before: Observation, after: Observation) -> None:
        if (before.requests, before.effects) != (after.requests, after.effects):
            self.blame(REPAIR_ONLY.id, Step.RECOVER, f"{_world(before)} became {_world(after)}")

    def compare_reopening(self, left: Observation, looks: tuple[Observation, ...]) -> None:
        found, reopened, rebuilt = looks
        if found != left:
            self.blame(LOOKS_ONLY.id, Step.REOPEN, f"{left} was read again as {found}")
        if reopened.facts_digest != found.facts_digest:
            more = f"{found.facts} facts became {reopened.facts}"
            self.blame(SETTLES.id, Step.REOPEN, more)
        if (found.requests, found.effects) != (reopened.requests, reopened.effects):
            self.blame(REPAIR_ONLY.id, Step.REOPEN, f"{_world(found)} became {_world(reopened)}")
        if rebuilt != reopened:
            self.blame(REBUILDS.id, Step.REOPEN, f"{reopened} became {rebuilt}")

    def die(self, step: Step, point: Point) -> bool:
        ending = self.start(step, point)
        note = read_note(self.course.home, step)
        if ending.signal == signal.SIGKILL and note == point.key:
            return True
        lived = read_result(self.course.home, step)
        told = f"noted {note!r}" if note else "noted nothing"
        error = f"\n{lived.error}" if lived is not None and lived.error else ""
        self.blame(DIES_THERE.id, step, f"wanted {point.key!r}; it {told} and {ending}{error}")
        return False

    def survive(self, step: Step) -> StepResult | None:
        """Run a step that must live; return its result if what follows can build on it."""
        ending = self.start(step, None)
        result = read_result(self.course.home, step)
        promise = FINISHES.id if step is Step.FINISH else SURVIVES.id
        if result is None or ending.signal or ending.status:
            self.blame(promise, step, f"it {ending}; {self.log_tail()}")
            return None
        for finding in result.findings:
            self.blame_finding(step, finding)
        for bypass in result.bypasses:
            self.blame(SEES_ALL.id, step, bypass)
        if result.error:
            self.blame(promise, step, result.error)
            return None
        return result

    def start(self, step: Step, target: Point | None) -> Ending:
        return self.launcher.run(
            Order(
                step=step,
                workload=self.course.workload,
                home=self.course.home,
                seed=self.course.seed,
                target=target,
                seconds_max=self.course.seconds_max,
            )
        )

    def blame(self, promise: str, step: Step, detail: str) -> None:
        self.violations.append(Violation(promise=promise, step=step, detail=detail))

    def blame_finding(self, step: Step, finding: Finding) -> None:
        self.blame(finding.promise, step, finding.detail)

    def log_tail(self) -> str:
        path = Path(self.course.home) / "log"
        text = path.read_text(errors="replace") if path.exists() else ""
        return f"its last words: {text[-2000:]!r}"


def _world(seen: Observation) -> str:
    return f"{seen.requests} requests and {seen.effects} effects"
