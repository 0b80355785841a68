"""The store under the lab: its writers die everywhere and keep their promises; faults are found."""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from crashworthy.crashlab.boundary import Kind, Moment, Passage, Point
from crashworthy.crashlab.kill import Death
from crashworthy.crashlab.matrix import Plan, Profile, die_once, rehearse, run_matrix
from crashworthy.crashlab.rehearse import Rehearsal
from crashworthy.crashlab.turnstile import Turnstile
from crashworthy.crashlab.workload import load_workload, open_stage
from crashworthy.crashlab.workloads.store import StoreWorkload
from crashworthy.store import journal
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.shapes import SHAPES
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.txn import Txn

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

NOT_WRITTEN = {"imports"}
"""The tables that no script fills: nothing writes this one yet (STORE-12)."""

T = TypeVar("T")


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


def orders() -> set[str]:
    """Return the name of every kind of order that a store carries out, wherever it is declared."""
    for module in pkgutil.iter_modules(journal.__path__, f"{journal.__name__}."):
        importlib.import_module(module.name)
    found: list[type] = [Order]
    for kind in found:  # It grows on the way.
        found += kind.__subclasses__()
    return {
        kind.__name__
        for kind in found
        if kind.__module__.startswith(journal.__name__) and not inspect.isabstract(kind)
    }


def test_every_order_is_carried_out_by_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Orders that are no `Writer` of facts have boundaries of their own, too."""
    carried_out: set[str] = set()
    unit_of = SqliteStore.unit_of

    def noted(store: SqliteStore, order: Order[T]) -> Callable[[Txn], T]:
        carried_out.add(type(order).__name__)
        return unit_of(store, order)

    monkeypatch.setattr(SqliteStore, "unit_of", noted)
    note = str(tmp_path / "note")
    stage = open_stage(home=tmp_path, seed=1, turnstile=Turnstile(target=None, note_path=note))

    StoreWorkload().script(stage)

    assert {"Append", "QuarantineSession", "SettleLeft", "RepairClaim"} <= orders()
    assert orders() - carried_out == set()


def test_every_table_is_written_by_a_script(rehearsal: Rehearsal) -> None:
    """A writer of authority rows is no order; its table tells of it all the same."""
    loss = rehearse(plan("accepted_loss"))
    assert loss.violations == ()
    names = [p.boundary.name for told in (rehearsal, loss) for p in told.passages]
    tables = {made[1] for name in names if (made := re.match(r"CREATE TABLE (\w+)", name))}
    inserts = (re.match(r"INSERT (?:OR \w+ )?INTO (\w+)", name) for name in names)
    written = {insert[1] for insert in inserts if insert}

    assert {"quarantine", "workers", "accepted_losses"} <= tables
    assert tables - written == NOT_WRITTEN


@pytest.mark.slow
@pytest.mark.proves("STORE-9a")
def test_deaths_spread_over_an_accepted_loss_break_no_promise() -> None:
    report = run_matrix(plan("accepted_loss", (7, 80)))
    assert (report.unreached, report.violations) == ((), ())
    assert report.deaths >= 15


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


def test_workload_is_found_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tools are: the installed command has no directory of its user's on its path."""
    (tmp_path / "workload_of_mine.py").write_text(
        "from crashworthy.crashlab.workload import load_workload\n"
        "def make():\n    return load_workload('store')\n",
        "utf-8",
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "workload_of_mine", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_workload("workload_of_mine:make").name == "store"
