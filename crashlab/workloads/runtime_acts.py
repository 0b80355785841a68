"""What anybody does with a runtime after a death: take up what waits, and go on with the talk."""

from collections.abc import AsyncIterable
from contextlib import suppress
from typing import Final

import trio

from ...actors.errors import AlreadyDecidedError, AskClosedError
from ...actors.live import Committed, LiveEvent
from ...actors.runtime import PendingAsk, Runtime
from ...machines.facts.vocabulary import AnswerDecision, Kind, RunStatus
from ...machines.lifecycles import run
from ...machines.lifecycles.cells import Machine
from ...store.journal.dicts import pages
from ...store.journal.ledger import View
from ...store.journal.pending import Pending

NEXT_TURN: Final = "what happened?"
"""What every session can be asked after whatever it went through."""

_LOOK_S: Final = 0.005


async def rest(runtime: Runtime) -> None:
    """Wait until no run is executed any more."""
    for one in tuple(runtime.host.kernel.active.values()):
        await one.finished.wait()


async def quiet(runtime: Runtime) -> None:
    """Wait until nothing can happen by itself any more: words that are queued open turns, too.

    It looks at the log now and then, so no boundary may depend on it.
    """
    while runtime.host.store.read(_stirs):  # noqa: ASYNC110 - nothing else tells
        await trio.sleep(_LOOK_S)


async def take_up(runtime: Runtime) -> None:
    """Take every waiting run up, and allow or answer whatever a person is asked meanwhile."""
    async with trio.open_nursery() as nursery, runtime.events() as events:
        nursery.start_soon(_agree_to_all, runtime, events)
        await _agree(runtime)
        for name in runtime.waiting_runs():
            await runtime.resume(name)
        await rest(runtime)
        nursery.cancel_scope.cancel()


async def next_turns(runtime: Runtime, key: str) -> list[str]:
    """Take one more turn in every session, and say which of them did not complete.

    Args:
        runtime: Nothing waits in it any more.
        key: Of the session that is made, should there be none with it.
    """
    await runtime.create_session(key=key)
    found = [f"{ask.ask} stays open" for ask in runtime.pending()]
    found += [f"{name} stays waiting" for name in runtime.waiting_runs()]
    log = runtime.host.store.read(lambda view: list(pages(view)))
    for name in sorted({stored.place.spine.session for stored in log}):
        handle = await runtime.session(name).send(NEXT_TURN)
        end = await handle.wait()
        await quiet(runtime)
        if end is None or end.status is not RunStatus.COMPLETED:
            found.append(f"the next turn of {name} came to {end}")
    return found


async def _agree_to_all(runtime: Runtime, events: AsyncIterable[LiveEvent]) -> None:
    async for event in events:
        if isinstance(event, Committed) and event.event.kind is Kind.ASK_OPENED:
            await _agree(runtime)


async def _agree(runtime: Runtime) -> None:
    for ask in runtime.pending():
        with suppress(AlreadyDecidedError, AskClosedError):  # By this very task, or by an end.
            await _agree_to(runtime, ask)


async def _agree_to(runtime: Runtime, ask: PendingAsk) -> None:
    if ask.action.questions:
        words = tuple("yes" for _question in ask.action.questions)
        await runtime.answer(ask.ask, AnswerDecision.ANSWER, words)
    else:
        await runtime.answer(ask.ask, AnswerDecision.ALLOW)


def _stirs(view: View) -> bool:
    """Say whether a run works, or words wait that will open one."""
    cells = [view.cell(Machine.RUN, name) for name in view.pending(Pending.RUN_LIVE)]
    states = [cell.state for cell in cells if cell is not None]
    if any(not (isinstance(state, run.Active) and run.waits(state)) for state in states):
        return True
    return not states and bool(view.pending(Pending.MESSAGE_FOLLOW_UP))
