"""Semantics of every store: what a successor writes about what a gone owner left, once (OWN-4)."""

from collections.abc import Sequence

import attrs
import pytest

from crashworthy.machines.facts.model import Dispatched, FileEvidence, FileIdentity, RuntimeEvent
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    FileKind,
    Kind,
    Observation,
    RecoveryMode,
)
from crashworthy.machines.lifecycles import operation
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.runs import Repair
from crashworthy.store.journal import writers
from crashworthy.store.journal.pending import Pending
from crashworthy.store.journal.recovery import (
    RepairRun,
    Seen,
    SettleLeft,
    left_operations,
    unfinished_runs,
)

from ..tale import Tale, ids_of
from .conftest import TakeOver

DIGEST = "a" * 64
EVIDENCE = FileEvidence(
    workspace="ws_1",
    target="notes.txt",
    before=FileIdentity(kind=FileKind.ABSENT),
    after=FileIdentity(kind=FileKind.FILE, digest=DIGEST, bytes=3, mode=0o644),
    transform=1,
    result={"written": 3},
    limit_bytes=1000,
)


def dispatched(tale: Tale, mode: RecoveryMode) -> str:
    """Run up to a T1 without T2, and return its operation."""
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    fact = tale.dispatch(call, mode, key="k" if mode is RecoveryMode.IDEMPOTENT else None)
    if mode is RecoveryMode.RECONCILE:
        fact = with_evidence(fact)
    tale.do(writers.dispatch(fact))
    return tale.operation(1, 1)


def with_evidence(fact: RuntimeEvent) -> RuntimeEvent:
    action = fact.actions
    assert isinstance(action, Dispatched)
    return attrs.evolve(fact, actions=attrs.evolve(action, evidence=EVIDENCE))


def kinds_after(tale: Tale, ordinal: int) -> Sequence[Kind]:
    return [s.place.kind for s in tale.view(lambda view: view.log(after=ordinal))]


WRITTEN = {
    Settlement.INTERRUPT: [Kind.OUTCOME, Kind.RECOVERY_DECISION],
    Settlement.PARK_BY_KEY: [Kind.RECOVERY_DECISION],
    Settlement.FINALISE: [Kind.RECONCILE_RESULT, Kind.OUTCOME, Kind.RECOVERY_DECISION],
    Settlement.PARK_PRIOR: [Kind.RECONCILE_RESULT, Kind.RECOVERY_DECISION],
    Settlement.PARK_DIVERGED: [Kind.RECONCILE_RESULT, Kind.RECOVERY_DECISION],
    Settlement.PARK_UNREADABLE: [Kind.RECONCILE_RESULT, Kind.RECOVERY_DECISION],
}


@pytest.mark.parametrize(
    ("mode", "observation", "expected"),
    [
        (RecoveryMode.REPLAY_SAFE, None, Settlement.INTERRUPT),
        (RecoveryMode.IDEMPOTENT, None, Settlement.PARK_BY_KEY),
        (RecoveryMode.RECONCILE, Observation.MATCHES_EXPECTED_STATE, Settlement.FINALISE),
        (RecoveryMode.RECONCILE, Observation.MATCHES_PRIOR_STATE, Settlement.PARK_PRIOR),
        (RecoveryMode.RECONCILE, Observation.DIVERGED, Settlement.PARK_DIVERGED),
        (RecoveryMode.RECONCILE, Observation.UNREADABLE, Settlement.PARK_UNREADABLE),
    ],
)
def test_left_operation_is_settled_by_its_contract_and_only_once(
    tale: Tale,
    take_over: TakeOver,
    mode: RecoveryMode,
    observation: Observation | None,
    expected: Settlement,
) -> None:
    name = dispatched(tale, mode)
    tale.store = take_over()
    [left] = tale.view(lambda view: left_operations(view, "run_1"))
    seen = None if observation is None else Seen(observation=observation, observed=DIGEST)
    assert left.settlement is (Settlement.OBSERVE if seen else expected)
    assert left.evidence == (EVIDENCE if seen else None)
    head = tale.view(lambda view: view.last().ordinal)

    first, second = (tale.do(SettleLeft(operation=name, seen=seen)) for _ in range(2))

    assert (first, second) == (expected, Settlement.NOTHING)
    assert kinds_after(tale, head) == WRITTEN[expected]


@pytest.mark.parametrize("mode", [RecoveryMode.NEVER_AUTO_RETRY, RecoveryMode.OUTCOME_UNKNOWN])
def test_operation_nobody_can_know_about_stays_unknown(
    tale: Tale, take_over: TakeOver, mode: RecoveryMode
) -> None:
    name = dispatched(tale, mode)
    tale.store = take_over()
    before = ids_of(tale.store)

    assert tale.do(SettleLeft(operation=name)) is Settlement.KEEP_UNKNOWN
    assert ids_of(tale.store) == before
    assert tale.do(RepairRun(run="run_1", now_ts=0)) is Repair.LOST
    state = tale.view(lambda view: view.cell(Machine.OPERATION, name))
    assert state is not None
    assert isinstance(state.state, operation.Dispatched)
    assert tale.view(lambda view: view.pending(Pending.OPERATION_DISPATCHED, "run_1")) == (name,)


def test_present_owner_settles_nothing_of_its_own_by_recovery(tale: Tale) -> None:
    name = dispatched(tale, RecoveryMode.REPLAY_SAFE)

    assert tale.do(SettleLeft(operation=name)) is Settlement.WORKER_ALIVE
    assert tale.do(RepairRun(run="run_1", now_ts=0)) is Repair.ALIVE


def test_each_leftover_run_is_closed_with_its_own_reason(tale: Tale, take_over: TakeOver) -> None:
    """CONT-7, one session each: never requested, request open, between requests, stopping."""
    tales = [tale] + [
        Tale(store=tale.store, session=f"ses_{n}", number=10 * n, ids=1000 * n).begun()
        for n in (2, 3, 4)
    ]
    for one in tales:
        one.running()
    tales[1].do(writers.dispatch_request(tales[1].request(1)))
    tales[2].step(1)
    tales[3].stopped()
    store = take_over()
    runs = store.read(unfinished_runs)

    repairs = [store.write(RepairRun(run=run, now_ts=0)) for run in runs]
    before = ids_of(store)
    again = [store.write(RepairRun(run=run, now_ts=0)) for run in runs]

    assert repairs == [Repair.ABANDON, Repair.LOST_AFTER_DISPATCH, Repair.LOST, Repair.ABORT]
    assert again == [Repair.NOTHING] * 4
    assert ids_of(store) == before
    assert store.read(unfinished_runs) == ()


def test_waiting_run_stays_through_owners_until_its_deadline(
    tale: Tale, take_over: TakeOver
) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    ask, opened = tale.ask(call, deadline=9_000)
    tale.do(writers.ask(opened))
    tale.store = take_over()
    before = ids_of(tale.store)
    assert tale.do(RepairRun(run="run_1", now_ts=8_999)) is Repair.KEEP_WAITING
    assert ids_of(tale.store) == before

    assert tale.do(RepairRun(run="run_1", now_ts=9_000)) is Repair.EXPIRE
    assert tale.do(RepairRun(run="run_1", now_ts=9_000)) is Repair.KEEP_WAITING
    assert tale.view(lambda view: view.pending(Pending.ASK_DECIDED, "run_1")) == (ask,)


def test_answer_is_recorded_under_any_owner_and_used_after_reattachment(
    tale: Tale, take_over: TakeOver
) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    ask, opened = tale.ask(call)
    tale.do(writers.ask(opened))
    tale.store = take_over()
    tale.do(writers.answer(tale.answer(ask, AnswerDecision.ALLOW)))
    tale.store = take_over()

    order = writers.reattach(tale.reattached())
    assert [tale.do(order).created, tale.do(order).created] == [True, False]
    tale.do(writers.dispatch(tale.dispatch(call, ask=ask)))
