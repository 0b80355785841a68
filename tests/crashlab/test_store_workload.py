"""The store under the lab: its writers die everywhere and keep their promises; faults are found."""

from pathlib import Path

import pytest

from crashworthy.crashlab.boundary import Kind, Moment, Passage, Point
from crashworthy.crashlab.kill import Death
from crashworthy.crashlab.matrix import Plan, Profile, die_once, rehearse, run_matrix
from crashworthy.crashlab.rehearse import Rehearsal
from crashworthy.crashlab.workload import load_workload
from crashworthy.store.journal.shapes import SHAPES

SAMPLE = Profile(name="sample", second_max=4, spawn_max=1)

# What `shapes` names and the script carries out under another label or inside `recovery`.
LABELS = {
    "recover_operation": "recovery",
    "expire_asks": "recovery",
    "repair_run": "recovery",
    "repair_claim": "recovery",
    "give_verdict": "verdict",
    "record_late_outcome": "late_outcome",
}


def plan(workload: str, shard: tuple[int, int] = (1, 1)) -> Plan:
    return Plan(workload=workload, profile=SAMPLE, seed=1, shard=shard)


@pytest.fixture(scope="module")
def rehearsal() -> Rehearsal:
    return rehearse(plan("store"))


def commit_of(passages: tuple[Passage, ...], writer: str) -> Point:
    """Return the place right before the first COMMIT of a writer."""
    found = next(p for p in passages if p.writer == writer and p.boundary.kind is Kind.COMMIT)
    return Point(boundary=found.boundary, moment=Moment.BEFORE)


def test_script_repeats_itself_and_breaks_no_promise_undisturbed(rehearsal: Rehearsal) -> None:
    assert rehearsal.violations == ()


def test_every_writer_of_the_journal_passes_boundaries(rehearsal: Rehearsal) -> None:
    """A writer that the script never calls is a writer at whose boundaries nobody dies."""
    seen = {passage.writer for passage in rehearsal.passages}
    named = {LABELS.get(writer.value, writer.value) for writer in SHAPES}
    assert named - seen == set()
    assert {"claim", "partial", "blob", "open", "abandon", "fenced", "close"} <= seen


def test_steps_that_are_not_sql_are_boundaries_too(rehearsal: Rehearsal) -> None:
    probes = {p.boundary.name for p in rehearsal.passages if p.boundary.kind is Kind.PROBE}
    assert {
        "txn.begun",
        "txn.written",
        "txn.committed",
        "anchor.written",
        "anchor.synced",
        "blob.synced",
        "blob.renamed",
        "lock.taken",
        "effect.starts",
        "request.done",
    } <= probes
    kinds = {p.boundary.kind for p in rehearsal.passages}
    assert {Kind.BEGIN, Kind.COMMIT, Kind.SAVEPOINT, Kind.CHECKPOINT, Kind.OPEN} <= kinds


@pytest.mark.slow
def test_deaths_spread_over_the_script_break_no_promise() -> None:
    report = run_matrix(plan("store", (7, 150)))
    assert report.unreached == ()
    assert report.violations == ()
    assert report.deaths >= 25


def test_death_between_schema_and_first_epoch_leaves_a_root_that_opens(
    rehearsal: Rehearsal, tmp_path: Path
) -> None:
    """The lab found this one: a database without a name could neither be opened nor looked at."""
    commit = commit_of(rehearsal.passages, "open")
    after = Point(boundary=commit.boundary, moment=Moment.AFTER)
    outcome = die_once(plan("store"), Death(point=after), tmp_path / "death")
    assert (outcome.reached, outcome.violations) == (True, ())


def test_acknowledgement_before_commit_is_found(rehearsal: Rehearsal, tmp_path: Path) -> None:
    death = Death(point=commit_of(rehearsal.passages, "open_run"))
    sound = die_once(plan("store"), death, tmp_path / "sound")
    hasty = die_once(plan("toy_store:acks_early"), death, tmp_path / "hasty")
    assert (sound.reached, sound.violations) == (True, ())
    assert hasty.reached
    assert "STORE.I1" in {violation.promise for violation in hasty.violations}


def test_missing_fence_is_found() -> None:
    broken = {violation.promise for violation in rehearse(plan("toy_store:unfenced")).violations}
    assert "STORE.I7" in broken


def test_anchor_that_is_skipped_is_found() -> None:
    broken = {violation.promise for violation in rehearse(plan("toy_store:unanchored")).violations}
    assert "STORE.I8" in broken


def test_store_is_a_built_in_name() -> None:
    assert load_workload("store").name == "store"
