"""Semantics of every store: a damaged session is ended and nothing else, its neighbours go on."""

import pytest

from crashworthy.machines.facts.codes import Code
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.runs import ClaimRepair, Repair
from crashworthy.store.journal import writers
from crashworthy.store.journal.claims import RepairClaim
from crashworthy.store.journal.ends import EndRun, Stop, Stopped
from crashworthy.store.journal.quarantine import QuarantineSession
from crashworthy.store.journal.recovery import (
    RepairRun,
    SettleLeft,
    left_operations,
    unfinished_runs,
)

from ..tale import Tale, whole_run
from .conftest import TakeOver
from .refusals import refusal


@pytest.fixture
def damaged(tale: Tale) -> Tale:
    """A session with a dispatched operation that is then found damaged."""
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    tale.do(writers.dispatch(tale.dispatch(call)))
    order = QuarantineSession(
        session=tale.session, cause="bytes_not_canonical", first_bad=3, invocation="inv_1"
    )
    assert [tale.do(order), tale.do(order)] == [True, False]
    return tale


def test_tool_bearing_write_is_refused_even_as_an_exact_retry(damaged: Tale) -> None:
    call = damaged.call(1, 1)

    assert refusal(damaged, writers.settle(damaged.outcome(call))) is Code.SESSION_QUARANTINED
    assert refusal(damaged, writers.dispatch(damaged.dispatch(call))) is Code.SESSION_QUARANTINED
    assert refusal(damaged, damaged.run_order()) is Code.SESSION_QUARANTINED


def test_run_can_still_be_stopped_and_ended(damaged: Tale) -> None:
    assert damaged.do(Stop(fact=damaged.stop())) is Stopped.REQUESTED
    order = EndRun(end=damaged.aborted())

    assert [damaged.do(order).created, damaged.do(order).created] == [True, False]


def test_other_sessions_go_on(damaged: Tale) -> None:
    whole_run(Tale(store=damaged.store, session="ses_2", number=10, ids=1000).begun())


def test_record_keeps_the_head_it_saw(damaged: Tale) -> None:
    held = damaged.view(lambda view: view.quarantine(damaged.session))
    head = damaged.view(lambda view: view.head("inv_1"))

    assert held is not None
    assert head is not None
    assert (held.first_bad, held.head_seq, held.head_chain) == (3, head.seq, head.chain)


def test_claim_in_a_damaged_session_is_refused(tale: Tale) -> None:
    whole_run(tale)
    order = tale.claim_order()
    tale.do(QuarantineSession(session="ses_1", cause="x", first_bad=1, invocation="inv_1"))

    assert refusal(tale, order) is Code.SESSION_QUARANTINED


def test_recovery_concludes_nothing_in_a_damaged_session_but_its_end(
    damaged: Tale, take_over: TakeOver
) -> None:
    name = damaged.operation(1, 1)
    damaged.store = take_over()

    assert damaged.view(lambda view: left_operations(view, "run_1")) == ()
    assert damaged.do(SettleLeft(operation=name)) is Settlement.KEEP_UNKNOWN
    assert damaged.do(RepairRun(run="run_1", now_ts=0)) is Repair.LOST
    assert damaged.view(unfinished_runs) == ()


def test_recovery_leaves_a_claim_of_a_damaged_session_alone(
    tale: Tale, take_over: TakeOver
) -> None:
    whole_run(tale)
    claim = tale.claimed()
    tale.do(QuarantineSession(session="ses_1", cause="x", first_bad=1, invocation="inv_1"))
    tale.store = take_over()

    assert tale.do(RepairClaim(claim=claim)) is ClaimRepair.LEAVE
