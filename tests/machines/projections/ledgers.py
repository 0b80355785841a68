"""Random sessions, told through the production tables and cut off by deaths at any point."""

from collections.abc import Sequence
from typing import Final, TypeVar

import attrs
from hypothesis import strategies as st

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.ids import late_outcome_fact_id
from crashworthy.machines.facts.model import (
    Attachment,
    ContinuationStart,
    Dispatched,
    ErrorNoted,
    ErrorText,
    FileEvidence,
    FileIdentity,
    FunctionResponse,
    LateOutcome,
    MessageQueued,
    MessageReturned,
    OutputCut,
    Refs,
    RequestSettled,
    RunOpened,
    RuntimeEvent,
    SegmentRef,
    SessionOpened,
    Text,
    Thinking,
    VerdictGiven,
)
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    AttachmentKind,
    Author,
    Cause,
    CloseReason,
    Failure,
    FileKind,
    Finish,
    Intent,
    Kind,
    OutcomeResult,
    RecoveryMode,
    RequestResult,
    ReturnReason,
    Role,
    RunFailure,
    Verdict,
    Visibility,
)
from crashworthy.machines.lifecycles import claim, operation, run
from crashworthy.machines.lifecycles.cells import Cell, Machine
from crashworthy.machines.lifecycles.unit import Admitted, admit_unit
from crashworthy.machines.recovery.operations import Settlement
from crashworthy.machines.recovery.runs import RUN_REPAIR, Orphan, Repair
from crashworthy.machines.recovery.units import Interrupted, OpenRun, bundle, closing_unit

from ..lifecycles.story import DIGEST, PROFILE, Book, Story

T = TypeVar("T")

WORDS: Final = ("hello", "", " ", "two\nlines", "\u00e9\U0001f600")
RESULTS: Final[tuple[Json, ...]] = ("ok", "", None, {"a": 1}, [], {"deep": [[1.5]]})
EVIDENCE: Final = FileEvidence(
    workspace="ws_1",
    target="a.txt",
    before=FileIdentity(kind=FileKind.ABSENT),
    after=FileIdentity(kind=FileKind.ABSENT),
    transform=1,
    result="ok",
    limit_bytes=10,
)

SETTLEMENTS: Final = {
    operation.Mode.REPLAY_SAFE: (Settlement.INTERRUPT,),
    operation.Mode.IDEMPOTENT: (Settlement.PARK_BY_KEY,),
    operation.Mode.RECONCILE: (
        Settlement.FINALISE,
        Settlement.PARK_PRIOR,
        Settlement.PARK_DIVERGED,
        Settlement.PARK_UNREADABLE,
    ),
    operation.Mode.NEVER: (),
}


class Drawing:
    """Where choices come from: a drawn source, so that examples shrink and repeat."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def one(self, *options: T) -> T:
        return self._draw(st.sampled_from(options))

    def upto(self, most: int) -> int:
        return self._draw(st.integers(0, most))

    def some(self) -> bool:
        return self._draw(st.booleans())


Cells = dict[tuple[Machine, str], Cell]


@attrs.define(kw_only=True)
class Recorded(Book):
    """A book that keeps what the tables made of each prefix that ends with a unit."""

    states: list[tuple[int, Cells]] = attrs.field(factory=list[tuple[int, Cells]])

    def tell(self, *facts: RuntimeEvent) -> tuple[tuple[str, ...], ...]:
        rows = Book.tell(self, *facts)
        self.states.append((len(self.facts), dict(self.cells)))
        return rows


def _recorded() -> Story:
    return Story(book=Recorded())


@attrs.define(kw_only=True)
class Teller:
    """One session in the telling; each method adds whole units, as a host would."""

    draw: Drawing
    story: Story = attrs.field(factory=_recorded)
    calls: list[RuntimeEvent] = attrs.field(factory=list[RuntimeEvent])
    modes: dict[str, RuntimeEvent] = attrs.field(factory=dict[str, RuntimeEvent])
    asked: dict[str, str] = attrs.field(factory=dict[str, str])
    queued: list[str] = attrs.field(factory=list[str])
    requests: int = 0

    # --- a session ---

    def tell(self) -> list[RuntimeEvent]:
        story, draw = self.story, self.draw
        opened = SessionOpened(protocol=1)
        story.book.tell(compose.session_opened(story.control, story.fresh("fact"), opened))
        for _turn in range(draw.upto(2) + 1):
            self.open_run()
            alive = True
            for step in range(1, draw.upto(3) + 1):
                alive = alive and self.step(step)
            self.end_run()
            if isinstance(self.state(), run.Active):  # It waits for a person, and so does all else.
                break
            self.judge()
        return story.book.facts

    def state(self) -> object:
        return self.story.state()

    def open_run(self) -> None:
        story, draw = self.story, self.draw
        self.calls, self.asked, self.queued = [], {}, []
        if story.number and draw.one(False, False, True) and story.run not in story.book.seals:
            continue_run(story, draw.one(Cause.RUNTIME_ADMISSION, Cause.CLAIM_REPAIR))
            return
        opening, text = story.opening()
        picture = Attachment(
            kind=AttachmentKind.IMAGE, media_type="image/png", bytes=7, digest=DIGEST
        )
        said = Text(
            text=self.draw.one("go", " ", "more"),
            attachments=self.draw.one((), (picture,), (picture, picture)),
        )
        shown = self.draw.one(Visibility.VISIBLE, Visibility.VISIBLE, Visibility.HIDDEN)
        story.book.tell(opening, attrs.evolve(text, content=said, visibility=shown))

    # --- a step ---

    def step(self, step: int) -> bool:
        """Tell a request and what becomes of it; say whether the run may take another step."""
        state = self.state()
        if not isinstance(state, run.Active):
            return False
        fresh = state.last in (run.Last.NEVER, run.Last.CALLS, run.Last.STEERED)
        if not (fresh and run.quiet(state)):
            return False
        story, draw = self.story, self.draw
        attempt = 1
        story.book.tell(story.request(step))
        while draw.one(False, False, True) and attempt < 3:
            self.fail_request(step, attempt)
            attempt += 1
            name = story.request_name(step, attempt - 1)
            story.book.tell(story.request(step, attempt, name))
        match draw.one(*["calls"] * 6, "stop", "length", "open", "failed"):
            case "open":
                return False
            case "failed":
                self.fail_request(step, attempt)
                return False
            case "length":
                self.settle(step, attempt, Finish.LENGTH, draw.upto(1))
                return False
            case "stop":
                self.settle(step, attempt, Finish.STOP, 0)
                return self.steer()
            case _:
                self.settle(step, attempt, Finish.TOOL_CALLS, draw.upto(2) + 1)
        for _round in range(3):
            for call in self.calls:
                self.move(call)
        state = self.state()
        if draw.some():
            self.steer()
        return isinstance(state, run.Active) and run.quiet(state)

    def fail_request(self, step: int, attempt: int) -> None:
        story = self.story
        settled = story.settle(step, None, attempt, RequestResult.FAILED)
        assert isinstance(settled.actions, RequestSettled)
        action = attrs.evolve(settled.actions, failure=Failure.RATE_LIMIT)
        settled = attrs.evolve(settled, actions=action)
        name = story.request_name(step, attempt)
        if self.draw.some():
            noted = compose.error_noted(
                story.at,
                story.fresh("fact"),
                ErrorText(message="slow down"),
                ErrorNoted(failure=Failure.RATE_LIMIT),
            )
            noted = attrs.evolve(noted, refs=Refs(request=self.draw.one(name, None)))
            story.book.tell(noted, settled)
        else:
            words = compose.model_text(story.at, story.fresh("fact"), name, Text(text="half"))
            story.book.tell(words, settled)

    def settle(self, step: int, attempt: int, finish: Finish, calls: int) -> None:
        story, draw = self.story, self.draw
        name = story.request_name(step, attempt)
        said: list[RuntimeEvent] = []
        for _thought in range(draw.upto(2)):
            signature = draw.one(None, "sig")
            text = draw.one("plan", "") if signature else "plan"
            thought = Thinking(text=text, signature=signature)
            said.append(compose.model_thinking(story.at, story.fresh("fact"), name, thought))
        for _text in range(draw.upto(2)):
            words = Text(text=draw.one(*WORDS))
            said.append(compose.model_text(story.at, story.fresh("fact"), name, words))
        placed = [story.call(step, position, x=position) for position in range(1, calls + 1)]
        placed = [attrs.evolve(c, refs=attrs.evolve(c.refs, request=name)) for c in placed]
        self.calls = placed
        story.book.tell(*said, *placed, story.settle(step, finish, attempt))

    def move(self, call: RuntimeEvent) -> None:
        """Take one call one unit further, or leave it."""
        story, draw = self.story, self.draw
        name = call.refs.operation
        assert name is not None
        cell = story.book.cell(Machine.OPERATION, name)
        assert cell is not None
        match cell.state:
            case operation.Called():
                match draw.one(*["dispatch"] * 4, "refuse", "ask", "ask", "leave"):
                    case "dispatch":
                        self.dispatch(call, None)
                    case "refuse":
                        story.book.tell(story.refusal(call))
                    case "ask" if name not in self.asked:
                        ask, opened = story.ask(
                            call, deadline=draw.one(None, story.clock + 2, story.clock + 2)
                        )
                        self.asked[name] = ask
                        story.book.tell(opened)
                    case _:
                        pass
            case operation.Asked():
                self.move_ask(call, self.asked[name])
            case operation.Dispatched() if draw.one(True, False, False):
                self.outcome(call)
            case _:
                pass

    def move_ask(self, call: RuntimeEvent, ask: str) -> None:
        story, draw = self.story, self.draw
        match draw.one("allow", "deny", "close", "expire", "use", "tell", "leave"):
            case "allow":
                self.try_to(story.answer(ask))
            case "deny":
                self.try_to(story.answer(ask, AnswerDecision.DENY))
            case "close":
                self.try_to(story.close(ask, CloseReason.POLICY))
            case "expire":
                self.try_to(story.close(ask, CloseReason.EXPIRED))
            case "use":
                self.dispatch(call, ask)
            case "tell":
                self.try_to(story.refusal(call, OutcomeResult.DENIED, ask))
            case _:
                pass

    def try_to(self, *facts: RuntimeEvent) -> bool:
        """Tell a unit if the tables admit it."""
        book = self.story.book
        admitted = isinstance(admit_unit([(fact, book.epoch) for fact in facts], book), Admitted)
        if admitted:
            book.tell(*facts)
        return admitted

    def dispatch(self, call: RuntimeEvent, ask: str | None) -> None:
        mode = self.draw.one(*RecoveryMode)
        key = "k" if mode is RecoveryMode.IDEMPOTENT else None
        fact = self.story.dispatch(call, mode, ask=ask, key=key)
        assert isinstance(fact.actions, Dispatched)
        if mode is RecoveryMode.RECONCILE:
            fact = attrs.evolve(fact, actions=attrs.evolve(fact.actions, evidence=EVIDENCE))
        if self.try_to(fact):
            self.modes[call.refs.operation or ""] = fact

    def outcome(self, call: RuntimeEvent) -> None:
        draw = self.draw
        result = draw.one(OutcomeResult.OK, OutcomeResult.ERROR, OutcomeResult.TIMED_OUT)
        fact = self.story.outcome(call, result)
        told = FunctionResponse(
            label="c",
            name="bump",
            result=draw.one(*RESULTS),
            is_error=result is not OutcomeResult.OK,
            cut=draw.one(None, None, OutputCut(bytes_total=9_999, digest=DIGEST)),
        )
        self.story.book.tell(attrs.evolve(fact, content=told))

    def steer(self) -> bool:
        story = self.story
        name = story.fresh("msg")
        queue = MessageQueued(intent=Intent.STEER)
        words = Text(text="hm")
        story.book.tell(
            compose.message_queued(story.control, story.fresh("fact"), name, words, queue)
        )
        take = compose.message_taken(story.control, story.fresh("fact"), name, story.run)
        text = compose.steering_text(story.at, story.fresh("fact"), words, name)
        if self.draw.some() and self.try_to(take, text):
            return True
        self.queued.append(name)
        return False

    # --- the end of a run, and after it ---

    def end_run(self) -> None:
        story, draw = self.story, self.draw
        if isinstance(self.state(), run.Ended):
            return
        match draw.one("die", "die", "die", "stop", "fail", "complete"):
            case "die":
                self.die()
            case "stop":
                story.book.tell(story.stop())
                if draw.some():
                    self.die()
                else:
                    self.close(Repair.ABORT)
            case "complete" if self.try_to(*self.returns(), story.completed()):
                pass
            case _:
                self.close(Repair.LOST)
        if isinstance(self.state(), run.Active) and draw.some():
            story.book.tell(compose.run_reattached(story.at, story.fresh("fact"), DIGEST))

    def returns(self) -> Sequence[RuntimeEvent]:
        story = self.story
        back = MessageReturned(reason=ReturnReason.RUN_ENDED)
        return [
            compose.message_returned(story.control, story.fresh("fact"), name, back)
            for name in self.queued
        ]

    def die(self) -> None:
        """Let the owner die, and a successor settle, park and close what it can prove."""
        book = self.story.book
        book.epoch += 1
        book.gone_epoch = book.epoch - 1
        for call in self.calls:
            name = call.refs.operation or ""
            cell = book.cell(Machine.OPERATION, name)
            if cell is not None and isinstance(cell.state, operation.Dispatched):
                self.recover(name, cell.state.mode)
        state = self.story.state()
        assert isinstance(state, run.Active | run.Stopping)
        orphan = Orphan(state=state, gone=True, due=False, released=False, continuation=False)
        repair = RUN_REPAIR.answer(orphan)
        if repair is not Repair.KEEP_WAITING:
            self.close(repair)

    def recover(self, name: str, mode: operation.Mode) -> None:
        dispatch = self.modes[name]
        left = Interrupted(
            spine=dispatch.spine,
            operation=name,
            label="c",
            tool="bump",
            ts=dispatch.ts,
            observed=DIGEST,
            result="ok",
        )
        if settlements := SETTLEMENTS[mode]:
            self.story.book.tell(*bundle(left, self.draw.one(*settlements)))

    def close(self, repair: Repair) -> None:
        story = self.story
        cells = story.book.cells
        mine = {
            (machine, name): cell.state
            for (machine, name), cell in cells.items()
            if cell.memo.get("run") == story.run
        }
        requests = [
            name
            for (machine, name), state in mine.items()
            if machine is Machine.REQUEST and type(state).__name__ == "Open"
        ]
        asks = [
            name
            for (machine, name), state in mine.items()
            if machine is Machine.INTERACTION and type(state).__name__ == "Open"
        ]
        left = OpenRun(
            spine=story.at.spine,
            ts=story.clock,
            request=requests[0] if requests else None,
            asks=asks,
            steering=self.queued,
            stop="ui",
        )
        story.book.tell(*closing_unit(left, repair))

    def judge(self) -> None:
        """Let a person and late news speak about what nobody could settle."""
        story, draw = self.story, self.draw
        book = story.book
        if draw.some():  # The host was started anew since.
            book.epoch += 1
            book.gone_epoch = book.epoch - 1
        for name, cell in list(book.cells.items()):
            if name[0] is not Machine.OPERATION or cell.memo.get("run") != story.run:
                continue
            if draw.some():
                self.late(name[1])
            for generation in range(1, draw.upto(2) + 1):
                action = VerdictGiven(
                    run=story.run,
                    generation=generation,
                    verdict=draw.one(*Verdict),
                    note=draw.one(None, "I looked"),
                )
                fact = compose.verdict_given(story.control, story.fresh("fact"), name[1], action)
                self.try_to(fact)

    def late(self, name: str) -> None:
        story = self.story
        told = FunctionResponse(label="c", name="bump", result="late", is_error=False)
        fact = RuntimeEvent(
            id=late_outcome_fact_id(name),
            spine=story.control.spine,
            kind=Kind.LATE_OUTCOME,
            ts=story.clock,
            role=Role.TOOL,
            author=Author.TOOL,
            content=told,
            actions=LateOutcome(run=story.run),
            refs=Refs(operation=name),
        )
        self.try_to(fact)


def continue_run(story: Story, cause: Cause) -> None:
    """Claim the run that ended last, and start its continuation or the repair of the claim."""
    source = story.at.spine
    tail = [fact for fact in story.book.facts if fact.spine == source]
    name = f"claim_{story.number}"
    start = ContinuationStart(
        claim=name,
        boundary=DIGEST,
        projection=1,
        replay=DIGEST,
        source=SegmentRef(
            session=source.session,
            invocation=source.invocation,
            run=source.run,
            turn=source.turn,
            last_seq=len(tail),
            last_id=tail[-1].id,
            chain=DIGEST,
        ),
    )
    story.book.seals.add(source.run)
    story.number += 1
    target = story.at.spine
    story.book.reservations[target.run] = name
    memo: dict[str, Json] = {
        "boundary": DIGEST,
        "replay": DIGEST,
        "projection": 1,
        "source": source.run,
        "source_chain": DIGEST,
        "session": source.session,
        "target_invocation": target.invocation,
        "target_run": target.run,
        "target_turn": target.turn,
        "context": DIGEST,
    }
    cell = Cell(state=claim.Claimed(epoch=story.book.epoch), memo=memo)
    story.book.cells[(Machine.CLAIM, name)] = cell
    action = RunOpened(protocol=1, cause=cause, profile=PROFILE, context=DIGEST, continuation=start)
    opening = compose.run_opened(story.at, story.fresh("fact"), action)
    if cause is Cause.RUNTIME_ADMISSION:
        story.book.tell(opening)
        return
    story.book.epoch += 1  # Only a successor repairs a claim.
    story.book.gone_epoch = story.book.epoch - 1
    story.book.tell(opening, story.failed(RunFailure.CONTINUATION_ABANDONED))


@st.composite
def tellers(draw: st.DrawFn) -> Teller:
    """Tellers that have told a whole session."""
    teller = Teller(draw=Drawing(draw))
    teller.tell()
    return teller


@st.composite
def recorded(draw: st.DrawFn) -> Recorded:
    """A session's facts, with the cells that the writer's fold had after each unit."""
    book = draw(tellers()).story.book
    assert isinstance(book, Recorded)
    return book


def sessions() -> st.SearchStrategy[list[RuntimeEvent]]:
    """Facts of one session in commit order, its control ledger among them."""
    return tellers().map(lambda teller: teller.story.book.facts)
