"""Units share a commit, and nothing else."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.store.anchor import read_anchor
from crashworthy.store.batch import Ticket
from crashworthy.store.errors import (
    CommitOutcomeUnknownError,
    ConstraintRefusedError,
    StorageFullError,
    StorageIoError,
    StoreOnProbationError,
    StorePoisonedError,
)
from crashworthy.store.ownership.errors import RootOwnedError
from crashworthy.store.txn import Health, Txn

from .rig import Rig, chain_of


def answers(tickets: list[Ticket[int]]) -> list[int | str]:
    """Return each ticket's position, or the code of its error."""
    told: list[int | str] = []
    for ticket in tickets:
        try:
            told.append(ticket.result())
        except CrashworthyError as error:
            told.append(error.code)
    return told


def commits(rig: Rig) -> list[str]:
    """Return the list that will name each commit made from now on."""
    seen: list[str] = []
    rig.door.probe = lambda name: seen.append(name) if name == "txn.committed" else None
    return seen


def test_batch_is_one_commit_whose_refused_unit_costs_nobody(rig: Rig) -> None:
    seen = commits(rig)
    tickets = [Ticket(rig.append(text)) for text in ("a", "b", "a", "c")]
    rig.batcher.commit(tickets)
    assert answers(tickets) == [1, 2, "constraint_refused", 3]
    assert rig.rows() == [(1, "a"), (2, "b"), (3, "c")]
    assert len(seen) == 1


def test_mistake_in_one_unit_reaches_its_caller_alone(rig: Rig) -> None:
    def mistaken(_txn: Txn) -> int:
        raise ZeroDivisionError

    tickets = [Ticket(rig.append("a")), Ticket(mistaken), Ticket(rig.append("b"))]
    rig.batcher.commit(tickets)
    with pytest.raises(ZeroDivisionError):
        tickets[1].result()
    assert [tickets[0].result(), tickets[2].result()] == [1, 2]


@pytest.mark.parametrize("at", ["INSERT", "COMMIT"])
def test_environment_error_answers_everybody_and_restores_memory(rig: Rig, at: str) -> None:
    """A refusal may rest on a neighbour's row, which now does not exist: it is no answer either."""
    rig.batcher.commit([Ticket(rig.append("before"))])
    tickets = [Ticket(rig.append(text)) for text in ("a", "a", "b")]
    rig.faults.plan("before", at, "SQLITE_FULL")
    rig.batcher.commit(tickets)
    assert answers(tickets) == ["storage_full"] * 3
    assert rig.heads.position == rig.heads.at_commit == 1
    assert rig.rows() == [(1, "before")]
    again = [Ticket(rig.append("a"))]
    rig.batcher.commit(again)
    assert answers(again) == [2]


def test_errors_are_objects_of_their_own_when_one_failure_answers_many(rig: Rig) -> None:
    tickets = [Ticket(rig.append("a")), Ticket(rig.append("b"))]
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")
    rig.batcher.commit(tickets)
    errors: list[StorageFullError] = []
    for ticket in tickets:
        with pytest.raises(StorageFullError) as caught:
            ticket.result()
        errors.append(caught.value)
    assert errors[0] is not errors[1]
    assert errors[0].cause == errors[1].cause == "SQLITE_FULL"


def test_dispatch_is_refused_and_outcome_is_tried_when_on_probation(rig: Rig) -> None:
    """An outcome is kept and retried with the same bytes; no new effect begins meanwhile."""
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")
    rig.batcher.commit([Ticket(rig.append("outcome"))])
    rig.faults.plan("before", "COMMIT", "SQLITE_FULL")  # the probe
    dispatch, outcome = Ticket(rig.append("t1"), needs_clean=True), Ticket(rig.append("outcome"))
    rig.batcher.commit([dispatch, outcome])
    with pytest.raises(StoreOnProbationError, match=r"probe_code='storage_full'"):
        dispatch.result()
    assert outcome.result() == 1
    assert rig.door.health == Health.PROBATION
    later = Ticket(rig.append("t1"), needs_clean=True)
    rig.batcher.commit([later])
    assert later.result() == 2
    assert str(rig.door.health) == "clean"


def test_store_is_poisoned_for_everybody_when_commit_may_have_happened(rig: Rig) -> None:
    tickets = [Ticket(rig.append("a")), Ticket(rig.append("b"))]
    rig.faults.plan("after", "COMMIT", "SQLITE_IOERR_FSYNC")
    rig.batcher.commit(tickets)
    assert answers(tickets) == ["commit_outcome_unknown"] * 2
    later = Ticket(rig.append("c"))
    rig.batcher.commit([later])
    with pytest.raises(StorePoisonedError):
        later.result()


def test_anchor_names_the_head_when_callers_are_answered(rig: Rig) -> None:
    rig.batcher.commit([Ticket(rig.append("a")), Ticket(rig.append("b"))])
    assert rig.anchor.head is not None
    assert read_anchor(rig.path.with_name("anchor")) == rig.anchor.head
    assert (rig.anchor.head.ordinal, rig.anchor.head.chain) == (2, chain_of(2))


def test_anchor_is_written_after_commit(rig: Rig) -> None:
    """Written before, a crash between the two would read as lost facts."""
    order: list[str] = []
    rig.door.probe = order.append
    rig.anchor.probe = order.append
    rig.batcher.commit([Ticket(rig.append("a"))])
    assert order == ["txn.begun", "txn.written", "txn.committed", "anchor.written"]


def test_nobody_is_told_success_when_the_anchor_cannot_be_written(rig: Rig) -> None:
    rig.anchor.close()
    ticket = Ticket(rig.append("a"))
    rig.batcher.commit([ticket])
    with pytest.raises(CommitOutcomeUnknownError):
        ticket.result()
    assert rig.door.health is Health.POISONED


def test_fence_refuses_the_whole_batch(rig: Rig) -> None:
    def fence(_txn: Txn) -> None:
        raise RootOwnedError(pid=1, epoch=2, since=None)

    rig.batcher.fence = fence
    tickets = [Ticket(rig.append("a")), Ticket(rig.append("b"))]
    rig.batcher.commit(tickets)
    assert answers(tickets) == ["root_owned"] * 2
    assert rig.rows() == []
    assert rig.door.health is Health.CLEAN


def test_memory_returns_to_the_last_commit_when_a_crash_is_simulated(rig: Rig) -> None:
    class SimulatedDeath(BaseException):
        pass

    rig.faults.plan("before", "INSERT", SimulatedDeath())
    with pytest.raises(SimulatedDeath):
        rig.batcher.commit([Ticket(rig.append("a"))])
    assert rig.heads.position == 0
    assert rig.rows() == []


UNITS = st.lists(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=6), max_size=6)
FAULTS = st.lists(
    st.sampled_from([None, "INSERT", "COMMIT", "RELEASE", "SAVEPOINT", "BEGIN"]),
    min_size=6,
    max_size=6,
)


@given(batches=UNITS, faults=FAULTS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_answers_are_the_truth_for_any_batches_and_faults(
    rig: Rig, batches: list[list[str]], faults: list[str | None]
) -> None:
    """Acknowledged is stored, not acknowledged is not, memory agrees, positions have no gaps."""
    rig.door.transact(lambda txn: txn.run("DELETE FROM rows"))
    rig.heads.position = rig.heads.at_commit = 0
    acknowledged: list[tuple[int, str]] = []
    for batch, fault in zip(batches, faults, strict=False):
        if fault is not None:
            rig.faults.plan("before", fault, "SQLITE_FULL")
        tickets = [Ticket(rig.append(text)) for text in batch]
        rig.batcher.commit(tickets)
        rig.faults.waiting.clear()
        told = answers(tickets)
        kept = [(told_one, text) for told_one, text in zip(told, batch, strict=True)]
        acknowledged += [(one, text) for one, text in kept if isinstance(one, int)]
        assert rig.rows() == acknowledged
        assert rig.heads.position == rig.heads.at_commit == len(acknowledged)
        assert len({one for one in told if one == "storage_full"}) in {0, 1}
    assert [position for position, _ in acknowledged] == list(range(1, len(acknowledged) + 1))


def test_kinds_of_refusal_are_kept_apart(rig: Rig) -> None:
    """What the environment did is never told as a refusal of the caller's unit."""
    assert not issubclass(ConstraintRefusedError, StorageIoError)
    ticket = Ticket(rig.append("a"))
    rig.faults.plan("before", "INSERT", "SQLITE_IOERR")
    rig.batcher.commit([ticket])
    assert answers([ticket]) == ["storage_io"]
