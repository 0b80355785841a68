"""The operation: one tool call, from its place in a step to its outcome, or to a park (OP-1, OP-4, OP-5)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row

# --- words ---


class Mode(StrEnum):
    """What the tool's contract lets recovery do (OP-5)."""

    REPLAY_SAFE = "replay_safe"
    IDEMPOTENT = "idempotent"
    RECONCILE = "reconcile"
    NEVER = "never"


class Grant(StrEnum):
    """The request to a person that a fact names for this call, as its own machine has it."""

    NONE = "none"
    GRANTED = "granted"
    DENIED = "denied"
    OTHER = "other"


class Match(StrEnum):
    """Whether tool and arguments are those of the call (BYTE-6)."""

    SAME = "same"
    OTHER = "other"


class Retry(StrEnum):
    """The operation a T1 says it repeats: only one parked for its key may be (OP-5)."""

    NONE = "none"
    PARKED = "parked"
    OTHER = "other"


class Via(StrEnum):
    """Who writes a settled outcome."""

    TOOL = "tool"
    INTERRUPTED = "interrupted"
    RECONCILED = "reconciled"


class Sight(StrEnum):
    """What recovery saw of the effect (OP-6)."""

    EXPECTED = "expected"
    PRIOR = "prior"
    DIVERGED = "diverged"
    UNREADABLE = "unreadable"


class Verdict(StrEnum):
    """What a recovery decision says."""

    COMPLETED = "completed"
    PRIOR = "prior"
    DIVERGED = "diverged"
    UNREADABLE = "unreadable"
    BY_KEY = "by_key"


# --- states ---


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Called:
    """The call is durable; nobody was asked, nothing was started."""


@attrs.frozen(kw_only=True)
class Asked:
    """A person was asked about this call; only their grant lets it start."""


@attrs.frozen(kw_only=True)
class Dispatched:
    """T1 is durable: the effect may have happened. Without an owner this is *unknown* (OP-2)."""

    epoch: int
    mode: Mode
    local: bool


@attrs.frozen(kw_only=True)
class Refused:
    """The call has a response that says *not started*; it never had T1."""


@attrs.frozen(kw_only=True)
class Settled:
    """T2 is durable."""


@attrs.frozen(kw_only=True)
class Interrupted:
    """Recovery wrote the outcome of an effect-free tool; its decision must follow in the unit."""


@attrs.frozen(kw_only=True)
class Observed:
    """Recovery looked; outcome or decision must follow in the unit."""

    sight: Sight


@attrs.frozen(kw_only=True)
class Finalised:
    """Recovery wrote the outcome that its observation proves; the decision must follow."""


@attrs.frozen(kw_only=True)
class Recovered:
    """Recovery completed the operation (OP-4)."""


@attrs.frozen(kw_only=True)
class Parked:
    """Terminal for automation: a person decides (OP-4). `by_key`: an explicit retry may reuse it."""

    by_key: bool


OperationState: TypeAlias = (
    Absent
    | Called
    | Asked
    | Dispatched
    | Refused
    | Settled
    | Interrupted
    | Observed
    | Finalised
    | Recovered
    | Parked
)

# --- seen events ---


@attrs.frozen(kw_only=True)
class Call:
    """A call."""


@attrs.frozen(kw_only=True)
class Ask:
    """ask_opened about this call; `action`: tool and arguments are those of the call."""

    action: Match


@attrs.frozen(kw_only=True)
class Withdrawn:
    """ask_closed for a reason other than its deadline: the call is gated anew."""


@attrs.frozen(kw_only=True)
class Dispatch:
    """Dispatched (T1)."""

    epoch: int
    mode: Mode
    local: bool
    action: Match
    grant: Grant
    retry: Retry


@attrs.frozen(kw_only=True)
class NotStarted:
    """An outcome that says *not started*."""

    grant: Grant


@attrs.frozen(kw_only=True)
class Outcome:
    """A settled outcome; `gone`: the epoch of the T1 is proven gone (OWN-2)."""

    epoch: int
    via: Via
    gone: bool


@attrs.frozen(kw_only=True)
class Observation:
    """reconcile_result."""

    sight: Sight
    gone: bool


@attrs.frozen(kw_only=True)
class Decision:
    """recovery_decision; `evidence`: it names exactly the facts it rests on, in order."""

    verdict: Verdict
    gone: bool
    evidence: Match


OperationSeen: TypeAlias = (
    Call | Ask | Withdrawn | Dispatch | NotStarted | Outcome | Observation | Decision
)

# --- guards ---


def _called(_state: Absent, _seen: Call) -> bool:
    return True


def _asks(_state: Called, seen: Ask) -> bool:
    return seen.action is Match.SAME


def _withdraws(_state: Asked, _seen: Withdrawn) -> bool:
    return True


def _exact(seen: Dispatch) -> bool:
    return seen.action is Match.SAME and (
        seen.retry is Retry.NONE or (seen.retry is Retry.PARKED and seen.mode is Mode.IDEMPOTENT)
    )


def _dispatches(_state: Called, seen: Dispatch) -> bool:
    return _exact(seen) and seen.grant is Grant.NONE


def _dispatches_granted(_state: Asked, seen: Dispatch) -> bool:
    return _exact(seen) and seen.grant is Grant.GRANTED


def _refuses(_state: Called, seen: NotStarted) -> bool:
    return seen.grant is Grant.NONE


def _tells(_state: Asked, seen: NotStarted) -> bool:
    return seen.grant in (Grant.DENIED, Grant.GRANTED)


def _settles(state: Dispatched, seen: Outcome) -> bool:
    return seen.via is Via.TOOL and seen.epoch == state.epoch


def _interrupted(state: Dispatched, seen: Outcome) -> bool:
    return seen.via is Via.INTERRUPTED and state.mode is Mode.REPLAY_SAFE and seen.gone


def _observes(state: Dispatched, seen: Observation) -> bool:
    return state.mode is Mode.RECONCILE and state.local and seen.gone


def _finalises(state: Observed, seen: Outcome) -> bool:
    return seen.via is Via.RECONCILED and state.sight is Sight.EXPECTED


def _completes(_state: Finalised, seen: Decision) -> bool:
    return seen.verdict is Verdict.COMPLETED and seen.evidence is Match.SAME


def _closes_interrupted(_state: Interrupted, seen: Decision) -> bool:
    return seen.verdict is Verdict.COMPLETED and seen.evidence is Match.SAME


def _parks(state: Observed, seen: Decision) -> bool:
    if seen.evidence is Match.OTHER:
        return False
    return (
        (state.sight is Sight.PRIOR and seen.verdict is Verdict.PRIOR)
        or (state.sight is Sight.DIVERGED and seen.verdict is Verdict.DIVERGED)
        or (state.sight is Sight.UNREADABLE and seen.verdict is Verdict.UNREADABLE)
    )


def _parks_by_key(state: Dispatched, seen: Decision) -> bool:
    return (
        state.mode is Mode.IDEMPOTENT
        and seen.verdict is Verdict.BY_KEY
        and seen.gone
        and seen.evidence is Match.SAME
    )


_T1: Final = ("epoch", "mode", "local")

# Legend: T4/T5 are T1, T8 is T2. T7 also ends a granted call that can no longer start. T9..T14 are recovery's and need a T1 whose epoch is proven gone (OWN-2);
# an operation of mode NEVER has none of them: it stays unknown until a person gives a verdict.
# fmt: off
_ROWS: Final = (
    #    id         from         event        guard                to
    row("OP.T1",   Absent,      Call,        _called,             Called),
    row("OP.T2",   Called,      Ask,         _asks,               Asked),
    row("OP.T3",   Asked,       Withdrawn,   _withdraws,          Called),
    row("OP.T4",   Called,      Dispatch,    _dispatches,         Dispatched, takes=_T1),
    row("OP.T5",   Asked,       Dispatch,    _dispatches_granted, Dispatched, takes=_T1),
    row("OP.T6",   Called,      NotStarted,  _refuses,            Refused),
    row("OP.T7",   Asked,       NotStarted,  _tells,              Refused),
    row("OP.T8",   Dispatched,  Outcome,     _settles,            Settled),
    row("OP.T9",   Dispatched,  Outcome,     _interrupted,        Interrupted),
    row("OP.T10",  Dispatched,  Observation, _observes,           Observed,   takes=("sight",)),
    row("OP.T11",  Observed,    Outcome,     _finalises,          Finalised),
    row("OP.T12",  Finalised,   Decision,    _completes,          Recovered),
    row("OP.T13",  Interrupted, Decision,    _closes_interrupted, Recovered),
    row("OP.T14",  Observed,    Decision,    _parks,              Parked,     sets={"by_key": False}),
    row("OP.T15",  Dispatched,  Decision,    _parks_by_key,       Parked,     sets={"by_key": True}),
)
# fmt: on


def _other_action(_state: Called | Asked, seen: Ask | Dispatch) -> bool:
    return seen.action is Match.OTHER


def _bad_retry(_state: Called | Asked, seen: Dispatch) -> bool:
    return seen.retry is not Retry.NONE


def _wrong_via(state: Dispatched, seen: Outcome) -> bool:
    return seen.via is Via.RECONCILED or (
        seen.via is Via.INTERRUPTED and state.mode is not Mode.REPLAY_SAFE
    )


def _by_tool(_state: Dispatched, seen: Outcome) -> bool:
    return seen.via is Via.TOOL


def _not_reconcilable(state: Dispatched, _seen: Observation) -> bool:
    return state.mode is not Mode.RECONCILE


def _remote(state: Dispatched, _seen: Observation) -> bool:
    return not state.local


def _undecidable(state: Dispatched, seen: Decision) -> bool:
    return state.mode is not Mode.IDEMPOTENT or seen.verdict is not Verdict.BY_KEY


def _alive(_state: Dispatched, seen: Decision) -> bool:
    return not seen.gone


_DENIALS: Final = (
    deny(Code.ARGUMENTS_DIFFER, source=Called, event=Ask),
    deny(Code.ARGUMENTS_DIFFER, source=Called, event=Dispatch, when=_other_action),
    deny(Code.ARGUMENTS_DIFFER, source=Asked, event=Dispatch, when=_other_action),
    deny(Code.RETRY_NOT_PARKED, source=Called, event=Dispatch, when=_bad_retry),
    deny(Code.RETRY_NOT_PARKED, source=Asked, event=Dispatch, when=_bad_retry),
    deny(Code.GRANT_UNASKED, source=Called, event=Dispatch),
    deny(Code.GRANT_UNASKED, source=Called, event=NotStarted),
    deny(Code.GRANT_MISSING, source=Asked, event=Dispatch),
    deny(Code.GRANT_MISSING, source=Asked, event=NotStarted),
    deny(Code.RECOVERY_MODE_FORBIDS, source=Dispatched, event=Outcome, when=_wrong_via),
    deny(Code.RUN_NOT_ATTACHED, source=Dispatched, event=Outcome, when=_by_tool),
    deny(Code.EPOCH_NOT_GONE, source=Dispatched, event=Outcome),
    deny(Code.RECOVERY_MODE_FORBIDS, source=Dispatched, event=Observation, when=_not_reconcilable),
    deny(Code.EFFECT_NOT_LOCAL, source=Dispatched, event=Observation, when=_remote),
    deny(Code.EPOCH_NOT_GONE, source=Dispatched, event=Observation),
    deny(Code.RECOVERY_MODE_FORBIDS, source=Dispatched, event=Decision, when=_undecidable),
    deny(Code.EPOCH_NOT_GONE, source=Dispatched, event=Decision, when=_alive),
    deny(Code.DECISION_CONTRADICTS, source=Dispatched, event=Decision),
    deny(Code.DECISION_CONTRADICTS, source=Observed),
    deny(Code.DECISION_CONTRADICTS, source=Finalised),
    deny(Code.DECISION_CONTRADICTS, source=Interrupted),
    deny(Code.OPERATION_DUPLICATE, source=Called, event=Call),
    deny(Code.OPERATION_DUPLICATE, source=Asked, event=Call),
    deny(Code.ALREADY_OPENED, source=Asked, event=Ask),
    deny(Code.ASK_UNKNOWN, source=Called, event=Withdrawn),
)

TABLE: Final[Table[OperationState, OperationSeen]] = Table(
    machine="operation",
    prefix="OP",
    start=Absent(),
    states=(
        Absent,
        Called,
        Asked,
        Dispatched,
        Refused,
        Settled,
        Interrupted,
        Observed,
        Finalised,
        Recovered,
        Parked,
    ),
    events=(Call, Ask, Withdrawn, Dispatch, NotStarted, Outcome, Observation, Decision),
    rows=_ROWS,
    denials=_DENIALS,
    default={
        Absent: Code.OPERATION_NOT_CALLED,
        Called: Code.OPERATION_NOT_DISPATCHED,
        Asked: Code.OPERATION_NOT_DISPATCHED,
        Dispatched: Code.OPERATION_DISPATCHED,
        Refused: Code.OPERATION_SETTLED,
        Settled: Code.OPERATION_SETTLED,
        Interrupted: Code.OPERATION_SETTLED,
        Observed: Code.OPERATION_DISPATCHED,
        Finalised: Code.OPERATION_SETTLED,
        Recovered: Code.OPERATION_SETTLED,
        Parked: Code.OPERATION_PARKED,
    },
    transient=frozenset((Interrupted, Observed, Finalised)),
)
