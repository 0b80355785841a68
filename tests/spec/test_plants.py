"""Every planted bug is found, under the promise it breaks, by the shortest history."""

import pytest

from crashworthy.spec.explorer import explore
from crashworthy.spec.obligation import Plant
from crashworthy.spec.plants import PLANTS

SHORTEST = {
    "no_fence": 4,
    "epoch_not_raised": 2,
    "blind_retry": 18,
    "retry_while_orphan_worker_lives": 20,
    "grant_not_consumed": 8,
    "reconcile_before_epoch_gone": 12,
    "repair_of_waiting_run": 9,
    "stopped_run_kept_waiting": 7,
    "second_terminal": 5,
    "claim_of_living_source": 2,
    "verdict_changes_sealed_source": 7,
    "steering_not_returned": 5,
}


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_planted_bug_breaks_its_promise_by_the_shortest_trace(plant: Plant) -> None:
    explored = explore(plant.build(), until=plant.invariant)
    found = [entry for entry in explored.violations if entry.id == plant.invariant]
    assert [entry.trace_length for entry in found] == [SHORTEST[plant.name]]


def test_every_plant_has_a_stated_length() -> None:
    assert {plant.name for plant in PLANTS} == set(SHORTEST)
