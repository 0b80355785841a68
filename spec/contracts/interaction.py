"""The contracts of the interaction: one decision, and one use for what was asked (ASK-2)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import interaction as machine
from ...machines.lifecycles.interaction import (
    Absent,
    Answer,
    Ask,
    Closed,
    Closing,
    Consumed,
    Decision,
    Denied,
    Expiry,
    Granted,
    InteractionSeen,
    InteractionState,
    Match,
    Open,
    Purpose,
    Told,
    Use,
)
from .reached import reached, refusal


def is_asked_once(state: InteractionState, seen: Ask) -> bool:
    """ASK.C1: A request to a person is opened once and keeps its purpose.

    post: __return__
    """
    expected = Open(purpose=seen.purpose) if isinstance(state, Absent) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def answer_fits_the_purpose(state: InteractionState, seen: Answer) -> bool:
    """ASK.C2: An answer in time decides an open request: a refusal denies, a fitting word grants.

    post: __return__
    """
    expected: InteractionState | None = None
    if isinstance(state, Open) and not seen.overdue:
        granting = Decision.ALLOW if state.purpose is Purpose.APPROVAL else Decision.ANSWER
        if seen.decision is granting:
            expected = Granted()
        if seen.decision is Decision.DENY:
            expected = Denied()
    return reached(machine.TABLE.step(state, seen)) == expected


def deadline_denies(state: InteractionState, seen: Expiry) -> bool:
    """ASK.C3: An open request whose deadline has passed counts as denied, never as granted.

    post: __return__
    """
    expired = isinstance(state, Open) and seen.overdue
    return reached(machine.TABLE.step(state, seen)) == (Denied() if expired else None)


def closes_only_while_open(state: InteractionState, seen: Closing) -> bool:
    """ASK.C4: A request closes without a decision exactly while it is open.

    post: __return__
    """
    expected = Closed() if isinstance(state, Open) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def grant_executes_once(state: InteractionState, seen: Use) -> bool:
    """ASK.C5: A grant is consumed by the one T1 of exactly the action that was approved.

    post: __return__
    """
    fits = isinstance(state, Granted) and seen.action is not Match.OTHER
    return reached(machine.TABLE.step(state, seen)) == (Consumed() if fits else None)


def denial_is_told_once(state: InteractionState, seen: Told) -> bool:
    """ASK.C6: A decision is consumed by the one response that says its call was not started.

    post: __return__
    """
    fits = isinstance(state, Granted | Denied) and seen.action is not Match.OTHER
    return reached(machine.TABLE.step(state, seen)) == (Consumed() if fits else None)


def decided_means_decided(
    state: Granted | Denied | Consumed | Closed, seen: Ask | Answer | Expiry | Closing
) -> bool:
    """ASK.C7: What was answered or closed is never opened, answered, expired or closed again.

    post: __return__
    """
    code = refusal(machine.TABLE.step(state, seen))
    if isinstance(state, Consumed):
        return code is Code.ASK_CONSUMED
    return code is (Code.ASK_CLOSED if isinstance(state, Closed) else Code.ASK_DECIDED)


def no_event_leaves_the_end(state: Consumed | Closed, seen: InteractionSeen) -> bool:
    """ASK.C8: A consumed or closed request accepts nothing more.

    post: __return__
    """
    return reached(machine.TABLE.step(state, seen)) is None
