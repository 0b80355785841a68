"""Every plausible slip in a table is noticed by a promise, or is shown to be none."""

import attrs
import pytest

from crashworthy.spec.explorer import Action, Model
from crashworthy.spec.invariant import always
from crashworthy.spec.machine_space import table_of
from crashworthy.spec.mutants import MutantsResult, mutants_of, prove_mutants
from crashworthy.spec.obligation import Equivalent, ModelProof

from . import toy_machine
from .places import TOY_MACHINE
from .toy_machine import Absent, JobState, Open, Working
from .toy_proof import JOB


def ids(row: str) -> set[str]:
    return {
        m.id.removeprefix(f"{row} ")
        for m in mutants_of(table_of(TOY_MACHINE))
        if m.original.id == row
    }


@pytest.fixture(scope="module")
def result() -> MutantsResult:
    return prove_mutants((JOB,))


def test_mutants_of_a_row_are_all_that_its_types_allow() -> None:
    assert ids("JOB.T4") == {
        "dropped",
        "guard: always",
        "guard: finishes_well",
        "to: Absent",
        "to: Closing",
        "to: Ended",
        "adds: no tasks",
        "adds: tasks by 1",
        "sets: no troubled",
        "sets: troubled to False",
    }
    assert {"guard: all_good", "guard: drained"} & ids("JOB.T4") == set()
    assert {"takes: no result", "to: Closing"} & ids("JOB.T7") == {"to: Closing"}


def test_toy_promises_notice_every_mutant(result: MutantsResult) -> None:
    assert result.survivors == ()
    assert result.killed + len(result.equivalents) == result.total
    assert set(result.by) == {"shape", "determinism", "invariant", "reachability", "contract"}


def test_mutants_live_and_are_explained_without_contracts() -> None:
    """The invariants of the toy say nothing about who may open, so that slip must show."""
    result = prove_mutants((attrs.evolve(JOB, contracts=()),))
    lives = {survivor.id: survivor.difference for survivor in result.survivors}
    assert lives["JOB.T1 guard: always"].startswith("Absent() on Open(by=By.OTHER): refused")
    assert result.killed + len(result.survivors) == result.total


def test_composed_model_is_asked_last() -> None:
    def actions(state: JobState) -> tuple[Action[JobState], ...]:
        outcome = toy_machine.TABLE.step(state, Open(by=toy_machine.By.OTHER))
        return (
            (("a stranger opens", *outcome[:1], (outcome[1],)),)
            if isinstance(outcome, tuple)
            else ()
        )

    def build() -> Model[JobState]:
        closed = always(
            "M.I1", "Strangers stay out.", "Theft.", lambda s: not isinstance(s, Working)
        )
        return Model(name="m", initial=lambda: (Absent(),), actions=actions, invariants=(closed,))

    proof = ModelProof(name="m", build=build, states=1, machines=("job",), kills_mutants=True)
    bare = attrs.evolve(JOB, contracts=())
    without, with_it = prove_mutants((bare,)), prove_mutants((bare,), models=(proof,))
    assert "JOB.T1 guard: always" in {s.id for s in without.survivors}
    assert with_it.by["model"] == 1
    assert "JOB.T1 guard: always" not in {s.id for s in with_it.survivors}


def test_listed_mutant_must_live_and_have_the_same_graph() -> None:
    """A list of excuses is only good when each of them is checked."""
    bare = attrs.evolve(JOB, contracts=())
    excuses = (
        Equivalent(id="JOB.T1 guard: always", reason="it is not"),
        Equivalent(id="JOB.T1 dropped", reason="it is not"),
    )
    result = prove_mutants((bare,), equivalents=excuses)
    assert result.equivalents == ()
    assert result.faults == (
        "JOB.T1 guard: always is listed as equivalent, but differs",
        "JOB.T1 dropped is listed as equivalent, but does not live",
    )
