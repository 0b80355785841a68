"""What is known of an operation, and what recovery may write about it (OP-2, OP-4, OP-5)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..lifecycles import operation
from .decision import DecisionTable, Rule, anything


class Standing(StrEnum):
    """The three values of OP-2, and the two that are not final."""

    NOT_STARTED = "not_started"
    SETTLED = "settled"
    UNKNOWN = "unknown"  # T1, no outcome, and nobody who could still settle it
    PARKED = "parked"  # recovery looked and stopped: a person decides
    PENDING = "pending"  # its run is open and attached


@attrs.frozen(kw_only=True)
class Standpoint:
    """What the resolver looks at; `open`: the run has no terminal."""

    state: operation.OperationState
    open: bool


def _settled(at: Standpoint) -> bool:
    return isinstance(
        at.state,
        operation.Settled | operation.Recovered | operation.Finalised | operation.Interrupted,
    )


def _parked(at: Standpoint) -> bool:
    return isinstance(at.state, operation.Parked)


def _refused(at: Standpoint) -> bool:
    return isinstance(at.state, operation.Refused)


def _pending(at: Standpoint) -> bool:
    return at.open


def _dispatched(at: Standpoint) -> bool:
    return isinstance(at.state, operation.Dispatched | operation.Observed)


# A call without T1 in a closed run was provably never started: the opening is the promise that T1
# comes before any effect, so the absence of a T1 is knowledge, not silence (OP-1).
# fmt: off
RESOLVER: Final[DecisionTable[Standpoint, Standing]] = DecisionTable(
    name="resolver", prefix="RES", rules=(
        Rule(id="RES.D1", when=_settled,    then=Standing.SETTLED),
        Rule(id="RES.D2", when=_parked,     then=Standing.PARKED),
        Rule(id="RES.D3", when=_refused,    then=Standing.NOT_STARTED),
        Rule(id="RES.D4", when=_pending,    then=Standing.PENDING),
        Rule(id="RES.D5", when=_dispatched, then=Standing.UNKNOWN),
        Rule(id="RES.D6", when=anything,    then=Standing.NOT_STARTED),
    ),
)
# fmt: on


class Sight(StrEnum):
    """What recovery saw; NOT_YET before it looked."""

    NOT_YET = "not_yet"
    EXPECTED = "expected"
    PRIOR = "prior"
    DIVERGED = "diverged"
    UNREADABLE = "unreadable"


class Settlement(StrEnum):
    """What recovery writes for one operation, as one unit (OP-4), or why it writes nothing."""

    NOTHING = "nothing"  # it has no T1, or is settled, or parked
    WORKER_ALIVE = "worker_alive"  # its epoch is not proven gone: it may still act (OWN-2)
    KEEP_UNKNOWN = "keep_unknown"  # its contract gives recovery no way to know
    OBSERVE = "observe"  # look at the effect, then ask again
    INTERRUPT = "interrupt"  # outcome interrupted_no_effect + completed
    PARK_BY_KEY = "park_by_key"  # decision parked, retry_by_key
    FINALISE = "finalise"  # reconcile_result + outcome + completed
    PARK_PRIOR = "park_prior"
    PARK_DIVERGED = "park_diverged"
    PARK_UNREADABLE = "park_unreadable"


@attrs.frozen(kw_only=True)
class Leftover:
    """One operation of a run without terminal, as recovery finds it.

    Attributes:
        gone: The owner epoch of its T1 is proven gone (OWN-2).
    """

    state: operation.OperationState
    gone: bool
    sight: Sight


Mode: TypeAlias = operation.Mode


def _undispatched(left: Leftover) -> bool:
    return not isinstance(left.state, operation.Dispatched)


def _alive(left: Leftover) -> bool:
    return not left.gone


def _mode(left: Leftover) -> Mode | None:
    return left.state.mode if isinstance(left.state, operation.Dispatched) else None


def _replay_safe(left: Leftover) -> bool:
    return _mode(left) is operation.Mode.REPLAY_SAFE


def _idempotent(left: Leftover) -> bool:
    return _mode(left) is operation.Mode.IDEMPOTENT


def _reconcilable(left: Leftover) -> bool:
    state = left.state
    return (
        isinstance(state, operation.Dispatched)
        and state.mode is operation.Mode.RECONCILE
        and state.local
    )


def _unseen(left: Leftover) -> bool:
    return _reconcilable(left) and left.sight is Sight.NOT_YET


def _expected(left: Leftover) -> bool:
    return _reconcilable(left) and left.sight is Sight.EXPECTED


def _prior(left: Leftover) -> bool:
    return _reconcilable(left) and left.sight is Sight.PRIOR


def _diverged(left: Leftover) -> bool:
    return _reconcilable(left) and left.sight is Sight.DIVERGED


def _unreadable(left: Leftover) -> bool:
    return _reconcilable(left) and left.sight is Sight.UNREADABLE


# REC.D2 comes before every rule that concludes anything: a fence in the database cannot stop a call
# that is past its check, so only the proof of OWN-2 makes an observation final.
# fmt: off
LEFTOVERS: Final[DecisionTable[Leftover, Settlement]] = DecisionTable(
    name="leftovers", prefix="REC", rules=(
        Rule(id="REC.D1", when=_undispatched, then=Settlement.NOTHING),
        Rule(id="REC.D2", when=_alive,        then=Settlement.WORKER_ALIVE),
        Rule(id="REC.D3", when=_replay_safe,  then=Settlement.INTERRUPT),
        Rule(id="REC.D4", when=_idempotent,   then=Settlement.PARK_BY_KEY),
        Rule(id="REC.D5", when=_unseen,       then=Settlement.OBSERVE),
        Rule(id="REC.D6", when=_expected,     then=Settlement.FINALISE),
        Rule(id="REC.D7", when=_prior,        then=Settlement.PARK_PRIOR),
        Rule(id="REC.D8", when=_diverged,     then=Settlement.PARK_DIVERGED),
        Rule(id="REC.D9", when=_unreadable,   then=Settlement.PARK_UNREADABLE),
        Rule(id="REC.D10", when=anything,     then=Settlement.KEEP_UNKNOWN),
    ),
)
# fmt: on
