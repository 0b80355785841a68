"""The contracts of the run, part one: how it begins, asks its model, stops and ends."""

import attrs

from ...machines.facts.codes import Code
from ...machines.lifecycles import run as machine
from ...machines.lifecycles.run import (
    Absent,
    Active,
    Call,
    Delivery,
    End,
    Ended,
    Ending,
    Last,
    Named,
    Note,
    Opened,
    Opening,
    Output,
    Placing,
    Reattach,
    Repairing,
    Request,
    Reservation,
    Retry,
    Room,
    RunSeen,
    RunState,
    Settlement,
    Start,
    Steering,
    Stop,
    Stopping,
    Trouble,
    UserText,
)
from . import run_state
from .reached import refusal


def opens_as_the_session_allows(state: RunState, seen: Opening) -> bool:
    """RUN.C1: A run opens once: a turn in a free session, a continuation or repair by its claim.

    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Absent):
        mine = seen.reservation is Reservation.MINE
        if seen.start is Start.REPAIR and mine:
            expected = Repairing(epoch=seen.epoch)
        if seen.start is Start.ADMISSION and mine and seen.room is Room.FREE:
            expected = run_state.fresh(seen.epoch)
        unclaimed = seen.reservation is Reservation.NONE
        if seen.start is Start.TURN and unclaimed and seen.room is Room.FREE:
            expected = Opened(epoch=seen.epoch)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def begins_with_the_user(state: RunState, seen: UserText) -> bool:
    """RUN.C2: The first user text follows the opening of a turn, said directly or really taken.

    post: __return__
    """
    follows = isinstance(state, Opened) and seen.epoch == state.epoch
    expected = (
        run_state.fresh(seen.epoch) if follows and seen.delivery is not Delivery.MISSING else None
    )
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def is_steered_at_a_boundary(state: RunState, seen: Steering) -> bool:
    """RUN.C3: A taken message steers a run only between two steps (RUN-6).

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch == state.epoch and run_state.idle(state):
        between = state.last not in (Last.NEVER, Last.CUT, Last.FAILED, Last.LOST)
        taken = seen.delivery is Delivery.TAKEN
        expected = run_state.changed(state, last=Last.STEERED) if between and taken else None
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def asks_its_model_when_idle(state: RunState, seen: Request) -> bool:
    """RUN.C4: A request leaves an idle, unstopped run; after a failure only as a retry.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch == state.epoch and run_state.idle(state):
        named = Retry.LAST if state.last is Last.FAILED else Retry.FRESH
        over = state.last in (Last.STOP, Last.CUT, Last.LOST)
        expected = (
            run_state.changed(state, last=Last.OPEN) if not over and seen.retry is named else None
        )
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def streams_while_asking(state: RunState, seen: Output) -> bool:
    """RUN.C5: Output belongs to the open request, and comes before the calls of its step.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and state.last is Last.OPEN:
        mine = seen.epoch == state.epoch and seen.request is Named.SAME
        expected = state if mine else None
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def places_calls_while_asking(state: RunState, seen: Call) -> bool:
    """RUN.C6: Each call of the open request is counted, in a state that must not rest.

    pre: run_state.valid(state)
    post: __return__
    """
    more: Placing | None = None
    if isinstance(state, Active) and state.last is Last.OPEN:
        more = Placing(epoch=state.epoch, calls=1, troubled=state.troubled)
    if isinstance(state, Placing):
        more = attrs.evolve(state, calls=state.calls + 1)
    mine = more is not None and seen.epoch == more.epoch and seen.request is Named.SAME
    expected = more if mine else None
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def hears_its_model(state: RunState, seen: Settlement) -> bool:
    """RUN.C7: A finish is recorded as stated, and means calls exactly when some were placed.

    pre: run_state.valid(state)
    pre: not isinstance(state, machine.Stopping) and seen.end is not machine.End.LOST
    post: __return__
    """
    expected: RunState | None = None
    same = seen.request is Named.SAME
    if isinstance(state, Placing) and same and seen.epoch == state.epoch:
        heard = attrs.evolve(run_state.fresh(state.epoch), calls=state.calls)
        if seen.end is End.CALLS:
            expected = run_state.changed(heard, last=Last.CALLS)
        if seen.end is End.CUT:
            expected = run_state.changed(heard, last=Last.CUT, troubled=state.troubled)
    if isinstance(state, Active) and state.last is Last.OPEN and same and seen.epoch == state.epoch:
        if seen.end is End.STOP:
            expected = run_state.changed(state, last=Last.STOP, troubled=False)
        if seen.end is End.CUT:
            expected = run_state.changed(state, last=Last.CUT)
        if seen.end is End.FAILED:
            expected = run_state.changed(state, last=Last.FAILED, troubled=True)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def closes_a_request_nobody_heard(state: RunState, seen: Settlement) -> bool:
    """RUN.C8: A lost or stopped request closes without a finish, also by a successor.

    pre: run_state.valid(state)
    pre: isinstance(state, machine.Stopping) or seen.end is machine.End.LOST
    post: __return__
    """
    expected: RunState | None = None
    if run_state.live(state) and state.last is Last.OPEN and seen.request is Named.SAME:
        if seen.end is End.LOST and seen.epoch >= state.epoch:
            expected = run_state.changed(state, last=Last.LOST)
        if seen.end is End.FAILED and seen.epoch == state.epoch:
            expected = run_state.changed(state, last=Last.FAILED, troubled=True)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def notes_trouble(state: RunState, seen: Trouble) -> bool:
    """RUN.C9: An error noted by the owner keeps the run from completing until a request finishes.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if run_state.live(state) and seen.epoch == state.epoch:
        expected = run_state.changed(state, troubled=True)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def notes_change_nothing(state: RunState, seen: Note) -> bool:
    """RUN.C10: Artifacts and checkpoints are the owner's to add, and change no state.

    pre: run_state.valid(state)
    post: __return__
    """
    mine = run_state.live(state) and seen.epoch == state.epoch
    return run_state.leads(machine.TABLE.step(state, seen), state if mine else None)


def stop_is_durable_and_keeps_everything(state: RunState, seen: Stop) -> bool:
    """RUN.C11: An open run is stopped once, by its owner or a successor, and loses nothing by it.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch >= state.epoch:
        expected = Stopping(
            epoch=state.epoch,
            last=state.last,
            calls=state.calls,
            operations=state.operations,
            asks=state.asks,
            grants=state.grants,
            troubled=state.troubled,
        )
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def only_a_waiting_run_is_reattached(state: RunState, seen: Reattach) -> bool:
    """RUN.C12: Exactly an unstopped, waiting run goes on under a later owner, unchanged (ASK-3).

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and run_state.waiting(state) and seen.epoch > state.epoch:
        expected = run_state.changed(state, epoch=seen.epoch)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def completes_only_when_all_is_said(state: RunState, seen: Ending) -> bool:
    """RUN.C13: A run completes exactly after a stated stop, idle, unstopped and without open error.

    pre: run_state.valid(state) and seen.status is machine.Status.COMPLETED
    post: __return__
    """
    complete = (
        isinstance(state, Active)
        and seen.epoch == state.epoch
        and state.last is Last.STOP
        and not state.troubled
    )
    return run_state.leads(machine.TABLE.step(state, seen), Ended() if complete else None)


def fails_without_leaving_anything_open(state: RunState, seen: Ending) -> bool:
    """RUN.C14: A failed end leaves nothing open, and no successor fails a waiting run.

    pre: run_state.valid(state) and seen.status is machine.Status.FAILED
    post: __return__
    """
    ends = isinstance(state, Repairing) and seen.epoch == state.epoch
    if isinstance(state, Active) and state.last is not Last.OPEN and state.asks == 0:
        mine = seen.epoch == state.epoch
        ends = mine or (
            seen.epoch > state.epoch and (seen.released or not run_state.waiting(state))
        )
    return run_state.leads(machine.TABLE.step(state, seen), Ended() if ends else None)


def aborts_exactly_what_was_stopped(state: RunState, seen: Ending) -> bool:
    """RUN.C15: Aborted ends exactly a stopped run, with the source of the stop, nothing left open.

    pre: run_state.valid(state) and seen.status is machine.Status.ABORTED
    post: __return__
    """
    ends = (
        isinstance(state, Stopping)
        and state.last is not Last.OPEN
        and state.asks == 0
        and seen.epoch >= state.epoch
        and seen.source is Named.SAME
    )
    return run_state.leads(machine.TABLE.step(state, seen), Ended() if ends else None)


def nothing_follows_the_end(state: Ended, seen: RunSeen) -> bool:
    """RUN.C16: An ended run accepts nothing, and every refusal says that it is sealed (LOG-4).

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.RUN_SEALED
