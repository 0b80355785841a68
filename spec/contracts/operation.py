"""The contracts of the operation: one T1, of the asked action; recovery only when gone."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import operation as machine
from ...machines.lifecycles.operation import (
    Absent,
    Ask,
    Asked,
    Call,
    Called,
    Decision,
    Dispatch,
    Dispatched,
    Finalised,
    Grant,
    Interrupted,
    Match,
    Mode,
    NotStarted,
    Observation,
    Observed,
    OperationSeen,
    OperationState,
    Outcome,
    Parked,
    Recovered,
    Refused,
    Retry,
    Settled,
    Sight,
    Verdict,
    Via,
    Withdrawn,
)
from .reached import reached, refusal


def is_called_once(state: OperationState, seen: Call) -> bool:
    """OP.C1: A call is placed once.

    post: __return__
    """
    expected = Called() if isinstance(state, Absent) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def is_asked_about_as_it_is(state: OperationState, seen: Ask) -> bool:
    """OP.C2: A person is asked about an unstarted call, and about exactly its tool and arguments.

    post: __return__
    """
    exact = isinstance(state, Called) and seen.action is not Match.OTHER
    return reached(machine.TABLE.step(state, seen)) == (Asked() if exact else None)


def is_gated_anew_when_withdrawn(state: OperationState, seen: Withdrawn) -> bool:
    """OP.C3: A request that closed undecided leaves its call as if nobody had been asked.

    post: __return__
    """
    expected = Called() if isinstance(state, Asked) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def starts_once_as_approved(state: OperationState, seen: Dispatch) -> bool:
    """OP.C4: T1 comes once, for exactly the call, with a grant exactly when somebody was asked.

    post: __return__
    """
    starts = False
    if isinstance(state, Called | Asked) and seen.action is Match.SAME:
        needed = Grant.GRANTED if isinstance(state, Asked) else Grant.NONE
        repeatable = seen.retry is Retry.PARKED and seen.mode is Mode.IDEMPOTENT
        starts = seen.grant is needed and (repeatable or seen.retry is Retry.NONE)
    expected = Dispatched(epoch=seen.epoch, mode=seen.mode, local=seen.local) if starts else None
    return reached(machine.TABLE.step(state, seen)) == expected


def is_refused_before_it_starts(state: OperationState, seen: NotStarted) -> bool:
    """OP.C5: Only a call without T1 is said not to have started; once decided, by the decision.

    post: __return__
    """
    unstarted = (isinstance(state, Called) and seen.grant is Grant.NONE) or (
        isinstance(state, Asked) and seen.grant in (Grant.DENIED, Grant.GRANTED)
    )
    return reached(machine.TABLE.step(state, seen)) == (Refused() if unstarted else None)


def settles_by_who_may_know(state: OperationState, seen: Outcome) -> bool:
    """OP.C6: An outcome comes from the tool of the T1's epoch, or from what recovery can prove.

    post: __return__
    """
    expected: OperationState | None = None
    if isinstance(state, Dispatched):
        if seen.via is Via.TOOL and seen.epoch == state.epoch:
            expected = Settled()
        if seen.via is Via.INTERRUPTED and seen.gone and state.mode is Mode.REPLAY_SAFE:
            expected = Interrupted()
    if isinstance(state, Observed) and state.sight is Sight.EXPECTED:
        expected = Finalised() if seen.via is Via.RECONCILED else None
    return reached(machine.TABLE.step(state, seen)) == expected


def is_judged_only_when_gone(state: OperationState, seen: Observation) -> bool:
    """OP.C7: Recovery judges only a local, reconcilable effect whose epoch is proven gone (OWN-2).

    post: __return__
    """
    safe = isinstance(state, Dispatched) and state.mode is Mode.RECONCILE and state.local
    expected = Observed(sight=seen.sight) if safe and seen.gone else None
    return reached(machine.TABLE.step(state, seen)) == expected


def decision_follows_the_evidence(state: OperationState, seen: Decision) -> bool:
    """OP.C8: A decision completes what was proven and parks what was seen, on exactly its evidence.

    post: __return__
    """
    expected: OperationState | None = None
    if seen.evidence is Match.SAME:
        if isinstance(state, Finalised | Interrupted) and seen.verdict is Verdict.COMPLETED:
            expected = Recovered()
        if isinstance(state, Observed) and seen.verdict.value == state.sight.value:
            expected = Parked(by_key=False)
        if isinstance(state, Dispatched) and seen.gone and state.mode is Mode.IDEMPOTENT:
            expected = Parked(by_key=True) if seen.verdict is Verdict.BY_KEY else None
    return reached(machine.TABLE.step(state, seen)) == expected


def end_is_final(state: Refused | Settled | Recovered | Parked, seen: OperationSeen) -> bool:
    """OP.C9: A call that was refused, settled, recovered or parked accepts nothing more.

    post: __return__
    """
    code = refusal(machine.TABLE.step(state, seen))
    parked = isinstance(state, Parked)
    return code is (Code.OPERATION_PARKED if parked else Code.OPERATION_SETTLED)


def living_epoch_is_named(state: Dispatched, seen: Outcome | Observation | Decision) -> bool:
    """OP.C10: While its epoch may act, recovery cannot settle an operation, whatever it says.

    pre: not seen.gone
    post: __return__
    """
    done = machine.TABLE.step(state, seen)
    by_tool = isinstance(seen, Outcome) and seen.via is Via.TOOL
    return by_tool or refusal(done) in (
        Code.EPOCH_NOT_GONE,
        Code.RECOVERY_MODE_FORBIDS,
        Code.EFFECT_NOT_LOCAL,
    )
