"""One pass over facts, which every view reads: who said what about which call, run and person.

Facts are those of one session in commit order, its control ledger among them or not, or those of
one run. A fact that comes twice counts once.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from ..facts.kinds import KINDS, Ledger
from ..facts.model import (
    ArtifactAdded,
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    Dispatched,
    ErrorNoted,
    ErrorText,
    FunctionCall,
    FunctionResponse,
    LateOutcome,
    MessageQueued,
    MessageReturned,
    MessageTaken,
    Outcome,
    ReconcileResult,
    RecoveryDecision,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RunOpened,
    RuntimeEvent,
    StopRequested,
    Text,
    Thinking,
    VerdictGiven,
)
from ..facts.vocabulary import Failure, Finish, Kind, RequestResult
from ..lifecycles.run import Last
from .records import (
    Ask,
    CallFact,
    Fact,
    Message,
    Operation,
    OutcomeFact,
    Reading,
    Request,
    Run,
    Step,
    Trouble,
)


def read(facts: Sequence[RuntimeEvent]) -> Reading:
    """Read facts of one session, in commit order."""
    reading = Reading()
    seen = set[str]()
    for event in facts:
        if event.id in seen:
            continue
        seen.add(event.id)
        reading.facts.append(event)
        assert event.spine.session == reading.session, "facts of one session"
        if KINDS[event.kind].ledger is Ledger.CONTROL:
            reading.control.append(event)
            _take_control(reading, event)
            continue
        name = event.spine.run
        if name not in reading.runs:
            reading.runs[name] = Run(spine=event.spine)
        run = reading.runs[name]
        run.facts.append(event)
        _TAKERS.get(event.kind, _take_nothing)(reading, run, event)
    return reading


# --- the control ledger ---


def _take_control(reading: Reading, event: RuntimeEvent) -> None:
    match event.actions, event.content:
        case MessageQueued() as says, Text() as text if event.refs.message is not None:
            name = event.refs.message
            queued = Fact(event=event, says=says)
            reading.messages[name] = Message(id=name, queued=queued, text=text)
        case VerdictGiven() as says, _ if event.refs.operation is not None:
            subject = reading.operation(event.refs.operation, says.run)
            subject.verdicts.append(Fact(event=event, says=says))
        case LateOutcome() as says, FunctionResponse() as told if event.refs.operation is not None:
            reading.operation(event.refs.operation, says.run).late = Fact(event=event, says=told)
        case _:
            _move_message(reading.messages.get(event.refs.message or ""), event)


def _move_message(message: Message | None, event: RuntimeEvent) -> None:
    if message is None:
        return
    match event.actions:
        case MessageTaken() as says:
            message.taken = Fact(event=event, says=says)
        case MessageReturned() as says:
            message.returned = Fact(event=event, says=says)
        case _:
            message.retracted = event


# --- the ledger of a run ---


def _take_nothing(_reading: Reading, _run: Run, _event: RuntimeEvent) -> None:
    """Take a fact that only its own view looks at."""


def _take_opening(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.actions, RunOpened):
        run.opening = Fact(event=event, says=event.actions)


def _take_words(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.content, Text):
        run.said.append(Fact(event=event, says=event.content))
    if event.kind is Kind.STEERING_TEXT:
        run.last = Last.STEERED


def _request(run: Run, event: RuntimeEvent) -> Request:
    name = event.refs.request or ""
    if name not in run.requests:
        run.requests[name] = Request(id=name)
    return run.requests[name]


def _step(run: Run, event: RuntimeEvent) -> Step:
    request = _request(run, event)
    if request.id not in run.steps:
        run.steps[request.id] = Step(request=request)
        run.said.append(run.steps[request.id])
    return run.steps[request.id]


def _take_sent(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.actions, RequestDispatched):
        _request(run, event).sent = Fact(event=event, says=event.actions)
        run.last = Last.OPEN


_FINISHES: Final[Mapping[Finish | None, Last]] = MappingProxyType(
    {Finish.STOP: Last.STOP, Finish.TOOL_CALLS: Last.CALLS}
)


def _take_settled(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    says = event.actions
    if not isinstance(says, RequestSettled):
        return
    request = _request(run, event)
    request.settled = Fact(event=event, says=says)
    match says.result:
        case RequestResult.FINISHED:
            run.last = _FINISHES.get(says.finish, Last.CUT)
            if run.last is not Last.CUT:
                for trouble in run.troubles:
                    trouble.recovered = True
        case RequestResult.FAILED:
            run.last = Last.FAILED
            _add_trouble(run, event, says.failure or Failure.UNKNOWN, None)
        case RequestResult.ABORTED | RequestResult.UNKNOWN:
            run.last = Last.LOST


def _take_error(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.actions, ErrorNoted) and isinstance(event.content, ErrorText):
        _add_trouble(run, event, event.actions.failure, event.content.message)


def _add_trouble(run: Run, event: RuntimeEvent, failure: Failure, message: str | None) -> None:
    """Add an error; the note about a request and the request's own end are one (LOG-6)."""
    newest = run.troubles[-1] if run.troubles else None
    request = event.refs.request
    if newest and message is None and request is not None and newest.request == request:
        newest.events.append(event)
        return
    trouble = Trouble(
        events=[event],
        failure=failure,
        message=message,
        request=request,
        operation=event.refs.operation,
    )
    run.troubles.append(trouble)
    run.said.append(trouble)


def _take_output(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    step = _step(run, event)
    match event.content:
        case Thinking() as says:
            step.thoughts.append(Fact(event=event, says=says))
        case Text() as says:
            step.texts.append(Fact(event=event, says=says))
        case _:
            pass


def _take_call(reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.actions, CallPlaced) and isinstance(event.content, FunctionCall):
        operation = _operation(reading, run, event)
        operation.call = CallFact(event=event, placed=event.actions, says=event.content)
        _step(run, event).calls.append(operation)


def _operation(reading: Reading, run: Run, event: RuntimeEvent) -> Operation:
    operation = reading.operation(event.refs.operation or "", run.spine.run)
    run.operations[operation.id] = operation
    return operation


def _use_ask(run: Run, event: RuntimeEvent) -> None:
    ask = run.asks.get(event.refs.ask or "")
    if ask is not None:
        ask.consumed = True


def _take_dispatch(reading: Reading, run: Run, event: RuntimeEvent) -> None:
    says = event.actions
    if isinstance(says, Dispatched):
        operation = _operation(reading, run, event)
        operation.dispatch = Fact(event=event, says=says)
        _use_ask(run, event)
        if says.retry_of is not None:
            reading.operation(says.retry_of, run.spine.run).retried_by = operation.id


def _take_outcome(reading: Reading, run: Run, event: RuntimeEvent) -> None:
    if isinstance(event.actions, Outcome) and isinstance(event.content, FunctionResponse):
        operation = _operation(reading, run, event)
        operation.outcome = OutcomeFact(event=event, ended=event.actions, says=event.content)
        _use_ask(run, event)


def _take_recovery(reading: Reading, run: Run, event: RuntimeEvent) -> None:
    operation = _operation(reading, run, event)
    match event.actions:
        case ReconcileResult() as says:
            operation.observation = Fact(event=event, says=says)
        case RecoveryDecision() as says:
            operation.decision = Fact(event=event, says=says)
        case ArtifactAdded() as says:
            operation.artifacts.append(Fact(event=event, says=says))
        case _:
            pass


def _take_ask(reading: Reading, run: Run, event: RuntimeEvent) -> None:
    name = event.refs.ask or ""
    match event.actions:
        case AskOpened() as says:
            operation = _operation(reading, run, event)
            opened = Fact(event=event, says=says)
            ask = Ask(id=name, run=run.spine.run, opened=opened, operation=operation)
            run.asks[name] = reading.asks[name] = ask
            operation.asks.append(ask)
        case AskAnswered() as says if name in run.asks:
            run.asks[name].answered = Fact(event=event, says=says)
        case AskClosed() as says if name in run.asks:
            run.asks[name].closed = Fact(event=event, says=says)
        case _:
            pass


def _take_bounds(_reading: Reading, run: Run, event: RuntimeEvent) -> None:
    match event.actions:
        case StopRequested() as says:
            run.stop = Fact(event=event, says=says)
        case RunEnded() as says:
            run.end = Fact(event=event, says=says)
        case _:
            pass


_TAKERS: Final[Mapping[Kind, Callable[[Reading, Run, RuntimeEvent], None]]] = MappingProxyType(
    {
        Kind.RUN_OPENED: _take_opening,
        Kind.USER_TEXT: _take_words,
        Kind.STEERING_TEXT: _take_words,
        Kind.REQUEST_DISPATCHED: _take_sent,
        Kind.REQUEST_SETTLED: _take_settled,
        Kind.MODEL_TEXT: _take_output,
        Kind.MODEL_THINKING: _take_output,
        Kind.CALL: _take_call,
        Kind.DISPATCHED: _take_dispatch,
        Kind.OUTCOME: _take_outcome,
        Kind.RECONCILE_RESULT: _take_recovery,
        Kind.RECOVERY_DECISION: _take_recovery,
        Kind.ARTIFACT_ADDED: _take_recovery,
        Kind.ASK_OPENED: _take_ask,
        Kind.ASK_ANSWERED: _take_ask,
        Kind.ASK_CLOSED: _take_ask,
        Kind.ERROR_NOTED: _take_error,
        Kind.STOP_REQUESTED: _take_bounds,
        Kind.RUN_ENDED: _take_bounds,
    }
)
