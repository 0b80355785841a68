"""Where a run stands and what comes next: a pure reading of its facts, fresh or resumed."""

from collections.abc import Sequence
from enum import StrEnum

import attrs

from ..machines.facts.model import (
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    FunctionCall,
    Outcome,
    RequestDispatched,
    RequestSettled,
    RuntimeEvent,
)
from ..machines.facts.vocabulary import (
    AnswerDecision,
    CloseReason,
    Finish,
    Kind,
    RequestResult,
)


class AskIs(StrEnum):
    """What became of the request to a person about a call."""

    NONE = "none"
    OPEN = "open"
    GRANTED = "granted"
    DENIED = "denied"


@attrs.define(kw_only=True)
class CallProgress:
    """One call of the newest step, as far as it came."""

    event: RuntimeEvent
    operation: str
    content: FunctionCall
    placed: CallPlaced
    ask: str | None = None
    ask_is: AskIs = AskIs.NONE
    question: AskOpened | None = None
    answer: AskAnswered | None = None
    dispatched: bool = False
    outcome: RuntimeEvent | None = None


@attrs.define(kw_only=True)
class Progress:
    """A run, read up to its newest fact.

    Attributes:
        step: The newest step that was requested; 0 before the first.
        attempt: The newest attempt of that step.
        steered: A message was delivered after the newest settled step.
        usage_tokens: Input and output tokens of all settled requests.
    """

    step: int = 0
    attempt: int = 0
    request: str | None = None
    settled: RequestSettled | None = None
    calls: list[CallProgress] = attrs.field(factory=list[CallProgress])
    steered: bool = False
    stopped: bool = False
    ended: bool = False
    usage_tokens: int = 0

    @property
    def request_open(self) -> bool:
        """Say whether a request is unsettled."""
        return self.request is not None and self.settled is None

    @property
    def failed(self) -> bool:
        """Say whether the newest request failed."""
        return self.settled is not None and self.settled.result is RequestResult.FAILED

    @property
    def finish(self) -> Finish | None:
        """Return the finish that the newest request stated."""
        return None if self.settled is None else self.settled.finish

    def open_calls(self) -> list[CallProgress]:
        """Return the calls of the newest step that have no outcome, in call order."""
        return [call for call in self.calls if call.outcome is None]


def read_progress(facts: Sequence[RuntimeEvent]) -> Progress:
    """Return where the run of these facts stands. Pure; one pass."""
    progress = Progress()
    by_operation: dict[str, CallProgress] = {}
    by_ask: dict[str, CallProgress] = {}
    for event in facts:
        _take(progress, by_operation, by_ask, event)
    return progress


def _take(
    progress: Progress,
    by_operation: dict[str, CallProgress],
    by_ask: dict[str, CallProgress],
    event: RuntimeEvent,
) -> None:
    action, operation, ask = event.actions, event.refs.operation, event.refs.ask
    match action:
        case RequestDispatched():
            if action.step != progress.step:
                progress.calls.clear()
            progress.step, progress.attempt = action.step, action.attempt
            progress.request, progress.settled = event.refs.request, None
            progress.steered = False
        case RequestSettled():
            progress.settled = action
            if action.usage is not None:
                progress.usage_tokens += action.usage.input + action.usage.output
        case CallPlaced() if operation is not None and isinstance(event.content, FunctionCall):
            call = CallProgress(
                event=event, operation=operation, content=event.content, placed=action
            )
            progress.calls.append(call)
            by_operation[operation] = call
        case AskOpened() if operation in by_operation and ask is not None:
            call = by_operation[operation]
            call.ask, call.ask_is, call.question = ask, AskIs.OPEN, action
            by_ask[ask] = call
        case AskAnswered() if ask in by_ask:
            denied = action.decision is AnswerDecision.DENY
            by_ask[ask].ask_is = AskIs.DENIED if denied else AskIs.GRANTED
            by_ask[ask].answer = action
        case AskClosed() if ask in by_ask:
            expired = action.reason is CloseReason.EXPIRED
            by_ask[ask].ask_is = AskIs.DENIED if expired else AskIs.NONE
        case Outcome() if operation in by_operation:
            by_operation[operation].outcome = event
        case _:
            _take_rest(progress, by_operation, event)


def _take_rest(
    progress: Progress, by_operation: dict[str, CallProgress], event: RuntimeEvent
) -> None:
    match event.kind:
        case Kind.DISPATCHED if event.refs.operation in by_operation:
            by_operation[event.refs.operation].dispatched = True
        case Kind.STEERING_TEXT:
            progress.steered = True
        case Kind.STOP_REQUESTED:
            progress.stopped = True
        case Kind.RUN_ENDED:
            progress.ended = True
        case _:
            pass
