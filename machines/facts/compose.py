"""One constructor a kind: who says it and what it refers to are fixed here, once (LOG-2)."""

from typing import Final

import attrs

from . import ids
from .canonical import Json
from .digests import args_digest
from .model import (
    NO_REFS,
    Action,
    ArtifactAdded,
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    Content,
    Dispatched,
    ErrorNoted,
    ErrorText,
    FunctionCall,
    FunctionResponse,
    MessageQueued,
    MessageReturned,
    MessageTaken,
    Outcome,
    Refs,
    RequestDispatched,
    RequestSettled,
    RunAbandoned,
    RunEnded,
    RunOpened,
    RunReattached,
    RuntimeEvent,
    SessionOpened,
    Spine,
    StopRequested,
    Text,
    Thinking,
    VerdictGiven,
)
from .vocabulary import Author, Kind, Role

_SYSTEM: Final = (Role.SYSTEM, Author.SYSTEM)


def control_spine(session: str) -> Spine:
    """Return the spine of a session's control ledger: derived from the session alone (LOG-8)."""
    return Spine(
        session=session,
        invocation=ids.control_invocation(session),
        run=ids.control_run(session),
        turn=ids.control_turn(session),
    )


@attrs.frozen(kw_only=True)
class At:
    """Where and when the next facts stand: their spine, and the time they show."""

    spine: Spine
    ts: int


def _event(
    at: At,
    fact: str,
    kind: Kind,
    voice: tuple[Role, Author],
    *,
    content: Content | None = None,
    actions: Action | None = None,
    refs: Refs = NO_REFS,
) -> RuntimeEvent:
    role, author = voice
    return RuntimeEvent(
        id=fact,
        spine=at.spine,
        kind=kind,
        ts=at.ts,
        role=role,
        author=author,
        content=content,
        actions=actions,
        refs=refs,
    )


# --- the control ledger ---


def session_opened(
    at: At, fact: str, action: SessionOpened, by: Author = Author.USER
) -> RuntimeEvent:
    """Return the first fact of a control ledger."""
    return _event(at, fact, Kind.SESSION_OPENED, (Role.SYSTEM, by), actions=action)


def message_queued(
    at: At, fact: str, message: str, text: Text, action: MessageQueued, by: Author = Author.USER
) -> RuntimeEvent:
    """Return a message that waits."""
    refs = Refs(message=message)
    voice = (Role.USER, by)
    return _event(at, fact, Kind.MESSAGE_QUEUED, voice, content=text, actions=action, refs=refs)


def message_taken(at: At, fact: str, message: str, run: str) -> RuntimeEvent:
    """Return the delivery of a message to `run`; its text follows in the same unit."""
    action = MessageTaken(run=run)
    return _event(at, fact, Kind.MESSAGE_TAKEN, _SYSTEM, actions=action, refs=Refs(message=message))


def message_returned(at: At, fact: str, message: str, action: MessageReturned) -> RuntimeEvent:
    """Return the hand-back of an undelivered message."""
    refs = Refs(message=message)
    return _event(at, fact, Kind.MESSAGE_RETURNED, _SYSTEM, actions=action, refs=refs)


def verdict_given(at: At, fact: str, operation: str, action: VerdictGiven) -> RuntimeEvent:
    """Return a person's statement about an operation nobody could settle."""
    voice = (Role.SYSTEM, Author.USER)
    refs = Refs(operation=operation)
    return _event(at, fact, Kind.VERDICT_GIVEN, voice, actions=action, refs=refs)


def run_abandoned(at: At, fact: str, run: str) -> RuntimeEvent:
    """Return a person's decision to give up a waiting run."""
    voice = (Role.SYSTEM, Author.USER)
    return _event(at, fact, Kind.RUN_ABANDONED, voice, actions=RunAbandoned(run=run))


def control(
    at: At, fact: str, kind: Kind, action: Action, by: Author = Author.USER
) -> RuntimeEvent:
    """Return any other control fact: one action, no content, no reference."""
    return _event(at, fact, kind, (Role.SYSTEM, by), actions=action)


# --- the ledger of a run ---


def run_opened(at: At, fact: str, action: RunOpened, by: Author = Author.SYSTEM) -> RuntimeEvent:
    """Return the opening of a run."""
    return _event(at, fact, Kind.RUN_OPENED, (Role.SYSTEM, by), actions=action)


def user_text(
    at: At, fact: str, text: Text, *, message: str | None = None, by: Author = Author.USER
) -> RuntimeEvent:
    """Return the words that start a turn."""
    refs = NO_REFS if message is None else Refs(message=message)
    return _event(at, fact, Kind.USER_TEXT, (Role.USER, by), content=text, refs=refs)


def steering_text(
    at: At, fact: str, text: Text, message: str, by: Author = Author.USER
) -> RuntimeEvent:
    """Return words that reach a run between two steps."""
    refs = Refs(message=message)
    return _event(at, fact, Kind.STEERING_TEXT, (Role.USER, by), content=text, refs=refs)


def request_dispatched(at: At, fact: str, request: str, action: RequestDispatched) -> RuntimeEvent:
    """Return a model request that is about to leave."""
    refs = Refs(request=request)
    return _event(at, fact, Kind.REQUEST_DISPATCHED, _SYSTEM, actions=action, refs=refs)


def request_settled(at: At, fact: str, request: str, action: RequestSettled) -> RuntimeEvent:
    """Return how a model request ended."""
    refs = Refs(request=request)
    return _event(at, fact, Kind.REQUEST_SETTLED, _SYSTEM, actions=action, refs=refs)


def model_text(
    at: At, fact: str, request: str, text: Text, stream: str | None = None
) -> RuntimeEvent:
    """Return words of the model."""
    refs = Refs(request=request, stream=stream)
    voice = (Role.MODEL, Author.AGENT)
    return _event(at, fact, Kind.MODEL_TEXT, voice, content=text, refs=refs)


def model_thinking(
    at: At, fact: str, request: str, thinking: Thinking, stream: str | None = None
) -> RuntimeEvent:
    """Return reasoning of the model."""
    refs = Refs(request=request, stream=stream)
    voice = (Role.MODEL, Author.AGENT)
    return _event(at, fact, Kind.MODEL_THINKING, voice, content=thinking, refs=refs)


def call(at: At, request: str, content: FunctionCall, step: int, position: int) -> RuntimeEvent:
    """Return a tool call in its place; its ids and digests follow from where it stands (ID-2)."""
    operation = ids.operation_id(at.spine.invocation, step, position)
    digest = args_digest(content.name, content.args)
    return _event(
        at,
        ids.call_fact_id(operation),
        Kind.CALL,
        (Role.MODEL, Author.AGENT),
        content=content,
        actions=CallPlaced(step=step, position=position, args_digest=digest),
        refs=Refs(operation=operation, request=request),
    )


def dispatched(at: At, operation: str, action: Dispatched, ask: str | None = None) -> RuntimeEvent:
    """Return T1; `ask` is the request to a person whose grant it consumes (ASK-2)."""
    refs = Refs(operation=operation, ask=ask)
    fact = ids.dispatch_fact_id(operation)
    return _event(at, fact, Kind.DISPATCHED, _SYSTEM, actions=action, refs=refs)


def outcome(
    at: At, operation: str, content: FunctionResponse, action: Outcome, ask: str | None = None
) -> RuntimeEvent:
    """Return T2, or the refusal of a call that was not started; `ask`: the denial it tells."""
    return _event(
        at,
        ids.outcome_fact_id(operation),
        Kind.OUTCOME,
        (Role.TOOL, Author.TOOL),
        content=content,
        actions=action,
        refs=Refs(operation=operation, ask=ask),
    )


def ask_opened(at: At, fact: str, ask: str, operation: str, action: AskOpened) -> RuntimeEvent:
    """Return a request to a person about one call."""
    refs = Refs(ask=ask, operation=operation)
    return _event(at, fact, Kind.ASK_OPENED, _SYSTEM, actions=action, refs=refs)


def ask_answered(at: At, fact: str, ask: str, action: AskAnswered) -> RuntimeEvent:
    """Return a person's decision."""
    voice = (Role.SYSTEM, Author.USER)
    return _event(at, fact, Kind.ASK_ANSWERED, voice, actions=action, refs=Refs(ask=ask))


def ask_closed(at: At, fact: str, ask: str, action: AskClosed) -> RuntimeEvent:
    """Return the end of a request that nobody answered."""
    return _event(at, fact, Kind.ASK_CLOSED, _SYSTEM, actions=action, refs=Refs(ask=ask))


def error_noted(at: At, fact: str, text: ErrorText, action: ErrorNoted) -> RuntimeEvent:
    """Return an error, before and apart from any end of the run (LOG-6)."""
    return _event(at, fact, Kind.ERROR_NOTED, _SYSTEM, content=text, actions=action)


def artifact_added(at: At, fact: str, operation: str, action: ArtifactAdded) -> RuntimeEvent:
    """Return something a tool made for a person to keep."""
    voice = (Role.TOOL, Author.TOOL)
    refs = Refs(operation=operation)
    return _event(at, fact, Kind.ARTIFACT_ADDED, voice, actions=action, refs=refs)


def stop_requested(at: At, fact: str, source: str, by: Author = Author.USER) -> RuntimeEvent:
    """Return a durable stop intent."""
    action = StopRequested(source=source)
    return _event(at, fact, Kind.STOP_REQUESTED, (Role.SYSTEM, by), actions=action)


def run_reattached(at: At, fact: str, profile: str) -> RuntimeEvent:
    """Return the fact that a later owner takes up a waiting run."""
    action = RunReattached(profile=profile)
    return _event(at, fact, Kind.RUN_REATTACHED, _SYSTEM, actions=action)


def run_ended(at: At, fact: str, action: RunEnded) -> RuntimeEvent:
    """Return the one end of a run."""
    return _event(at, fact, Kind.RUN_ENDED, _SYSTEM, actions=action)


def response(content: FunctionCall, result: Json, *, is_error: bool = False) -> FunctionResponse:
    """Return the response to a call, under the call's own label and name."""
    return FunctionResponse(
        label=content.label, name=content.name, result=result, is_error=is_error
    )
