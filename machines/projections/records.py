"""What facts say about runs, requests, operations and requests to people, as every view reads it.

What stands in these records is only what facts state. What an operation or a run *is* follows in
`standing`, through the states of the production tables.
"""

from typing import Generic, TypeAlias, TypeVar

import attrs

from ..facts.model import (
    ArtifactAdded,
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    Dispatched,
    FunctionCall,
    FunctionResponse,
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
    Spine,
    StopRequested,
    Text,
    Thinking,
    VerdictGiven,
)
from ..facts.vocabulary import CloseReason, Disposition, Failure, RequestResult
from ..lifecycles.run import Last

S = TypeVar("S")


@attrs.frozen(kw_only=True)
class Fact(Generic[S]):
    """A fact with what it says, of the one class that its kind has."""

    event: RuntimeEvent
    says: S

    @property
    def id(self) -> str:
        """Return the event's id."""
        return self.event.id


@attrs.frozen(kw_only=True)
class CallFact:
    """A call: where it stands, and what it asks for."""

    event: RuntimeEvent
    placed: CallPlaced
    says: FunctionCall

    @property
    def id(self) -> str:
        """Return the event's id."""
        return self.event.id


@attrs.frozen(kw_only=True)
class OutcomeFact:
    """An outcome: how the call ended, and what the model is told."""

    event: RuntimeEvent
    ended: Outcome
    says: FunctionResponse

    @property
    def id(self) -> str:
        """Return the event's id."""
        return self.event.id


@attrs.define(eq=False, kw_only=True)
class Operation:
    """What facts say about one call."""

    id: str
    run: str
    call: CallFact | None = None
    asks: "list[Ask]" = attrs.field(factory=list["Ask"])
    dispatch: Fact[Dispatched] | None = None
    outcome: OutcomeFact | None = None
    observation: Fact[ReconcileResult] | None = None
    decision: Fact[RecoveryDecision] | None = None
    artifacts: list[Fact[ArtifactAdded]] = attrs.field(factory=list[Fact[ArtifactAdded]])
    verdicts: list[Fact[VerdictGiven]] = attrs.field(factory=list[Fact[VerdictGiven]])
    late: Fact[FunctionResponse] | None = None
    retried_by: str | None = None

    @property
    def parked(self) -> bool:
        """Tell whether recovery looked and stopped."""
        return self.decision is not None and self.decision.says.disposition is Disposition.PARKED

    @property
    def verdict(self) -> Fact[VerdictGiven] | None:
        """Return the newest statement of a person, if there is one."""
        return self.verdicts[-1] if self.verdicts else None


@attrs.define(eq=False, kw_only=True)
class Ask:
    """What facts say about one request to a person; `consumed`: its decision was used (ASK-2)."""

    id: str
    run: str
    opened: Fact[AskOpened]
    operation: Operation
    answered: Fact[AskAnswered] | None = None
    closed: Fact[AskClosed] | None = None
    consumed: bool = False

    @property
    def open(self) -> bool:
        """Tell whether somebody may still answer."""
        return self.answered is None and self.closed is None

    @property
    def granting(self) -> bool:
        """Tell whether it is decided, expiry being a denial, and the decision not used (ASK-3)."""
        expired = self.closed is not None and self.closed.says.reason is CloseReason.EXPIRED
        return (self.answered is not None or expired) and not self.consumed


@attrs.define(eq=False, kw_only=True)
class Request:
    """What facts say about one model request."""

    id: str
    sent: Fact[RequestDispatched] | None = None
    settled: Fact[RequestSettled] | None = None

    @property
    def finished(self) -> bool:
        """Tell whether the model stated a finish; only then its output is a step (LOG-7a)."""
        return self.settled is not None and self.settled.says.result is RequestResult.FINISHED


@attrs.define(eq=False, kw_only=True)
class Step:
    """What one request brought, in the order of its facts."""

    request: Request
    thoughts: list[Fact[Thinking]] = attrs.field(factory=list[Fact[Thinking]])
    texts: list[Fact[Text]] = attrs.field(factory=list[Fact[Text]])
    calls: list[Operation] = attrs.field(factory=list[Operation])


@attrs.define(eq=False, kw_only=True)
class Trouble:
    """One error: every fact about it, and whether a later request succeeded (LOG-6)."""

    events: list[RuntimeEvent]
    failure: Failure
    message: str | None
    request: str | None
    operation: str | None = None
    recovered: bool = False


Said: TypeAlias = Fact[Text] | Step | Trouble
"""What happened in a run, in order: words of a user, steps, and errors."""


@attrs.define(eq=False, kw_only=True)
class Run:
    """What facts say about one run."""

    spine: Spine
    opening: Fact[RunOpened] | None = None
    facts: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    said: list[Said] = attrs.field(factory=list[Said])
    requests: dict[str, Request] = attrs.field(factory=dict[str, Request])
    operations: dict[str, Operation] = attrs.field(factory=dict[str, Operation])
    asks: dict[str, Ask] = attrs.field(factory=dict[str, Ask])
    troubles: list[Trouble] = attrs.field(factory=list[Trouble])
    last: Last = Last.NEVER
    stop: Fact[StopRequested] | None = None
    end: Fact[RunEnded] | None = None
    steps: dict[str, Step] = attrs.field(factory=dict[str, Step])


@attrs.define(eq=False, kw_only=True)
class Message:
    """What facts say about one queued message (RUN-6)."""

    id: str
    queued: Fact[MessageQueued]
    text: Text
    taken: Fact[MessageTaken] | None = None
    returned: Fact[MessageReturned] | None = None
    retracted: RuntimeEvent | None = None


@attrs.define(eq=False, kw_only=True)
class Reading:
    """All that a view may read; nobody changes it after `read` returned."""

    facts: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    runs: dict[str, Run] = attrs.field(factory=dict[str, Run])
    operations: dict[str, Operation] = attrs.field(factory=dict[str, Operation])
    asks: dict[str, Ask] = attrs.field(factory=dict[str, Ask])
    messages: dict[str, Message] = attrs.field(factory=dict[str, Message])
    control: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])

    def operation(self, name: str, run: str) -> Operation:
        """Return the record of an operation, a new one if nothing was said about it."""
        if name not in self.operations:
            self.operations[name] = Operation(id=name, run=run)
        return self.operations[name]

    @property
    def session(self) -> str | None:
        """Return the session of these facts, if there is any fact."""
        return self.facts[0].spine.session if self.facts else None
