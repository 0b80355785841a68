"""The contracts of the message: queued once, then delivered, returned or retracted (RUN-6)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import message as machine
from ...machines.lifecycles.message import (
    Absent,
    Intent,
    MessageSeen,
    MessageState,
    Queue,
    Queued,
    Retract,
    Retracted,
    Return,
    Returned,
    Take,
    Taken,
    Target,
)
from .reached import reached, refusal


def queues_once(state: MessageState, seen: Queue) -> bool:
    """MSG.C1: A message is queued once and keeps its intent; steering needs an open run.

    post: __return__
    """
    wanted = seen.intent is Intent.FOLLOW_UP or seen.run_open
    expected = Queued(intent=seen.intent) if isinstance(state, Absent) and wanted else None
    return reached(machine.TABLE.step(state, seen)) == expected


def goes_where_it_was_meant(state: MessageState, seen: Take) -> bool:
    """MSG.C2: Steering is delivered at a boundary of an open run, a follow-up only by an opening.

    post: __return__
    """
    place = {Intent.STEER: Target.AT_BOUNDARY, Intent.FOLLOW_UP: Target.OPENING}
    fits = isinstance(state, Queued) and seen.target is place[state.intent]
    return reached(machine.TABLE.step(state, seen)) == (Taken() if fits else None)


def comes_back_only_while_queued(state: MessageState, seen: Return) -> bool:
    """MSG.C3: A message is handed back exactly while it is still queued.

    post: __return__
    """
    expected = Returned() if isinstance(state, Queued) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def is_withdrawn_only_while_queued(state: MessageState, seen: Retract) -> bool:
    """MSG.C4: A sender takes a message back exactly while it is still queued.

    post: __return__
    """
    expected = Retracted() if isinstance(state, Queued) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def fate_is_final(state: Taken | Returned | Retracted, seen: MessageSeen) -> bool:
    """MSG.C5: A message that was delivered, returned or retracted accepts nothing more.

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.MESSAGE_NOT_QUEUED
