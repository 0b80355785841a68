"""The matrix kills at every boundary of a real SQLite workload, and finds what is planted in it."""

import itertools
import resource
from collections.abc import Iterator

import attrs
import pytest

from crashworthy.crashlab.boundary import Boundary, Kind, Moment, Point, Role
from crashworthy.crashlab.crew import Crew, LabProcessLostError
from crashworthy.crashlab.kill import Course, Death, Outcome
from crashworthy.crashlab.launch import Mode
from crashworthy.crashlab.matrix import (
    Plan,
    Profile,
    Progress,
    first_deaths,
    rehearse,
    run_matrix,
    sampled,
)
from crashworthy.crashlab.report import Report
from crashworthy.crashlab.workload import WorkloadUnknownError

SHORT = Profile(name="short", second_max=6, spawn_max=0)
NOTHING_ELSE = Profile(name="nothing else", second_max=0, spawn_max=0)


def plan(workload: str, *, profile: Profile = SHORT, mode: Mode = Mode.FORK) -> Plan:
    return Plan(
        workload=f"toy_ledger:{workload}", profile=profile, seed=1, mode=mode, seconds_max=20
    )


def broken(report: Report) -> set[str]:
    return {breach.promise for breach in report.violations}


def test_sound_workload_dies_at_every_boundary_and_keeps_every_promise() -> None:
    seen: list[Progress] = []
    profile = Profile(name="some", second_max=40, spawn_max=2)
    report = run_matrix(plan("sound", profile=profile), progress=seen.append)
    assert report.clean, report.violations
    # 34 statements die on two sides, 6 probes at one place.
    assert [len(report.rehearsed), sum(t.deaths for t in report.boundaries)] == [40, 74]
    assert (report.deaths, report.deaths_in_recovery, report.deaths_spawned) == (116, 40, 2)
    assert seen[-1].done == seen[-1].total == 116
    assert {(t.kind, t.writer) for t in report.boundaries} >= {
        (Kind.COMMIT, "dispatch"), (Kind.COMMIT, "outcome"), (Kind.PROBE, "effect"),
        (Kind.OPEN, "-"), (Kind.CLOSE, "-"),
    }  # fmt: skip


def test_two_cores_reach_ten_deaths_per_second() -> None:
    """DESIGN 15 (h), by processor time: wall time would measure whoever else uses the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    report = run_matrix(attrs.evolve(plan("sound"), shard=(1, 2)))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    assert report.deaths / (seconds / 2) >= 10


@pytest.mark.parametrize(
    ("workload", "promises"),
    [
        ("acks_early", {"TOY.I1"}),
        ("tears_unit", {"TOY.I2", "CRASH.I4"}),
        ("recovers_twice", {"CRASH.I3"}),
        ("repeats_effect", {"CRASH.I2", "TOY.I3"}),
        ("rebuilds_otherwise", {"CRASH.I4", "TOY.I2"}),
        ("bypasses", {"CRASH.I8"}),
        ("bypasses_in_cursor", {"CRASH.I8"}),
        ("cannot_finish", {"CRASH.I5"}),
        ("raises_in_recovery", {"CRASH.I6"}),
        ("touches_when_looked_at", {"CRASH.I2", "CRASH.I4", "CRASH.I9"}),
    ],
)
def test_planted_fault_breaks_exactly_its_promises(workload: str, promises: set[str]) -> None:
    report = run_matrix(attrs.evolve(plan(workload), shard=(1, 3)))
    assert broken(report) == promises
    assert not report.clean


def test_early_acknowledgement_is_found_only_where_it_lies() -> None:
    """Losing an acknowledgement needs a death between it and the end of COMMIT."""
    found = {v.death.split(" => ")[0] for v in run_matrix(plan("acks_early")).violations}
    assert found == {f"host:commit:COMMIT#{unit}:before" for unit in range(2, 8)}


def test_recovery_that_hangs_is_ended_and_reported() -> None:
    report = run_matrix(
        attrs.evolve(plan("hangs_in_recovery", profile=NOTHING_ELSE), seconds_max=1, shard=(12, 20))
    )
    assert broken(report) == {"CRASH.I6"}
    assert "SIGALRM" in report.violations[0].detail


def test_boundary_that_moves_is_unreached() -> None:
    """A victim that passes elsewhere lives on; its survivors prove nothing and are not counted."""
    report = run_matrix(plan("wanders"))
    assert [u.death.rpartition(":")[2] for u in report.unreached] == ["before", "after"]
    assert broken(report) == {"CRASH.I1", "CRASH.I7"}


def test_workload_without_a_boundary_is_not_clean() -> None:
    report = run_matrix(plan("idle"))
    assert (report.deaths, broken(report)) == (0, {"CRASH.I8"})


def test_skipped_boundary_is_unreached(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lab is judged by confirmed deaths, so that a lab which forgets one cannot look clean."""
    skipped = "host:commit:COMMIT#3:after"
    work = Crew.work

    def forgetful(crew: Crew, courses: Iterator[Course]) -> Iterator[Outcome]:
        kept = (c for c in courses if c.death is None or c.death.key != skipped)
        return work(crew, kept)

    monkeypatch.setattr(Crew, "work", forgetful)
    report = run_matrix(plan("sound"))
    assert [u.death for u in report.unreached] == [skipped]
    assert not report.clean


def test_new_interpreters_die_like_forks() -> None:
    report = run_matrix(
        attrs.evolve(plan("sound", profile=NOTHING_ELSE, mode=Mode.SPAWN), shard=(3, 30))
    )
    assert report.clean, report.violations
    assert report.deaths == report.deaths_spawned == 3


def test_shards_cover_every_death_once() -> None:
    rehearsal = rehearse(plan("sound"))
    shards = [first_deaths(rehearsal, (part, 3)) for part in (1, 2, 3)]
    keys = [death.key for death in itertools.chain(*shards)]
    assert sorted(keys) == sorted(point.key for point in rehearsal.points)


def test_import_that_opens_a_connection_is_refused() -> None:
    """SQLite connections must not be carried over a fork."""
    with pytest.raises(LabProcessLostError, match=r"zygote_not_clean. threads=1, connections=1"):
        run_matrix(Plan(workload="toy_unclean:workload", profile=SHORT, seed=1))


def test_import_that_starts_a_thread_is_refused() -> None:
    """A fork carries over the locks that a thread holds, but not the thread."""
    with pytest.raises(LabProcessLostError, match=r"zygote_not_clean. threads=2, connections=0"):
        run_matrix(Plan(workload="toy_threaded:workload", profile=SHORT, seed=1))


@pytest.mark.parametrize(
    "reference", ["nothing", "no_such_module:x", "toy_ledger:nothing", "json:dumps_nothing"]
)
def test_workload_is_refused_when_it_cannot_be_loaded(reference: str) -> None:
    with pytest.raises(WorkloadUnknownError):
        run_matrix(Plan(workload=reference, profile=SHORT, seed=1))


def test_sample_takes_each_second_point_before_it_repeats_one() -> None:
    def death(first: int, second: int) -> Death:
        return Death(point=point(first), then=point(second))

    def point(number: int) -> Point:
        boundary = Boundary(kind=Kind.BEGIN, name="BEGIN", role=Role.HOST, occurrence=number)
        return Point(boundary=boundary, moment=Moment.BEFORE)

    deaths = [death(first, second) for first in range(1, 9) for second in range(1, 6)]
    taken = sampled(deaths, 5, seed=3)
    assert {d.then.key for d in taken if d.then} == {point(n).key for n in range(1, 6)}
    assert sampled(deaths, None, seed=3) == deaths
    assert sampled(deaths, 5, seed=3) == taken
