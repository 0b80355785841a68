"""The composed models hold over their whole scopes, and their sizes are what we think."""

from functools import cache

import pytest

from crashworthy.spec.explorer import Explored, explore
from crashworthy.spec.invariant import Kind
from crashworthy.spec.machine_space import table_of
from crashworthy.spec.models.proofs import MODELS
from crashworthy.spec.obligation import ModelProof, Profile
from crashworthy.spec.registry import MACHINES

SMALL = tuple(proof for proof in MODELS if proof.kills_mutants)
CI = tuple(proof for proof in MODELS if proof.profile is Profile.CI and proof not in SMALL)
LARGE_CI_STATES = 200_000
LARGE_DEEP_STATES = 1_000_000

# Rows that only machines by themselves take: nobody in the composed worlds writes notes, changes
# settings, fails to open, or speaks of imported sessions.
ALONE = frozenset(
    (
        "HST.T6", "HST.T8", "HST.T9", "HST.T10", "HST.T11", "HST.T12",
        "RUN.T29", "RUN.T30", "RUN.T31", "RUN.T32", "RUN.T40",
        "SES.T1", "SES.T2", "SES.T3", "SES.T4", "SES.T5", "SES.T6", "SES.T8", "SES.T10",
        "SES.T13", "SES.T14",
    )
)  # fmt: skip


@cache
def explored(proof: ModelProof) -> Explored:
    return explore(proof.build())


@pytest.mark.parametrize("proof", SMALL, ids=lambda proof: proof.name)
def test_model_holds_and_has_its_size_at_its_smallest_scope(proof: ModelProof) -> None:
    assert explored(proof).violations == ()
    assert explored(proof).states == proof.states


@pytest.mark.slow
@pytest.mark.parametrize("proof", CI, ids=lambda proof: proof.name)
def test_model_holds_and_has_its_size_at_its_ci_scope(proof: ModelProof) -> None:
    assert explored(proof).violations == ()
    assert explored(proof).states == proof.states


def test_scopes_are_as_large_as_promised() -> None:
    ci = [proof.states for proof in MODELS if proof.profile is Profile.CI]
    deep = [proof.states for proof in MODELS if proof.profile is Profile.DEEP]
    assert max(ci) >= LARGE_CI_STATES
    assert max(deep) >= LARGE_DEEP_STATES


@pytest.mark.slow
def test_rows_that_no_composed_model_takes_are_the_listed_ones() -> None:
    """A row that only its machine takes alone is proven less; the list must not grow unseen."""
    taken: set[str] = set()
    for proof in MODELS:
        if proof.profile is Profile.CI:
            taken |= explored(proof).rows_taken
    rows = {line.id for machine in MACHINES for line in table_of(machine.module).rows}
    assert rows - taken == ALONE


@pytest.mark.parametrize("proof", MODELS, ids=lambda proof: proof.name)
def test_model_promises_safety_of_states_and_steps_and_an_end(proof: ModelProof) -> None:
    kinds = {invariant.kind for invariant in proof.build().invariants}
    assert {Kind.ALWAYS, Kind.STEP, Kind.ATTAINABLE} <= kinds
