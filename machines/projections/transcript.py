"""The transcript: all that happened in a session, for people, and nothing that did not (PROJ-3).

It shows what history hides: hidden words, errors, unfinished output, what people were asked, and
fragments of streams that no fact completed, each flagged as what it is.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ..facts.model import RuntimeEvent, Text
from ..facts.vocabulary import Failure, Kind, Visibility
from . import transcript_parts as t
from .bound import up_to
from .endings import Terminal, classify, ending_of
from .losses import Loss, LossReason, omitted
from .reading import read
from .records import Fact, Message, Reading, Request, Run, Step, Trouble
from .standing import settleable
from .status import run_state_of
from .tool_activity import tool_rows


def transcript(
    facts: Sequence[RuntimeEvent],
    *,
    live: bool,
    fragments: Sequence[t.Fragment] = (),
    at: int | None = None,
) -> t.Transcript:
    """Return a session as a person reads it. Pure and total.

    Args:
        facts: Those of one session in commit order, or of one run.
        live: Whether a live owner answers now; nothing is shown running without one (OWN-6).
        fragments: The stream snapshots of now; for a past moment there are none.
        at: How many of the facts count; all of them by default (PROJ-1).
    """
    reading = read(up_to(facts, at))
    losses: list[Loss] = []
    shown = _unfinished(reading, fragments, losses)
    turns = tuple(_turn(run, shown, live=live) for run in reading.runs.values())
    messages = tuple(_message(one) for one in reading.messages.values())
    present = _present(turns, messages)
    losses += [omitted(e.id, _reason(e)) for e in reading.facts if e.id not in present]
    return t.Transcript(
        session=reading.session, turns=turns, messages=messages, losses=tuple(losses)
    )


def _present(turns: Sequence[t.Turn], messages: Sequence[t.MessageRow]) -> set[str]:
    present = {event for one in messages for event in one.events}
    for turn in turns:
        present.update(turn.bounds)
        present.update(event for one in turn.requests for event in one.events)
        for part in turn.parts:
            match part:
                case t.UserPart() | t.ThinkingPart() | t.TextPart():
                    present.add(part.event)
                case t.ToolPart() | t.ErrorPart():
                    present.update(part.events)
                case t.FragmentPart() | t.NoticePart():
                    pass
    return present


def _reason(event: RuntimeEvent) -> LossReason:
    if event.kind in (Kind.MODEL_TEXT, Kind.MODEL_THINKING):
        return LossReason.EMPTY
    return LossReason.ORPHAN if event.refs.operation is not None else LossReason.CONTROL


def _unfinished(
    reading: Reading, fragments: Sequence[t.Fragment], losses: list[Loss]
) -> Sequence[t.Fragment]:
    """Return the fragments that no final fact replaced (LOG-5)."""
    shown: list[t.Fragment] = []
    for one in fragments:
        run = reading.runs.get(one.run)
        request = None if run is None else run.requests.get(one.owner)
        operation = reading.operations.get(one.owner)
        replaced = (request is not None and request.finished) or (
            operation is not None and operation.outcome is not None
        )
        if replaced:
            losses.append(omitted(one.stream, LossReason.SUPERSEDED))
        elif run is None or not one.text:
            losses.append(
                omitted(one.stream, LossReason.ORPHAN if run is None else LossReason.EMPTY)
            )
        else:
            shown.append(one)
    return shown


# --- turns ---


def _turn(run: Run, fragments: Sequence[t.Fragment], *, live: bool) -> t.Turn:
    mine = [one for one in fragments if one.run == run.spine.run]
    outputs = {one.owner: one for one in mine if one.owner in run.operations}
    parts: list[t.Part] = []
    for said in run.said:
        match said:
            case Fact():
                parts.append(_user(said))
            case Step():
                parts.extend(_step(run, said, outputs, live=live))
            case Trouble():
                parts.append(_error(said))
    parts.extend(t.FragmentPart(fragment=one) for one in mine if one.owner not in outputs)
    terminal = None if run.end is None else classify(run.end.id, run.end.says)
    parts.extend(_notices(run, terminal))
    opening = None if run.opening is None else run.opening.says
    start = None if opening is None else opening.continuation
    return t.Turn(
        turn=run.spine.turn,
        run=run.spine.run,
        cause=None if opening is None else opening.cause,
        continues=None if start is None else start.source.run,
        opened_ts=run.facts[0].ts,
        parts=tuple(parts),
        requests=tuple(_request(one) for one in run.requests.values()),
        state=run_state_of(run, live=live),
        terminal=terminal,
        output_retained=any(_retained(part) for part in parts),
        bounds=tuple(event.id for event in run.facts if event.kind in _BOUNDS),
    )


_BOUNDS: Final = frozenset(
    (Kind.RUN_OPENED, Kind.STOP_REQUESTED, Kind.RUN_REATTACHED, Kind.RUN_ENDED)
)


def _retained(part: t.Part) -> bool:
    match part:
        case t.TextPart():
            return bool(part.text.strip())
        case t.ToolPart():
            return part.status is t.ToolStatus.SETTLED
        case _:
            return False


def _notices(run: Run, terminal: Terminal | None) -> tuple[t.NoticePart, ...]:
    if run.end is None or terminal is None:
        return ()
    notice = ending_of(run.end.says).notice
    if notice is None:
        return ()
    code = terminal.status.value if terminal.failure is None else terminal.failure.value
    return (t.NoticePart(id=f"{run.end.id}:notice", ts=run.end.event.ts, code=code, text=notice),)


def _request(one: Request) -> t.RequestRow:
    sent = None if one.sent is None else one.sent.says
    settled = None if one.settled is None else one.settled.says
    facts = (one.sent, one.settled)
    return t.RequestRow(
        request=one.id,
        step=None if sent is None else sent.step,
        attempt=None if sent is None else sent.attempt,
        result=None if settled is None else settled.result,
        finish=None if settled is None else settled.finish,
        usage=None if settled is None else settled.usage,
        events=tuple(fact.id for fact in facts if fact is not None),
    )


def _message(one: Message) -> t.MessageRow:
    if one.taken is not None:
        status = t.MessageStatus.TAKEN
    elif one.returned is not None:
        status = t.MessageStatus.RETURNED
    elif one.retracted is not None:
        status = t.MessageStatus.RETRACTED
    else:
        status = t.MessageStatus.QUEUED
    moves = (one.taken and one.taken.event, one.returned and one.returned.event, one.retracted)
    return t.MessageRow(
        message=one.id,
        intent=one.queued.says.intent,
        ts=one.queued.event.ts,
        text=one.text.text,
        status=status,
        returned=None if one.returned is None else one.returned.says.reason,
        run=None if one.taken is None else one.taken.says.run,
        events=(one.queued.id, *(move.id for move in moves if move is not None)),
    )


# --- parts ---


def _user(said: Fact[Text]) -> t.UserPart:
    return t.UserPart(
        event=said.id,
        ts=said.event.ts,
        text=said.says.text,
        attachments=said.says.attachments,
        steering=said.event.kind is Kind.STEERING_TEXT,
        hidden=said.event.visibility is Visibility.HIDDEN,
    )


def _error(trouble: Trouble) -> t.ErrorPart:
    """Return an error with its severity: a later success makes it a warning (LOG-6)."""
    if trouble.failure is Failure.ABORT:
        severity = t.Severity.INFO
    else:
        severity = t.Severity.WARNING if trouble.recovered else t.Severity.ERROR
    return t.ErrorPart(
        ts=trouble.events[0].ts,
        failure=trouble.failure,
        severity=severity,
        message=trouble.message,
        request=trouble.request,
        operation=trouble.operation,
        events=tuple(event.id for event in trouble.events),
    )


def _step(
    run: Run, step: Step, outputs: Mapping[str, t.Fragment], *, live: bool
) -> Sequence[t.Part]:
    finished = step.request.finished
    parts: list[t.Part] = [
        t.ThinkingPart(
            event=one.id,
            ts=one.event.ts,
            text=one.says.text,
            signed=one.says.signature is not None,
            finished=finished,
        )
        for one in step.thoughts
    ]
    parts += [
        t.TextPart(event=one.id, ts=one.event.ts, text=one.says.text, finished=finished)
        for one in step.texts
        if one.says.text
    ]
    for one in step.calls:
        open_run = settleable(run, one, live=live)
        parts.extend(tool_rows(one, outputs.get(one.id), open_run=open_run))
    return parts
