"""A death counts only if it is proven, and each survivor's look is compared with the one before."""

import signal
from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.boundary import Boundary, Kind, Moment, Point, Role
from crashworthy.crashlab.kill import Course, Death, Outcome, run_course
from crashworthy.crashlab.launch import Ending, Mode
from crashworthy.crashlab.steps import Order, Step, StepResult
from crashworthy.crashlab.wire import encode
from crashworthy.crashlab.workload import Finding, Observation

KILLED = Ending(signal=signal.SIGKILL, status=0)
EXITED = Ending(signal=0, status=0)
POINT = Point(
    boundary=Boundary(kind=Kind.COMMIT, name="COMMIT", role=Role.HOST, occurrence=2),
    moment=Moment.BEFORE,
)
OTHER = attrs.evolve(POINT, moment=Moment.AFTER)
SEEN = Observation(facts=3, facts_digest="f", projections_digest="p", requests=1, effects=2)
SAME = {Step.RECOVER: (SEEN, SEEN), Step.REOPEN: (SEEN, SEEN, SEEN), Step.FINISH: (SEEN,)}


@attrs.define
class Pretender:
    """Runs nothing: it leaves behind what a victim and its survivors would."""

    note: str = POINT.key
    ending: Ending = KILLED
    looks: dict[Step, tuple[Observation, ...]] = attrs.field(factory=lambda: dict(SAME))
    findings: dict[Step, tuple[Finding, ...]] = attrs.field(factory=dict[Step, tuple[Finding, ...]])
    steps: list[Step] = attrs.field(factory=list[Step])

    def run(self, order: Order) -> Ending:
        self.steps.append(order.step)
        home = Path(order.home)
        if order.target is not None:
            if self.note:
                (home / f"{order.step}.note").write_text(f"{self.note}\n")
            return self.ending
        result = StepResult(
            passages=(),
            bypasses=(),
            looks=self.looks.get(order.step, ()),
            findings=self.findings.get(order.step, ()),
            error="",
        )
        (home / f"{order.step}.json").write_text(encode(result))
        return EXITED


def course_of(launcher: Pretender, tmp_path: Path) -> Outcome:
    return run_course(
        launcher,
        Course(
            number=1,
            workload="w:w",
            home=str(tmp_path / "home"),
            seed=1,
            death=Death(point=POINT),
            mode=Mode.FORK,
            seconds_max=1,
        ),
    )


def test_proven_death_is_judged_by_three_survivors(tmp_path: Path) -> None:
    launcher = Pretender()
    outcome = course_of(launcher, tmp_path)
    assert (outcome.reached, outcome.violations) == (True, ())
    assert launcher.steps == [Step.SCRIPT, Step.RECOVER, Step.REOPEN, Step.FINISH]
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("note", "ending"),
    [
        ("", KILLED),  # somebody else killed it
        (OTHER.key, KILLED),  # it died elsewhere
        (POINT.key, EXITED),  # it said so and lived
        (POINT.key, Ending(signal=signal.SIGSEGV, status=0)),  # it died of something else
    ],
)
def test_death_that_is_not_proven_is_not_counted(note: str, ending: Ending, tmp_path: Path) -> None:
    launcher = Pretender(note=note, ending=ending)
    outcome = course_of(launcher, tmp_path)
    assert not outcome.reached
    assert [v.promise for v in outcome.violations] == ["CRASH.I1"]
    assert launcher.steps == [Step.SCRIPT]


@pytest.mark.parametrize(
    ("step", "look", "changed", "promise"),
    [
        (Step.RECOVER, 1, attrs.evolve(SEEN, requests=2), "CRASH.I2"),
        (Step.RECOVER, 1, attrs.evolve(SEEN, effects=3), "CRASH.I2"),
        (Step.REOPEN, 0, attrs.evolve(SEEN, projections_digest="q"), "CRASH.I9"),
        (Step.REOPEN, 1, attrs.evolve(SEEN, facts_digest="g"), "CRASH.I3"),
        (Step.REOPEN, 1, attrs.evolve(SEEN, effects=3), "CRASH.I2"),
        (Step.REOPEN, 2, attrs.evolve(SEEN, projections_digest="q"), "CRASH.I4"),
        (Step.REOPEN, 2, attrs.evolve(SEEN, facts_digest="g"), "CRASH.I4"),
    ],
)
def test_look_that_differs_breaks_its_promise(
    step: Step, look: int, changed: Observation, promise: str, tmp_path: Path
) -> None:
    """From the changed look on all later ones show the same, so that only one step differs."""
    launcher = Pretender()
    places = [(s, n) for s in (Step.RECOVER, Step.REOPEN, Step.FINISH) for n in range(len(SAME[s]))]
    later = places[places.index((step, look)) :]
    launcher.looks = {
        s: tuple(changed if (s, n) in later else SEEN for n in range(len(SAME[s]))) for s in SAME
    }
    assert [v.promise for v in course_of(launcher, tmp_path).violations] == [promise]


@pytest.mark.parametrize("step", [Step.RECOVER, Step.REOPEN, Step.FINISH])
def test_finding_of_the_workload_is_a_violation_in_its_step(step: Step, tmp_path: Path) -> None:
    launcher = Pretender(findings={step: (Finding(promise="W.I1", detail="torn"),)})
    (violation,) = course_of(launcher, tmp_path).violations
    assert (violation.promise, violation.step, violation.detail) == ("W.I1", step, "torn")
