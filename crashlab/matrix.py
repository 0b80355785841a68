"""Every boundary becomes a death: rehearse, plan, kill them all, and account for each."""

import itertools
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import attrs

from .boundary import Passage
from .crew import Crew, hired
from .kill import Course, Death, Outcome
from .launch import Mode, default_mode
from .promises import LAB_PROMISES
from .rehearse import Rehearsal, compare_rehearsals
from .report import Report, Trial, breaches, tally, unreached


@attrs.frozen(kw_only=True)
class Profile:
    """How much of the matrix is sampled; every boundary is killed at in every profile.

    Attributes:
        second_max: At most so many deaths during recovery; `None` for all.
        spawn_max: At most so many deaths repeated in new interpreters; `None` for all.
    """

    name: str
    second_max: int | None
    spawn_max: int | None


PROFILES: Final[Mapping[str, Profile]] = MappingProxyType(
    {
        "ci": Profile(name="ci", second_max=60, spawn_max=3),
        "deep": Profile(name="deep", second_max=None, spawn_max=None),
    }
)


@attrs.frozen(kw_only=True)
class Plan:
    """What to run.

    Attributes:
        workload: A built-in name or `module:factory`.
        jobs: How many zygotes work side by side.
        mode: How the processes of the matrix are started.
        shard: Which part (1-based) of how many parts of the deaths is run.
        seconds_max: Time of one process.
    """

    workload: str
    profile: Profile
    seed: int
    jobs: int = 2
    mode: Mode = attrs.field(factory=default_mode)
    shard: tuple[int, int] = (1, 1)
    seconds_max: int = 60


@attrs.frozen(kw_only=True)
class Progress:
    """How far the matrix is."""

    done: int
    total: int
    violations: int
    seconds: float


def no_progress(_progress: Progress) -> None:
    """Show nothing."""


def run_matrix(plan: Plan, *, progress: Callable[[Progress], None] = no_progress) -> Report:
    """Kill the workload at every boundary and return what that showed (CRASH-1, CRASH-2).

    Raises:
        WorkloadUnknownError: `workload_unknown`.
        LabProcessLostError: `lab_process_lost`, when the lab itself failed.
    """
    with _scratch() as scratch, hired(plan.workload, plan.jobs) as crew:
        return _Matrix(plan=plan, crew=crew, scratch=Path(scratch), progress=progress).run()


def rehearse(plan: Plan) -> Rehearsal:
    """Run the workload undisturbed, twice, and return its boundaries."""
    with _scratch() as scratch, hired(plan.workload, 1) as crew:
        return _Matrix(plan=plan, crew=crew, scratch=Path(scratch), progress=no_progress).rehearse()


def die_once(plan: Plan, death: Death, home: Path) -> Outcome:
    """Run one death in `home` and keep everything that it leaves there."""
    with hired(plan.workload, 1) as crew:
        course = Course(
            number=0,
            workload=plan.workload,
            home=str(home),
            seed=plan.seed,
            death=death,
            mode=plan.mode,
            seconds_max=plan.seconds_max,
            keep=True,
        )
        (outcome,) = crew.work([course])
        return outcome


def first_deaths(rehearsal: Rehearsal, shard: tuple[int, int]) -> list[Death]:
    """Return a death for every point of the script that falls into this shard."""
    part, parts = shard
    return [
        Death(point=point)
        for number, point in enumerate(rehearsal.points)
        if number % parts == part - 1
    ]


def second_deaths(trials: Iterable[Trial]) -> list[Death]:
    """Return a death for every point of every recovery that a first death led to."""
    return [
        Death(point=trial.death.point, then=point)
        for trial in trials
        if trial.outcome is not None and trial.outcome.reached
        for passage in trial.outcome.recovery
        for point in passage.boundary.points
    ]


def sampled(deaths: Sequence[Death], most: int | None, seed: int) -> list[Death]:
    """Return at most `most` of the deaths, spread over the different second points.

    Deaths that end in the same point of recovery resemble each other; the sample takes one of
    each group before it takes a second of any.
    """
    if most is None or len(deaths) <= most:
        return list(deaths)
    shuffled = list(deaths)
    random.Random(seed).shuffle(shuffled)  # noqa: S311  # a sample, no secret
    groups: dict[str, list[Death]] = {}
    for death in shuffled:
        groups.setdefault(death.then.key if death.then else death.point.key, []).append(death)
    rounds = itertools.zip_longest(*groups.values())
    spread = [death for one_round in rounds for death in one_round if death is not None]
    return spread[:most]


@attrs.define(eq=False, kw_only=True)
class _Matrix:
    plan: Plan
    crew: Crew
    scratch: Path
    progress: Callable[[Progress], None]
    numbers: Iterator[int] = attrs.field(factory=itertools.count)
    trials: list[Trial] = attrs.field(factory=list[Trial])
    demanded: list[tuple[Death, Mode]] = attrs.field(factory=list[tuple[Death, Mode]])
    recoveries: dict[tuple[Passage, ...], tuple[Passage, ...]] = attrs.field(
        factory=dict[tuple[Passage, ...], tuple[Passage, ...]]
    )
    started: float = 0.0
    violations: int = 0

    def run(self) -> Report:
        rehearsal = self.rehearse()
        self.started = time.monotonic()
        first = first_deaths(rehearsal, self.plan.shard)
        self.kill(first, self.plan.mode)
        # The recoveries of the first level are the rehearsals of the second.
        known = list(self.trials)
        every_second = second_deaths(known)
        second = sampled(every_second, self.plan.profile.second_max, self.plan.seed)
        self.kill(second, self.plan.mode)
        spawned: list[Death] = []
        left_out = len(every_second) - len(second)
        if self.plan.mode is not Mode.SPAWN:
            spawned = sampled(first, self.plan.profile.spawn_max, self.plan.seed)
            self.kill(spawned, Mode.SPAWN)
            left_out += len(first) - len(spawned)
        seconds = time.monotonic() - self.started
        confirmed = [t for t in self.trials if t.outcome is not None and t.outcome.reached]
        dead_first = [
            t.death.point for t in confirmed if t.death.then is None and t.mode is self.plan.mode
        ]
        part, parts = self.plan.shard
        return Report(
            workload=self.crew.name,
            reference=self.plan.workload,
            profile=self.plan.profile.name,
            seed=self.plan.seed,
            shard=f"{part}/{parts}",
            promises=(*LAB_PROMISES, *self.crew.promises),
            boundaries=tally(rehearsal.passages, dead_first),
            rehearsed=tuple(p.boundary.key for p in rehearsal.passages),
            recoveries=len({_course_of(t.outcome.recovery) for t in known if t.outcome}),
            deaths=len(confirmed),
            deaths_in_recovery=sum(t.death.then is not None for t in confirmed),
            deaths_spawned=sum(t.mode is Mode.SPAWN for t in confirmed),
            not_sampled=left_out,
            unreached=unreached(self.demanded, self.trials),
            violations=breaches(rehearsal, self.trials, self.plan.mode),
            seconds=seconds,
        )

    def rehearse(self) -> Rehearsal:
        courses = [self.course(None, self.plan.mode) for _ in range(2)]
        first, second = sorted(self.crew.work(courses), key=lambda outcome: outcome.number)
        return compare_rehearsals(first, second)

    def kill(self, deaths: Sequence[Death], mode: Mode) -> None:
        """Run the deaths; what is demanded is noted first, so that a lost one shows."""
        self.demanded.extend((death, mode) for death in deaths)
        courses = {course.number: course for course in (self.course(d, mode) for d in deaths)}
        for outcome in self.crew.work(courses.values()):
            death = courses[outcome.number].death
            assert death is not None
            self.trials.append(Trial(death=death, mode=mode, outcome=self.slimmed(death, outcome)))
            self.violations += len(outcome.violations)
            self.progress(
                Progress(
                    done=len(self.trials),
                    total=len(self.demanded),
                    violations=self.violations,
                    seconds=time.monotonic() - self.started,
                )
            )

    def slimmed(self, death: Death, outcome: Outcome) -> Outcome:
        """Keep one copy of each different recovery, and none that nobody will die in.

        A deep matrix has a hundred thousand outcomes, and nearly all recoveries are alike.
        """
        wanted = outcome.recovery if death.then is None else ()
        return attrs.evolve(outcome, recovery=self.recoveries.setdefault(wanted, wanted))

    def course(self, death: Death | None, mode: Mode) -> Course:
        number = next(self.numbers)
        return Course(
            number=number,
            workload=self.plan.workload,
            home=str(self.scratch / f"{number:06}"),
            seed=self.plan.seed,
            death=death,
            mode=mode,
            seconds_max=self.plan.seconds_max,
        )


def scratch_base() -> str | None:
    """Return a directory in memory if there is one, else `None` for the system's default.

    A killed process loses nothing that it wrote, whatever it was written to: this lab is about
    process death, and a disk would only make it wait for syncs.
    """
    memory = Path("/dev/shm")  # noqa: S108  # mkdtemp makes a private directory in it
    return str(memory) if memory.is_dir() else None


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="crashlab-", dir=scratch_base())


def _course_of(passages: tuple[Passage, ...]) -> tuple[str, ...]:
    return tuple(passage.boundary.key for passage in passages)
