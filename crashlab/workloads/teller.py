"""The words in which workloads and benchmarks tell a store a session: facts ready to be written.

Every id and time follows from the order of the words, so that a second telling is an exact retry.
"""

from typing import Final

import attrs

from ...machines.facts import compose
from ...machines.facts.canonical import Json
from ...machines.facts.ids import ask_id, operation_id
from ...machines.facts.model import (
    AskAnswered,
    AskClosed,
    AskOpened,
    Dispatched,
    ErrorNoted,
    ErrorText,
    ExecutionProfile,
    FileEvidence,
    FunctionCall,
    FunctionResponse,
    MessageQueued,
    Outcome,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RuntimeEvent,
    SessionOpened,
    Spine,
    Text,
    Usage,
    VerdictGiven,
)
from ...machines.facts.vocabulary import (
    AnswerDecision,
    Cause,
    CloseReason,
    Failure,
    Finish,
    Intent,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    Purpose,
    RecoveryMode,
    RequestResult,
    RunFailure,
    RunStatus,
    Verdict,
)
from ...store.journal.starts import OpenRun, OpenSession

NO_DIGEST: Final = "0" * 64
PROFILE: Final = ExecutionProfile(
    backend="scripted",
    model="none",
    prompt=(),
    tools=(),
    tool_protocol=1,
    projection=1,
    policy=NO_DIGEST,
)


@attrs.define(eq=False, kw_only=True)
class Teller:
    """One session as it is told; it remembers where it is and nothing of the store.

    Attributes:
        session: The session's id, from which all other ids are made.
        number: The number of the run it tells of, from 1.
        asked: The id of the newest request, which texts, calls and settlements belong to.
        parts: The blobs that each request's wire body is made of (LOG-7).
    """

    session: str
    number: int = 0
    asked: str = ""
    parts: tuple[str, ...] = (NO_DIGEST,)
    _told: int = attrs.field(default=0, alias="told")

    @property
    def run(self) -> str:
        """Return the id of the present run."""
        return f"{self.session}-run-{self.number}"

    @property
    def at(self) -> compose.At:
        """Return where and when the next fact of the present run stands."""
        name, number = self.session, self.number
        spine = Spine(
            session=name,
            invocation=f"{name}-inv-{number}",
            run=self.run,
            turn=f"{name}-turn-{number}",
        )
        return compose.At(spine=spine, ts=self._tick())

    @property
    def control(self) -> compose.At:
        """Return where and when the next control fact stands."""
        return compose.At(spine=compose.control_spine(self.session), ts=self._tick())

    # --- starts ---

    def open_session(self, key: str | None = None) -> OpenSession:
        """Return the order that makes the session."""
        action = SessionOpened(protocol=1, key=key)
        return OpenSession(opening=compose.session_opened(self.control, self._fact(), action))

    def open_run(
        self, text: str = "go", *, taken: str | None = None, key: str | None = None
    ) -> OpenRun:
        """Return the order that opens the next run; `taken` is a queued message it starts with."""
        self.number += 1
        at = self.at
        message = None
        if taken is not None:
            message = compose.message_taken(self.control, self._fact(), taken, self.run)
        return OpenRun(
            spine=at.spine,
            opened=self._fact(),
            ts=at.ts,
            profile=PROFILE,
            text=compose.user_text(at, self._fact(), Text(text=text), message=taken),
            taken=message,
            cause=Cause.TURN if taken is None else Cause.FOLLOW_UP,
            key=key,
            input=None if key is None else NO_DIGEST,
        )

    # --- requests and steps ---

    def request(self, step: int, attempt: int = 1) -> RuntimeEvent:
        """Return `request_dispatched`; a later attempt names the one before it."""
        before, self.asked = self.asked, f"{self.run}-req-{step}-{attempt}"
        action = RequestDispatched(
            step=step,
            attempt=attempt,
            profile=NO_DIGEST,
            wire=NO_DIGEST,
            parts=self.parts,
            retries=None if attempt == 1 else before,
        )
        return compose.request_dispatched(self.at, self._fact(), self.asked, action)

    def settled(self, finish: Finish) -> RuntimeEvent:
        """Return `request_settled` of a request that stated a finish."""
        usage = Usage(input=100, output=20)
        return self._settled(
            RequestSettled(result=RequestResult.FINISHED, finish=finish, usage=usage)
        )

    def request_failed(self, failure: Failure) -> tuple[RuntimeEvent, RuntimeEvent]:
        """Return the error and the settlement of a request that failed."""
        noted = compose.error_noted(
            self.at, self._fact(), ErrorText(message="planned"), ErrorNoted(failure=failure)
        )
        return noted, self._settled(RequestSettled(result=RequestResult.FAILED, failure=failure))

    def text(self, words: str = "hello", *, stream: str | None = None) -> RuntimeEvent:
        """Return words of the model."""
        return compose.model_text(self.at, self._fact(), self.asked, Text(text=words), stream)

    def call(self, step: int, position: int, tool: str = "bump", **args: Json) -> RuntimeEvent:
        """Return a tool call in its place."""
        content = FunctionCall(label=f"c{position}", name=tool, args=dict(args))
        return compose.call(self.at, self.asked, content, step, position)

    def operation(self, step: int, position: int) -> str:
        """Return the id of the operation at a place of the present run."""
        return operation_id(f"{self.session}-inv-{self.number}", step, position)

    # --- operations ---

    def dispatch(
        self,
        call: RuntimeEvent,
        mode: RecoveryMode = RecoveryMode.NEVER_AUTO_RETRY,
        *,
        ask: str | None = None,
        key: str | None = None,
        evidence: FileEvidence | None = None,
    ) -> RuntimeEvent:
        """Return T1 of `call`."""
        operation, content, digest = _placed(call)
        action = Dispatched(
            tool=content.name,
            args_digest=digest,
            recovery=mode,
            local=True,
            key=key,
            evidence=evidence,
        )
        return compose.dispatched(self.at, operation, action, ask)

    def outcome(self, call: RuntimeEvent, result: Json = "ok") -> RuntimeEvent:
        """Return T2 of `call`, successful."""
        operation, content, _digest = _placed(call)
        action = Outcome(
            state=OutcomeState.SETTLED, result=OutcomeResult.OK, by=OutcomeBy.TOOL, duration_ms=1
        )
        return compose.outcome(self.at, operation, compose.response(content, result), action)

    def refusal(
        self, call: RuntimeEvent, result: OutcomeResult, ask: str | None = None
    ) -> RuntimeEvent:
        """Return the response of a call that was not started."""
        operation, content, _digest = _placed(call)
        response: FunctionResponse = compose.response(content, result.value, is_error=True)
        action = Outcome(state=OutcomeState.NOT_STARTED, result=result, by=OutcomeBy.REFUSAL)
        return compose.outcome(self.at, operation, response, action, ask)

    # --- people ---

    def ask(
        self,
        call: RuntimeEvent,
        purpose: Purpose = Purpose.PERMISSION,
        *,
        deadline: int | None = None,
    ) -> tuple[str, RuntimeEvent]:
        """Return a request to a person about `call`, and its id."""
        operation, content, digest = _placed(call)
        name = ask_id(operation, 1)
        action = AskOpened(
            purpose=purpose,
            tool=content.name,
            args_digest=digest,
            review="may it?",
            deadline_ts=deadline,
        )
        return name, compose.ask_opened(self.at, self._fact(), name, operation, action)

    def answer(self, ask: str, decision: AnswerDecision) -> RuntimeEvent:
        """Return a person's decision."""
        action = AskAnswered(decision=decision)
        return compose.ask_answered(self.at, self._fact(), ask, action)

    def close(self, ask: str, reason: CloseReason) -> RuntimeEvent:
        """Return the closing of a request nobody answered."""
        return compose.ask_closed(self.at, self._fact(), ask, AskClosed(reason=reason))

    # --- messages, ends, verdicts ---

    def queued(self, message: str, intent: Intent) -> RuntimeEvent:
        """Return a message that waits."""
        action = MessageQueued(intent=intent)
        text = Text(text=f"about {message}")
        return compose.message_queued(self.control, self._fact(), message, text, action)

    def steering(self, message: str) -> tuple[RuntimeEvent, RuntimeEvent]:
        """Return the two facts that deliver a queued message into the present run."""
        taken = compose.message_taken(self.control, self._fact(), message, self.run)
        text = Text(text=f"about {message}")
        return taken, compose.steering_text(self.at, self._fact(), text, message)

    def stop(self, source: str = "person") -> RuntimeEvent:
        """Return a durable stop intent."""
        return compose.stop_requested(self.at, self._fact(), source)

    def completed(self) -> RuntimeEvent:
        """Return the end of a run that finished."""
        return self._end(RunEnded(status=RunStatus.COMPLETED))

    def failed(self, failure: RunFailure = RunFailure.BACKEND_FAILED) -> RuntimeEvent:
        """Return the end of a run that failed."""
        return self._end(RunEnded(status=RunStatus.FAILED, failure=failure))

    def aborted(self, source: str = "person") -> RuntimeEvent:
        """Return the end of a run that was stopped."""
        return self._end(RunEnded(status=RunStatus.ABORTED, source=source))

    def verdict(self, operation: str, verdict: Verdict) -> RuntimeEvent:
        """Return a person's statement about an operation of the present run."""
        action = VerdictGiven(run=self.run, generation=1, verdict=verdict)
        return compose.verdict_given(self.control, self._fact(), operation, action)

    def fresh(self) -> str:
        """Return a new fact id, for facts that are told in other words than these."""
        return self._fact()

    def _settled(self, action: RequestSettled) -> RuntimeEvent:
        return compose.request_settled(self.at, self._fact(), self.asked, action)

    def _end(self, action: RunEnded) -> RuntimeEvent:
        return compose.run_ended(self.at, self._fact(), action)

    def _fact(self) -> str:
        self._told += 1
        return f"{self.session}-fact-{self._told:06}"

    def _tick(self) -> int:
        self._told += 1
        return 1_800_000_000_000 + self._told


def _placed(call: RuntimeEvent) -> tuple[str, FunctionCall, str]:
    operation, content, action = call.refs.operation, call.content, call.actions
    assert operation is not None
    assert isinstance(content, FunctionCall)
    return operation, content, str(getattr(action, "args_digest", ""))
