"""The one vocabulary in which a view says what it leaves out or weakens (PROJ-1)."""

from enum import StrEnum

import attrs


class LossReason(StrEnum):
    """Why an event is not, or not wholly, in a view; append-only."""

    CONTROL = "control_fact"  # it speaks to the runtime; this view is about what was said
    HIDDEN = "hidden"  # stated hidden from the model
    EMPTY = "empty"  # it has no words
    ERROR = "error_text"  # errors are no content (LOG-6)
    NOT_FINISHED = "request_not_finished"  # its request never stated a finish (LOG-7a)
    PENDING = "calls_pending"  # its step has a call that nobody answered yet
    ORPHAN = "call_missing"  # it answers a call that is not among these facts
    TRIMMED = "trimmed_by_continuation"  # behind the last stable anchor of a continued run (CONT-2)
    EVIDENCE = "evidence_only"  # it settles nothing by itself (LOG-8)
    QUEUED = "queued_message"  # words that wait; told by the text fact of their delivery
    SUPERSEDED = "superseded"  # a later fact says it anew
    THINKING_UNSUPPORTED = "thinking_unsupported"  # the target takes no thinking
    THINKING_UNSIGNED = "thinking_unsigned"  # the target takes signed thinking only
    THINKING_BROKEN = "thinking_broken"  # a sibling of its step had to go, so the step's all go
    THINKING_FOREIGN = "thinking_foreign"  # another backend signed it
    THINKING_ALONE = "thinking_alone"  # nothing else was said in its step
    SIGNATURE_DROPPED = "signature_dropped"  # the words stay, the signature has no place
    ATTACHMENT_AS_NOTE = "attachment_as_note"  # a line of text stands for the bytes
    CALL_AS_TEXT = "call_as_text"  # the target has no native tools
    RESULT_AS_TEXT = "result_as_text"
    RESULT_CUT = "result_cut"  # the fact holds a bounded part of the output (OP-7)
    RESULT_EMPTY = "result_empty"  # words stand for an output of nothing
    TOO_DEEP = "too_deep"  # nested so deep that a request could not hold it: told as JSON text


class LossEffect(StrEnum):
    """What the view does with the event."""

    OMITTED = "omitted"
    DEGRADED = "degraded"


@attrs.frozen(kw_only=True)
class Loss:
    """One event that a view does not show as it is; of a stream piece `event_id` is the stream."""

    event_id: str
    reason: LossReason
    effect: LossEffect


def omitted(event_id: str, reason: LossReason) -> Loss:
    """Return the entry of an event that is not in the view at all."""
    return Loss(event_id=event_id, reason=reason, effect=LossEffect.OMITTED)


def degraded(event_id: str, reason: LossReason) -> Loss:
    """Return the entry of an event that is in the view in a weaker form."""
    return Loss(event_id=event_id, reason=reason, effect=LossEffect.DEGRADED)
