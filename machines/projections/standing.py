"""What an operation or a run is, in the states of the production tables and by their one resolver.

Facts have no epoch in their bodies, so states that carry one carry 0 here; no view reads it. Tests
hold every state against the cell that the writer's fold has after the same facts.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ..facts.vocabulary import (
    Cause,
    DecisionReason,
    Observation,
    OutcomeBy,
    OutcomeState,
    RecoveryMode,
)
from ..lifecycles import operation, run
from ..recovery.operations import RESOLVER, Standing, Standpoint
from ..recovery.parks import Park
from .records import Fact, Operation, Run

_MODES: Final[Mapping[RecoveryMode, operation.Mode]] = MappingProxyType(
    {
        RecoveryMode.REPLAY_SAFE: operation.Mode.REPLAY_SAFE,
        RecoveryMode.IDEMPOTENT: operation.Mode.IDEMPOTENT,
        RecoveryMode.RECONCILE: operation.Mode.RECONCILE,
    }
)
_SIGHTS: Final[Mapping[Observation, operation.Sight]] = MappingProxyType(
    {
        Observation.MATCHES_EXPECTED_STATE: operation.Sight.EXPECTED,
        Observation.MATCHES_PRIOR_STATE: operation.Sight.PRIOR,
        Observation.DIVERGED: operation.Sight.DIVERGED,
        Observation.UNREADABLE: operation.Sight.UNREADABLE,
    }
)


def operation_state(subject: Operation) -> operation.OperationState:
    """Return the state of a call: that of the strongest fact about it."""
    if subject.decision is not None:
        by_key = subject.decision.says.reason is DecisionReason.RETRY_BY_KEY
        return operation.Parked(by_key=by_key) if subject.parked else operation.Recovered()
    if subject.outcome is not None:
        return _answered(subject.outcome.ended.state, subject.outcome.ended.by, subject)
    if subject.observation is not None:
        return operation.Observed(sight=_SIGHTS[subject.observation.says.observation])
    if subject.dispatch is not None:
        sent = subject.dispatch.says
        mode = _MODES.get(sent.recovery, operation.Mode.NEVER)
        return operation.Dispatched(epoch=0, mode=mode, local=sent.local)
    if any(ask.open or ask.granting for ask in subject.asks):
        return operation.Asked()
    return operation.Absent() if subject.call is None else operation.Called()


def _answered(state: OutcomeState, by: OutcomeBy, subject: Operation) -> operation.OperationState:
    if state is OutcomeState.NOT_STARTED:
        return operation.Refused()
    if by is OutcomeBy.TOOL:
        return operation.Settled()
    # Recovery's outcome without its decision: a prefix that ends inside the unit of OP-4.
    return operation.Interrupted() if subject.observation is None else operation.Finalised()


def standing_of(subject: Operation, *, open_run: bool) -> Standing:
    """Return what is known of a call; `open_run`: its run has no end and someone to settle it."""
    return RESOLVER.answer(Standpoint(state=operation_state(subject), open=open_run))


def settleable(run: Run, subject: Operation, *, live: bool) -> bool:
    """Tell whether the run may still answer a call: it is open, and a T1 has a live owner."""
    return run.end is None and (live or subject.dispatch is None)


def park_of(subject: Operation, *, open_run: bool) -> Park | None:
    """Return why a call waits for a person, or None if it does not."""
    match standing_of(subject, open_run=open_run):
        case Standing.PARKED if subject.decision is not None:
            return Park(subject.decision.says.reason.value)
        case Standing.UNKNOWN:
            remote = subject.dispatch is not None and not subject.dispatch.says.local
            return Park.EFFECT_NOT_LOCAL if remote else Park.OUTCOME_UNKNOWN
        case _:
            return None


def run_state(subject: Run) -> run.RunState:
    """Return the state of a run."""
    if subject.end is not None:
        return run.Ended()
    if subject.opening is None:
        return run.Absent()
    cause = subject.opening.says.cause
    if cause is Cause.CLAIM_REPAIR:
        return run.Repairing(epoch=0)
    spoken = any(isinstance(said, Fact) for said in subject.said)
    if cause in (Cause.TURN, Cause.FOLLOW_UP) and not spoken:
        return run.Opened(epoch=0)
    live = run.Active if subject.stop is None else run.Stopping
    waiting = [one for one in subject.operations.values() if one.outcome is None]
    return live(
        epoch=0,
        last=subject.last,
        calls=sum(1 for one in waiting if one.dispatch is None),
        operations=sum(1 for one in waiting if one.dispatch is not None),
        asks=sum(1 for ask in subject.asks.values() if ask.open),
        grants=sum(1 for ask in subject.asks.values() if ask.granting),
        troubled=any(not trouble.recovered for trouble in subject.troubles),
    )


def waits(subject: Run) -> bool:
    """Tell whether the run waits for a person (ASK-3); a stopped run never does."""
    state = run_state(subject)
    return isinstance(state, run.Active) and run.waits(state)
