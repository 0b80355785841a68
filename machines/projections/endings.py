"""What each end of a run means: its class, and the one sentence a person reads (RUN-3)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import attrs

from ..facts.model import RunEnded
from ..facts.vocabulary import RunFailure, RunStatus


class EndClass(StrEnum):
    """What kind of end it was, for whoever decides what to do next; append-only."""

    SUCCESS = "success"
    STOPPED = "stopped"  # somebody asked for it
    LIMIT = "limit"  # a stated bound was reached: not success, and no fault
    MODEL = "model"  # the model's side failed, or did not finish
    INTERRUPTED = "interrupted"  # the owner was lost in the middle
    GIVEN_UP = "given_up"  # a person or a rule closed what could not go on
    UNSETTLED = "unsettled"  # a call's outcome is unknown
    RUNTIME = "runtime"  # this side failed


@attrs.frozen(kw_only=True)
class Ending:
    """One way to end: its class, and what a person is told, if they need to be told anything."""

    meaning: EndClass
    notice: str | None


@attrs.frozen(kw_only=True)
class Terminal:
    """The end of a run as its one terminal states it, classified."""

    event: str
    status: RunStatus
    failure: RunFailure | None
    source: str | None
    meaning: EndClass


def _end(meaning: EndClass, notice: str) -> Ending:
    return Ending(meaning=meaning, notice=notice)


_COMPLETED: Final = Ending(meaning=EndClass.SUCCESS, notice=None)
_ABORTED: Final = Ending(meaning=EndClass.STOPPED, notice="Stopped.")

FAILURES: Final[Mapping[RunFailure, Ending]] = MappingProxyType(
    {
        RunFailure.MISSING_TERMINAL_EVENT: _end(
            EndClass.MODEL, "The model's answer broke off without stating that it was finished."
        ),
        RunFailure.BACKEND_FAILED: _end(
            EndClass.MODEL, "The model could not be reached or failed."
        ),
        RunFailure.STEP_LIMIT: _end(
            EndClass.LIMIT,
            "The step limit was reached: the last calls were carried out, and nothing was asked "
            "after them. Send a message to go on.",
        ),
        RunFailure.LENGTH: _end(EndClass.LIMIT, "The answer reached its length limit and is cut."),
        RunFailure.CONTENT_FILTER: _end(EndClass.MODEL, "The provider filtered the answer."),
        RunFailure.CONTEXT_BUDGET_EXHAUSTED: _end(
            EndClass.LIMIT, "The conversation no longer fits into the model's window."
        ),
        RunFailure.BUDGET_EXHAUSTED: _end(EndClass.LIMIT, "The run's budget is used up."),
        RunFailure.DEADLINE: _end(EndClass.LIMIT, "The run's deadline passed."),
        RunFailure.STORAGE: _end(EndClass.RUNTIME, "Facts could not be stored, so the run ended."),
        RunFailure.OUTCOME_UNKNOWN: _end(
            EndClass.UNSETTLED, "The outcome of a call is unknown: it may or may not have happened."
        ),
        RunFailure.OWNER_LOST: _end(EndClass.INTERRUPTED, "The run was interrupted."),
        RunFailure.OWNER_LOST_AFTER_DISPATCH: _end(
            EndClass.INTERRUPTED,
            "The run was interrupted while the model answered; the answer is lost.",
        ),
        RunFailure.ABANDONED_BEFORE_DISPATCH: _end(
            EndClass.INTERRUPTED, "The run was interrupted before anything was asked of the model."
        ),
        RunFailure.CONTINUATION_ABANDONED: _end(
            EndClass.INTERRUPTED,
            "The continuation was interrupted before anything was asked of the model.",
        ),
        RunFailure.ABANDONED_BY_PERSON: _end(EndClass.GIVEN_UP, "A person gave the run up."),
        RunFailure.ACKNOWLEDGED_FACTS_MISSING: _end(
            EndClass.GIVEN_UP,
            "Stored facts were lost and the loss was accepted: calls are unknown.",
        ),
        RunFailure.ADOPTED: _end(
            EndClass.GIVEN_UP, "The session came from elsewhere, where this run was not finished."
        ),
        RunFailure.INTERNAL: _end(EndClass.RUNTIME, "The runtime failed."),
    }
)


def ending_of(says: RunEnded) -> Ending:
    """Return what an end means. Total: every failure of the vocabulary has its line."""
    match says.status:
        case RunStatus.COMPLETED:
            return _COMPLETED
        case RunStatus.ABORTED:
            return _ABORTED
        case RunStatus.FAILED:
            assert says.failure is not None
            return FAILURES[says.failure]


def classify(event: str, says: RunEnded) -> Terminal:
    """Return the terminal of a run with its class."""
    return Terminal(
        event=event,
        status=says.status,
        failure=says.failure,
        source=says.source,
        meaning=ending_of(says).meaning,
    )
