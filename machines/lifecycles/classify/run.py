"""What the run and its requests see of each fact of their ledger."""

from typing import Final

from ...facts.digests import args_digest
from ...facts.ids import operation_id
from ...facts.model import (
    AskClosed,
    CallPlaced,
    FunctionCall,
    Outcome,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RunOpened,
)
from ...facts.vocabulary import (
    Cause,
    CloseReason,
    Finish,
    Kind,
    OutcomeBy,
    OutcomeState,
    RequestResult,
    RunStatus,
)
from .. import message, request, run
from ..cells import Cell, Machine, Memo
from .scene import Sight

_STARTS: Final = {
    Cause.TURN: run.Start.TURN,
    Cause.FOLLOW_UP: run.Start.TURN,
    Cause.RUNTIME_ADMISSION: run.Start.ADMISSION,
    Cause.CLAIM_REPAIR: run.Start.REPAIR,
}
_FINISHES: Final = {
    Finish.STOP: run.End.STOP,
    Finish.TOOL_CALLS: run.End.CALLS,
    Finish.LENGTH: run.End.CUT,
    Finish.CONTENT_FILTER: run.End.CUT,
    Finish.OTHER: run.End.CUT,
}
_STATUSES: Final = {
    RunStatus.COMPLETED: run.Status.COMPLETED,
    RunStatus.FAILED: run.Status.FAILED,
    RunStatus.ABORTED: run.Status.ABORTED,
}


def _opening(sight: Sight) -> run.Opening:
    event, around = sight.event, sight.scene.around
    assert isinstance(event.actions, RunOpened)
    claim = around.reservation(event.spine)
    start = event.actions.continuation
    if claim is None:
        reservation = run.Reservation.NONE
    elif start is not None and start.claim == claim:
        reservation = run.Reservation.MINE
    else:
        reservation = run.Reservation.OTHER
    busy = around.open_run(event.spine.session) is not None or bool(sight.scene.opened)
    return run.Opening(
        epoch=sight.epoch,
        start=_STARTS[event.actions.cause],
        room=run.Room.BUSY if busy else run.Room.FREE,
        reservation=reservation,
    )


def _delivery(sight: Sight) -> run.Delivery:
    name = sight.event.refs.message
    if name is None:
        return run.Delivery.DIRECT
    taken = sight.scene.cell(Machine.MESSAGE, name)
    fits = name in sight.scene.taken and taken.memo.get("run") == sight.event.spine.run
    return (
        run.Delivery.TAKEN
        if fits and isinstance(taken.state, message.Taken)
        else run.Delivery.MISSING
    )


def _named_request(sight: Sight, cell: Cell) -> run.Named:
    same = sight.event.refs.request == cell.memo.get("request")
    return run.Named.SAME if same else run.Named.OTHER


def _retry(sight: Sight, cell: Cell) -> run.Retry:
    action = sight.event.actions
    assert isinstance(action, RequestDispatched)
    step, attempt = cell.memo.get("step", 0), cell.memo.get("attempt", 0)
    assert isinstance(step, int)
    assert isinstance(attempt, int)
    if action.retries is None:
        fits = action.step == step + 1 and action.attempt == 1
        return run.Retry.FRESH if fits else run.Retry.OTHER
    fits = (
        action.retries == cell.memo.get("request")
        and action.step == step
        and action.attempt == attempt + 1
    )
    return run.Retry.LAST if fits else run.Retry.OTHER


def _call(sight: Sight, cell: Cell) -> run.Named:
    """Compare a call with its place: ids and digests are derived, never chosen (ID-2, ID-3)."""
    event, action, content = sight.event, sight.event.actions, sight.event.content
    assert isinstance(action, CallPlaced)
    assert isinstance(content, FunctionCall)
    position = cell.memo.get("position", 0)
    assert isinstance(position, int)
    fits = (
        _named_request(sight, cell) is run.Named.SAME
        and action.step == cell.memo.get("step")
        and action.position == position + 1
        and event.refs.operation
        == operation_id(event.spine.invocation, action.step, action.position)
        and action.args_digest == args_digest(content.name, content.args)
    )
    return run.Named.SAME if fits else run.Named.OTHER


def _end(action: RequestSettled) -> run.End:
    if action.result is RequestResult.FINISHED:
        assert action.finish is not None
        return _FINISHES[action.finish]
    return run.End.FAILED if action.result is RequestResult.FAILED else run.End.LOST


def see_run(sight: Sight, cell: Cell) -> run.RunSeen:
    """Return what the run's machine sees of a fact of its ledger."""
    event, epoch = sight.event, sight.epoch
    match event.kind:
        case Kind.RUN_OPENED:
            return _opening(sight)
        case Kind.USER_TEXT:
            return run.UserText(epoch=epoch, delivery=_delivery(sight))
        case Kind.STEERING_TEXT:
            return run.Steering(epoch=epoch, delivery=_delivery(sight))
        case Kind.REQUEST_DISPATCHED:
            return run.Request(epoch=epoch, retry=_retry(sight, cell))
        case Kind.MODEL_TEXT | Kind.MODEL_THINKING:
            return run.Output(epoch=epoch, request=_named_request(sight, cell))
        case Kind.CALL:
            return run.Call(epoch=epoch, request=_call(sight, cell))
        case Kind.REQUEST_SETTLED:
            assert isinstance(event.actions, RequestSettled)
            return run.Settlement(
                epoch=epoch, request=_named_request(sight, cell), end=_end(event.actions)
            )
        case Kind.DISPATCHED:
            return run.Dispatch(epoch=epoch, granted=event.refs.ask is not None)
        case Kind.OUTCOME:
            assert isinstance(event.actions, Outcome)
            if event.actions.state is OutcomeState.NOT_STARTED:
                return run.NotStarted(epoch=epoch, denial=event.refs.ask is not None)
            by_tool = event.actions.by is OutcomeBy.TOOL
            return run.Settled(epoch=epoch, via=run.Via.TOOL if by_tool else run.Via.RECOVERY)
        case Kind.RECONCILE_RESULT | Kind.RECOVERY_DECISION:
            return run.Recovery(epoch=epoch)
        case Kind.ASK_OPENED:
            return run.Ask(epoch=epoch)
        case Kind.ASK_ANSWERED:
            return run.Answer(epoch=epoch)
        case Kind.ASK_CLOSED:
            assert isinstance(event.actions, AskClosed)
            if event.actions.reason is CloseReason.EXPIRED:
                return run.Expiry(epoch=epoch)
            return run.Closing(epoch=epoch, released=_released(sight))
        case Kind.ERROR_NOTED:
            return run.Trouble(epoch=epoch)
        case Kind.ARTIFACT_ADDED | Kind.CHECKPOINT_MADE:
            return run.Note(epoch=epoch)
        case Kind.STOP_REQUESTED:
            return run.Stop(epoch=epoch)
        case Kind.RUN_REATTACHED:
            return run.Reattach(epoch=epoch)
        case _:
            assert event.kind is Kind.RUN_ENDED, event.kind
            return _ending(sight, cell)


def _released(sight: Sight) -> bool:
    return sight.scene.released(sight.event.spine.run)


def _ending(sight: Sight, cell: Cell) -> run.Ending:
    action = sight.event.actions
    assert isinstance(action, RunEnded)
    same = action.source == cell.memo.get("stop")
    return run.Ending(
        epoch=sight.epoch,
        status=_STATUSES[action.status],
        source=run.Named.SAME if same else run.Named.OTHER,
        released=_released(sight),
    )


def remember_run(sight: Sight, cell: Cell) -> Memo:
    """Return what the run remembers after a fact."""
    event, action = sight.event, sight.event.actions
    match event.kind:
        case Kind.RUN_OPENED:
            assert isinstance(action, RunOpened)
            return _opened_memo(sight, action)
        case Kind.REQUEST_DISPATCHED:
            assert isinstance(action, RequestDispatched)
            place: Memo = {"request": event.refs.request, "step": action.step}
            return {**cell.memo, **place, "attempt": action.attempt, "position": 0}
        case Kind.CALL:
            assert isinstance(action, CallPlaced)
            return {**cell.memo, "position": action.position}
        case Kind.STOP_REQUESTED:
            return {**cell.memo, "stop": getattr(action, "source", None)}
        case _:
            return cell.memo


def _opened_memo(sight: Sight, action: RunOpened) -> Memo:
    spine = sight.event.spine
    memo: dict[str, str | int] = {
        "session": spine.session,
        "invocation": spine.invocation,
        "turn": spine.turn,
        "protocol": action.protocol,
        "cause": str(action.cause),
    }
    if action.continuation is not None:
        memo["claim"] = action.continuation.claim
    return {**memo}


def see_request(sight: Sight, _cell: Cell) -> request.RequestSeen:
    """Return what a request's machine sees."""
    action = sight.event.actions
    if sight.event.kind is Kind.REQUEST_DISPATCHED:
        return request.Dispatch(epoch=sight.epoch)
    if isinstance(action, RequestSettled):
        lost = _end(action) is run.End.LOST
        return request.Settlement(
            epoch=sight.epoch, end=request.End.LOST if lost else request.End.STATED
        )
    return request.Output(epoch=sight.epoch)


def remember_request(sight: Sight, cell: Cell) -> Memo:
    """Return what a request remembers: the run that sent it."""
    if sight.event.kind is Kind.REQUEST_DISPATCHED:
        return {"run": sight.event.spine.run}
    return cell.memo
