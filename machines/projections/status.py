"""Where runs and sessions stand, and what people are asked: facts and one flag say it (PROJ-3)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

import attrs

from ..facts.canonical import Json
from ..facts.model import Question, RuntimeEvent
from ..facts.vocabulary import Cause, Purpose, RunStatus
from .bound import up_to
from .endings import Terminal, classify
from .reading import read
from .records import Ask, Reading, Run
from .standing import park_of, settleable, waits


class RunState(StrEnum):
    """Where a run stands."""

    RUNNING = "running"  # no end, and a live owner answers (OWN-6)
    WAITING = "waiting"  # for a person, with or without an owner (ASK-3)
    STOPPING = "stopping"  # a stop is durable and a live owner carries it out
    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"
    UNOWNED = "unowned"  # no end, and nobody who works on it


class SessionState(StrEnum):
    """Where a session stands: what its newest run makes of it."""

    NEW = "new"
    RUNNING = "running"
    WAITING = "waiting"
    STOPPING = "stopping"
    UNOWNED = "unowned"
    IDLE = "idle"  # the next turn may start, however the last one ended


_ENDS: Final = {
    RunStatus.COMPLETED: RunState.COMPLETED,
    RunStatus.FAILED: RunState.FAILED,
    RunStatus.ABORTED: RunState.ABORTED,
}
_SESSIONS: Final = {
    RunState.RUNNING: SessionState.RUNNING,
    RunState.WAITING: SessionState.WAITING,
    RunState.STOPPING: SessionState.STOPPING,
    RunState.UNOWNED: SessionState.UNOWNED,
    RunState.COMPLETED: SessionState.IDLE,
    RunState.FAILED: SessionState.IDLE,
    RunState.ABORTED: SessionState.IDLE,
}


@attrs.frozen(kw_only=True)
class Pending:
    """One open request to a person, with everything that a late client needs (ASK-1).

    Attributes:
        asked_ts: When it was asked, for display.
        args: The exact arguments that an approval binds (ASK-2).
    """

    ask: str
    run: str
    operation: str
    purpose: Purpose
    tool: str
    args: Json
    args_digest: str
    review: str
    questions: tuple[Question, ...]
    expansion: Json
    asked_ts: int
    deadline_ts: int | None


@attrs.frozen(kw_only=True)
class RunView:
    """One run.

    Attributes:
        stop: The source of the durable stop intent, if there is one.
        terminal: The end, if there is one.
        unsettled: Calls that are unknown or parked and that no person has judged.
    """

    run: str
    turn: str
    invocation: str
    state: RunState
    cause: Cause | None
    opened_ts: int
    newest_ts: int
    stop: str | None
    terminal: Terminal | None
    pending: tuple[Pending, ...]
    unsettled: tuple[str, ...]


@attrs.frozen(kw_only=True)
class SessionView:
    """A session: its state, its runs in the order they were opened, and what people are asked."""

    session: str | None
    state: SessionState
    runs: tuple[RunView, ...]
    pending: tuple[Pending, ...]
    queued: tuple[str, ...]


def status(facts: Sequence[RuntimeEvent], *, live: bool, at: int | None = None) -> SessionView:
    """Return where a session stands. Pure and total.

    Args:
        facts: Those of one session in commit order, or of one run.
        live: Whether a live owner answers *now*; for a past moment it is False.
        at: How many of the facts count; all of them by default (PROJ-1).
    """
    reading = read(up_to(facts, at))
    runs = tuple(_run_view(run, live=live) for run in reading.runs.values())
    return SessionView(
        session=reading.session,
        state=_SESSIONS[runs[-1].state] if runs else SessionState.NEW,
        runs=runs,
        pending=tuple(one for run in runs for one in run.pending),
        queued=_queued(reading),
    )


def run_state_of(run: Run, *, live: bool) -> RunState:
    """Return where a run stands: its end, else whether it waits, else whether somebody works."""
    if run.end is not None:
        return _ENDS[run.end.says.status]
    if waits(run):
        return RunState.WAITING
    if not live:
        return RunState.UNOWNED
    return RunState.RUNNING if run.stop is None else RunState.STOPPING


def _run_view(run: Run, *, live: bool) -> RunView:
    ended = run.end is not None
    unjudged = (one for one in run.operations.values() if one.verdict is None)
    return RunView(
        run=run.spine.run,
        turn=run.spine.turn,
        invocation=run.spine.invocation,
        state=run_state_of(run, live=live),
        cause=None if run.opening is None else run.opening.says.cause,
        opened_ts=run.facts[0].ts,
        newest_ts=run.facts[-1].ts,
        stop=None if run.stop is None else run.stop.says.source,
        terminal=None if run.end is None else classify(run.end.id, run.end.says),
        pending=() if ended else tuple(_pending(one) for one in run.asks.values() if one.open),
        unsettled=tuple(
            one.id
            for one in unjudged
            if park_of(one, open_run=settleable(run, one, live=live)) is not None
        ),
    )


def _pending(ask: Ask) -> Pending:
    says, call = ask.opened.says, ask.operation.call
    return Pending(
        ask=ask.id,
        run=ask.run,
        operation=ask.operation.id,
        purpose=says.purpose,
        tool=says.tool,
        args=None if call is None else call.says.args,
        args_digest=says.args_digest,
        review=says.review,
        questions=says.questions,
        expansion=says.expansion,
        asked_ts=ask.opened.event.ts,
        deadline_ts=says.deadline_ts,
    )


def _queued(reading: Reading) -> tuple[str, ...]:
    return tuple(
        one.id
        for one in reading.messages.values()
        if one.taken is None and one.returned is None and one.retracted is None
    )
