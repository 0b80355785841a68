"""The interaction: one request to a person, answered or closed once, and used once (ASK-1, ASK-2)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class Purpose(StrEnum):
    """An approval takes allow or deny; a question takes an answer, or is declined."""

    APPROVAL = "approval"
    QUESTION = "question"


class Decision(StrEnum):
    """What the person said."""

    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"


class Match(StrEnum):
    """Whether the fact speaks of the exact action that was asked about (ASK-2)."""

    SAME = "same"
    OTHER = "other"


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Open:
    """Somebody may answer."""

    purpose: Purpose


@attrs.frozen(kw_only=True)
class Granted:
    """Allowed or answered, and not yet used."""


@attrs.frozen(kw_only=True)
class Denied:
    """Denied or expired; the model has not been told yet (ASK-3)."""


@attrs.frozen(kw_only=True)
class Consumed:
    """Used by exactly one T1, or told to the model as a refusal."""


@attrs.frozen(kw_only=True)
class Closed:
    """Ended without a decision."""


InteractionState: TypeAlias = Absent | Open | Granted | Denied | Consumed | Closed


@attrs.frozen(kw_only=True)
class Ask:
    """ask_opened."""

    purpose: Purpose


@attrs.frozen(kw_only=True)
class Answer:
    """ask_answered; `overdue`: the request's deadline lies before this fact."""

    decision: Decision
    overdue: bool


@attrs.frozen(kw_only=True)
class Expiry:
    """ask_closed because of the deadline; `overdue` as in Answer."""

    overdue: bool


@attrs.frozen(kw_only=True)
class Closing:
    """ask_closed for any other reason."""


@attrs.frozen(kw_only=True)
class Use:
    """Dispatched (T1) that names this request."""

    action: Match


@attrs.frozen(kw_only=True)
class Told:
    """A not-started outcome that names this request: a denial, or a grant nobody can use."""

    action: Match


InteractionSeen: TypeAlias = Ask | Answer | Expiry | Closing | Use | Told


def _opens(_state: Absent, _seen: Ask) -> bool:
    return True


def _grants(state: Open, seen: Answer) -> bool:
    if seen.overdue:
        return False
    if state.purpose is Purpose.APPROVAL:
        return seen.decision is Decision.ALLOW
    return seen.decision is Decision.ANSWER


def _denies(_state: Open, seen: Answer) -> bool:
    return seen.decision is Decision.DENY and not seen.overdue


def _expires(_state: Open, seen: Expiry) -> bool:
    return seen.overdue


def _closes(_state: Open, _seen: Closing) -> bool:
    return True


def _uses(_state: Granted, seen: Use) -> bool:
    return seen.action is Match.SAME


def _tells(_state: Granted | Denied, seen: Told) -> bool:
    return seen.action is Match.SAME


# T6 is why approving once executes once: the grant is gone in the transaction of the T1 (ASK-2).
# T8: a granted call that can no longer start (its file changed, its tool went) says so, once.
# fmt: off
_ROWS: Final = (
    #    id        from     event    guard     to
    row("ASK.T1", Absent,  Ask,     _opens,   Open,     takes=("purpose",)),
    row("ASK.T2", Open,    Answer,  _grants,  Granted),
    row("ASK.T3", Open,    Answer,  _denies,  Denied),
    row("ASK.T4", Open,    Expiry,  _expires, Denied),
    row("ASK.T5", Open,    Closing, _closes,  Closed),
    row("ASK.T6", Granted, Use,     _uses,    Consumed),
    row("ASK.T7", Denied,  Told,    _tells,   Consumed),
    row("ASK.T8", Granted, Told,    _tells,   Consumed),
)
# fmt: on


def _overdue(_state: Open, seen: Answer) -> bool:
    return seen.overdue


def _other(_state: Granted | Denied, seen: Use | Told) -> bool:
    return seen.action is Match.OTHER


_DENIALS: Final = (
    deny(Code.ASK_EXPIRED, source=Open, event=Answer, when=_overdue),
    deny(Code.ANSWER_MISFITS, source=Open, event=Answer),
    deny(Code.ASK_NOT_DUE, source=Open, event=Expiry),
    deny(Code.ARGUMENTS_DIFFER, source=Granted, event=Use, when=_other),
    deny(Code.ARGUMENTS_DIFFER, source=Denied, event=Told, when=_other),
    deny(Code.GRANT_MISSING, source=Open),
    deny(Code.GRANT_MISSING, source=Denied, event=Use),
)

TABLE: Final[Table[InteractionState, InteractionSeen]] = Table(
    machine="interaction",
    prefix="ASK",
    start=Absent(),
    states=(Absent, Open, Granted, Denied, Consumed, Closed),
    events=(Ask, Answer, Expiry, Closing, Use, Told),
    rows=_ROWS,
    denials=_DENIALS,
    default={
        Absent: Code.ASK_UNKNOWN,
        Open: Code.ALREADY_OPENED,
        Granted: Code.ASK_DECIDED,
        Denied: Code.ASK_DECIDED,
        Consumed: Code.ASK_CONSUMED,
        Closed: Code.ASK_CLOSED,
    },
)
