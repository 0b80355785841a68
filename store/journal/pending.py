"""What a machine instance still waits for, in one word that an index can list (STORE-4)."""

from enum import StrEnum

from ...machines.facts.model import Spine
from ...machines.lifecycles import claim, interaction, message, operation, request, run
from ...machines.lifecycles.cells import Machine, State


class Pending(StrEnum):
    """The words; an instance that waits for nothing has none."""

    RUN_LIVE = "run.live"
    REQUEST_OPEN = "request.open"
    CALL_PLACED = "operation.called"  # neither T1 nor a not-started response
    OPERATION_DISPATCHED = "operation.dispatched"  # T1 without T2; in a closed run: unknown
    OPERATION_PARKED = "operation.parked"
    ASK_OPEN = "ask.open"
    ASK_DECIDED = "ask.decided"  # answered or expired, and not consumed
    MESSAGE_STEER = "message.steer"
    MESSAGE_FOLLOW_UP = "message.follow_up"
    CLAIM_STARTLESS = "claim.startless"


def pending_of(state: State) -> Pending | None:
    """Return what an instance in `state` waits for."""
    match state:
        case run.Active() | run.Stopping():
            return Pending.RUN_LIVE
        case request.Open():
            return Pending.REQUEST_OPEN
        case operation.Called() | operation.Asked():
            return Pending.CALL_PLACED
        case operation.Dispatched():
            return Pending.OPERATION_DISPATCHED
        case operation.Parked():
            return Pending.OPERATION_PARKED
        case interaction.Open():
            return Pending.ASK_OPEN
        case interaction.Granted() | interaction.Denied():
            return Pending.ASK_DECIDED
        case message.Queued():
            steers = state.intent is message.Intent.STEER
            return Pending.MESSAGE_STEER if steers else Pending.MESSAGE_FOLLOW_UP
        case claim.Claimed():
            return Pending.CLAIM_STARTLESS
        case _:
            return None


_OF_A_RUN = frozenset((Machine.REQUEST, Machine.OPERATION, Machine.INTERACTION))


def scope_of(machine: Machine, spine: Spine) -> str:
    """Return what lists an instance: its run, or its session."""
    return spine.run if machine in _OF_A_RUN else spine.session
