"""What the fields of one fact must say together, beyond their types and forms (LOG-2).

A rule sees one fact alone. What depends on other facts is a lifecycle's matter.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from . import model as m
from .illegal import ABSENT, FactIllegalError, UnknownProtocolError, kind_of
from .json_values import Path
from .vocabulary import (
    AnswerDecision,
    Cause,
    DecisionReason,
    Disposition,
    FileKind,
    Origin,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    Purpose,
    RecoveryMode,
    RequestResult,
    RunStatus,
    Visibility,
)

CONTINUATIONS: Final = (Cause.RUNTIME_ADMISSION, Cause.CLAIM_REPAIR)
"""The causes whose opening is a continuation start (LOG-3)."""

_NOT_STARTED: Final = (
    OutcomeResult.DENIED,
    OutcomeResult.INVALID_ARGUMENTS,
    OutcomeResult.UNCLEAN_TEXT,
    OutcomeResult.UNAVAILABLE,
    OutcomeResult.BLOCKED,
    OutcomeResult.CANCELLED,
)

OUTCOMES: Final[Mapping[tuple[OutcomeState, OutcomeBy], tuple[OutcomeResult, ...]]] = (
    MappingProxyType(
        {
            (OutcomeState.SETTLED, OutcomeBy.TOOL): (
                OutcomeResult.OK,
                OutcomeResult.ERROR,
                OutcomeResult.TIMED_OUT,
                OutcomeResult.NOT_REPRESENTABLE,
            ),
            (OutcomeState.SETTLED, OutcomeBy.RECOVERY): (
                OutcomeResult.INTERRUPTED_NO_EFFECT,
                OutcomeResult.RECONCILED,
            ),
            (OutcomeState.NOT_STARTED, OutcomeBy.REFUSAL): _NOT_STARTED,
            (OutcomeState.NOT_STARTED, OutcomeBy.RECOVERY): _NOT_STARTED,
        }
    )
)
"""Which results go with who wrote the outcome, before or after T1 (OP-1, OP-2, OP-4)."""

SUCCESSES: Final = (OutcomeResult.OK, OutcomeResult.RECONCILED)
"""The results that the model is not told as an error."""

COMPLETING: Final = (DecisionReason.MATCHES_EXPECTED_STATE, DecisionReason.INTERRUPTED_NO_EFFECT)
"""The reasons for which recovery completes an operation; for all others it parks (OP-4, OP-6)."""


def said_by_user(event: m.RuntimeEvent) -> None:
    """Refuse a user's message that says nothing."""
    said = event.content
    assert isinstance(said, m.Text)
    _require(bool(said.text or said.attachments), ("content", "text"), said.text)


def said_by_model(event: m.RuntimeEvent) -> None:
    """Refuse attachments where no user speaks; empty text is legal, and shown to nobody."""
    said = event.content
    assert isinstance(said, m.Text)
    _require(not said.attachments, ("content", "attachments"), said.attachments)


def thought(event: m.RuntimeEvent) -> None:
    """Refuse a thought with neither words nor signature; either alone is legal."""
    said = event.content
    assert isinstance(said, m.Thinking)
    _require(bool(said.text or said.signature), ("content", "text"), said.text)


def run_opened(event: m.RuntimeEvent) -> None:
    """Judge an opening: its protocol, its key, and whether it starts a continuation (LOG-3)."""
    opening = event.actions
    assert isinstance(opening, m.RunOpened)
    _speak(opening.protocol)
    _exactly_when(opening.cause in CONTINUATIONS, ("actions", "continuation"), opening.continuation)
    _refuse_key_without_input(opening.key, opening.input)
    if opening.cause is Cause.CLAIM_REPAIR:
        # Nobody asked for a repair, so there is nobody's key to answer to (CONT-7).
        _require(opening.key is None, ("actions", "key"), opening.key)
        _require(opening.input is None, ("actions", "input"), opening.input)
    if opening.budgets is not None:
        _require(opening.budgets != m.Budgets(), ("actions", "budgets"), opening.budgets)


def request_dispatched(event: m.RuntimeEvent) -> None:
    """Refuse a wire body of nothing, and a retry that does not name another request (LOG-7)."""
    sent = event.actions
    assert isinstance(sent, m.RequestDispatched)
    _require(sent.parts != (), ("actions", "parts"), sent.parts)
    _exactly_when(sent.attempt > 1, ("actions", "retries"), sent.retries)
    _require(sent.retries != event.refs.request, ("actions", "retries"), sent.retries)


def request_settled(event: m.RuntimeEvent) -> None:
    """Let finish and usage go with `finished` only, and failure with `failed` only (LOG-7)."""
    settled = event.actions
    assert isinstance(settled, m.RequestSettled)
    finished = settled.result is RequestResult.FINISHED
    _exactly_when(finished, ("actions", "finish"), settled.finish)
    _require(finished or settled.usage is None, ("actions", "usage"), settled.usage)
    failed = settled.result is RequestResult.FAILED
    _exactly_when(failed, ("actions", "failure"), settled.failure)


def call(event: m.RuntimeEvent) -> None:
    """Let a nested call name the call around it, and stay out of history (LOG-1)."""
    _judge_nesting(event)


def dispatched(event: m.RuntimeEvent) -> None:
    """Let evidence go with `reconcile` and a key with `idempotent`, both always (OP-5, OP-6)."""
    sent = event.actions
    assert isinstance(sent, m.Dispatched)
    reconciles = sent.recovery is RecoveryMode.RECONCILE
    _exactly_when(reconciles, ("actions", "evidence"), sent.evidence)
    keyed = sent.recovery is RecoveryMode.IDEMPOTENT
    _exactly_when(keyed, ("actions", "key"), sent.key)
    # Only a key makes a second attempt the same effect; it is a new operation (OP-5).
    _require(keyed or sent.retry_of is None, ("actions", "retry_of"), sent.retry_of)
    _require(sent.retry_of != event.refs.operation, ("actions", "retry_of"), sent.retry_of)
    if sent.evidence is not None:
        for name, identity in (("before", sent.evidence.before), ("after", sent.evidence.after)):
            _judge_identity(identity, ("actions", "evidence", name))


def _judge_identity(identity: m.FileIdentity, where: Path) -> None:
    stands = identity.kind is FileKind.FILE
    _exactly_when(stands, (*where, "digest"), identity.digest)
    _exactly_when(stands, (*where, "bytes"), identity.bytes)
    _exactly_when(stands, (*where, "mode"), identity.mode)


def outcome(event: m.RuntimeEvent) -> None:
    """Judge an outcome: its result by `OUTCOMES`, and what the model is told of it (OP-1, OP-2).

    Raises:
        FactIllegalError: `fact_illegal`.
    """
    ended, told = event.actions, event.content
    assert isinstance(ended, m.Outcome)
    assert isinstance(told, m.FunctionResponse)
    results = OUTCOMES.get((ended.state, ended.by))
    if results is None:
        raise FactIllegalError(path=("actions", "by"), found=kind_of(ended.by))
    _require(ended.result in results, ("actions", "result"), ended.result)
    succeeded = ended.result in SUCCESSES
    _require(told.is_error is not succeeded, ("content", "is_error"), told.is_error)
    ran = ended.by is OutcomeBy.TOOL
    _require(ran or ended.duration_ms is None, ("actions", "duration_ms"), ended.duration_ms)
    # A grant is consumed by T1. An outcome consumes a decision only to say that nothing started: a
    # denial, or a grant that nobody can use any more (ASK-2, ASK-3).
    unstarted = ended.state is OutcomeState.NOT_STARTED
    _require(unstarted or event.refs.ask is None, ("refs", "ask"), event.refs.ask)
    _judge_nesting(event)


def recovery_decision(event: m.RuntimeEvent) -> None:
    """Let the reason match the disposition, and the evidence be distinct facts (OP-4)."""
    decision = event.actions
    assert isinstance(decision, m.RecoveryDecision)
    completed = decision.disposition is Disposition.COMPLETED
    _require(completed is (decision.reason in COMPLETING), ("actions", "reason"), decision.reason)
    _require_distinct(decision.evidence, ("actions", "evidence"))


def ask_opened(event: m.RuntimeEvent) -> None:
    """Let questions go with `question` and an expansion with `boundary`, both always (ASK-1)."""
    ask = event.actions
    assert isinstance(ask, m.AskOpened)
    questions = ask.purpose is Purpose.QUESTION
    _require(bool(ask.questions) is questions, ("actions", "questions"), ask.questions)
    _exactly_when(ask.purpose is Purpose.BOUNDARY, ("actions", "expansion"), ask.expansion)
    for position, question in enumerate(ask.questions):
        if question.options:
            _require_distinct(question.options, ("actions", "questions", position, "options"))


def ask_answered(event: m.RuntimeEvent) -> None:
    """Let answers go with `answer` only; a decision has none (ASK-1)."""
    answered = event.actions
    assert isinstance(answered, m.AskAnswered)
    answers = answered.decision is AnswerDecision.ANSWER
    _require(bool(answered.answers) is answers, ("actions", "answers"), answered.answers)


def checkpoint_made(event: m.RuntimeEvent) -> None:
    """Refuse a summary without words, or with attachments (PROJ-4)."""
    said = event.content
    assert isinstance(said, m.Text)
    _require(said.text != "", ("content", "text"), said.text)
    _require(not said.attachments, ("content", "attachments"), said.attachments)


def run_ended(event: m.RuntimeEvent) -> None:
    """Let failure go with `failed` and source with `aborted`, both always (LOG-4)."""
    ended = event.actions
    assert isinstance(ended, m.RunEnded)
    _exactly_when(ended.status is RunStatus.FAILED, ("actions", "failure"), ended.failure)
    _exactly_when(ended.status is RunStatus.ABORTED, ("actions", "source"), ended.source)


def session_opened(event: m.RuntimeEvent) -> None:
    """Judge the protocol of a session's opening."""
    opening = event.actions
    assert isinstance(opening, m.SessionOpened)
    _speak(opening.protocol)


def message_queued(event: m.RuntimeEvent) -> None:
    """Judge a queued message as the user's text that it will be (RUN-6)."""
    queued = event.actions
    assert isinstance(queued, m.MessageQueued)
    said_by_user(event)
    _refuse_key_without_input(queued.key, queued.input)


def drift_accepted(event: m.RuntimeEvent) -> None:
    """Refuse an acceptance of nothing, or of one path twice (CONT-11)."""
    accepted = event.actions
    assert isinstance(accepted, m.DriftAccepted)
    _require_distinct(accepted.paths, ("actions", "paths"))


def _judge_nesting(event: m.RuntimeEvent) -> None:
    """A model never made a nested call, so neither the call nor its result is shown to it."""
    nested, parent = event.origin is Origin.NESTED, event.refs.parent_operation
    _exactly_when(nested, ("refs", "parent_operation"), parent)
    _require(not nested or parent != event.refs.operation, ("refs", "parent_operation"), parent)
    hidden = event.visibility is Visibility.HIDDEN
    _require(hidden is nested, ("visibility",), event.visibility)


def _speak(protocol: int) -> None:
    if protocol != m.PROTOCOL:
        raise UnknownProtocolError(path=("actions", "protocol"), found=kind_of(protocol))


def _refuse_key_without_input(key: str | None, stated_input: str | None) -> None:
    """Only the input's digest can show that a key came back with other input (RUN-5)."""
    _require(key is None or stated_input is not None, ("actions", "input"), stated_input)


def _require(holds: bool, path: Path, value: object) -> None:  # noqa: FBT001 (reads as one sentence)
    if not holds:
        raise FactIllegalError(path=path, found=ABSENT if value is None else kind_of(value))


def _exactly_when(wanted: bool, path: Path, value: object) -> None:  # noqa: FBT001 (as above)
    _require((value is not None) is wanted, path, value)


def _require_distinct(values: tuple[str, ...], path: Path) -> None:
    _require(values != (), path, values)
    _require(len(set(values)) == len(values), path, values)
