"""The contracts of the repair: one start, one failed end, nothing more (CONT-7)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import repair as machine
from ...machines.lifecycles.repair import (
    Begin,
    Done,
    Finish,
    Idle,
    RepairSeen,
    RepairState,
    Started,
)
from .reached import reached, refusal


def begins_only_without_a_start(state: RepairState, seen: Begin) -> bool:
    """REP.C1: A repair begins once, and only for a claim that has no start of any kind.

    post: __return__
    """
    begins = isinstance(state, Idle) and seen.startless
    return reached(machine.TABLE.step(state, seen)) == (Started() if begins else None)


def finishes_as_abandoned(state: RepairState, seen: Finish) -> bool:
    """REP.C2: A begun repair ends exactly as abandoned before any provider was called.

    post: __return__
    """
    ends = isinstance(state, Started) and seen.abandoned
    return reached(machine.TABLE.step(state, seen)) == (Done() if ends else None)


def done_is_done(state: Done, seen: RepairSeen) -> bool:
    """REP.C3: A repaired claim accepts nothing more, and the refusal says so.

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.REPAIR_DONE
