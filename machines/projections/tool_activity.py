"""One row for each call, with everything that facts say about it in its whole life (PROJ-3)."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, Protocol

from ..facts.canonical import Json
from ..facts.text import preview
from ..recovery.operations import Standing
from .records import Ask, Operation
from .recovery import parking_of, verdict_of
from .standing import standing_of
from .told_result import as_text
from .transcript_parts import ArtifactRow, AskRow, Fragment, Preview, ToolPart, ToolStatus

ARGS_BYTES: Final = 512
RESULT_BYTES: Final = 4096
"""How much of arguments and results a row shows; the facts hold the rest."""

_STATUSES: Final[Mapping[Standing, ToolStatus]] = MappingProxyType(
    {
        Standing.NOT_STARTED: ToolStatus.NOT_STARTED,
        Standing.SETTLED: ToolStatus.SETTLED,
        Standing.UNKNOWN: ToolStatus.UNKNOWN,
        Standing.PARKED: ToolStatus.PARKED,
    }
)


def tool_rows(
    subject: Operation, output: Fragment | None, *, open_run: bool
) -> tuple[ToolPart, ...]:
    """Return the row of a call, or none for an operation whose call is not among the facts."""
    call, outcome, sent = subject.call, subject.outcome, subject.dispatch
    if call is None:
        return ()
    told = None if outcome is None else outcome.says
    cut = None if told is None else told.cut
    row = ToolPart(
        operation=subject.id,
        step=call.placed.step,
        position=call.placed.position,
        label=call.says.label,
        name=call.says.name,
        ts=call.event.ts,
        args=_start_of(call.says.args, ARGS_BYTES),
        status=_status(subject, open_run=open_run),
        result=None if outcome is None else outcome.ended.result,
        is_error=told is not None and told.is_error,
        told=None if told is None else _start_of(told.result, RESULT_BYTES),
        output_bytes=None if cut is None else cut.bytes_total,
        output_blob=None if cut is None else cut.blob,
        duration_ms=None if outcome is None else outcome.ended.duration_ms,
        asks=tuple(_ask(one) for one in subject.asks),
        artifacts=tuple(_artifacts(subject)),
        parking=parking_of(subject, open_run=open_run),
        verdict=verdict_of(subject),
        late=None if subject.late is None else _start_of(subject.late.says.result, RESULT_BYTES),
        retry_of=None if sent is None else sent.says.retry_of,
        live=output,
        events=tuple(_events(subject)),
    )
    return (row,)


def _start_of(value: Json, limit_bytes: int) -> Preview:
    text, cut = preview(as_text(value), limit_bytes)
    return Preview(text=text, cut=cut)


def _status(subject: Operation, *, open_run: bool) -> ToolStatus:
    standing = standing_of(subject, open_run=open_run)
    if standing is not Standing.PENDING:
        return _STATUSES[standing]
    if subject.dispatch is not None:
        return ToolStatus.RUNNING
    asked = any(ask.open for ask in subject.asks)
    return ToolStatus.WAITING if asked else ToolStatus.PENDING


def _ask(ask: Ask) -> AskRow:
    says, answered, closed = ask.opened.says, ask.answered, ask.closed
    return AskRow(
        ask=ask.id,
        purpose=says.purpose,
        review=says.review,
        questions=says.questions,
        expansion=says.expansion,
        asked_ts=ask.opened.event.ts,
        deadline_ts=says.deadline_ts,
        decision=None if answered is None else answered.says.decision,
        answers=() if answered is None else answered.says.answers,
        closed=None if closed is None else closed.says.reason,
        used=ask.consumed,
    )


def _artifacts(subject: Operation) -> Iterator[ArtifactRow]:
    for fact in subject.artifacts:
        says = fact.says
        yield ArtifactRow(
            name=says.name, media_type=says.media_type, blob=says.blob, bytes=says.bytes
        )


class _Identified(Protocol):
    @property
    def id(self) -> str: ...


def _events(subject: Operation) -> Iterator[str]:
    facts: list[_Identified | None] = [subject.call]
    for ask in subject.asks:
        facts += [ask.opened, ask.answered, ask.closed]
    facts += [subject.dispatch, subject.observation, subject.outcome, subject.decision]
    facts += [*subject.artifacts, *subject.verdicts, subject.late]
    return (fact.id for fact in facts if fact is not None)
