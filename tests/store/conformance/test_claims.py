"""Semantics of every store: a boundary is claimed once, and only its claimer goes on (CONT-3)."""

from collections.abc import Callable

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import (
    BoundaryAbandoned,
    ContinuationStart,
    RunOpened,
    SegmentRef,
    VerdictGiven,
)
from crashworthy.machines.facts.vocabulary import Cause, Intent, Kind, RunFailure, Verdict
from crashworthy.machines.recovery.runs import ClaimRepair, Repair
from crashworthy.store.journal import writers
from crashworthy.store.journal.claims import ClaimResult, RepairClaim
from crashworthy.store.journal.ends import EndRun
from crashworthy.store.journal.orders import Append
from crashworthy.store.journal.pending import Pending
from crashworthy.store.journal.recovery import RepairRun, startless_claims, unfinished_runs
from crashworthy.store.journal.shapes import Writer
from crashworthy.store.journal.starts import QueueMessage

from ...machines.lifecycles.story import PROFILE
from ..tale import Tale, ids_of, whole_run
from .conftest import TakeOver
from .refusals import refusal


@pytest.fixture
def broken(tale: Tale) -> Tale:
    """A session whose one run failed and could be continued."""
    tale.running().step(1)
    tale.do(EndRun(end=tale.failed(RunFailure.STEP_LIMIT)))
    return tale


def test_claim_is_acquired_once_and_found_afterwards(broken: Tale) -> None:
    order = broken.claim_order()

    results = [broken.do(order).result for _ in range(3)]

    assert results == [ClaimResult.ACQUIRED, ClaimResult.EXISTING, ClaimResult.EXISTING]


def test_same_boundary_for_another_target_is_a_conflict(broken: Tale) -> None:
    broken.claimed()

    answer = broken.do(broken.claim_order(number=9))

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.CLAIM_EXISTING)


def test_claimed_source_cannot_be_claimed_under_a_newer_control_head(broken: Tale) -> None:
    broken.claimed()
    broken.do(QueueMessage(fact=broken.queued("msg_1")))

    answer = broken.do(broken.claim_order(number=9))

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.CLAIM_CONFLICT)


def test_claim_of_a_run_that_is_open_is_a_conflict(broken: Tale) -> None:
    order = broken.claim_order()
    broken.running()

    answer = broken.do(order)

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.TARGET_NOT_EMPTY)
    answer = broken.do(attrs.evolve(broken.claim_order("run_1", number=9)))
    assert answer.code is Code.SUPERSEDED_BY_LATER_TURN
    assert broken.do(broken.claim_order("run_2", number=9)).code is Code.SOURCE_NOT_ENDED


def test_run_whose_claim_was_refused_can_still_end(tale: Tale) -> None:
    tale.running().step(1)

    assert tale.do(tale.claim_order()).code is Code.SOURCE_NOT_ENDED
    assert tale.ended().created


def test_target_of_one_claim_is_no_target_of_another_boundary(broken: Tale) -> None:
    broken.claimed()
    broken.number += 1
    whole_run(broken)

    answer = broken.do(broken.claim_order(number=2))

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.CLAIM_CONFLICT)


def test_run_before_a_later_one_is_superseded(broken: Tale) -> None:
    whole_run(broken)

    answer = broken.do(broken.claim_order("run_1"))

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.SUPERSEDED_BY_LATER_TURN)


MOVED: dict[str, Callable[[SegmentRef], SegmentRef]] = {
    "last_seq": lambda source: attrs.evolve(source, last_seq=source.last_seq - 1),
    "last_id": lambda source: attrs.evolve(source, last_id="fact_other"),
    "chain": lambda source: attrs.evolve(source, chain="0" * 64),
    "invocation": lambda source: attrs.evolve(source, invocation="inv_other"),
    "turn": lambda source: attrs.evolve(source, turn="turn_other"),
}


@pytest.mark.parametrize("field", MOVED)
def test_source_that_is_not_what_was_verified_is_a_conflict(broken: Tale, field: str) -> None:
    order = broken.claim_order()
    moved = MOVED[field](order.manifest.source)
    manifest = attrs.evolve(order.manifest, segments=(moved,))

    answer = broken.do(attrs.evolve(order, manifest=manifest))

    assert (answer.result, answer.code) == (ClaimResult.CONFLICT, Code.SOURCE_CHANGED)


def test_control_fact_after_the_plan_makes_the_claim_a_conflict(broken: Tale) -> None:
    order = broken.claim_order()
    broken.do(QueueMessage(fact=broken.queued("msg_1")))

    assert broken.do(order).code is Code.SOURCE_CHANGED


def test_named_evidence_must_be_stored_in_the_control_ledger(broken: Tale) -> None:
    order = broken.claim_order()

    assert broken.do(attrs.evolve(order, evidence=("fact_none",))).code is Code.SOURCE_CHANGED


def test_abandoned_boundary_is_refused_with_its_own_code(broken: Tale) -> None:
    action = BoundaryAbandoned(run="run_1", boundary="0" * 64)
    fact = compose.control(broken.control, broken.fresh("fact"), Kind.BOUNDARY_ABANDONED, action)
    broken.do(writers.abandon_boundary(fact))

    assert broken.do(broken.claim_order()).code is Code.BOUNDARY_ABANDONED


def test_later_run_of_an_abandoned_one_may_be_continued(broken: Tale) -> None:
    action = BoundaryAbandoned(run="run_1", boundary="0" * 64)
    at, name = broken.control, broken.fresh("fact")
    fact = compose.control(at, name, Kind.BOUNDARY_ABANDONED, action)
    broken.do(writers.abandon_boundary(fact))
    whole_run(broken)

    assert broken.do(broken.claim_order("run_2")).result is ClaimResult.ACQUIRED


def test_nothing_is_said_about_a_run_that_a_claim_rests_on(tale: Tale, take_over: TakeOver) -> None:
    """LOG-8: a verdict would change the history that the continuation was admitted with."""
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    tale.do(writers.dispatch(tale.dispatch(call)))
    tale.do(EndRun(end=tale.failed(RunFailure.OUTCOME_UNKNOWN)))
    given = VerdictGiven(run="run_1", generation=1, verdict=Verdict.HAPPENED)
    operation = tale.operation(1, 1)
    verdict = compose.verdict_given(tale.control, tale.fresh("fact"), operation, given)
    assert refusal(tale, writers.give_verdict(verdict)) is Code.EPOCH_NOT_GONE
    tale.store = take_over()
    tale.claimed()

    assert refusal(tale, writers.give_verdict(verdict)) is Code.SEALED_BY_CLAIM
    action = BoundaryAbandoned(run="run_1", boundary="0" * 64)
    at, name = tale.control, tale.fresh("fact")
    fact = compose.control(at, name, Kind.BOUNDARY_ABANDONED, action)
    assert refusal(tale, writers.abandon_boundary(fact)) is Code.SEALED_BY_CLAIM


def test_reserved_target_opens_only_by_its_start(broken: Tale) -> None:
    claim = broken.claimed()
    order = broken.run_order()

    assert refusal(broken, order) is Code.TARGET_RESERVED
    start = broken.start_order(claim)
    assert [broken.do(start).created, broken.do(start).created] == [True, False]


def test_claim_has_one_start(broken: Tale) -> None:
    claim = broken.claimed()
    broken.do(broken.start_order(claim))

    assert refusal(broken, broken.start_order(claim)) is Code.CLAIM_STARTED


CHANGES: dict[str, Callable[[ContinuationStart], ContinuationStart]] = {
    "replay": lambda start: attrs.evolve(start, replay="1" * 64),
    "projection": lambda start: attrs.evolve(start, projection=2),
    "boundary": lambda start: attrs.evolve(start, boundary="1" * 64),
    "source": lambda start: attrs.evolve(start, source=attrs.evolve(start.source, chain="1" * 64)),
}


@pytest.mark.parametrize("field", CHANGES)
def test_start_that_differs_from_its_claim_is_refused(broken: Tale, field: str) -> None:
    claim = broken.claimed()
    record = broken.view(lambda view: view.claim(claim))
    assert record is not None
    manifest = broken.manifest("run_1")
    same = ContinuationStart(
        claim=claim,
        boundary=record.boundary,
        source=manifest.source,
        projection=record.projection,
        replay=record.replay,
    )

    def told(start: ContinuationStart) -> Append:
        action = RunOpened(
            protocol=1,
            cause=Cause.RUNTIME_ADMISSION,
            profile=PROFILE,
            context=manifest.context,
            continuation=start,
        )
        fact = compose.run_opened(compose.At(spine=record.target, ts=1), "fact_start", action)
        return Append(writer=Writer.START_CONTINUATION, facts=(fact,))

    assert refusal(broken, told(CHANGES[field](same))) is Code.SOURCE_CHANGED
    assert broken.do(told(same)).created


def test_start_after_another_run_closed_is_refused_by_its_session_digest(broken: Tale) -> None:
    claim = broken.claimed()
    broken.number += 1
    whole_run(broken)

    assert refusal(broken, broken.start_order(claim)) is Code.CONTEXT_DIFFERS


def test_continued_run_goes_on_and_becomes_a_source(broken: Tale) -> None:
    broken.do(broken.start_order(broken.claimed()))
    broken.number += 1
    broken.step(1).ended()

    answer = broken.do(broken.claim_order("run_1", "run_2"))

    assert answer.result is ClaimResult.ACQUIRED


def test_claimer_that_lives_is_left_alone(broken: Tale) -> None:
    claim = broken.claimed()

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.LEAVE
    assert broken.view(startless_claims) == (claim,)


def test_claim_without_start_is_closed_once_its_epoch_is_gone(
    broken: Tale, take_over: TakeOver
) -> None:
    claim = broken.claimed()
    broken.store = take_over()
    assert refusal(broken, broken.start_order(claim)) is Code.RUN_NOT_ATTACHED

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.CLOSE
    before = ids_of(broken.store)

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.NOTHING
    assert ids_of(broken.store) == before
    assert broken.view(startless_claims) == ()
    assert broken.view(unfinished_runs) == ()
    broken.number += 1
    assert broken.do(broken.claim_order("run_1", "run_2")).result is ClaimResult.ACQUIRED


def test_claim_repair_does_not_wait_for_another_open_run(broken: Tale, take_over: TakeOver) -> None:
    """A later turn may run already; the dead claim is closed beside it and takes no room."""
    claim = broken.claimed()
    broken.number += 1
    broken.running()
    broken.store = take_over()

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.CLOSE
    assert broken.view(unfinished_runs) == ("run_3",)


def test_claim_repair_leaves_queued_steering_to_the_run_it_is_for(
    broken: Tale, take_over: TakeOver
) -> None:
    claim = broken.claimed()
    broken.number += 1
    broken.running()
    broken.do(QueueMessage(fact=broken.queued("msg_1", Intent.STEER)))
    broken.store = take_over()

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.CLOSE
    assert broken.view(lambda view: view.pending(Pending.MESSAGE_STEER)) == ("msg_1",)
    assert broken.do(RepairRun(run="run_3", now_ts=0)) is Repair.ABANDON
    assert broken.view(lambda view: view.pending(Pending.MESSAGE_STEER)) == ()


def test_started_continuation_of_a_gone_owner_belongs_to_run_repair(
    broken: Tale, take_over: TakeOver
) -> None:
    claim = broken.claimed()
    broken.do(broken.start_order(claim))
    broken.store = take_over()

    assert broken.do(RepairClaim(claim=claim)) is ClaimRepair.NOTHING
    assert broken.do(RepairRun(run="run_2", now_ts=0)) is Repair.ABANDON_CONTINUATION
    assert broken.do(RepairRun(run="run_2", now_ts=0)) is Repair.NOTHING
