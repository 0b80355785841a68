"""Real hosts die in whole turns and keep their promises under the lab; planted faults are found."""

import functools

import pytest

from crashworthy.crashlab.matrix import Plan, Profile, rehearse, run_matrix
from crashworthy.crashlab.report import Report
from crashworthy.crashlab.workload import BUILT_IN

SAMPLE = Profile(name="sample", second_max=2, spawn_max=0)
SCENES = {
    "text_turn": (3, 75),
    "parallel_tools": (40, 110),
    "approval": (100, 200),
    "stop": (70, 105),
    "file_edit": (60, 115),
    "shutdown": (60, 150),
    "startup_repair": (50, 150),
}


@functools.cache
def sampled(scene: str) -> Report:
    return run_matrix(Plan(workload=scene, profile=SAMPLE, seed=1, shard=SCENES[scene]))


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES)
def test_deaths_spread_over_a_scene_break_no_promise(scene: str) -> None:
    report = sampled(scene)
    assert (report.unreached, report.violations) == ((), ())
    assert report.deaths >= 7


def test_every_scene_is_a_built_in_name() -> None:
    assert set(SCENES) < set(BUILT_IN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scene", "probes"),
    [
        ("text_turn", {"request.starts", "request.done", "anchor.written", "blob.renamed"}),
        ("parallel_tools", {"effect.starts", "effect.done"}),
        ("file_edit", {"file.begun", "file.renamed", "file.durable"}),
        ("startup_repair", {"lock.taken", "workers.proven_gone", "effect.done"}),
    ],
)
def test_steps_that_are_not_sql_are_boundaries_of_a_scene(scene: str, probes: set[str]) -> None:
    named = {key.split(":")[2].partition("#")[0] for key in sampled(scene).rehearsed}
    assert probes <= named


def test_effect_that_is_tried_again_is_found() -> None:
    broken = {one.promise for one in rehearse(plan("acts_twice")).violations}
    assert {"STORE.I6", "RUNTIME.I5"} <= broken


def test_recovery_that_sends_a_request_is_found() -> None:
    broken = {one.promise for one in rehearse(plan("goes_on_by_itself")).violations}
    assert {"CRASH.I2", "CRASH.I3"} <= broken


@pytest.mark.parametrize(
    ("toy", "promise"),
    [
        ("admits_in_any_phase", "RUNTIME.I8"),
        ("is_ready_too_early", "RUNTIME.I8"),
        ("lets_go_too_early", "RUNTIME.I9"),
        ("never_lets_go", "RUNTIME.I10"),
    ],
)
@pytest.mark.proves("OWN-3")
def test_host_that_leaves_its_table_is_found(toy: str, promise: str) -> None:
    assert promise in {one.promise for one in rehearse(plan(toy)).violations}


def plan(toy: str) -> Plan:
    return Plan(workload=f"toy_runtime:{toy}", profile=SAMPLE, seed=1)
