"""Random histories on SQLite and on the model: same answers, same bytes, same fold (PROOF-3).

Each rule carries one order out on both stores. After every step the log of both is the same to the
byte, live rows are the fold of the facts, and whatever one store refuses the other refuses alike.
"""

import tempfile
from functools import partial
from pathlib import Path
from typing import TypeVar

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.machines.facts.model import RuntimeEvent
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    Finish,
    Intent,
    OutcomeResult,
    RecoveryMode,
    RequestResult,
    RunFailure,
)
from crashworthy.machines.lifecycles import run
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.recovery.runs import Repair
from crashworthy.store.journal import writers
from crashworthy.store.journal.claims import ClaimResult, RepairClaim
from crashworthy.store.journal.ends import EndRun, Stop
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.partials import Lane, UpsertPartial
from crashworthy.store.journal.pending import Pending
from crashworthy.store.journal.recovery import (
    RepairRun,
    SettleLeft,
    left_operations,
    startless_claims,
    unfinished_runs,
)
from crashworthy.store.journal.starts import QueueMessage
from crashworthy.store.memory import MemoryStore, open_memory
from crashworthy.store.sqlite import SqliteStore

from .conformance.conftest import die
from .folded import rows_differing_from_fold
from .tale import ROOT, Tale, open_here

T = TypeVar("T")
SAFE = (RecoveryMode.REPLAY_SAFE, RecoveryMode.IDEMPOTENT, RecoveryMode.NEVER_AUTO_RETRY)


@attrs.frozen
class Answer:
    """What an order came to on one store."""

    value: object = None
    refusal: str | None = None


class Histories(RuleBasedStateMachine):
    """One session of one root, told by successive owners."""

    def __init__(self) -> None:
        super().__init__()
        self.place = tempfile.TemporaryDirectory()
        self.root = Path(self.place.name) / "root"
        self.real: SqliteStore = open_here(self.root)
        self.model: MemoryStore = open_memory(ROOT)
        self.tale = Tale(store=self.model)
        self.calls: list[RuntimeEvent] = []
        self.claims: list[str] = []
        self.steps = 0

    def teardown(self) -> None:
        self.real.close()
        self.place.cleanup()

    def do(self, order: Order[T]) -> Answer:
        """Carry an order out on both stores and see that they answer alike."""
        answers: list[Answer] = []
        for store in (self.model, self.real):
            try:
                answers.append(Answer(value=store.write(order)))
            except CrashworthyError as error:
                answers.append(Answer(refusal=f"{error.code}: {error}"))
        model, real = answers
        assert model == real
        return real

    @initialize()
    def open_session(self) -> None:
        assert self.do(self.tale.session_order()).refusal is None

    # --- what the rules look at ---

    @property
    def live(self) -> run.Active | run.Stopping | None:
        """The state of the run that was told last, while it is open."""
        cell = self.model.read(lambda view: view.cell(Machine.RUN, self.tale.run))
        state = None if cell is None else cell.state
        return state if isinstance(state, run.Active | run.Stopping) else None

    @property
    def mine(self) -> bool:
        return self.live is not None and self.live.epoch == self.model.owner.epoch

    def now_and_then(self) -> bool:
        """Let a rule that will be refused have its turn, but seldom."""
        return self.model.read(lambda view: view.last().ordinal) % 7 == 0

    def pending(self, word: Pending) -> tuple[str, ...]:
        return self.model.read(lambda view: view.pending(word))

    # --- run ---

    @precondition(lambda self: self.live is None or self.now_and_then())
    @rule(key=st.sampled_from([None, None, "k1", "k2"]), told=st.sampled_from(["1", "2"]))
    def run(self, key: str | None, told: str) -> None:
        number = self.tale.number
        answer = self.do(
            self.tale.run_order(key=key, stated_input=None if key is None else told * 64)
        )
        if answer.refusal is not None or not getattr(answer.value, "created", False):
            self.tale.number = number
        else:
            self.steps, self.calls = 0, []

    @precondition(lambda self: self.mine or self.now_and_then())
    @rule(retry=st.booleans())
    def request(self, *, retry: bool) -> None:
        order = writers.dispatch_request(self.tale.request(self.steps + 1))
        if self.do(order).refusal is None:
            self.steps += 1
            if retry:
                assert not getattr(self.do(order).value, "created", True)

    @precondition(lambda self: self.steps > 0)
    @rule(calls=st.integers(0, 2), failed=st.booleans())
    def step(self, calls: int, *, failed: bool) -> None:
        told = [self.tale.call(self.steps, position + 1, n=position) for position in range(calls)]
        finish = Finish.TOOL_CALLS if told else Finish.STOP
        settled = self.tale.settle(self.steps, finish)
        if failed:
            told = []
            settled = self.tale.settle(self.steps, None, result=RequestResult.ABORTED)
        text = [] if failed else [self.tale.text(self.steps)]
        if self.do(writers.settle_step(*text, *told, settled)).refusal is None:
            self.calls.extend(told)

    @precondition(lambda self: self.steps > 0)
    @rule(size=st.integers(0, 3))
    def stream(self, size: int) -> None:
        at = self.tale.at
        owner = self.tale.request_name(self.steps)
        order = UpsertPartial(
            spine=at.spine,
            owner=owner,
            stream="s",
            lane=Lane.TEXT,
            text="x" * size,
            bytes_total=size,
        )
        self.do(order)

    @precondition(lambda self: self.mine)
    @rule(calls=st.integers(0, 2))
    def whole_step(self, calls: int) -> None:
        """Tell a request and its answer together, so that histories get deep."""
        self.request(retry=False)
        if self.steps > 0:
            self.step(calls, failed=False)

    @precondition(lambda self: self.mine and self.calls)
    @rule(leave=st.integers(0, 1))
    def carry_out(self, leave: int) -> None:
        """Tell T1 and T2 of all calls of the step but the last `leave`."""
        for call in self.calls[: len(self.calls) - leave]:
            if self.do(writers.dispatch(self.tale.dispatch(call, SAFE[0]))).refusal is None:
                self.do(writers.settle(self.tale.outcome(call)))

    # --- wait and answer ---

    @precondition(lambda self: self.calls and (self.mine or self.now_and_then()))
    @rule(data=st.data(), mode=st.sampled_from(SAFE))
    def dispatch(self, data: st.DataObject, mode: RecoveryMode) -> None:
        call = data.draw(st.sampled_from(self.calls))
        granted = self.granted(call)
        key = "k" if mode is RecoveryMode.IDEMPOTENT else None
        order = writers.dispatch(self.tale.dispatch(call, mode, ask=granted, key=key))
        if self.do(order).refusal is None:
            assert not getattr(self.do(order).value, "created", True)

    def granted(self, call: RuntimeEvent) -> str | None:
        ask, _fact = self.tale.ask(call)
        return ask if ask in self.pending(Pending.ASK_DECIDED) else None

    @precondition(lambda self: self.calls and (self.mine or self.now_and_then()))
    @rule(data=st.data(), refuse=st.booleans())
    def settle(self, data: st.DataObject, *, refuse: bool) -> None:
        call = data.draw(st.sampled_from(self.calls))
        if refuse:
            granted = self.granted(call)
            result = OutcomeResult.BLOCKED if granted is None else OutcomeResult.DENIED
            self.do(writers.refuse_call(self.tale.refusal(call, result, granted)))
        else:
            self.do(writers.settle(self.tale.outcome(call)))

    @precondition(lambda self: self.calls and (self.mine or self.now_and_then()))
    @rule(data=st.data(), deadline=st.sampled_from([None, 1_500]))
    def ask(self, data: st.DataObject, deadline: int | None) -> None:
        call = data.draw(st.sampled_from(self.calls))
        self.do(writers.ask(self.tale.ask(call, deadline=deadline)[1]))

    @precondition(lambda self: self.pending(Pending.ASK_OPEN))
    @rule(decision=st.sampled_from([AnswerDecision.ALLOW, AnswerDecision.DENY]))
    def answer(self, decision: AnswerDecision) -> None:
        self.do(writers.answer(self.tale.answer(self.pending(Pending.ASK_OPEN)[0], decision)))

    @rule(intent=st.sampled_from(Intent), key=st.sampled_from([None, "k1"]))
    def queue(self, intent: Intent, key: str | None) -> None:
        name = self.tale.fresh("msg")
        stated = None if key is None else "1" * 64
        self.do(QueueMessage(fact=self.tale.queued(name, intent, key, stated)))

    @precondition(lambda self: self.mine and self.pending(Pending.MESSAGE_STEER))
    @rule()
    def steer(self) -> None:
        name = self.pending(Pending.MESSAGE_STEER)[0]
        self.do(writers.steer(self.tale.taken(name), self.tale.steering(name)))

    # --- stop and end ---

    @precondition(lambda self: self.live is not None)
    @rule(sure=st.integers(0, 4))
    def stop(self, sure: int) -> None:
        if sure == 0:
            self.do(Stop(fact=self.tale.stop()))

    @precondition(lambda self: self.live is not None)
    @rule(failed=st.booleans())
    def end(self, *, failed: bool) -> None:
        if isinstance(self.live, run.Stopping):
            order = EndRun(end=self.tale.aborted())
        else:
            order = self.tale.end_order(RunFailure.STEP_LIMIT if failed else None)
        if self.do(order).refusal is None:
            assert not getattr(self.do(order).value, "created", True)

    # --- claim, start, repair ---

    @precondition(lambda self: self.live is None and self.tale.number > 0)
    @rule()
    def claim(self) -> None:
        if self.model.read(lambda view: view.opening(self.tale.run)) is None:
            return
        order = self.tale.claim_order()
        answer = self.do(order).value
        if getattr(answer, "result", None) is ClaimResult.ACQUIRED:
            self.claims.append(str(getattr(answer, "claim", "")))
            assert getattr(self.do(order).value, "result", None) is ClaimResult.EXISTING
            self.tale.number += 1

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def start(self, data: st.DataObject) -> None:
        claim = data.draw(st.sampled_from(self.claims))
        if self.do(self.tale.start_order(claim)).refusal is None:
            record = self.model.read(lambda view: view.claim(claim))
            assert record is not None
            self.tale.number = int(record.target.run.removeprefix("run_"))
            self.steps, self.calls = 0, []

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def repair_claim(self, data: st.DataObject) -> None:
        self.do(RepairClaim(claim=data.draw(st.sampled_from(self.claims))))

    # --- take-over, fenced write ---

    @rule(cleanly=st.booleans())
    def take_over(self, *, cleanly: bool) -> None:
        """The owner closes or dies; the next one recovers, twice, and the second adds nothing."""
        stale, request = self.model, self.tale.stop()
        if cleanly:
            self.real.close()
        else:
            die(self.real)
        self.real = open_here(self.root)
        self.model = self.model.taken_over(gone=True)
        self.tale.store = self.model
        with pytest.raises(CrashworthyError, match="owner_fenced"):
            stale.write(Stop(fact=request))

    @rule()
    def recover(self) -> None:
        self.recover_once()
        before = self.model.read(lambda view: view.last())
        self.recover_once()
        assert self.model.read(lambda view: view.last()) == before

    def recover_once(self) -> None:
        for claim in self.model.read(startless_claims):
            self.do(RepairClaim(claim=claim))
        for name in self.model.read(unfinished_runs):
            for left in self.model.read(partial(left_operations, run=name)):
                self.do(SettleLeft(operation=left.operation))
            while self.do(RepairRun(run=name, now_ts=2_000)).value is Repair.EXPIRE:
                pass

    @precondition(lambda self: self.live is not None and not self.mine)
    @rule()
    def reattach(self) -> None:
        self.do(writers.reattach(self.tale.reattached()))

    # --- what always holds ---

    @invariant()
    def logs_are_the_same_to_the_byte(self) -> None:
        after = max(0, self.model.read(lambda view: view.last().ordinal) - 20)
        logs = [
            store.read(lambda view: list(view.log(after=after, limit=100)))
            for store in (self.model, self.real)
        ]
        assert logs[0] == logs[1]

    @invariant()
    def live_rows_are_the_fold_of_the_log(self) -> None:
        assert rows_differing_from_fold(self.real) == []
        assert self.real.mended == []

    @invariant()
    def anchor_says_what_is_committed(self) -> None:
        assert self.real.tenure is not None
        head = self.real.read(lambda view: view.last())
        assert self.real.heads.now == head
        assert self.real.tenure.anchor.head in (head, None) or head.ordinal == 0


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=25, stateful_step_count=40, deadline=None)
