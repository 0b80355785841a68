"""The calls of one step: each examined, asked about, dispatched and settled on its own (OP-1)."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import attrs
import trio

from ..machines.facts import compose
from ..machines.facts.canonical import Json
from ..machines.facts.codes import Code, CrashworthyError
from ..machines.facts.ids import ask_id, outcome_fact_id
from ..machines.facts.model import (
    ArtifactAdded,
    AskClosed,
    AskOpened,
    BoundaryChanged,
    CallPlaced,
    Dispatched,
    FileEvidence,
    FunctionResponse,
    Outcome,
    RuntimeEvent,
)
from ..machines.facts.vocabulary import (
    AnswerDecision,
    Author,
    CloseReason,
    Kind,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    Purpose,
)
from ..store.journal import writers
from ..store.journal.errors import UnitRefusedError
from ..store.operational import OperationalKind
from .gravity import gravest, leaves_of
from .live import Piece, PieceOf
from .means import Means
from .pen import Pen
from .permission import AskPerson, Examiner, Go, Refuse
from .progress import AskIs, CallProgress, read_progress
from .tools.boundary import Denied, boundary_json, expand, parse_expansion
from .tools.builtin.asking import ask_user
from .tools.contract import Place, Tool
from .tools.effects.files import plan
from .tools.errors import ToolRefusedError
from .tools.gate import Attempt, AttemptResult
from .tools.outcome import Settled, Settlement, settle
from .tools.runner import Audience, WorkOrder
from .waiting import Waiting


class Tail(Protocol):
    """Keeps the newest part of one call's live output."""

    def add(self, text: str) -> None:
        """Take a piece; never waits."""
        ...

    async def keep(self) -> None:
        """Store what came, now and then, until cancelled."""
        ...


_BLOCKS = frozenset((OutcomeResult.BLOCKED,))
_GOOD = frozenset((OutcomeResult.OK, OutcomeResult.RECONCILED))


@attrs.define(eq=False, kw_only=True)
class Calls:
    """Brings every call of a step to its outcome, side by side."""

    pen: Pen
    means: Means
    waiting: Waiting
    tails: Callable[[str], Tail]
    _unknown: bool = False
    _failures: list[BaseException] = attrs.field(factory=list[BaseException])

    async def settle_all(self) -> bool:
        """Work until every call of the newest step has an outcome, or some have none to get.

        Returns:
            Whether all have an outcome. False: at least one effect's outcome is unknown (OP-2).

        Raises:
            CrashworthyError: The gravest of what the calls ran into.
        """
        async with trio.open_nursery() as nursery:
            for call in read_progress(self.pen.facts).open_calls():
                nursery.start_soon(self._finish_apart, call.operation)
        failure = gravest(self._failures) if self._failures else None
        if failure is not None:
            raise failure
        return not self._unknown

    async def _finish_apart(self, operation: str) -> None:
        """Finish one call; what it runs into waits until its siblings are settled (OP-3)."""
        try:
            await self._finish(operation)
        except CrashworthyError as error:
            self._failures.append(error)
        except BaseExceptionGroup as group:
            mine, foreign = group.split(CrashworthyError)
            if foreign is not None:
                raise
            assert mine is not None
            self._failures.append(gravest(leaves_of(mine)))

    async def _finish(self, operation: str) -> None:
        """Take one call from where its facts say it is to where it cannot go further."""
        while True:
            call = self._look(operation)
            if call is None or call.outcome is not None:
                return
            if call.dispatched:
                self._unknown = True
                return
            if call.ask_is is AskIs.OPEN:
                await self._await_person(call)
            elif call.ask_is is AskIs.DENIED:
                await self._refuse(call, _denied(call), call.ask)
            elif call.ask_is is AskIs.GRANTED:
                await self._use_grant(call)
            else:
                await self._examine(call)

    def _look(self, operation: str) -> CallProgress | None:
        calls = read_progress(self.pen.facts).calls
        return next((call for call in calls if call.operation == operation), None)

    async def _examine(self, call: CallProgress) -> None:
        examiner = Examiner(registry=self.means.registry, policy=self.means.policy)
        verdict = examiner.examine(
            call,
            attempts_of(self.pen.facts),
            self.means.scope.workspace(),
            self.means.clock.now_ms(),
        )
        match verdict:
            case Refuse():
                await self._refuse(call, verdict, None)
            case AskPerson():
                await self._ask(call, verdict.action)
            case Go():
                await self._dispatch(call, verdict.tool, verdict.args, None)

    # --- people ---

    async def _ask(self, call: CallProgress, action: AskOpened) -> None:
        ordinal = 1 + sum(
            1
            for fact in self.pen.facts
            if fact.kind is Kind.ASK_OPENED and fact.refs.operation == call.operation
        )
        name = ask_id(call.operation, ordinal)
        fact = compose.ask_opened(self.pen.at(), self.pen.fresh(), name, call.operation, action)
        await self.pen.append(writers.ask(fact), (fact,))

    async def _await_person(self, call: CallProgress) -> None:
        assert call.ask is not None
        assert call.question is not None
        deadline = call.question.deadline_ts
        left_s = float("inf")
        if deadline is not None:
            left_s = (deadline - self.means.clock.now_ms()) / 1000
        if await self.waiting.wait(call.ask, left_s):
            return
        action = AskClosed(reason=CloseReason.EXPIRED)
        fact = compose.ask_closed(self.pen.at(deadline), self.pen.fresh(), call.ask, action)
        try:
            await self.pen.append(writers.close_asks(fact), (fact,))
        except UnitRefusedError:
            # The answer was durable first; its fact reaches this run's memory before we look again.
            await trio.lowlevel.checkpoint()

    async def _use_grant(self, call: CallProgress) -> None:
        """Go on with an allowed call: what could not be known before is looked at again."""
        try:
            tool = self.means.registry.find(call.content.name)
            args = tool.check(call.content.args)
        except ToolRefusedError as error:
            verdict = Refuse(result=OutcomeResult.UNAVAILABLE, content=error.facts())
            await self._refuse(call, verdict, call.ask)
            return
        assert call.question is not None
        if call.question.purpose is Purpose.BOUNDARY:
            await self._widen(call.question.expansion, call.ask)
        if tool.place is Place.KERNEL:
            await self._tell_answer(call)
        else:
            await self._dispatch(call, tool, args, call.ask)

    async def _widen(self, expansion: Json, ask: str | None) -> None:
        """Add the granted expansion to the session's boundary, as a fact of its own (ASK-4)."""
        scope = self.means.scope
        grown = expand(scope.boundary, parse_expansion(expansion))
        if isinstance(grown, Denied) or grown == scope.boundary:
            return
        action = BoundaryChanged(
            revision=grown.revision,
            boundary=boundary_json(grown),
            ask=ask,
        )
        at = compose.At(
            spine=compose.control_spine(self.pen.spine.session), ts=self.means.clock.now_ms()
        )
        fact = compose.control(at, self.pen.fresh(), Kind.BOUNDARY_CHANGED, action, Author.USER)
        await self.pen.append(writers.change_session(fact), (fact,))
        scope.boundary = grown

    # --- T1, the tool, T2 ---

    async def _refuse(self, call: CallProgress, verdict: Refuse, ask: str | None) -> None:
        """Answer a call that is not started (OP-2)."""
        content = FunctionResponse(
            label=call.content.label,
            name=call.content.name,
            result=verdict.content,
            is_error=True,
        )
        action = Outcome(
            state=OutcomeState.NOT_STARTED, result=verdict.result, by=OutcomeBy.REFUSAL
        )
        fact = compose.outcome(self.pen.at(call.event.ts), call.operation, content, action, ask)
        await self.pen.append(writers.refuse_call(fact), (fact,))

    async def _dispatch(
        self, call: CallProgress, tool: Tool, args: dict[str, Json], ask: str | None
    ) -> None:
        """Write T1; only if this very write made it durable does the tool run (OP-1)."""
        workspace = self.means.scope.workspace()
        try:
            evidence = await self._plan(tool, args)
        except ToolRefusedError as error:
            verdict = Refuse(result=OutcomeResult.UNAVAILABLE, content=error.facts())
            await self._refuse(call, verdict, ask)
            return
        action = Dispatched(
            tool=tool.name,
            args_digest=call.placed.args_digest,
            recovery=tool.mode,
            local=tool.local,
            evidence=evidence,
            key=tool.key_of(args, call.operation),
            timeout_ms=tool.timeout_ms,
        )
        fact = compose.dispatched(self.pen.at(call.event.ts), call.operation, action, ask)
        appended = await self.pen.append(writers.dispatch(fact), (fact,))
        if not appended.created:
            return
        order = WorkOrder(
            tool=tool,
            operation=call.operation,
            args=args,
            workspace=workspace,
            key=action.key,
            evidence=evidence,
        )
        await self._run(call, order)

    async def _plan(self, tool: Tool, args: dict[str, Json]) -> FileEvidence | None:
        """Plan a file effect and make its images durable before the T1 that names them (OP-6)."""
        if tool.effect is None:
            return None
        effect, workspace = tool.effect, self.means.scope.workspace()
        planned = await trio.to_thread.run_sync(lambda: plan(effect, args, workspace))
        if planned.before is not None:
            await self.means.keep(planned.before)
        await self.means.keep(planned.after)
        return planned.evidence

    async def _run(self, call: CallProgress, order: WorkOrder) -> None:
        started = trio.current_time()
        async with self._tail(call.operation) as show:
            audience = Audience(show=show, spools=self.means.spools)
            ending = await self.means.runner.run(order, audience)
        settlement = settle(order.tool, ending)
        duration_ms = round((trio.current_time() - started) * 1000)
        self.pen.note(
            OperationalKind.TOOL_TIMED,
            operation=call.operation,
            tool=order.tool.name,
            ms=duration_ms,
            **_how(settlement),
        )
        if not isinstance(settlement, Settled):
            self._unknown = True
            return
        content = FunctionResponse(
            label=call.content.label,
            name=call.content.name,
            result=settlement.content,
            is_error=settlement.is_error,
            cut=settlement.cut,
            losses=settlement.losses,
        )
        action = Outcome(
            state=OutcomeState.SETTLED,
            result=settlement.result,
            by=OutcomeBy.TOOL,
            duration_ms=duration_ms,
        )
        at = self.pen.at(call.event.ts)
        fact = compose.outcome(at, call.operation, content, action)
        artifacts = tuple(
            compose.artifact_added(
                at,
                self.pen.fresh(),
                call.operation,
                ArtifactAdded(
                    name=kept.name,
                    media_type=kept.media_type,
                    blob=kept.blob,
                    bytes=kept.bytes_total,
                ),
            )
            for kept in ending.artifacts
        )
        await self.pen.append_surely(writers.settle(fact, *artifacts), (fact, *artifacts))

    async def _tell_answer(self, call: CallProgress) -> None:
        """Consume an answered question by T1, and settle with the answers at once (ASK-3)."""
        assert call.answer is not None
        action = Dispatched(
            tool=ask_user.name,
            args_digest=call.placed.args_digest,
            recovery=ask_user.mode,
            local=True,
        )
        at = self.pen.at(call.event.ts)
        dispatch = compose.dispatched(at, call.operation, action, call.ask)
        await self.pen.append(writers.dispatch(dispatch), (dispatch,))
        content = compose.response(call.content, {"answers": list(call.answer.answers)})
        outcome = compose.outcome(
            at,
            call.operation,
            content,
            Outcome(state=OutcomeState.SETTLED, result=OutcomeResult.OK, by=OutcomeBy.TOOL),
        )
        await self.pen.append_surely(writers.settle(outcome), (outcome,))

    @asynccontextmanager
    async def _tail(self, operation: str) -> AsyncGenerator[Callable[[str], None]]:
        """Yield where live output goes: shown at once, its tail kept for who reopens (LOG-5)."""
        spine, bus = self.pen.spine, self.pen.bus
        tail = self.tails(operation)

        def show(text: str) -> None:
            tail.add(text)
            bus.publish(
                Piece(
                    session=spine.session,
                    run=spine.run,
                    of=PieceOf.TOOL,
                    subject=operation,
                    text=text,
                )
            )

        async with trio.open_nursery() as nursery:
            nursery.start_soon(tail.keep)
            yield show
            nursery.cancel_scope.cancel()


def _how(settlement: Settlement) -> dict[str, Json]:
    """Return how a tool ended, for people; why an outcome is unknown stands nowhere else."""
    if isinstance(settlement, Settled):
        return {"ended": str(settlement.result)}
    return {"ended": "unknown", "code": str(settlement.code), "detail": settlement.detail}


def _denied(call: CallProgress) -> Refuse:
    expired = call.answer is None or call.answer.decision is not AnswerDecision.DENY
    code = Code.ASK_EXPIRED if expired else Code.APPROVAL_DENIED
    return Refuse(result=OutcomeResult.DENIED, content={"code": str(code)})


def attempts_of(facts: Sequence[RuntimeEvent]) -> tuple[Attempt, ...]:
    """Return the calls of a run that have an outcome, in the order they got it (OP-1)."""
    placed: dict[str, tuple[str, str]] = {}
    attempts: list[Attempt] = []
    for fact in facts:
        action, operation = fact.actions, fact.refs.operation
        if isinstance(action, CallPlaced) and operation is not None:
            placed[outcome_fact_id(operation)] = (
                getattr(fact.content, "name", ""),
                action.args_digest,
            )
        elif isinstance(action, Outcome) and fact.id in placed:
            tool, digest = placed[fact.id]
            result = AttemptResult.FAILURE
            if action.result in _BLOCKS:
                result = AttemptResult.BLOCKED
            elif action.result in _GOOD:
                result = AttemptResult.SUCCESS
            attempts.append(Attempt(tool=tool, args_digest=digest, result=result))
    return tuple(attempts)
