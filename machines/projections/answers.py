"""What a model is told of each call: its outcome, or which of the other values holds (OP-2)."""

from enum import StrEnum
from typing import Final

import attrs

from ..facts.canonical import Json
from ..facts.model import OutputCut
from ..facts.vocabulary import OutcomeState, Verdict
from ..recovery.operations import Standing
from ..recovery.parks import EXPLANATIONS
from .records import Operation
from .standing import park_of, standing_of


class Status(StrEnum):
    """The three values of OP-2, as messages state them."""

    SETTLED = "settled"
    NOT_STARTED = "not_started"
    UNKNOWN = "unknown"


@attrs.frozen(kw_only=True)
class Answer:
    """The one answer to one call.

    Attributes:
        cut: What a bounded result left out (OP-7).
        events: The facts that it rests on.
        stable: A fact or a person states it; a continuation may rest on it (CONT-2).
    """

    status: Status
    result: Json
    is_error: bool
    cut: OutputCut | None
    events: tuple[str, ...]
    stable: bool


_NEVER_STARTED: Final = "The run ended before this call was started: nothing was done for it."
_MAYBE: Final = (
    "The outcome of this call is unknown: it may or may not have happened. "
    "Look at its effect before anything that depends on it."
)
_VERDICTS: Final = {
    Verdict.HAPPENED: "A person states that this call took effect. Its result was not recorded.",
    Verdict.DID_NOT_HAPPEN: "A person states that this call did not take effect.",
}


def answer_to(subject: Operation, *, open_run: bool) -> Answer | None:
    """Return what is told of a call, or None while somebody may still settle it.

    A call without T1 in a closed run is always answered *not started*, never left out: the model
    said it, and that nothing was done is knowledge (BR-01, BR-08).
    """
    standing = standing_of(subject, open_run=open_run)
    if standing is Standing.PENDING:
        return None
    if subject.outcome is not None:
        return _recorded(subject)
    if standing is Standing.NOT_STARTED:
        return _derived(Status.NOT_STARTED, {"message": _NEVER_STARTED}, ())
    if subject.verdict is not None:
        return _judged(subject, subject.verdict.says.verdict)
    park = park_of(subject, open_run=open_run)
    told: dict[str, Json] = {"message": _MAYBE}
    if park is not None:
        told |= {"code": park.value, "reason": EXPLANATIONS[park].sentence}
    return _derived(Status.UNKNOWN, told, _evidence(subject))


def _recorded(subject: Operation) -> Answer:
    outcome = subject.outcome
    assert outcome is not None
    settled = outcome.ended.state is OutcomeState.SETTLED
    return Answer(
        status=Status.SETTLED if settled else Status.NOT_STARTED,
        result=outcome.says.result,
        is_error=outcome.says.is_error,
        cut=outcome.says.cut,
        events=(outcome.id,),
        stable=True,
    )


def _judged(subject: Operation, verdict: Verdict) -> Answer:
    statement = subject.verdict
    assert statement is not None
    told: dict[str, Json] = {
        "state": Status.SETTLED.value,
        "verdict": verdict.value,
        "message": _VERDICTS[verdict],
    }
    if statement.says.note:
        told["note"] = statement.says.note
    return Answer(
        status=Status.SETTLED,
        result=told,
        is_error=verdict is Verdict.DID_NOT_HAPPEN,
        cut=None,
        events=(*_evidence(subject), statement.id),
        stable=True,
    )


def _derived(status: Status, told: dict[str, Json], events: tuple[str, ...]) -> Answer:
    return Answer(
        status=status,
        result={"state": status.value, **told},
        is_error=True,
        cut=None,
        events=events,
        stable=False,
    )


def _evidence(subject: Operation) -> tuple[str, ...]:
    facts = (subject.dispatch, subject.observation, subject.decision)
    return tuple(fact.id for fact in facts if fact is not None)
