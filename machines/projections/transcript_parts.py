"""What a person reads of a session, as plain values: turns and their parts (PROJ-3)."""

from enum import StrEnum
from typing import TypeAlias

import attrs

from ..facts.canonical import Json
from ..facts.model import Attachment, Question, Usage
from ..facts.vocabulary import (
    AnswerDecision,
    Cause,
    CloseReason,
    Failure,
    Finish,
    Intent,
    OutcomeResult,
    Purpose,
    RequestResult,
    ReturnReason,
)
from .endings import Terminal
from .losses import Loss
from .recovery import Parking, VerdictView
from .status import RunState


class PartKind(StrEnum):
    """What a part is."""

    USER = "user"
    THINKING = "thinking"
    TEXT = "text"
    TOOL = "tool"
    ERROR = "error"
    FRAGMENT = "fragment"
    NOTICE = "notice"


class ToolStatus(StrEnum):
    """Where a call stands, for people; the three values of OP-2 are never merged."""

    PENDING = "pending"  # not started yet, and it still may be
    WAITING = "waiting"  # for a person's answer
    RUNNING = "running"
    NOT_STARTED = "not_started"
    SETTLED = "settled"
    UNKNOWN = "unknown"
    PARKED = "parked"


class Severity(StrEnum):
    """How bad an error is: derived, never stored (LOG-6)."""

    INFO = "info"  # somebody ended it on purpose
    WARNING = "warning"  # a later attempt succeeded
    ERROR = "error"


class Lane(StrEnum):
    """What streams (LOG-5)."""

    TEXT = "text"
    THINKING = "thinking"
    ARGUMENTS = "arguments"
    OUTPUT = "output"


@attrs.frozen(kw_only=True)
class Fragment:
    """The bounded snapshot of one stream, as the store keeps it beside the facts (LOG-5).

    Attributes:
        owner: The request or operation whose settlement ends the stream.
        bytes_total: How many bytes the stream had; more than `text` holds, when it was bounded.
    """

    stream: str
    owner: str
    run: str
    lane: Lane
    text: str
    bytes_total: int


@attrs.frozen(kw_only=True)
class Preview:
    """The start of something long; `cut` counts the code points that are missing here."""

    text: str
    cut: int


# --- parts ---


@attrs.frozen(kw_only=True)
class UserPart:
    """What a user said; `steering`: between two steps of an open run."""

    part: PartKind = attrs.field(default=PartKind.USER, init=False)
    event: str
    ts: int
    text: str
    attachments: tuple[Attachment, ...]
    steering: bool
    hidden: bool


@attrs.frozen(kw_only=True)
class ThinkingPart:
    """What the model thought."""

    part: PartKind = attrs.field(default=PartKind.THINKING, init=False)
    event: str
    ts: int
    text: str
    signed: bool
    finished: bool


@attrs.frozen(kw_only=True)
class TextPart:
    """What the model said; not `finished`: its request never stated a finish."""

    part: PartKind = attrs.field(default=PartKind.TEXT, init=False)
    event: str
    ts: int
    text: str
    finished: bool


@attrs.frozen(kw_only=True)
class AskRow:
    """One request to a person about a call: asked, and how it ended."""

    ask: str
    purpose: Purpose
    review: str
    questions: tuple[Question, ...]
    expansion: Json
    asked_ts: int
    deadline_ts: int | None
    decision: AnswerDecision | None
    answers: tuple[str | None, ...]
    closed: CloseReason | None
    used: bool


@attrs.frozen(kw_only=True)
class ArtifactRow:
    """Something a call made for a person to keep."""

    name: str
    media_type: str
    blob: str
    bytes: int


@attrs.frozen(kw_only=True)
class ToolPart:
    """One call in all its life.

    Attributes:
        result: How the call ended, where it has an outcome.
        output_bytes: The full length of a bounded output (OP-7).
        live: The newest output of a call that still runs, incomplete by nature.
        events: Every fact about this call.
    """

    part: PartKind = attrs.field(default=PartKind.TOOL, init=False)
    operation: str
    step: int
    position: int
    label: str
    name: str
    ts: int
    args: Preview
    status: ToolStatus
    result: OutcomeResult | None
    is_error: bool
    told: Preview | None
    output_bytes: int | None
    output_blob: str | None
    duration_ms: int | None
    asks: tuple[AskRow, ...]
    artifacts: tuple[ArtifactRow, ...]
    parking: Parking | None
    verdict: VerdictView | None
    late: Preview | None
    retry_of: str | None
    live: Fragment | None
    events: tuple[str, ...]


@attrs.frozen(kw_only=True)
class ErrorPart:
    """One error, with the severity that later facts give it."""

    part: PartKind = attrs.field(default=PartKind.ERROR, init=False)
    ts: int
    failure: Failure
    severity: Severity
    message: str | None
    request: str | None
    operation: str | None
    events: tuple[str, ...]


@attrs.frozen(kw_only=True)
class FragmentPart:
    """A piece of a stream that was never finished: shown, flagged, and in no history (LOG-5)."""

    part: PartKind = attrs.field(default=PartKind.FRAGMENT, init=False)
    incomplete: bool = attrs.field(default=True, init=False)
    fragment: Fragment


@attrs.frozen(kw_only=True)
class NoticePart:
    """A sentence that follows from the end of the run and from nothing else (RUN-3)."""

    part: PartKind = attrs.field(default=PartKind.NOTICE, init=False)
    id: str
    ts: int
    code: str
    text: str


Part: TypeAlias = (
    UserPart | ThinkingPart | TextPart | ToolPart | ErrorPart | FragmentPart | NoticePart
)


# --- turns ---


@attrs.frozen(kw_only=True)
class RequestRow:
    """One model request of a turn, for whoever looks behind it."""

    request: str
    step: int | None
    attempt: int | None
    result: RequestResult | None
    finish: Finish | None
    usage: Usage | None
    events: tuple[str, ...]


class MessageStatus(StrEnum):
    """What became of a queued message (RUN-6)."""

    QUEUED = "queued"
    TAKEN = "taken"
    RETURNED = "returned"
    RETRACTED = "retracted"


@attrs.frozen(kw_only=True)
class MessageRow:
    """One message that was queued: why it went back, or which run took it."""

    message: str
    intent: Intent
    ts: int
    text: str
    status: MessageStatus
    returned: ReturnReason | None
    run: str | None
    events: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Turn:
    """One run as a person reads it.

    Attributes:
        continues: The run that this one continues, if it does.
        output_retained: The model said something, or a call has a result.
        bounds: The facts that open, stop, re-attach and end the run, and what else has no part.
    """

    turn: str
    run: str
    cause: Cause | None
    continues: str | None
    opened_ts: int
    parts: tuple[Part, ...]
    requests: tuple[RequestRow, ...]
    state: RunState
    terminal: Terminal | None
    output_retained: bool
    bounds: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Transcript:
    """A session as a person reads it; `losses` names what has no place in it."""

    session: str | None
    turns: tuple[Turn, ...]
    messages: tuple[MessageRow, ...]
    losses: tuple[Loss, ...]
