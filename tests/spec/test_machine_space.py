"""The walk of a machine meets every state and event, and blames a table for what it gets wrong."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import attrs
import pytest

from crashworthy.machines.lifecycles.table import Row, always
from crashworthy.spec.machine_space import in_place, open_space, prove_machine, table_of
from crashworthy.spec.quotient import Ranges, SpaceUnboundedError

from . import toy_machine
from .places import TOY_MACHINE
from .toy_machine import Add, By, Closing, Finish, Working
from .toy_proof import DRAINS, ENDS, JOB, ONE_WAY


@contextmanager
def changed(row_id: str, change: Callable[[Row], Row] | None = None) -> Generator[None]:
    """Put the toy table in place with one row changed, or dropped when no change is given."""
    table = table_of(TOY_MACHINE)
    rows: list[Row] = []
    for line in table.rows:
        if line.id != row_id:
            rows.append(line)
        elif change is not None:
            rows.append(change(line))
    with in_place(TOY_MACHINE, table.with_rows(tuple(rows))):
        yield


def unguarded(line: Row) -> Row:
    return attrs.evolve(line, guard=always)


def reopening(line: Row) -> Row:
    return attrs.evolve(line, target=Working, sets=(("troubled", True),))


def doubling(line: Row) -> Row:
    return attrs.evolve(line, adds=(("tasks", 2),))


def broken() -> set[str]:
    return {violation.id for violation in prove_machine(JOB).violations}


def test_machine_is_walked_in_full() -> None:
    result = prove_machine(JOB)
    assert result.violations == ()
    assert (result.states, result.rows, result.rows_taken) == (12, 8, 8)


def test_size_is_asserted() -> None:
    (problem,) = prove_machine(attrs.evolve(JOB, states=13)).violations
    assert (problem.id, problem.detail) == ("size", "12 were counted")


def test_counters_bound_the_walk() -> None:
    """With up to four tasks there are two more counts for each of three kinds of states."""
    wider = attrs.evolve(JOB, ints={"tasks": range(5)}, states=18)
    assert prove_machine(wider).violations == ()
    only_working = attrs.evolve(JOB, ints={"Working.tasks": range(5)}, states=16)
    assert prove_machine(only_working).violations == ()


def test_two_rows_for_one_event_are_found_with_a_trace() -> None:
    with changed("JOB.T3", unguarded):
        found = {violation.id: violation for violation in prove_machine(JOB).violations}
    assert found["determinism"].detail.endswith("JOB.T3, JOB.T4")
    assert [step.label for step in found["determinism"].trace] == [
        "start",
        "Open(by=By.OWNER)",
        "Add(by=By.OWNER)",
    ]


def test_counter_below_its_range_is_found() -> None:
    with changed("JOB.T6", unguarded):
        assert "range" in broken()


def test_untaken_row_and_unreached_state_are_found() -> None:
    with changed("JOB.T5"):
        assert {"rows", "reached", DRAINS.id} <= broken()


def test_step_invariant_and_lost_goal_are_found() -> None:
    with changed("JOB.T6", reopening):
        assert ONE_WAY.id in broken()
    with changed("JOB.T8"):
        assert ENDS.id in broken()


def test_contract_is_evaluated_in_every_reachable_state() -> None:
    with changed("JOB.T2", doubling):
        assert "toy_contracts.tasks_are_counted" in broken()


def test_transient_state_must_be_left() -> None:
    table = table_of(TOY_MACHINE)
    stuck = attrs.evolve(JOB, invariants=(), contracts=())
    lasting = type(table)(
        machine=table.machine,
        prefix=table.prefix,
        start=table.start,
        states=table.states,
        events=table.events,
        rows=tuple(line for line in table.rows if line.id != "JOB.T8"),
        denials=table.denials,
        default=table.default,
        transient=frozenset((Closing,)),
    )
    with in_place(TOY_MACHINE, lasting):
        assert {v.id for v in prove_machine(stuck).violations} == {"size", "transient"}


def test_table_is_put_in_place_with_its_bound_methods_and_taken_back() -> None:
    before = toy_machine.TABLE
    with changed("JOB.T2"):
        assert toy_machine.TABLE is not before
        outcome = toy_machine.decide(Working(tasks=0, troubled=False), Add(by=By.OWNER))
        assert not isinstance(outcome, Row)
    assert toy_machine.TABLE is before
    assert toy_machine.decide == before.decide


def test_fingerprint_tells_tables_apart_and_ignores_what_is_out_of_reach() -> None:
    original = open_space(JOB).fingerprint()
    assert open_space(JOB).fingerprint() == original
    with changed("JOB.T6"):
        assert open_space(JOB).fingerprint() != original


def test_every_value_of_a_small_type_is_listed() -> None:
    ranges = Ranges(ints={"tasks": range(2)}, default=range(3))
    assert len(ranges.instances(Working)) == 4
    assert len(ranges.instances(Finish)) == 4


def test_unbounded_field_is_refused() -> None:
    @attrs.frozen(kw_only=True)
    class Named:
        name: str

    with pytest.raises(SpaceUnboundedError, match="owner='Named', field='name'"):
        Ranges(ints={}, default=range(3)).instances(Named)
