"""The promises of each lifecycle by itself, each stated once (MACH-6)."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeVar

from ..machines.lifecycles import (
    claim,
    host,
    interaction,
    lease,
    message,
    operation,
    repair,
    request,
    run,
    session,
    verdict,
)
from .contracts import lease as lease_contracts
from .contracts import run_state
from .invariant import Invariant, Step, always, attainable, each_step
from .models.continuation.promises import ONE_CLAIMANT, VERDICT_WHEN_GONE
from .models.messages.model import FATE_IS_FINAL
from .models.takeover.promises import (
    EPOCH_RISES,
    JUDGED_WHEN_GONE,
    NOTHING_FOLLOWS,
    ONE_T1,
    ONLY_OWNER_WRITES,
    RUN_CAN_END,
    UNKNOWN_STAYS,
)

S = TypeVar("S")


def _as_step(promise: Invariant, holds: Callable[[Step[S]], bool]) -> Invariant:
    """Return a promise about a whole world as one about the steps of its machine."""
    return each_step(promise.id, promise.claim, promise.harm, holds)


# --- run ---


def _never_leaves_the_end(step: Step[run.RunState]) -> bool:
    return not isinstance(step.before, run.Ended)


def _ended(state: run.RunState) -> bool:
    return isinstance(state, run.Ended)


def _own_epoch_rises(step: Step[run.RunState]) -> bool:
    if isinstance(step.before, run.Absent | run.Ended):
        return True
    if isinstance(step.after, run.Absent | run.Ended):
        return isinstance(step.after, run.Ended)
    rises = step.after.epoch > step.before.epoch
    return rises == isinstance(step.cause, run.Reattach) and step.after.epoch >= step.before.epoch


def _stop_is_never_undone(step: Step[run.RunState]) -> bool:
    stopped = isinstance(step.before, run.Stopping)
    return not stopped or isinstance(step.after, run.Stopping | run.Ended)


def _no_error_is_masked(step: Step[run.RunState]) -> bool:
    if not isinstance(step.cause, run.Ending) or step.cause.status is not run.Status.COMPLETED:
        return True
    before = step.before
    return (
        isinstance(before, run.Active)
        and before.last is run.Last.STOP
        and not before.troubled
        and run_state.idle(before)
    )


def _stopped_runs_start_nothing(step: Step[run.RunState]) -> bool:
    begins = run.Request | run.Dispatch | run.Ask | run.Call | run.Steering | run.Reattach
    return not isinstance(step.before, run.Stopping) or not isinstance(step.cause, begins)


COUNTS_WELL_FORMED: Final = always(
    "RUN.I10",
    "No count of a run falls below zero, and every ask belongs to a call of a finished step.",
    "A run would wait for nothing, or end with work that it no longer counts.",
    run_state.valid,
)
OWN_EPOCH_RISES: Final = each_step(
    "RUN.I11",
    "Only a re-attach moves a run to another owner, and always to a later one.",
    "An earlier owner would get a run back that a later one already drives.",
    _own_epoch_rises,
)
STOP_NEVER_UNDONE: Final = each_step(
    "RUN.I12",
    "A stopped run only ends.",
    "A late event would revive what a person stopped.",
    _stop_is_never_undone,
)
NO_ERROR_MASKED: Final = each_step(
    "RUN.I13",
    "A run completes only idle, after a stated stop, with no error since its last good request.",
    "An unrecovered failure would be shown as success.",
    _no_error_is_masked,
)
STOPPED_STARTS_NOTHING: Final = each_step(
    "RUN.I14",
    "A stopped run starts no request, call, ask or operation.",
    "Money would be spent and effects caused after a person said stop.",
    _stopped_runs_start_nothing,
)
RUN: Final[tuple[Invariant, ...]] = (
    NOTHING_FOLLOWS.over(_never_leaves_the_end),
    RUN_CAN_END.over(_ended),
    COUNTS_WELL_FORMED,
    OWN_EPOCH_RISES,
    STOP_NEVER_UNDONE,
    NO_ERROR_MASKED,
    STOPPED_STARTS_NOTHING,
)

# --- request ---


def _learns_nothing_later(step: Step[request.RequestState]) -> bool:
    before, seen = step.before, step.cause
    if not isinstance(before, request.Open):
        return not isinstance(before, request.Closed)
    if isinstance(seen, request.Settlement) and seen.end is request.End.LOST:
        return True
    return isinstance(seen, request.Output | request.Settlement) and seen.epoch == before.epoch


REQUEST_SETTLES_ONCE: Final = each_step(
    "REQ.I1",
    "A request settles once, and only its sender says what the provider answered.",
    "A successor would invent an answer or count its usage twice.",
    _learns_nothing_later,
)
REQUEST: Final[tuple[Invariant, ...]] = (REQUEST_SETTLES_ONCE,)

# --- operation ---

_UNSTARTED = operation.Absent | operation.Called | operation.Asked


def _starts_only_unstarted(step: Step[operation.OperationState]) -> bool:
    return isinstance(step.before, _UNSTARTED) or not isinstance(step.cause, operation.Dispatch)


def _judges_the_gone(step: Step[operation.OperationState]) -> bool:
    if not isinstance(step.before, operation.Dispatched):
        return True
    if isinstance(step.after, operation.Settled):
        return True
    seen = step.cause
    if isinstance(seen, operation.Outcome | operation.Observation | operation.Decision):
        return seen.gone
    return False


def _keeps_unknown(step: Step[operation.OperationState]) -> bool:
    if not isinstance(step.before, operation.Dispatched):
        return True
    if isinstance(step.after, operation.Settled):
        seen = step.cause
        if not isinstance(seen, operation.Outcome) or seen.via is not operation.Via.TOOL:
            return False
        return seen.epoch == step.before.epoch
    return step.before.mode is not operation.Mode.NEVER


def _not_started_stays_so(step: Step[operation.OperationState]) -> bool:
    over = operation.Refused | operation.Settled | operation.Recovered | operation.Parked
    return not isinstance(step.before, over)


OPERATION_ENDS_ONCE: Final = each_step(
    "OP.I10",
    "What became of an operation never changes in its run's ledger.",
    "History would show two results of one call.",
    _not_started_stays_so,
)
OPERATION: Final[tuple[Invariant, ...]] = (
    _as_step(ONE_T1, _starts_only_unstarted),
    JUDGED_WHEN_GONE.over(_judges_the_gone),
    UNKNOWN_STAYS.over(_keeps_unknown),
    OPERATION_ENDS_ONCE,
)

# --- interaction ---


def _decided_once(step: Step[interaction.InteractionState]) -> bool:
    decides = interaction.Answer | interaction.Expiry | interaction.Closing
    return isinstance(step.before, interaction.Open) or not isinstance(step.cause, decides)


def _used_once(step: Step[interaction.InteractionState]) -> bool:
    uses = isinstance(step.cause, interaction.Use | interaction.Told)
    return uses == isinstance(step.after, interaction.Consumed)


def _late_denies(step: Step[interaction.InteractionState]) -> bool:
    if not isinstance(step.after, interaction.Granted):
        return True
    return isinstance(step.cause, interaction.Answer) and not step.cause.overdue


DECIDED_ONCE: Final = each_step(
    "ASK.I3",
    "Exactly one of answered, expired and closed ends a request to a person.",
    "Two people would decide one question differently.",
    _decided_once,
)
DECISION_USED_ONCE: Final = each_step(
    "ASK.I4",
    "A decision is consumed by the one fact that uses it or tells it to the model.",
    "One approval would execute twice.",
    _used_once,
)
LATE_NEVER_GRANTS: Final = each_step(
    "ASK.I5",
    "Only an answer in time grants; a deadline that passed never does.",
    "An approval meant for yesterday would act today.",
    _late_denies,
)
INTERACTION: Final[tuple[Invariant, ...]] = (DECIDED_ONCE, DECISION_USED_ONCE, LATE_NEVER_GRANTS)

# --- lease and host ---


def _epoch_rises_when_opened(step: Step[lease.LeaseState]) -> bool:
    opened = isinstance(step.cause, lease.Open)
    return step.after.epoch == step.before.epoch + opened


def _writes_by_the_newest(step: Step[lease.LeaseState]) -> bool:
    if isinstance(step.cause, lease.Open):
        return step.cause.locked
    if isinstance(step.cause, lease.Write | lease.Gone | lease.Close):
        return step.cause.epoch == step.before.epoch
    return False


def _proof_needs_no_worker(step: Step[lease.LeaseState]) -> bool:
    if step.after.gone == step.before.gone:
        return True
    proves = isinstance(step.cause, lease.Gone | lease.Close) and not step.cause.workers
    return proves and step.after.gone > step.before.gone


def _works_only_ready(step: Step[host.HostState]) -> bool:
    return isinstance(step.before, host.Ready) or not isinstance(step.cause, host.Admit)


def _drained_before_closed(step: Step[host.HostState]) -> bool:
    closes = isinstance(step.after, host.Closed)
    return not closes or isinstance(step.cause, host.Released)


def _over(state: host.HostState) -> bool:
    return isinstance(state, host.Closed | host.Failed)


GONE_IS_PAST: Final = always(
    "LEA.I4",
    "No epoch that may still write is proven gone.",
    "Recovery would settle what the living owner is doing.",
    lease_contracts.valid,
)
PROOF_NEEDS_NO_WORKER: Final = each_step(
    "LEA.I5",
    "An epoch is proven gone only while no worker of it lives, and the proof stays.",
    "An orphaned worker would act after its effect was judged.",
    _proof_needs_no_worker,
)
LEASE: Final[tuple[Invariant, ...]] = (
    EPOCH_RISES.over(_epoch_rises_when_opened),
    ONLY_OWNER_WRITES.over(_writes_by_the_newest),
    GONE_IS_PAST,
    PROOF_NEEDS_NO_WORKER,
)
WORKS_ONLY_READY: Final = each_step(
    "HST.I1",
    "A host admits work only while it is ready.",
    "A client would be served from a root that is not recovered yet.",
    _works_only_ready,
)
DRAINED_BEFORE_CLOSED: Final = each_step(
    "HST.I2",
    "A host closes only after everything it took was released.",
    "Another process would own the root beside living workers.",
    _drained_before_closed,
)
HOST_ENDS: Final = attainable(
    "HST.I3",
    "From every phase a host can close or fail.",
    "A host would hang for ever and keep the root.",
    _over,
)
HOST: Final[tuple[Invariant, ...]] = (WORKS_ONLY_READY, DRAINED_BEFORE_CLOSED, HOST_ENDS)

# --- session, message, verdict, claim, repair ---


def _opening_is_first(step: Step[session.SessionState]) -> bool:
    return isinstance(step.before, session.Absent) == isinstance(step.cause, session.Opening)


def _fate_stays(step: Step[message.MessageState]) -> bool:
    return isinstance(step.before, message.Absent | message.Queued)


def _judges_what_is_over(step: Step[verdict.VerdictState]) -> bool:
    seen = step.cause
    if not isinstance(seen, verdict.Give) or seen.run is not verdict.RunIs.ENDED:
        return False
    return seen.unsettled and seen.gone


def _made_once(step: Step[claim.ClaimState]) -> bool:
    return isinstance(step.before, claim.Absent) == isinstance(step.cause, claim.Make)


def _started_by_right(step: Step[claim.ClaimState]) -> bool:
    if not isinstance(step.cause, claim.Begin):
        return True
    if not isinstance(step.before, claim.Claimed):
        return False
    own = step.cause.epoch == step.before.epoch
    return own == isinstance(step.after, claim.Admitted)


def _saga_in_order(step: Step[repair.RepairState]) -> bool:
    begins = isinstance(step.before, repair.Idle) and isinstance(step.cause, repair.Begin)
    ends = isinstance(step.before, repair.Started) and isinstance(step.cause, repair.Finish)
    return begins or ends


SESSION_OPENS_FIRST: Final = each_step(
    "SES.I2",
    "A session's opening is the first fact of its control ledger, and the only one.",
    "Settings and verdicts would belong to a session that does not exist.",
    _opening_is_first,
)
STARTED_BY_RIGHT: Final = each_step(
    "CLM.I9",
    "The owner that claimed may admit, and only a later one may repair.",
    "A continuation would run under an owner that never checked its safety.",
    _started_by_right,
)
SAGA_IN_ORDER: Final = each_step(
    "REP.I3",
    "A repair writes its start, then its end, and nothing else.",
    "A claim would be closed without the fact that says why.",
    _saga_in_order,
)
SESSION: Final[tuple[Invariant, ...]] = (SESSION_OPENS_FIRST,)
MESSAGE: Final[tuple[Invariant, ...]] = (FATE_IS_FINAL.over(_fate_stays),)
VERDICT: Final[tuple[Invariant, ...]] = (VERDICT_WHEN_GONE.over(_judges_what_is_over),)
CLAIM: Final[tuple[Invariant, ...]] = (_as_step(ONE_CLAIMANT, _made_once), STARTED_BY_RIGHT)
REPAIR: Final[tuple[Invariant, ...]] = (SAGA_IN_ORDER,)

BY_MACHINE: Final[Mapping[str, tuple[Invariant, ...]]] = MappingProxyType(
    {
        "claim": CLAIM,
        "host": HOST,
        "interaction": INTERACTION,
        "lease": LEASE,
        "message": MESSAGE,
        "operation": OPERATION,
        "repair": REPAIR,
        "request": REQUEST,
        "run": RUN,
        "session": SESSION,
        "verdict": VERDICT,
    }
)
