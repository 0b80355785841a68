"""The explorer visits exactly what is reachable and shows the shortest way to what is wrong."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.spec.explorer import Explored, Violation, explore

from .toy_models import ALONE, COUNTED, CROWDED, ENDS, Bugs, doors, grid


def violation(explored: Explored, invariant: str) -> Violation:
    return next(entry for entry in explored.violations if entry.id == invariant)


@given(st.integers(2, 12))
def test_counts_of_a_grid_are_exact(side: int) -> None:
    explored = explore(grid(side))
    assert (explored.states, explored.edges) == (side**2, 2 * side * (side - 1))
    assert (explored.depth, explored.violations) == (2 * (side - 1), ())


def test_right_model_keeps_every_promise() -> None:
    explored = explore(doors(2))
    assert explored.violations == ()
    assert (explored.states, explored.edges, explored.depth) == (11, 12, 6)
    assert explored.rows_taken == {"DOOR.T1", "DOOR.T2", "DOOR.T3", "DOOR.T4"}
    assert explored.complete


def test_symmetry_halves_the_states_and_keeps_the_verdict() -> None:
    """Eleven states: the three with nobody inside and no key are their own mirror images."""
    explored = explore(doors(2, symmetric=True))
    assert (explored.states, explored.violations) == (7, ())
    careless = explore(doors(2, Bugs(enters_without_key=True), symmetric=True))
    assert violation(careless, ALONE.id).trace_length == 2


def test_state_invariant_breaks_with_the_shortest_trace() -> None:
    found = violation(explore(doors(2, Bugs(enters_without_key=True))), ALONE.id)
    assert [step.label for step in found.trace] == ["start", "owner 0 enters", "owner 1 enters"]
    assert found.trace_length == 2
    assert found.trace[-1].state == "Doors(inside=(True, True), holder=None, spent=2)"
    assert "DOOR.I1 is broken: At most one owner is inside." in found.lines()
    assert "    1  owner 0 enters [DOOR.T2]" in found.lines()


def test_step_invariant_breaks_at_the_step() -> None:
    found = violation(
        explore(doors(1, Bugs(entries_count_down=True)), until=COUNTED.id), COUNTED.id
    )
    assert [step.label for step in found.trace] == [
        "start",
        "owner 0 takes the key",
        "owner 0 enters",
    ]


def test_lost_goal_is_found_with_the_state_that_lost_it() -> None:
    """AG EF: no trace ends wrongly here; the future is missing."""
    found = violation(explore(doors(2, Bugs(keeps_key_forever=True))), ENDS.id)
    assert [step.label for step in found.trace] == ["start"]
    assert found.detail == "unattainable from the last state below"


def test_never_reached_goal_is_reported_without_a_trace() -> None:
    empty = attrs.evolve(doors(1), invariants=(CROWDED.over(lambda _state: False),))
    assert [(v.id, v.trace) for v in explore(empty).violations] == [(CROWDED.id, ())]


def test_deadlock_is_found_where_nobody_may_rest() -> None:
    found = violation(explore(doors(1, Bugs(keeps_key_forever=True))), "deadlock")
    assert found.trace[-1].state == "Doors(inside=(False,), holder=0, spent=2)"


@pytest.mark.parametrize("bound", [1, 5, 10])
def test_bound_is_a_violation_and_not_a_success(bound: int) -> None:
    explored = explore(doors(2), states_max=bound)
    assert not explored.complete
    assert [entry.id for entry in explored.violations] == ["bound"]


def test_search_stops_at_the_violation_that_is_looked_for() -> None:
    explored = explore(doors(2, Bugs(enters_without_key=True)), until=ALONE.id)
    assert [entry.id for entry in explored.violations] == [ALONE.id]
    assert not explored.complete


def test_first_violation_ends_the_search_on_demand() -> None:
    explored = explore(doors(1, Bugs(entries_count_down=True)), first_only=True)
    assert [entry.id for entry in explored.violations] == [COUNTED.id]


def test_progress_is_told_in_large_spaces() -> None:
    told: list[int] = []
    assert explore(grid(150), progress=told.append).states == 22_500
    assert len(told) == 1
