"""The nouns of the log: spine, contents, actions, refs, body and stamp (LOG-1, BYTE-5a)."""

from typing import Final, TypeAlias

import attrs

from .canonical import Json
from .vocabulary import (
    AnswerDecision,
    AttachmentKind,
    Author,
    Cause,
    CloseReason,
    DecisionReason,
    Disposition,
    Failure,
    FileKind,
    Finish,
    Intent,
    Kind,
    Observation,
    Origin,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    Purpose,
    RecoveryMode,
    RequestResult,
    ReturnReason,
    Role,
    RunFailure,
    RunStatus,
    Verdict,
    Visibility,
)

PROTOCOL: Final = 1


@attrs.frozen(kw_only=True)
class Spine:
    """The four identities that place a fact (ID-1)."""

    session: str
    invocation: str
    run: str
    turn: str


# --- values inside contents and actions ---


@attrs.frozen(kw_only=True)
class Loss:
    """One recorded change or cut: what was lost, where, and by which rule (BYTE-3, BYTE-1a)."""

    path: str
    reason: str
    count: int


@attrs.frozen(kw_only=True)
class Attachment:
    """Bytes that came with a user's text; they lie in a blob named by their digest."""

    kind: AttachmentKind
    media_type: str
    bytes: int
    digest: str
    name: str | None = None


@attrs.frozen(kw_only=True)
class OutputCut:
    """What a bounded result left out: the full length, digest, and where the whole lies (OP-7)."""

    bytes_total: int
    digest: str
    blob: str | None = None


@attrs.frozen(kw_only=True)
class Usage:
    """What a request cost by the provider's word; counts are tokens, `cost_micros` is 1e-6 USD."""

    input: int
    output: int
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    cost_micros: int | None = None


@attrs.frozen(kw_only=True)
class ToolProfile:
    """One tool as the model and recovery see it (CONT-5)."""

    name: str
    schema: str
    contract: str


@attrs.frozen(kw_only=True)
class PromptPart:
    """A named part of the system prompt, stored by digest (CONT-5)."""

    name: str
    digest: str


@attrs.frozen(kw_only=True)
class ExecutionProfile:
    """What a run executes with; fixed in its opening, compared at execution (CONT-5)."""

    backend: str
    model: str
    prompt: tuple[PromptPart, ...]
    tools: tuple[ToolProfile, ...]
    tool_protocol: int
    projection: int
    policy: str


@attrs.frozen(kw_only=True)
class SegmentRef:
    """The immediate source of a continuation, as its start repeats it (CONT-4)."""

    session: str
    invocation: str
    run: str
    turn: str
    last_seq: int
    last_id: str
    chain: str


@attrs.frozen(kw_only=True)
class ContinuationStart:
    """What a continuation's opening binds: claim, boundary, source, replay (CONT-4)."""

    claim: str
    boundary: str
    source: SegmentRef
    projection: int
    replay: str


@attrs.frozen(kw_only=True)
class Budgets:
    """The backstops of a run; a missing one is unlimited (RUN-8)."""

    deadline_ts: int | None = None
    steps_max: int | None = None
    tokens_max: int | None = None
    cost_micros_max: int | None = None


@attrs.frozen(kw_only=True)
class FileIdentity:
    """What one path held: absent, or a regular file of this digest, size and mode (OP-6)."""

    kind: FileKind
    digest: str | None = None
    bytes: int | None = None
    mode: int | None = None


@attrs.frozen(kw_only=True)
class FileEvidence:
    """What recovery needs to recognise one file effect (OP-6)."""

    workspace: str
    target: str
    before: FileIdentity
    after: FileIdentity
    transform: int
    result: Json
    limit_bytes: int


@attrs.frozen(kw_only=True)
class Question:
    """One question to a person, with its fixed options (empty: free text)."""

    text: str
    options: tuple[str, ...]


# --- contents: what a person or a model reads ---


@attrs.frozen(kw_only=True)
class Text:
    """Words of a user or a model; `losses` says what the text rule repaired (BYTE-3)."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    losses: tuple[Loss, ...] = ()


@attrs.frozen(kw_only=True)
class Thinking:
    """A model's reasoning; the signature is kept whole or not at all."""

    text: str
    signature: str | None = None
    losses: tuple[Loss, ...] = ()


@attrs.frozen(kw_only=True)
class FunctionCall:
    """A tool call as the model stated it; `label` is the provider's call id (ID-2)."""

    label: str
    name: str
    args: Json


@attrs.frozen(kw_only=True)
class FunctionResponse:
    """What the model is told of a call; `result` may be bounded by a recorded cut (OP-7)."""

    label: str
    name: str
    result: Json
    is_error: bool
    cut: OutputCut | None = None
    losses: tuple[Loss, ...] = ()


@attrs.frozen(kw_only=True)
class ErrorText:
    """An error in words, already cleaned and redacted (LOG-6, OWN-7)."""

    message: str
    losses: tuple[Loss, ...] = ()


Content: TypeAlias = Text | Thinking | FunctionCall | FunctionResponse | ErrorText


# --- actions: typed control facts, one class a kind ---


@attrs.frozen(kw_only=True)
class RunOpened:
    """The first fact of every run (LOG-3)."""

    protocol: int
    cause: Cause
    profile: ExecutionProfile
    context: str
    key: str | None = None
    input: str | None = None
    continuation: ContinuationStart | None = None
    budgets: Budgets | None = None


@attrs.frozen(kw_only=True)
class RequestDispatched:
    """A model request, durable before it leaves (LOG-7)."""

    step: int
    attempt: int
    profile: str
    wire: str
    parts: tuple[str, ...]
    retries: str | None = None


@attrs.frozen(kw_only=True)
class RequestSettled:
    """How a request ended: a stated finish with usage, or a failure kind (LOG-7)."""

    result: RequestResult
    finish: Finish | None = None
    usage: Usage | None = None
    failure: Failure | None = None


@attrs.frozen(kw_only=True)
class CallPlaced:
    """Where a call stands in its step, and its arguments' identity (ID-2, BYTE-6)."""

    step: int
    position: int
    args_digest: str


@attrs.frozen(kw_only=True)
class Dispatched:
    """T1: the durable dispatch of one side effect (OP-1)."""

    tool: str
    args_digest: str
    recovery: RecoveryMode
    local: bool
    evidence: FileEvidence | None = None
    key: str | None = None
    retry_of: str | None = None
    timeout_ms: int | None = None


@attrs.frozen(kw_only=True)
class Outcome:
    """T2, a refusal before T1, or what recovery settled (OP-1, OP-2, OP-4)."""

    state: OutcomeState
    result: OutcomeResult
    by: OutcomeBy
    duration_ms: int | None = None


@attrs.frozen(kw_only=True)
class ReconcileResult:
    """What recovery observed of an operation's effect (OP-4, OP-6)."""

    observation: Observation
    observed: str


@attrs.frozen(kw_only=True)
class RecoveryDecision:
    """How recovery left an operation, and the facts it rests on, in order (OP-4)."""

    disposition: Disposition
    reason: DecisionReason
    evidence: tuple[str, ...]


@attrs.frozen(kw_only=True)
class AskOpened:
    """A question to a person; an approval binds tool and arguments (ASK-1, ASK-2)."""

    purpose: Purpose
    tool: str
    args_digest: str
    review: str
    questions: tuple[Question, ...] = ()
    expansion: Json = None
    deadline_ts: int | None = None


@attrs.frozen(kw_only=True)
class AskAnswered:
    """A person's decision; `answers` has one entry a question (ASK-1)."""

    decision: AnswerDecision
    answers: tuple[str | None, ...] = ()


@attrs.frozen(kw_only=True)
class AskClosed:
    """The end of a request that nobody answered (ASK-1)."""

    reason: CloseReason


@attrs.frozen(kw_only=True)
class ErrorNoted:
    """The closed kind of an error; its severity is derived, never stored (LOG-6)."""

    failure: Failure


@attrs.frozen(kw_only=True)
class ArtifactAdded:
    """Something a tool made for a person to keep (OP-7)."""

    name: str
    media_type: str
    blob: str
    bytes: int


@attrs.frozen(kw_only=True)
class CheckpointMade:
    """A summary that covers an exact prefix, by sequence and chain value (PROJ-4)."""

    covers_seq: int
    covers_chain: str
    projection: int


@attrs.frozen(kw_only=True)
class StopRequested:
    """A durable stop intent and who it came from (RUN-4)."""

    source: str


@attrs.frozen(kw_only=True)
class RunReattached:
    """A waiting run taken up by a later owner with the same profile (ASK-3)."""

    profile: str


@attrs.frozen(kw_only=True)
class RunEnded:
    """The one end of a run (LOG-4): `failure` goes with failed, `source` with aborted."""

    status: RunStatus
    failure: RunFailure | None = None
    source: str | None = None


@attrs.frozen(kw_only=True)
class SessionOpened:
    """The first fact of a control ledger (LOG-8)."""

    protocol: int
    key: str | None = None
    title: str | None = None


@attrs.frozen(kw_only=True)
class SettingsChanged:
    """New session settings; they change only between runs (CONT-5)."""

    revision: int
    settings: Json


@attrs.frozen(kw_only=True)
class WorkspaceAttached:
    """The directory a session works in, by marker identity (WORK-1)."""

    workspace: str
    path: str


@attrs.frozen(kw_only=True)
class BoundaryChanged:
    """A new revision of the session's sandbox boundary (ASK-4)."""

    revision: int
    boundary: Json
    ask: str | None = None


@attrs.frozen(kw_only=True)
class MessageQueued:
    """A message that waits for a step boundary or the next turn (RUN-6)."""

    intent: Intent
    key: str | None = None
    input: str | None = None


@attrs.frozen(kw_only=True)
class MessageTaken:
    """A queued message delivered to a run, in the unit of its text fact (RUN-6)."""

    run: str


@attrs.frozen(kw_only=True)
class MessageReturned:
    """A queued message that goes back undelivered (RUN-6)."""

    reason: ReturnReason


@attrs.frozen(kw_only=True)
class MessageRetracted:
    """A queued message that its sender took back."""


@attrs.frozen(kw_only=True)
class VerdictGiven:
    """A person's statement about an operation nobody could settle (OP-4)."""

    run: str
    generation: int
    verdict: Verdict
    note: str | None = None


@attrs.frozen(kw_only=True)
class RunAbandoned:
    """A person gives up a waiting run (ASK-3)."""

    run: str


@attrs.frozen(kw_only=True)
class BoundaryAbandoned:
    """A person gives up continuing a closed run (CONT-8)."""

    run: str
    boundary: str


@attrs.frozen(kw_only=True)
class DriftAccepted:
    """A person accepts that these files differ from what the lineage recorded (CONT-11)."""

    boundary: str
    paths: tuple[str, ...]


@attrs.frozen(kw_only=True)
class LateOutcome:
    """An outcome that arrived after its run ended: evidence, settling nothing (LOG-8)."""

    run: str


@attrs.frozen(kw_only=True)
class BranchedFrom:
    """Where a copied session came from (CONT-10)."""

    session: str
    boundary: str


@attrs.frozen(kw_only=True)
class SessionAdopted:
    """An imported session made ours (STORE-12)."""

    root: str
    chain: str


Action: TypeAlias = (
    RunOpened
    | RequestDispatched
    | RequestSettled
    | CallPlaced
    | Dispatched
    | Outcome
    | ReconcileResult
    | RecoveryDecision
    | AskOpened
    | AskAnswered
    | AskClosed
    | ErrorNoted
    | ArtifactAdded
    | CheckpointMade
    | StopRequested
    | RunReattached
    | RunEnded
    | SessionOpened
    | SettingsChanged
    | WorkspaceAttached
    | BoundaryChanged
    | MessageQueued
    | MessageTaken
    | MessageReturned
    | MessageRetracted
    | VerdictGiven
    | RunAbandoned
    | BoundaryAbandoned
    | DriftAccepted
    | LateOutcome
    | BranchedFrom
    | SessionAdopted
)


@attrs.frozen(kw_only=True)
class Refs:
    """Correlation ids; each kind states which it needs and which it may have (LOG-1)."""

    request: str | None = None
    operation: str | None = None
    ask: str | None = None
    message: str | None = None
    stream: str | None = None
    parent_operation: str | None = None


NO_REFS: Final = Refs()


@attrs.frozen(kw_only=True)
class RuntimeEvent:
    """The body of one immutable fact: what its author states (BYTE-5a).

    Attributes:
        ts: Milliseconds since 1970, for display only; order is `seq` and `ordinal` (LOG-9).
    """

    id: str
    spine: Spine
    kind: Kind
    ts: int
    role: Role
    author: Author
    origin: Origin | None = None
    visibility: Visibility = Visibility.VISIBLE
    content: Content | None = None
    actions: Action | None = None
    refs: Refs = NO_REFS


@attrs.frozen(kw_only=True)
class Stamp:
    """What the store adds to a body: place, root, epoch, and the rows that admit it (BYTE-5a)."""

    seq: int
    root: str
    epoch: int
    rows: tuple[str, ...]
