"""The message: queued durably, delivered exactly once or handed back (RUN-6)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class Intent(StrEnum):
    """Steering goes into the open run; a follow-up opens the next one."""

    STEER = "steer"
    FOLLOW_UP = "follow_up"


class Target(StrEnum):
    """The run that takes the message, as its own ledger has it before this unit ends."""

    AT_BOUNDARY = "at_boundary"  # open, between steps
    OPENING = "opening"  # opened in this very unit
    OTHER = "other"


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Queued:
    """The message waits."""

    intent: Intent


@attrs.frozen(kw_only=True)
class Taken:
    """Delivered: the text fact that carries it stands in the same unit."""


@attrs.frozen(kw_only=True)
class Returned:
    """Given back undelivered."""


@attrs.frozen(kw_only=True)
class Retracted:
    """Taken back by its sender."""


MessageState: TypeAlias = Absent | Queued | Taken | Returned | Retracted


@attrs.frozen(kw_only=True)
class Queue:
    """message_queued; `run_open`: the session has a run that it could steer."""

    intent: Intent
    run_open: bool


@attrs.frozen(kw_only=True)
class Take:
    """message_taken."""

    target: Target


@attrs.frozen(kw_only=True)
class Return:
    """message_returned."""


@attrs.frozen(kw_only=True)
class Retract:
    """message_retracted."""


MessageSeen: TypeAlias = Queue | Take | Return | Retract


def _queues(_state: Absent, seen: Queue) -> bool:
    return seen.intent is Intent.FOLLOW_UP or seen.run_open


def _takes(state: Queued, seen: Take) -> bool:
    if state.intent is Intent.STEER:
        return seen.target is Target.AT_BOUNDARY
    return seen.target is Target.OPENING


def _returns(_state: Queued, _seen: Return) -> bool:
    return True


def _retracts(_state: Queued, _seen: Retract) -> bool:
    return True


# fmt: off
_ROWS: Final = (
    #    id        from    event    guard      to
    row("MSG.T1", Absent, Queue,   _queues,   Queued,    takes=("intent",)),
    row("MSG.T2", Queued, Take,    _takes,    Taken),
    row("MSG.T3", Queued, Return,  _returns,  Returned),
    row("MSG.T4", Queued, Retract, _retracts, Retracted),
)
# fmt: on

TABLE: Final[Table[MessageState, MessageSeen]] = Table(
    machine="message",
    prefix="MSG",
    start=Absent(),
    states=(Absent, Queued, Taken, Returned, Retracted),
    events=(Queue, Take, Return, Retract),
    rows=_ROWS,
    denials=(
        deny(Code.NO_OPEN_RUN, source=Absent, event=Queue),
        deny(Code.MESSAGE_WRONG_RUN, source=Queued, event=Take),
    ),
    default={
        Absent: Code.MESSAGE_UNKNOWN,
        Queued: Code.ALREADY_OPENED,
        Taken: Code.MESSAGE_NOT_QUEUED,
        Returned: Code.MESSAGE_NOT_QUEUED,
        Retracted: Code.MESSAGE_NOT_QUEUED,
    },
)
