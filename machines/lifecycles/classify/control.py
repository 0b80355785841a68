"""What session, message, verdict, claim and repair see: the facts that reach beyond one run."""

from typing import Final

from ...facts.model import (
    BoundaryAbandoned,
    BoundaryChanged,
    ContinuationStart,
    DriftAccepted,
    LateOutcome,
    MessageQueued,
    MessageTaken,
    RunAbandoned,
    RunEnded,
    RunOpened,
    SettingsChanged,
    VerdictGiven,
)
from ...facts.vocabulary import Cause, Intent, Kind, RunFailure, RunStatus
from .. import claim, message, operation, repair, run, session, verdict
from ..cells import Cell, Machine, Memo
from .scene import Sight

_INTENTS: Final = {
    Intent.STEER: message.Intent.STEER,
    Intent.FOLLOW_UP: message.Intent.FOLLOW_UP,
}
_ABANDONED: Final = RunFailure.CONTINUATION_ABANDONED


def _revision(stated: int, cell: Cell, name: str) -> session.Step:
    known = cell.memo.get(name, 0)
    assert isinstance(known, int)
    return session.Step.NEXT if stated == known + 1 else session.Step.OTHER


def _busy(sight: Sight) -> bool:
    return sight.scene.around.open_run(sight.event.spine.session) is not None


def _run_is(sight: Sight, name: str) -> session.RunIs:
    cell = sight.scene.cell(Machine.RUN, name)
    if cell.memo.get("session") != sight.event.spine.session:
        return session.RunIs.MISSING
    if isinstance(cell.state, run.Ended):
        return session.RunIs.CLAIMED if sight.scene.around.sealed(name) else session.RunIs.ENDED
    if isinstance(cell.state, run.Active) and run.waits(cell.state):
        return session.RunIs.WAITING
    return session.RunIs.OPEN


def _unknown(sight: Sight) -> bool:
    name = sight.event.refs.operation
    assert name is not None
    return isinstance(sight.scene.cell(Machine.OPERATION, name).state, operation.Dispatched)


def see_session(sight: Sight, cell: Cell) -> session.SessionSeen:
    """Return what the session's machine sees of a control fact."""
    action = sight.event.actions
    match action:
        case SettingsChanged():
            step = _revision(action.revision, cell, "settings")
            return session.Revision(step=step, busy=_busy(sight))
        case BoundaryChanged():
            return session.Revision(step=_revision(action.revision, cell, "boundary"), busy=False)
        case RunAbandoned():
            return session.Abandon(run=_run_is(sight, action.run))
        case BoundaryAbandoned():
            return session.AbandonBoundary(run=_run_is(sight, action.run))
        case DriftAccepted():
            return session.AbandonBoundary(run=session.RunIs.ENDED)
        case LateOutcome():
            return session.Late(run=_run_is(sight, action.run), unknown=_unknown(sight))
        case _:
            pass
    match sight.event.kind:
        case Kind.SESSION_OPENED:
            return session.Opening()
        case Kind.BRANCHED_FROM:
            return session.Provenance()
        case Kind.WORKSPACE_ATTACHED:
            return session.Workspace(busy=_busy(sight))
        case _:
            assert sight.event.kind is Kind.SESSION_ADOPTED, sight.event.kind
            return session.Adopt(foreign=sight.scene.around.foreign(sight.event.spine.session))


def remember_session(sight: Sight, cell: Cell) -> Memo:
    """Return what a session remembers: the newest revisions."""
    action = sight.event.actions
    if isinstance(action, SettingsChanged):
        return {**cell.memo, "settings": action.revision}
    if isinstance(action, BoundaryChanged):
        return {**cell.memo, "boundary": action.revision}
    return cell.memo


def _target(sight: Sight, name: str) -> message.Target:
    cell = sight.scene.cell(Machine.RUN, name)
    if cell.memo.get("session") != sight.event.spine.session:
        return message.Target.OTHER
    if name in sight.scene.opened:
        return message.Target.OPENING
    state = cell.state
    if isinstance(state, run.Active) and run.quiet(state) and not run.waits(state):
        return message.Target.AT_BOUNDARY
    return message.Target.OTHER


def see_message(sight: Sight, _cell: Cell) -> message.MessageSeen:
    """Return what a message's machine sees."""
    action = sight.event.actions
    if isinstance(action, MessageQueued):
        return message.Queue(intent=_INTENTS[action.intent], run_open=_busy(sight))
    if isinstance(action, MessageTaken):
        return message.Take(target=_target(sight, action.run))
    if sight.event.kind is Kind.MESSAGE_RETURNED:
        return message.Return()
    return message.Retract()


def remember_message(sight: Sight, cell: Cell) -> Memo:
    """Return what a message remembers: its session and the run that took it."""
    action = sight.event.actions
    if isinstance(action, MessageQueued):
        return {"session": sight.event.spine.session, "fact": sight.event.id}
    if isinstance(action, MessageTaken):
        return {**cell.memo, "run": action.run}
    return cell.memo


def see_verdict(sight: Sight, cell: Cell) -> verdict.VerdictSeen:
    """Return what the verdict's machine sees: the operation, its run, its epoch (LOG-8)."""
    action, name = sight.event.actions, sight.event.refs.operation
    assert isinstance(action, VerdictGiven)
    assert name is not None
    subject = sight.scene.cell(Machine.OPERATION, name)
    ours = subject.memo.get("run") == action.run
    state = subject.state
    gone = not isinstance(state, operation.Dispatched) or (state.epoch <= sight.scene.around.gone())
    known = cell.memo.get("generation", 0)
    assert isinstance(known, int)
    run_is = _run_is(sight, action.run)
    return verdict.Give(
        run=_RUN_IS.get(run_is, verdict.RunIs.OPEN),
        unsettled=ours and isinstance(state, operation.Dispatched | operation.Parked),
        gone=gone,
        generation=(
            verdict.Generation.NEXT if action.generation == known + 1 else verdict.Generation.OTHER
        ),
    )


_RUN_IS: Final = {
    session.RunIs.ENDED: verdict.RunIs.ENDED,
    session.RunIs.CLAIMED: verdict.RunIs.CLAIMED,
}


def remember_verdict(sight: Sight, _cell: Cell) -> Memo:
    """Return what a verdict remembers: its newest generation."""
    action = sight.event.actions
    assert isinstance(action, VerdictGiven)
    return {
        "generation": action.generation,
        "verdict": str(action.verdict),
        "fact": sight.event.id,
    }


def _start(sight: Sight) -> tuple[RunOpened, ContinuationStart]:
    action = sight.event.actions
    assert isinstance(action, RunOpened)
    assert action.continuation is not None
    return action, action.continuation


def see_claim(sight: Sight, cell: Cell) -> claim.Begin:
    """Return what a claim's machine sees of its start: kind, and whether it repeats the claim."""
    action, start = _start(sight)
    repairing = action.cause is Cause.CLAIM_REPAIR
    memo, spine = cell.memo, sight.event.spine
    fits = (
        memo.get("boundary") == start.boundary
        and memo.get("replay") == start.replay
        and memo.get("projection") == start.projection
        and memo.get("source") == start.source.run
        and memo.get("source_chain") == start.source.chain
        and memo.get("session") == spine.session
        and memo.get("target_invocation") == spine.invocation
        and memo.get("target_run") == spine.run
        and memo.get("target_turn") == spine.turn
        and memo.get("context") == action.context
    )
    return claim.Begin(
        epoch=sight.epoch,
        kind=claim.Kind.REPAIR if repairing else claim.Kind.ADMISSION,
        binding=claim.Binding.SAME if fits else claim.Binding.OTHER,
    )


def remember_claim(sight: Sight, cell: Cell) -> Memo:
    """Return what a claim remembers: its start."""
    return {**cell.memo, "start": sight.event.id}


def see_repair(sight: Sight, _cell: Cell) -> repair.RepairSeen:
    """Return what the saga of one claim sees: its start, then its failed end."""
    action = sight.event.actions
    if isinstance(action, RunEnded):
        abandoned = action.status is RunStatus.FAILED and action.failure is _ABANDONED
        return repair.Finish(abandoned=abandoned)
    _action, start = _start(sight)
    state = sight.scene.cell(Machine.CLAIM, start.claim).state
    return repair.Begin(startless=isinstance(state, claim.Claimed))


def remember_repair(_sight: Sight, cell: Cell) -> Memo:
    """Return what a repair remembers: nothing of its own."""
    return cell.memo
