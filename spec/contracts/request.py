"""The contracts of the request: it leaves once and settles once (LOG-7)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import request as machine
from ...machines.lifecycles.request import (
    Absent,
    Closed,
    Dispatch,
    End,
    Open,
    Output,
    RequestSeen,
    RequestState,
    Settlement,
)
from .reached import reached, refusal


def leaves_once(state: RequestState, seen: Dispatch) -> bool:
    """REQ.C1: A request leaves at most once, and remembers the owner that sent it.

    post: __return__
    """
    expected = Open(epoch=seen.epoch) if isinstance(state, Absent) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def output_belongs_to_the_sender(state: RequestState, seen: Output) -> bool:
    """REQ.C2: Output comes only from the owner that sent the request; it changes nothing.

    post: __return__
    """
    mine = isinstance(state, Open) and state.epoch == seen.epoch
    return reached(machine.TABLE.step(state, seen)) == (state if mine else None)


def settles_once(state: RequestState, seen: Settlement) -> bool:
    """REQ.C3: An open request settles once: by its sender as stated, by a successor only as lost.

    post: __return__
    """
    known = isinstance(state, Open) and (
        state.epoch == seen.epoch or (state.epoch < seen.epoch and seen.end is End.LOST)
    )
    return reached(machine.TABLE.step(state, seen)) == (Closed() if known else None)


def settled_means_over(state: Closed, seen: RequestSeen) -> bool:
    """REQ.C4: After its settlement nothing more is accepted, and the refusal says so.

    post: __return__
    """
    code = refusal(machine.TABLE.step(state, seen))
    late = isinstance(seen, Output)
    return code is (Code.REQUEST_NOT_OPEN if late else Code.REQUEST_SETTLED_ALREADY)
