"""Decision tables answer every question, in the order of the design."""

import itertools

import pytest

from crashworthy.machines.facts.model import FileEvidence, FileIdentity
from crashworthy.machines.facts.vocabulary import DecisionReason, FileKind, Observation
from crashworthy.machines.lifecycles import claim, operation, run
from crashworthy.machines.lifecycles.table import TableMalformedError
from crashworthy.machines.recovery.decision import DecisionTable, Rule, anything
from crashworthy.machines.recovery.files import FILE_OBSERVATION, FileSight, Look, compare
from crashworthy.machines.recovery.operations import (
    LEFTOVERS,
    RESOLVER,
    Leftover,
    Settlement,
    Sight,
    Standing,
    Standpoint,
)
from crashworthy.machines.recovery.parks import EXPLANATIONS, Park
from crashworthy.machines.recovery.runs import (
    CLAIM_REPAIR,
    RUN_REPAIR,
    Claim,
    ClaimRepair,
    Orphan,
    Repair,
)


def dispatched(mode: operation.Mode, *, local: bool = True) -> operation.Dispatched:
    return operation.Dispatched(epoch=1, mode=mode, local=local)


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        (operation.Called(), Standing.NOT_STARTED),
        (operation.Asked(), Standing.NOT_STARTED),
        (operation.Refused(), Standing.NOT_STARTED),
        (dispatched(operation.Mode.NEVER), Standing.UNKNOWN),
        (operation.Settled(), Standing.SETTLED),
        (operation.Recovered(), Standing.SETTLED),
        (operation.Parked(by_key=False), Standing.PARKED),
    ],
    ids=str,
)
def test_call_of_a_closed_run_is_one_of_the_three_values_or_parked(
    state: operation.OperationState, standing: Standing
) -> None:
    assert RESOLVER.answer(Standpoint(state=state, open=False)) is standing


def test_call_of_an_open_run_is_pending_until_it_settles() -> None:
    for state in (operation.Called(), operation.Asked(), dispatched(operation.Mode.NEVER)):
        assert RESOLVER.answer(Standpoint(state=state, open=True)) is Standing.PENDING
    assert RESOLVER.answer(Standpoint(state=operation.Settled(), open=True)) is Standing.SETTLED


@pytest.mark.parametrize("mode", list(operation.Mode), ids=str)
def test_leftover_of_a_living_epoch_is_left_alone(mode: operation.Mode) -> None:
    for sight in Sight:
        left = Leftover(state=dispatched(mode), gone=False, sight=sight)
        assert LEFTOVERS.answer(left) is Settlement.WORKER_ALIVE


def test_leftover_of_a_gone_epoch_is_settled_by_its_contract_only() -> None:
    def answer(mode: operation.Mode, sight: Sight = Sight.NOT_YET) -> Settlement:
        return LEFTOVERS.answer(Leftover(state=dispatched(mode), gone=True, sight=sight))

    assert answer(operation.Mode.REPLAY_SAFE) is Settlement.INTERRUPT
    assert answer(operation.Mode.IDEMPOTENT) is Settlement.PARK_BY_KEY
    assert answer(operation.Mode.RECONCILE) is Settlement.OBSERVE
    assert answer(operation.Mode.RECONCILE, Sight.EXPECTED) is Settlement.FINALISE
    assert answer(operation.Mode.RECONCILE, Sight.PRIOR) is Settlement.PARK_PRIOR
    assert answer(operation.Mode.RECONCILE, Sight.DIVERGED) is Settlement.PARK_DIVERGED
    assert answer(operation.Mode.RECONCILE, Sight.UNREADABLE) is Settlement.PARK_UNREADABLE
    for sight in Sight:
        assert answer(operation.Mode.NEVER, sight) is Settlement.KEEP_UNKNOWN


def test_remote_effect_is_never_judged_from_here() -> None:
    state = dispatched(operation.Mode.RECONCILE, local=False)
    for sight in Sight:
        left = Leftover(state=state, gone=True, sight=sight)
        assert LEFTOVERS.answer(left) is Settlement.KEEP_UNKNOWN


def active(last: run.Last, *, asks: int = 0, grants: int = 0, operations: int = 0) -> run.Active:
    return run.Active(
        epoch=1,
        last=last,
        calls=asks + grants,
        operations=operations,
        asks=asks,
        grants=grants,
        troubled=False,
    )


def stopping() -> run.Stopping:
    return run.Stopping(
        epoch=1, last=run.Last.CALLS, calls=1, operations=0, asks=1, grants=0, troubled=False
    )


def orphan(
    state: run.RunState,
    *,
    gone: bool = True,
    due: bool = False,
    released: bool = False,
    continuation: bool = False,
) -> Orphan:
    return Orphan(state=state, gone=gone, due=due, released=released, continuation=continuation)


@pytest.mark.parametrize(
    ("case", "repair"),
    [
        (orphan(run.Ended()), Repair.NOTHING),
        (orphan(active(run.Last.OPEN), gone=False), Repair.ALIVE),
        (orphan(stopping()), Repair.ABORT),
        (orphan(active(run.Last.CALLS, asks=1), released=True), Repair.RELEASE),
        (orphan(active(run.Last.CALLS, asks=1), due=True), Repair.EXPIRE),
        (orphan(active(run.Last.CALLS, asks=1)), Repair.KEEP_WAITING),
        (orphan(active(run.Last.CALLS, grants=1)), Repair.KEEP_WAITING),
        (orphan(active(run.Last.CALLS, grants=1, operations=1)), Repair.LOST),
        (orphan(active(run.Last.NEVER), continuation=True), Repair.ABANDON_CONTINUATION),
        (orphan(active(run.Last.NEVER)), Repair.ABANDON),
        (orphan(active(run.Last.OPEN)), Repair.LOST_AFTER_DISPATCH),
        (orphan(active(run.Last.CALLS)), Repair.LOST),
        (orphan(active(run.Last.STOP)), Repair.LOST),
    ],
)
def test_run_of_a_gone_owner_is_closed_in_the_order_of_the_design(
    case: Orphan, repair: Repair
) -> None:
    assert RUN_REPAIR.answer(case) is repair


def test_stopped_run_never_waits_whatever_else_is_true() -> None:
    for due, released, continuation in itertools.product((False, True), repeat=3):
        case = orphan(stopping(), due=due, released=released, continuation=continuation)
        assert RUN_REPAIR.answer(case) is Repair.ABORT


def test_claim_is_closed_only_without_start_and_with_its_epoch_gone() -> None:
    claimed = claim.Claimed(epoch=1)

    assert CLAIM_REPAIR.answer(Claim(state=claimed, gone=True)) is ClaimRepair.CLOSE
    assert CLAIM_REPAIR.answer(Claim(state=claimed, gone=False)) is ClaimRepair.LEAVE
    for state in (claim.Admitted(), claim.Repaired(), claim.Absent()):
        assert CLAIM_REPAIR.answer(Claim(state=state, gone=True)) is ClaimRepair.NOTHING


BEFORE = FileIdentity(kind=FileKind.FILE, digest="1" * 64, bytes=1, mode=0o644)
AFTER = FileIdentity(kind=FileKind.FILE, digest="2" * 64, bytes=2, mode=0o644)


def evidence(before: FileIdentity = BEFORE, after: FileIdentity = AFTER) -> FileEvidence:
    return FileEvidence(
        workspace="ws",
        target="a.txt",
        before=before,
        after=after,
        transform=1,
        result=None,
        limit_bytes=100,
    )


@pytest.mark.parametrize(
    ("seen", "look", "observation"),
    [
        (AFTER, Look.READ, Observation.MATCHES_EXPECTED_STATE),
        (BEFORE, Look.READ, Observation.MATCHES_PRIOR_STATE),
        (FileIdentity(kind=FileKind.ABSENT), Look.READ, Observation.DIVERGED),
        (AFTER, Look.OTHER_WORKSPACE, Observation.UNREADABLE),
        (None, Look.UNREADABLE, Observation.UNREADABLE),
        (None, Look.READ, Observation.UNREADABLE),
    ],
)
def test_file_is_seen_as_one_of_four(
    seen: FileIdentity | None, look: Look, observation: Observation
) -> None:
    assert FILE_OBSERVATION.answer(compare(evidence(), seen, look)) is observation


def test_effect_that_changes_nothing_counts_as_done() -> None:
    sight = FileSight(look=Look.READ, is_after=True, is_before=True)

    assert FILE_OBSERVATION.answer(sight) is Observation.MATCHES_EXPECTED_STATE


def test_every_park_code_has_a_sentence_and_an_action() -> None:
    assert set(EXPLANATIONS) == set(Park)
    for why in EXPLANATIONS.values():
        assert why.sentence.endswith(".")
        assert why.action.endswith(".")


def test_every_parking_decision_is_a_park_code() -> None:
    parked = set(DecisionReason) - {
        DecisionReason.MATCHES_EXPECTED_STATE,
        DecisionReason.INTERRUPTED_NO_EFFECT,
    }

    assert {reason.value for reason in parked} <= {park.value for park in Park}


def test_table_that_leaves_a_question_open_fails_at_import() -> None:
    rule: Rule[object, Repair] = Rule(id="T.D1", when=lambda _question: False, then=Repair.NOTHING)
    with pytest.raises(TableMalformedError, match="must fit everything"):
        DecisionTable(name="t", prefix="T", rules=(rule,))


def test_table_with_a_repeated_or_foreign_id_fails_at_import() -> None:
    first = Rule(id="T.D1", when=anything, then=Repair.NOTHING)
    for rules in ((first, first), (Rule(id="U.D1", when=anything, then=Repair.NOTHING),)):
        with pytest.raises(TableMalformedError, match="not new"):
            DecisionTable(name="t", prefix="T", rules=rules)
