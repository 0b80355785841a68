"""What a crash matrix found: counts, what nobody killed, and every broken promise."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import attrs

from .boundary import Kind, Passage, Point, Role
from .kill import Death, Outcome
from .launch import Mode
from .rehearse import Rehearsal
from .steps import Step
from .workload import Promise


@attrs.frozen(kw_only=True)
class Tally:
    """How many boundaries of one kind and writer were rehearsed.

    Attributes:
        writer: The label of the unit, as the workload gave it.
        boundaries: How many were passed in the rehearsal.
        deaths: How many first deaths were confirmed at them.
    """

    kind: Kind
    role: Role
    writer: str
    boundaries: int
    deaths: int


@attrs.frozen(kw_only=True)
class Breach:
    """A promise that did not hold.

    Attributes:
        death: The key for `--at`; empty if nobody had died.
        mode: How the processes were started.
        step: Which process saw it.
    """

    death: str
    mode: Mode
    promise: str
    step: Step
    detail: str


@attrs.frozen(kw_only=True)
class Unreached:
    """A point at which the lab did not manage to kill anybody: a failure of the lab."""

    death: str
    mode: Mode


@attrs.frozen(kw_only=True)
class Report:
    """The result of a matrix; `clean` says whether it passes.

    Attributes:
        reference: How the workload was named.
        shard: `1/1`, or which part of the deaths this run had.
        boundaries: Rehearsed boundaries by kind, role and writer.
        rehearsed: The key of each rehearsed boundary of the script, in order.
        recoveries: How many different recoveries the deaths led to.
        deaths: All confirmed deaths.
        deaths_in_recovery: Those of them whose first recovery died too.
        deaths_spawned: Those of them in new interpreters instead of forks.
        not_sampled: Deaths of the second level or of new interpreters that the profile left out.
        seconds: Wall time of the deaths, without start-up and rehearsal.
    """

    workload: str
    reference: str
    profile: str
    seed: int
    shard: str
    promises: tuple[Promise, ...]
    boundaries: tuple[Tally, ...]
    rehearsed: tuple[str, ...]
    recoveries: int
    deaths: int
    deaths_in_recovery: int
    deaths_spawned: int
    not_sampled: int
    unreached: tuple[Unreached, ...]
    violations: tuple[Breach, ...]
    seconds: float

    @property
    def clean(self) -> bool:
        """Return whether everything was killed and every promise held."""
        return not (self.unreached or self.violations)

    @property
    def rate(self) -> float:
        """Return confirmed deaths per second."""
        return self.deaths / self.seconds if self.seconds else 0.0


@attrs.frozen(kw_only=True)
class Trial:
    """A death that was ordered, how, and what came of it; no outcome if it was never run."""

    death: Death
    mode: Mode
    outcome: Outcome | None


def tally(passages: Iterable[Passage], dead: Iterable[Point]) -> tuple[Tally, ...]:
    """Count boundaries and confirmed deaths by kind, role and writer."""
    boundaries: Counter[tuple[Kind, Role, str]] = Counter()
    deaths: Counter[tuple[Kind, Role, str]] = Counter()
    died_at = Counter(point.boundary for point in dead)
    for passage in passages:
        boundary = passage.boundary
        group = (boundary.kind, boundary.role, passage.writer)
        boundaries[group] += 1
        deaths[group] += died_at[boundary]
    return tuple(
        Tally(
            kind=kind,
            role=role,
            writer=writer,
            boundaries=number,
            deaths=deaths[kind, role, writer],
        )
        for (kind, role, writer), number in sorted(boundaries.items())
    )


def unreached(
    demanded: Sequence[tuple[Death, Mode]], trials: Iterable[Trial]
) -> tuple[Unreached, ...]:
    """Return every demanded death that no outcome confirms (CRASH-1).

    It looks at confirmed outcomes alone, never at what was ordered: a lab that skips a boundary
    must not be able to hide it.
    """
    confirmed = {
        (t.death.key, t.mode) for t in trials if t.outcome is not None and t.outcome.reached
    }
    return tuple(
        Unreached(death=death.key, mode=mode)
        for death, mode in demanded
        if (death.key, mode) not in confirmed
    )


def breaches(rehearsal: Rehearsal, trials: Iterable[Trial], mode: Mode) -> tuple[Breach, ...]:
    """Return all violations with the deaths that showed them, those of the rehearsal first."""
    found = [
        Breach(death="", mode=mode, promise=v.promise, step=v.step, detail=v.detail)
        for v in rehearsal.violations
    ]
    found.extend(
        Breach(
            death=trial.death.key,
            mode=trial.mode,
            promise=violation.promise,
            step=violation.step,
            detail=violation.detail,
        )
        for trial in trials
        if trial.outcome is not None
        for violation in trial.outcome.violations
    )
    return tuple(found)


def at_command(report: Report, death: str) -> str:
    """Return the command that repeats one death."""
    quoted = death.replace("'", "'\\''")
    return f"crashworthy crash --workload {report.reference} --seed {report.seed} --at '{quoted}'"


def as_text(report: Report) -> str:
    """Return the report for a terminal; equal breaches are told once, with one death to repeat."""
    lines = [
        f"workload {report.workload} ({report.reference})",
        f"profile {report.profile}, seed {report.seed}, shard {report.shard}",
        f"{len(report.rehearsed)} boundaries, {report.recoveries} different recoveries",
        f"{report.deaths} deaths in {report.seconds:.1f} s, {report.rate:.1f}/s",
        f"  {report.deaths_in_recovery} of them also in recovery",
        f"  {report.deaths_spawned} of them in new interpreters",
        f"  {report.not_sampled} left out by the profile",
        "",
        f"{'kind':<12}{'role':<8}{'writer':<24}{'boundaries':>10}{'deaths':>8}",
    ]
    lines.extend(
        f"{t.kind:<12}{t.role:<8}{t.writer:<24}{t.boundaries:>10}{t.deaths:>8}"
        for t in report.boundaries
    )
    for missed in report.unreached:
        lines += ["", f"UNREACHED ({missed.mode}) {missed.death}"]
    by_promise: defaultdict[str, list[Breach]] = defaultdict(list)
    for breach in report.violations:
        by_promise[breach.promise].append(breach)
    claims = {promise.id: promise.claim for promise in report.promises}
    for promise, broken in sorted(by_promise.items()):
        first = broken[0]
        lines += [
            "",
            f"BROKEN {promise}: {claims.get(promise, 'not declared by the workload')}",
            f"  {len(broken)} times, first in step {first.step}: {first.detail}",
            f"  repeat: {at_command(report, first.death)}" if first.death else "  nobody had died",
        ]
    lines += ["", "clean" if report.clean else "NOT clean"]
    return "\n".join(lines) + "\n"
