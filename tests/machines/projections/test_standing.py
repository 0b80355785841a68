"""Views read the states of the production tables: there is no second lifecycle (MACH-2)."""

import attrs
import pytest
from hypothesis import given

from crashworthy.machines.lifecycles import interaction, operation, run
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.projections.reading import read
from crashworthy.machines.projections.standing import operation_state, run_state

from .ledgers import Recorded, recorded


def without_epoch(state: object) -> object:
    """Facts carry no epoch in their bodies, and no view reads one."""
    if isinstance(state, run.Active | run.Stopping | operation.Dispatched):
        return attrs.evolve(state, epoch=0)
    return state


@pytest.mark.proves("MACH-2")
@given(recorded())
def test_state_that_views_read_is_the_one_that_writers_folded(book: Recorded) -> None:
    for end, cells in book.states:
        reading = read(book.facts[:end])
        for (machine, name), cell in cells.items():
            if machine is Machine.RUN:
                assert run_state(reading.runs[name]) == without_epoch(cell.state)
            elif machine is Machine.OPERATION:
                assert operation_state(reading.operations[name]) == without_epoch(cell.state)
            elif machine is Machine.INTERACTION:
                ask = reading.asks[name]
                assert ask.open == isinstance(cell.state, interaction.Open)
                decided = isinstance(cell.state, interaction.Granted | interaction.Denied)
                assert ask.granting == decided
