"""A person's decisions: recorded once, for whoever waits, now or after a restart (ASK-1)."""

from collections.abc import Callable

import attrs

from ..machines.facts import compose
from ..machines.facts.ids import IdSource, Prefix
from ..machines.facts.model import AskAnswered, AskClosed, AskOpened, RuntimeEvent, Spine
from ..machines.facts.vocabulary import AnswerDecision, Kind, Purpose
from ..machines.lifecycles.cells import Machine
from ..store.journal import writers
from ..store.journal.errors import UnitRefusedError
from ..store.journal.ledger import View
from ..store.journal.pending import Pending
from ..store.port import Store
from .clock import Clock
from .errors import AlreadyDecidedError, AnswerMisfitsError, AskClosedError, AskUnknownError
from .live import Bus, Committed
from .pen import Pen
from .reading import ledger_of
from .tools.builtin.asking import check_answers
from .waiting import Waiting


@attrs.frozen(kw_only=True)
class People:
    """Takes answers. Who may answer follows from the facts; a live run is told, none is needed.

    Attributes:
        pens: Returns the pen of a run that this process executes.
    """

    store: Store
    bus: Bus
    clock: Clock
    ids: IdSource
    waiting: Waiting
    pens: Callable[[str], Pen | None]

    async def answer(
        self, ask: str, decision: AnswerDecision, answers: tuple[str | None, ...] = ()
    ) -> None:
        """Record a person's decision; the first one counts (ASK-1).

        Raises:
            AskUnknownError: `ask_unknown`.
            AlreadyDecidedError: `already_decided`, with the first decision.
            AskClosedError: `ask_closed`, with the reason.
            AnswerMisfitsError: `answer_misfits`.
            QuestionInvalidError: `question_invalid`.
            UnitRefusedError: The run is stopping or over.
        """
        opened = self._asked(ask)
        self._refuse_answer(ask, opened.spine)  # Before a word is said about how it would fit.
        assert isinstance(opened.actions, AskOpened)
        question = opened.actions.purpose is Purpose.QUESTION
        if question and decision is AnswerDecision.ANSWER:
            check_answers(opened.actions.questions, answers)
        elif decision is (AnswerDecision.ALLOW if question else AnswerDecision.ANSWER):
            wants = "answer or deny" if question else "allow or deny"
            raise AnswerMisfitsError(ask=ask, wants=wants)
        at = compose.At(spine=opened.spine, ts=self.clock.now_ms())
        action = AskAnswered(decision=decision, answers=answers)
        fact = compose.ask_answered(at, self.ids.next_id(Prefix.FACT), ask, action)
        try:
            await self.store.submit(writers.answer(fact))
        except UnitRefusedError:
            self._refuse_answer(ask, opened.spine)
            raise
        pen = self.pens(opened.spine.run)
        if pen is None:
            self.bus.publish(Committed(event=fact))
        else:
            pen.take((fact,))
        self.waiting.decided(ask)

    def _asked(self, ask: str) -> RuntimeEvent:
        def look(view: View) -> RuntimeEvent | None:
            row = view.cell_row(Machine.INTERACTION, ask)
            place = None if row is None else view.opening(str(row.cell.memo.get("run")))
            if row is None or place is None:
                return None
            for stored in ledger_of(view, place.spine.invocation):
                event = stored.event()
                if event.kind is Kind.ASK_OPENED and event.refs.ask == ask:
                    return event
            return None

        event = self.store.read(look)
        if event is None:
            raise AskUnknownError(ask=ask)
        return event

    def _refuse_answer(self, ask: str, spine: Spine) -> None:
        """Say what became of a request that takes no more answers.

        Raises:
            AlreadyDecidedError: `already_decided`.
            AskClosedError: `ask_closed`.
        """

        def look(view: View) -> RuntimeEvent | None:
            for stored in ledger_of(view, spine.invocation):
                event = stored.event()
                decided = isinstance(event.actions, AskAnswered | AskClosed)
                if decided and event.refs.ask == ask:
                    return event
            return None

        event = self.store.read(look)
        action = None if event is None else event.actions
        if isinstance(action, AskAnswered):
            raise AlreadyDecidedError(ask=ask, decision=action.decision.value)
        if isinstance(action, AskClosed):
            raise AskClosedError(ask=ask, reason=action.reason.value)

    def open_asks(self, name: str) -> tuple[str, ...]:
        """Return the open requests of a run, oldest first."""
        return self.store.read(lambda view: view.pending(Pending.ASK_OPEN, name))
