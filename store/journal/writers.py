"""The writers whose facts the caller has ready: each makes the order of one unit (STORE-5).

Every order answers `Appended`. What may happen only once (run the tool, send the request, go on
with a re-attached run) is done only where `created` is true; on an exact retry it is false.
"""

from ...machines.facts.model import RuntimeEvent
from .orders import Append
from .shapes import Writer


def _append(writer: Writer, *facts: RuntimeEvent) -> Append:
    return Append(writer=writer, facts=facts)


def steer(taken: RuntimeEvent, text: RuntimeEvent) -> Append:
    """Deliver a queued message into an open run, between two steps (RUN-6)."""
    return _append(Writer.STEER, taken, text)


def dispatch_request(fact: RuntimeEvent) -> Append:
    """Make a model request durable before it leaves (LOG-7)."""
    return _append(Writer.DISPATCH_REQUEST, fact)


def settle_step(*facts: RuntimeEvent) -> Append:
    """Make a model step durable: thoughts and texts, calls in order, `request_settled` (LOG-7a)."""
    return _append(Writer.SETTLE_STEP, *facts)


def settle_request(*facts: RuntimeEvent) -> Append:
    """Settle a request that gave no step: an error, then `request_settled` (LOG-6, LOG-7)."""
    return _append(Writer.SETTLE_REQUEST, *facts)


def add_content(*facts: RuntimeEvent) -> Append:
    """Append content of an open run; every other kind is refused as `reserved_fact`."""
    return _append(Writer.CONTENT, *facts)


def dispatch(fact: RuntimeEvent) -> Append:
    """Write T1. Only where `created` is true may the tool run (OP-1)."""
    return _append(Writer.DISPATCH, fact)


def settle(outcome: RuntimeEvent, *artifacts: RuntimeEvent) -> Append:
    """Write T2, with the artifacts that the tool made (OP-1, OP-7)."""
    return _append(Writer.SETTLE, outcome, *artifacts)


def refuse_call(outcome: RuntimeEvent) -> Append:
    """Write the response of a call that was not started (OP-2)."""
    return _append(Writer.REFUSE_CALL, outcome)


def ask(*facts: RuntimeEvent) -> Append:
    """Open requests to a person (ASK-1)."""
    return _append(Writer.ASK, *facts)


def answer(fact: RuntimeEvent) -> Append:
    """Write a person's decision; the first one counts (ASK-1)."""
    return _append(Writer.ANSWER, fact)


def close_asks(*facts: RuntimeEvent) -> Append:
    """Close requests to a person without an answer (ASK-1)."""
    return _append(Writer.CLOSE_ASK, *facts)


def reattach(fact: RuntimeEvent) -> Append:
    """Take up a waiting run; only where `created` is true does its admission exist (ASK-3)."""
    return _append(Writer.REATTACH, fact)


def queue_message(fact: RuntimeEvent) -> Append:
    """Queue a message without a key; with one, use `starts.QueueMessage` (RUN-6)."""
    return _append(Writer.QUEUE_MESSAGE, fact)


def return_messages(*facts: RuntimeEvent) -> Append:
    """Hand queued messages back undelivered (RUN-6)."""
    return _append(Writer.RETURN_MESSAGE, *facts)


def retract_message(fact: RuntimeEvent) -> Append:
    """Take a queued message back on its sender's word (RUN-6)."""
    return _append(Writer.RETRACT_MESSAGE, fact)


def change_session(*facts: RuntimeEvent) -> Append:
    """Write settings, workspace, sandbox boundary, provenance or adoption (LOG-8)."""
    return _append(Writer.CHANGE_SESSION, *facts)


def give_verdict(fact: RuntimeEvent) -> Append:
    """Write a person's statement about an unknown or parked operation (OP-4)."""
    return _append(Writer.GIVE_VERDICT, fact)


def abandon_boundary(fact: RuntimeEvent) -> Append:
    """Write that a person gives up continuing a closed run (CONT-8)."""
    return _append(Writer.ABANDON_BOUNDARY, fact)


def accept_drift(fact: RuntimeEvent) -> Append:
    """Write that a person accepts changed files (CONT-11)."""
    return _append(Writer.ACCEPT_DRIFT, fact)


def record_late_outcome(fact: RuntimeEvent) -> Append:
    """Write an outcome that arrived after its run ended: evidence only (LOG-8)."""
    return _append(Writer.RECORD_LATE_OUTCOME, fact)
