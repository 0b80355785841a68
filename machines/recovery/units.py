"""The exact facts that recovery writes: derived ids, and the times of what they answer (OP-4)."""

from collections.abc import Sequence
from typing import Final

import attrs

from ..facts import ids
from ..facts.canonical import Json
from ..facts.compose import control_spine
from ..facts.model import (
    AskClosed,
    FunctionResponse,
    MessageReturned,
    Outcome,
    ReconcileResult,
    RecoveryDecision,
    Refs,
    RequestSettled,
    RunEnded,
    RuntimeEvent,
    Spine,
)
from ..facts.vocabulary import (
    Author,
    CloseReason,
    DecisionReason,
    Disposition,
    Kind,
    Observation,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    RequestResult,
    ReturnReason,
    Role,
    RunFailure,
    RunStatus,
)
from .operations import Settlement
from .runs import Repair

_FAILURES: Final = {
    Repair.RELEASE: RunFailure.ACKNOWLEDGED_FACTS_MISSING,
    Repair.ABANDON: RunFailure.ABANDONED_BEFORE_DISPATCH,
    Repair.ABANDON_CONTINUATION: RunFailure.CONTINUATION_ABANDONED,
    Repair.LOST_AFTER_DISPATCH: RunFailure.OWNER_LOST_AFTER_DISPATCH,
    Repair.LOST: RunFailure.OWNER_LOST,
}
_PARKS: Final = {
    Settlement.PARK_PRIOR: (Observation.MATCHES_PRIOR_STATE, DecisionReason.MATCHES_PRIOR_STATE),
    Settlement.PARK_DIVERGED: (Observation.DIVERGED, DecisionReason.DIVERGED),
    Settlement.PARK_UNREADABLE: (Observation.UNREADABLE, DecisionReason.UNREADABLE),
}


@attrs.frozen(kw_only=True)
class OpenRun:
    """What a closing unit needs to know of a run; everything else follows.

    Attributes:
        ts: The time of the newest fact of the run: closings answer it (BYTE-5a).
        request: The open request, if there is one.
        asks: The open requests to a person, in the order they were asked.
        steering: The queued messages that were meant for this run.
        stop: The source of the durable stop intent, if there is one.
    """

    spine: Spine
    ts: int
    request: str | None
    asks: Sequence[str]
    steering: Sequence[str]
    stop: str | None


def expiry_unit(spine: Spine, asks: Sequence[tuple[str, int]]) -> tuple[RuntimeEvent, ...]:
    """Close requests whose deadline passed; the closing's time is the deadline (ASK-3)."""
    return tuple(_close_ask(spine, ask, CloseReason.EXPIRED, deadline) for ask, deadline in asks)


def closing_unit(run: OpenRun, repair: Repair) -> tuple[RuntimeEvent, ...]:
    """Return the unit that ends a run: what is open is closed first, the end is last (LOG-4a)."""
    stopped = repair is Repair.ABORT
    facts: list[RuntimeEvent] = []
    if run.request is not None:
        facts.append(_settle_request(run))
    reason = CloseReason.STOPPED if stopped else CloseReason.RUN_ENDED
    facts.extend(_close_ask(run.spine, ask, reason, run.ts) for ask in run.asks)
    back = ReturnReason.STOPPED if stopped else ReturnReason.RUN_ENDED
    facts.extend(_return_message(run, message, back) for message in run.steering)
    if stopped:
        end = RunEnded(status=RunStatus.ABORTED, source=run.stop)
    else:
        end = RunEnded(status=RunStatus.FAILED, failure=_FAILURES[repair])
    facts.append(
        _system(
            run.spine, ids.recovery_terminal_fact_id(run.spine.run), Kind.RUN_ENDED, run.ts, end
        )
    )
    return tuple(facts)


@attrs.frozen(kw_only=True)
class Interrupted:
    """What a recovery bundle needs to know of one operation.

    Attributes:
        ts: The time of its T1, which every recovery fact repeats (BYTE-5a).
        observed: The digest of what was seen, for reconciled operations.
        result: The recorded expected result, for a finalised one (OP-6).
    """

    spine: Spine
    operation: str
    label: str
    tool: str
    ts: int
    observed: str
    result: Json


def bundle(left: Interrupted, settlement: Settlement) -> tuple[RuntimeEvent, ...]:
    """Return the one unit that settles or parks an interrupted operation (OP-4)."""
    call, dispatch = ids.call_fact_id(left.operation), ids.dispatch_fact_id(left.operation)
    outcome = ids.outcome_fact_id(left.operation)
    reconcile = ids.reconcile_fact_id(left.operation)
    if settlement is Settlement.INTERRUPT:
        reason = DecisionReason.INTERRUPTED_NO_EFFECT
        return (
            _outcome(left, OutcomeResult.INTERRUPTED_NO_EFFECT),
            _decide(left, Disposition.COMPLETED, reason, (call, dispatch, outcome)),
        )
    if settlement is Settlement.PARK_BY_KEY:
        reason = DecisionReason.RETRY_BY_KEY
        return (_decide(left, Disposition.PARKED, reason, (call, dispatch)),)
    if settlement is Settlement.FINALISE:
        reason = DecisionReason.MATCHES_EXPECTED_STATE
        evidence = (call, dispatch, reconcile, outcome)
        return (
            _observed(left, Observation.MATCHES_EXPECTED_STATE),
            _outcome(left, OutcomeResult.RECONCILED),
            _decide(left, Disposition.COMPLETED, reason, evidence),
        )
    observation, reason = _PARKS[settlement]
    return (
        _observed(left, observation),
        _decide(left, Disposition.PARKED, reason, (call, dispatch, reconcile)),
    )


def _system(
    spine: Spine,
    fact: str,
    kind: Kind,
    ts: int,
    action: RunEnded | AskClosed | RequestSettled | MessageReturned,
    refs: Refs | None = None,
) -> RuntimeEvent:
    return RuntimeEvent(
        id=fact,
        spine=spine,
        kind=kind,
        ts=ts,
        role=Role.SYSTEM,
        author=Author.SYSTEM,
        actions=action,
        refs=refs or Refs(),
    )


def _settle_request(run: OpenRun) -> RuntimeEvent:
    assert run.request is not None
    fact = ids.recovery_fact_id(Kind.REQUEST_SETTLED, run.request)
    action = RequestSettled(result=RequestResult.UNKNOWN)
    return _system(run.spine, fact, Kind.REQUEST_SETTLED, run.ts, action, Refs(request=run.request))


def _close_ask(spine: Spine, ask: str, reason: CloseReason, ts: int) -> RuntimeEvent:
    fact = ids.recovery_fact_id(Kind.ASK_CLOSED, ask)
    return _system(spine, fact, Kind.ASK_CLOSED, ts, AskClosed(reason=reason), Refs(ask=ask))


def _return_message(run: OpenRun, message: str, reason: ReturnReason) -> RuntimeEvent:
    fact = ids.recovery_fact_id(Kind.MESSAGE_RETURNED, message)
    action = MessageReturned(reason=reason)
    spine = control_spine(run.spine.session)
    return _system(spine, fact, Kind.MESSAGE_RETURNED, run.ts, action, Refs(message=message))


def _outcome(left: Interrupted, result: OutcomeResult) -> RuntimeEvent:
    failed = result is OutcomeResult.INTERRUPTED_NO_EFFECT
    told: Json = {"code": result.value} if failed else left.result
    return RuntimeEvent(
        id=ids.outcome_fact_id(left.operation),
        spine=left.spine,
        kind=Kind.OUTCOME,
        ts=left.ts,
        role=Role.TOOL,
        author=Author.TOOL,
        content=FunctionResponse(label=left.label, name=left.tool, result=told, is_error=failed),
        actions=Outcome(state=OutcomeState.SETTLED, result=result, by=OutcomeBy.RECOVERY),
        refs=Refs(operation=left.operation),
    )


def _observed(left: Interrupted, observation: Observation) -> RuntimeEvent:
    return RuntimeEvent(
        id=ids.reconcile_fact_id(left.operation),
        spine=left.spine,
        kind=Kind.RECONCILE_RESULT,
        ts=left.ts,
        role=Role.SYSTEM,
        author=Author.SYSTEM,
        actions=ReconcileResult(observation=observation, observed=left.observed),
        refs=Refs(operation=left.operation),
    )


def _decide(
    left: Interrupted,
    disposition: Disposition,
    reason: DecisionReason,
    evidence: tuple[str, ...],
) -> RuntimeEvent:
    return RuntimeEvent(
        id=ids.decision_fact_id(left.operation),
        spine=left.spine,
        kind=Kind.RECOVERY_DECISION,
        ts=left.ts,
        role=Role.SYSTEM,
        author=Author.SYSTEM,
        actions=RecoveryDecision(disposition=disposition, reason=reason, evidence=evidence),
        refs=Refs(operation=left.operation),
    )
