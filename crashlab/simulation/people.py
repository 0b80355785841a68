"""The people of a simulated history: each act of theirs happens at its time, whatever is then."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs
import trio

from ...actors.runtime import Runtime, Session
from ...machines.facts.codes import CrashworthyError
from ...machines.facts.model import Budgets
from ...machines.facts.vocabulary import AnswerDecision
from ...store.journal.pending import Pending
from .plot import Act, Deed, Plot

T = TypeVar("T")


def session_key(plot: Plot, text: str) -> str:
    """Return the session that a text is said in: always the same, so that nothing is said twice."""
    number = next(n for n, turn in enumerate(plot.turns) if turn.text == text)
    return f"s{number % plot.sessions}"


@attrs.define(eq=False, kw_only=True)
class People:
    """Clients of one owner.

    Attributes:
        told: How often each code was the answer to an act.
        done: Is called after each act that was not refused.
    """

    plot: Plot
    runtime: Runtime
    done: Callable[[], None]
    told: Counter[str] = attrs.field(factory=Counter[str], init=False)

    async def act(self, act: Act) -> None:
        """Do it when its time comes; a refusal is an answer like any other."""
        await trio.sleep(act.at_ms / 1000)
        try:
            await self._do(act)
        except CrashworthyError as error:
            self.told[str(error.code)] += 1
        else:
            self.done()

    async def _do(self, act: Act) -> None:
        match act.deed:
            case Deed.SEND:
                session = await self._session(session_key(self.plot, act.text))
                await session.send(act.text, key=act.text, budgets=self._budgets(act.text))
            case Deed.FOLLOW_UP:
                session = await self._session(session_key(self.plot, act.text))
                await session.follow_up(act.text, key=act.text)
            case Deed.STEER:
                session = await self._session(f"s{act.which % self.plot.sessions}")
                await session.steer(act.text)
            case Deed.ALLOW | Deed.DENY:
                await self._answer(act)
            case Deed.STOP:
                live = self.runtime.host.store.read(lambda view: view.pending(Pending.RUN_LIVE))
                if run := _picked(live, act.which):
                    await self.runtime.stop(run, "person")
            case Deed.ABANDON:
                if run := _picked(self.runtime.waiting_runs(), act.which):
                    await self.runtime.abandon(run)
            case Deed.RESUME:
                if run := _picked(self.runtime.waiting_runs(), act.which):
                    await self.runtime.resume(run)

    async def _session(self, key: str) -> Session:
        return await self.runtime.create_session(key=key)

    def _budgets(self, text: str) -> Budgets | None:
        turn = next(turn for turn in self.plot.turns if turn.text == text)
        if turn.steps_max is None and turn.ms_max is None:
            return None
        until = None if turn.ms_max is None else self.runtime.settings.clock.now_ms() + turn.ms_max
        return Budgets(steps_max=turn.steps_max, deadline_ts=until)

    async def _answer(self, act: Act) -> None:
        ask = _picked(self.runtime.pending(), act.which)
        if ask is None:
            return
        if act.deed is Deed.DENY:
            await self.runtime.answer(ask.ask, AnswerDecision.DENY)
        elif ask.action.questions:
            words = tuple("yes" for _question in ask.action.questions)
            await self.runtime.answer(ask.ask, AnswerDecision.ANSWER, words)
        else:
            await self.runtime.answer(ask.ask, AnswerDecision.ALLOW)


def _picked(among: Sequence[T], which: int) -> T | None:
    return among[which % len(among)] if among else None
