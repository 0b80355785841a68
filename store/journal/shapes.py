"""Which kinds each writer writes, in which order: one table for all writers (STORE-5)."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import attrs

from ...machines.facts.model import AskClosed, Outcome, RunOpened, RuntimeEvent
from ...machines.facts.vocabulary import Cause, CloseReason, Kind, OutcomeBy, OutcomeState
from .errors import ReservedFactError, UnitMisfitsWriterError


class Writer(StrEnum):
    """The writers; append-only names, quoted in errors."""

    OPEN_SESSION = "open_session"
    OPEN_RUN = "open_run"
    STEER = "steer"
    DISPATCH_REQUEST = "dispatch_request"
    SETTLE_STEP = "settle_step"
    SETTLE_REQUEST = "settle_request"
    CONTENT = "content"
    DISPATCH = "dispatch"
    SETTLE = "settle"
    REFUSE_CALL = "refuse_call"
    ASK = "ask"
    ANSWER = "answer"
    CLOSE_ASK = "close_ask"
    STOP = "stop"
    REATTACH = "reattach"
    END_RUN = "end_run"
    ABANDON_RUN = "abandon_run"
    QUEUE_MESSAGE = "queue_message"
    RETURN_MESSAGE = "return_message"
    RETRACT_MESSAGE = "retract_message"
    CHANGE_SESSION = "change_session"
    GIVE_VERDICT = "give_verdict"
    ABANDON_BOUNDARY = "abandon_boundary"
    ACCEPT_DRIFT = "accept_drift"
    RECORD_LATE_OUTCOME = "record_late_outcome"
    START_CONTINUATION = "start_continuation"
    REPAIR_CLAIM = "repair_claim"
    RECOVER_OPERATION = "recover_operation"
    EXPIRE_ASKS = "expire_asks"
    REPAIR_RUN = "repair_run"


Test = Callable[[RuntimeEvent], bool]


def _any(_fact: RuntimeEvent) -> bool:
    return True


@attrs.frozen(kw_only=True)
class Part:
    """A stretch of a unit: facts of these kinds, from `least` to `most` of them."""

    kinds: frozenset[Kind]
    least: int
    most: int | None
    test: Test

    def takes(self, fact: RuntimeEvent) -> bool:
        """Say whether a fact may stand in this stretch."""
        return fact.kind in self.kinds and self.test(fact)


def _one(*kinds: Kind, test: Test = _any) -> Part:
    return Part(kinds=frozenset(kinds), least=1, most=1, test=test)


def _maybe(*kinds: Kind) -> Part:
    return Part(kinds=frozenset(kinds), least=0, most=1, test=_any)


def _many(*kinds: Kind, least: int = 0, test: Test = _any) -> Part:
    return Part(kinds=frozenset(kinds), least=least, most=None, test=test)


def _is_settled(fact: RuntimeEvent) -> bool:
    action = fact.actions
    return isinstance(action, Outcome) and action.state is OutcomeState.SETTLED


def _by_tool(fact: RuntimeEvent) -> bool:
    return _is_settled(fact) and getattr(fact.actions, "by", None) is OutcomeBy.TOOL


def _not_started(fact: RuntimeEvent) -> bool:
    return isinstance(fact.actions, Outcome) and not _is_settled(fact)


def _expired(fact: RuntimeEvent) -> bool:
    return isinstance(fact.actions, AskClosed) and fact.actions.reason is CloseReason.EXPIRED


def _caused_by(*causes: Cause) -> Test:
    def test(fact: RuntimeEvent) -> bool:
        return isinstance(fact.actions, RunOpened) and fact.actions.cause in causes

    return test


CONTENT: Final = frozenset(
    (
        Kind.MODEL_TEXT,
        Kind.MODEL_THINKING,
        Kind.ERROR_NOTED,
        Kind.ARTIFACT_ADDED,
        Kind.CHECKPOINT_MADE,
    )
)
"""What the generic writer may write: the content of an open run."""

_END: Final = (
    _maybe(Kind.REQUEST_SETTLED),
    _many(Kind.ASK_CLOSED),
    _many(Kind.MESSAGE_RETURNED),
    _one(Kind.RUN_ENDED),
)
_TURNS: Final = _caused_by(Cause.TURN, Cause.FOLLOW_UP)

_SETUP: Final = (Kind.WORKSPACE_ATTACHED, Kind.SETTINGS_CHANGED, Kind.BOUNDARY_CHANGED)
_FROM: Final = _maybe(Kind.BRANCHED_FROM)
_TAKEN: Final = _maybe(Kind.MESSAGE_TAKEN)
_SAID: Final = _one(Kind.USER_TEXT)
_THOUGHT: Final = _many(Kind.MODEL_THINKING, Kind.MODEL_TEXT)
_OBSERVED: Final = (_maybe(Kind.RECONCILE_RESULT), _maybe(Kind.OUTCOME))
_CHANGES: Final = (*_SETUP, Kind.BRANCHED_FROM, Kind.SESSION_ADOPTED)
_ADMITS: Final = _caused_by(Cause.RUNTIME_ADMISSION)
_REPAIRS: Final = _caused_by(Cause.CLAIM_REPAIR)

# fmt: off
SHAPES: Final[Mapping[Writer, tuple[Part, ...]]] = MappingProxyType({
    Writer.OPEN_SESSION:        (_one(Kind.SESSION_OPENED), _FROM, _many(*_SETUP)),
    Writer.OPEN_RUN:            (_one(Kind.RUN_OPENED, test=_TURNS), _TAKEN, _SAID),
    Writer.STEER:               (_one(Kind.MESSAGE_TAKEN), _one(Kind.STEERING_TEXT)),
    Writer.DISPATCH_REQUEST:    (_one(Kind.REQUEST_DISPATCHED),),
    Writer.SETTLE_STEP:         (_THOUGHT, _many(Kind.CALL), _one(Kind.REQUEST_SETTLED)),
    Writer.SETTLE_REQUEST:      (_maybe(Kind.ERROR_NOTED), _one(Kind.REQUEST_SETTLED)),
    Writer.CONTENT:             (_many(*CONTENT, least=1),),
    Writer.DISPATCH:            (_one(Kind.DISPATCHED),),
    Writer.SETTLE:              (_one(Kind.OUTCOME, test=_by_tool), _many(Kind.ARTIFACT_ADDED)),
    Writer.REFUSE_CALL:         (_one(Kind.OUTCOME, test=_not_started),),
    Writer.ASK:                 (_many(Kind.ASK_OPENED, least=1),),
    Writer.ANSWER:              (_one(Kind.ASK_ANSWERED),),
    Writer.CLOSE_ASK:           (_many(Kind.ASK_CLOSED, least=1),),
    Writer.STOP:                (_one(Kind.STOP_REQUESTED),),
    Writer.REATTACH:            (_one(Kind.RUN_REATTACHED),),
    Writer.END_RUN:             _END,
    Writer.ABANDON_RUN:         (_one(Kind.RUN_ABANDONED), *_END),
    Writer.QUEUE_MESSAGE:       (_one(Kind.MESSAGE_QUEUED),),
    Writer.RETURN_MESSAGE:      (_many(Kind.MESSAGE_RETURNED, least=1),),
    Writer.RETRACT_MESSAGE:     (_one(Kind.MESSAGE_RETRACTED),),
    Writer.CHANGE_SESSION:      (_many(*_CHANGES, least=1),),
    Writer.GIVE_VERDICT:        (_one(Kind.VERDICT_GIVEN),),
    Writer.ABANDON_BOUNDARY:    (_one(Kind.BOUNDARY_ABANDONED),),
    Writer.ACCEPT_DRIFT:        (_one(Kind.DRIFT_ACCEPTED),),
    Writer.RECORD_LATE_OUTCOME: (_one(Kind.LATE_OUTCOME),),
    Writer.START_CONTINUATION:  (_one(Kind.RUN_OPENED, test=_ADMITS),),
    Writer.REPAIR_CLAIM:        (_one(Kind.RUN_OPENED, test=_REPAIRS), _one(Kind.RUN_ENDED)),
    Writer.RECOVER_OPERATION:   (*_OBSERVED, _one(Kind.RECOVERY_DECISION)),
    Writer.EXPIRE_ASKS:         (_many(Kind.ASK_CLOSED, least=1, test=_expired),),
    Writer.REPAIR_RUN:          _END,
})
# fmt: on

NEEDS_CLEAN: Final = frozenset((Writer.DISPATCH, Writer.DISPATCH_REQUEST))
"""What a store on probation does not admit: after these something leaves this machine (STORE-9)."""


def refuse_misfit(writer: Writer, facts: Sequence[RuntimeEvent]) -> None:
    """Refuse a unit that this writer does not write.

    Raises:
        ReservedFactError: `reserved_fact`, from the generic writer: the kind has its own.
        UnitMisfitsWriterError: `unit_misfits_writer`.
    """
    if writer is Writer.CONTENT:
        for fact in facts:
            if fact.kind not in CONTENT:
                raise ReservedFactError(kind=fact.kind)
    at = 0
    for part in SHAPES[writer]:
        took = 0
        while at < len(facts) and took != part.most and part.takes(facts[at]):
            at += 1
            took += 1
        if took < part.least:
            break
    else:
        if at == len(facts):
            return
    raise UnitMisfitsWriterError(writer=writer, kinds=tuple(fact.kind for fact in facts))
