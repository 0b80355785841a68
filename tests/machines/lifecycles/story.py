"""A small log in memory: units go through the production tables, told in words of the design."""

from collections.abc import Sequence

import attrs

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.ids import ask_id, operation_id
from crashworthy.machines.facts.model import (
    AskAnswered,
    AskClosed,
    AskOpened,
    Dispatched,
    ExecutionProfile,
    FunctionCall,
    FunctionResponse,
    Outcome,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RunOpened,
    RuntimeEvent,
    Spine,
    Text,
    Usage,
)
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    Cause,
    CloseReason,
    Finish,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    Purpose,
    RecoveryMode,
    RequestResult,
    RunFailure,
    RunStatus,
)
from crashworthy.machines.lifecycles import run
from crashworthy.machines.lifecycles.cells import Cell, Machine
from crashworthy.machines.lifecycles.unit import Admitted, UnitRefused, admit_unit

DIGEST = "0" * 64
PROFILE = ExecutionProfile(
    backend="scripted",
    model="none",
    prompt=(),
    tools=(),
    tool_protocol=1,
    projection=1,
    policy=DIGEST,
)


@attrs.define(kw_only=True)
class Book:
    """The surroundings of a unit, as plain dicts."""

    cells: dict[tuple[Machine, str], Cell] = attrs.field(factory=dict[tuple[Machine, str], Cell])
    facts: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    rows: list[tuple[str, ...]] = attrs.field(factory=list[tuple[str, ...]])
    reservations: dict[str, str] = attrs.field(factory=dict[str, str])
    seals: set[str] = attrs.field(factory=set[str])
    releases: set[str] = attrs.field(factory=set[str])
    strangers: set[str] = attrs.field(factory=set[str])
    gone_epoch: int = 0
    epoch: int = 1

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        return self.cells.get((machine, instance))

    def open_run(self, session: str) -> str | None:
        for (machine, name), cell in self.cells.items():
            alive = isinstance(cell.state, run.Active | run.Stopping)
            if machine is Machine.RUN and alive and cell.memo.get("session") == session:
                return name
        return None

    def steering(self, session: str) -> int:
        return sum(
            1
            for (machine, _name), cell in self.cells.items()
            if machine is Machine.MESSAGE
            and cell.memo.get("session") == session
            and getattr(cell.state, "intent", None) == "steer"
        )

    def reservation(self, spine: Spine) -> str | None:
        return self.reservations.get(spine.run)

    def sealed(self, run: str) -> bool:
        return run in self.seals

    def gone(self) -> int:
        return self.gone_epoch

    def released(self, run: str) -> bool:
        return run in self.releases

    def foreign(self, session: str) -> bool:
        return session in self.strangers

    def tell(self, *facts: RuntimeEvent) -> tuple[tuple[str, ...], ...]:
        """Admit a unit; fail the test with the refusal when the tables say no."""
        taken = admit_unit([(fact, self.epoch) for fact in facts], self)
        assert isinstance(taken, Admitted), taken
        self.cells.update(taken.moved)
        self.facts.extend(facts)
        self.rows.extend(taken.rows)
        return taken.rows

    def refused(self, *facts: RuntimeEvent) -> Code:
        """Return the code of the refusal, and check that it left nothing behind."""
        before = dict(self.cells)
        taken = admit_unit([(fact, self.epoch) for fact in facts], self)
        assert isinstance(taken, UnitRefused), taken
        assert self.cells == before
        return taken.refusal.code


@attrs.define(kw_only=True)
class Story:
    """One session with one run at a time, told in the words of the design."""

    book: Book = attrs.field(factory=Book)
    session: str = "ses_1"
    number: int = 0
    clock: int = 1_000
    ids: int = 0

    def fresh(self, prefix: str) -> str:
        self.ids += 1
        return f"{prefix}_{self.ids:06d}"

    @property
    def at(self) -> compose.At:
        self.clock += 1
        n = self.number
        spine = Spine(session=self.session, invocation=f"inv_{n}", run=f"run_{n}", turn=f"turn_{n}")
        return compose.At(spine=spine, ts=self.clock)

    @property
    def control(self) -> compose.At:
        self.clock += 1
        return compose.At(spine=compose.control_spine(self.session), ts=self.clock)

    @property
    def run(self) -> str:
        return f"run_{self.number}"

    def state(self) -> object:
        cell = self.book.cell(Machine.RUN, self.run)
        return None if cell is None else cell.state

    def operation(self, step: int, position: int) -> str:
        return operation_id(f"inv_{self.number}", step, position)

    def opening(self, cause: Cause = Cause.TURN, text: str = "go") -> Sequence[RuntimeEvent]:
        self.number += 1
        action = RunOpened(protocol=1, cause=cause, profile=PROFILE, context=DIGEST)
        return (
            compose.run_opened(self.at, self.fresh("fact"), action),
            compose.user_text(self.at, self.fresh("fact"), Text(text=text)),
        )

    def opened(self) -> "Story":
        self.book.tell(*self.opening())
        return self

    def request(self, step: int, attempt: int = 1, retries: str | None = None) -> RuntimeEvent:
        action = RequestDispatched(
            step=step, attempt=attempt, profile=DIGEST, wire=DIGEST, parts=(), retries=retries
        )
        name = self.request_name(step, attempt)
        return compose.request_dispatched(self.at, self.fresh("fact"), name, action)

    def request_name(self, step: int, attempt: int = 1) -> str:
        return f"req_{self.number}_{step}_{attempt}"

    def settle(
        self,
        step: int,
        finish: Finish | None = Finish.STOP,
        attempt: int = 1,
        result: RequestResult = RequestResult.FINISHED,
    ) -> RuntimeEvent:
        usage = Usage(input=1, output=1) if result is RequestResult.FINISHED else None
        action = RequestSettled(result=result, finish=finish, usage=usage)
        name = self.request_name(step, attempt)
        return compose.request_settled(self.at, self.fresh("fact"), name, action)

    def text(self, step: int, words: str = "hello") -> RuntimeEvent:
        name = self.request_name(step)
        return compose.model_text(self.at, self.fresh("fact"), name, Text(text=words))

    def call(self, step: int, position: int, tool: str = "bump", **args: Json) -> RuntimeEvent:
        content = FunctionCall(label=f"c{position}", name=tool, args=dict(args))
        return compose.call(self.at, self.request_name(step), content, step, position)

    def stepped(self, step: int, *calls: RuntimeEvent) -> "Story":
        """Tell a whole step: the request, then its answer as one unit (LOG-7a)."""
        self.book.tell(self.request(step))
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        self.book.tell(self.text(step), *calls, self.settle(step, finish))
        return self

    def placed(self, call: RuntimeEvent) -> tuple[str, str, str]:
        operation, content, action = call.refs.operation, call.content, call.actions
        assert operation is not None
        assert isinstance(content, FunctionCall)
        return operation, content.name, getattr(action, "args_digest", "")

    def dispatch(
        self,
        call: RuntimeEvent,
        mode: RecoveryMode = RecoveryMode.NEVER_AUTO_RETRY,
        *,
        ask: str | None = None,
        key: str | None = None,
        retry_of: str | None = None,
    ) -> RuntimeEvent:
        operation, tool, args = self.placed(call)
        action = Dispatched(
            tool=tool, args_digest=args, recovery=mode, local=True, key=key, retry_of=retry_of
        )
        return compose.dispatched(self.at, operation, action, ask)

    def outcome(self, call: RuntimeEvent, result: OutcomeResult = OutcomeResult.OK) -> RuntimeEvent:
        operation, tool, _args = self.placed(call)
        content = FunctionResponse(label="c", name=tool, result="ok", is_error=False)
        action = Outcome(state=OutcomeState.SETTLED, result=result, by=OutcomeBy.TOOL)
        return compose.outcome(self.at, operation, content, action)

    def refusal(
        self,
        call: RuntimeEvent,
        result: OutcomeResult = OutcomeResult.BLOCKED,
        ask: str | None = None,
    ) -> RuntimeEvent:
        operation, tool, _args = self.placed(call)
        content = FunctionResponse(label="c", name=tool, result="no", is_error=True)
        action = Outcome(state=OutcomeState.NOT_STARTED, result=result, by=OutcomeBy.REFUSAL)
        return compose.outcome(self.at, operation, content, action, ask)

    def ask(
        self,
        call: RuntimeEvent,
        purpose: Purpose = Purpose.PERMISSION,
        deadline: int | None = None,
    ) -> tuple[str, RuntimeEvent]:
        operation, tool, args = self.placed(call)
        name = ask_id(operation, 1)
        action = AskOpened(
            purpose=purpose, tool=tool, args_digest=args, review="may it?", deadline_ts=deadline
        )
        return name, compose.ask_opened(self.at, self.fresh("fact"), name, operation, action)

    def answer(
        self, ask: str, decision: AnswerDecision = AnswerDecision.ALLOW, ts: int | None = None
    ) -> RuntimeEvent:
        at = self.at if ts is None else compose.At(spine=self.at.spine, ts=ts)
        return compose.ask_answered(at, self.fresh("fact"), ask, AskAnswered(decision=decision))

    def close(
        self, ask: str, reason: CloseReason = CloseReason.RUN_ENDED, ts: int | None = None
    ) -> RuntimeEvent:
        at = self.at if ts is None else compose.At(spine=self.at.spine, ts=ts)
        return compose.ask_closed(at, self.fresh("fact"), ask, AskClosed(reason=reason))

    def stop(self, source: str = "ui") -> RuntimeEvent:
        return compose.stop_requested(self.at, self.fresh("fact"), source)

    def completed(self) -> RuntimeEvent:
        return compose.run_ended(self.at, self.fresh("fact"), RunEnded(status=RunStatus.COMPLETED))

    def failed(self, failure: RunFailure = RunFailure.OWNER_LOST) -> RuntimeEvent:
        action = RunEnded(status=RunStatus.FAILED, failure=failure)
        return compose.run_ended(self.at, self.fresh("fact"), action)

    def aborted(self, source: str = "ui") -> RuntimeEvent:
        action = RunEnded(status=RunStatus.ABORTED, source=source)
        return compose.run_ended(self.at, self.fresh("fact"), action)
