"""The contracts of the lease: epochs rise, only the newest writes, gone is proven."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import lease as machine
from ...machines.lifecycles.lease import (
    Close,
    Free,
    Gone,
    Held,
    LeaseSeen,
    LeaseState,
    Open,
    Write,
)
from .reached import reached, refusal


def valid(state: LeaseState) -> bool:
    """Say whether the proven epochs are past ones: below the holder's, or up to the last one's."""
    if isinstance(state, Held):
        return 0 <= state.gone < state.epoch
    return 0 <= state.gone <= state.epoch


def ownership_raises_the_epoch_by_one(state: LeaseState, seen: Open) -> bool:
    """LEA.C1: Whoever holds the OS lock and states the next epoch owns the root, free or not.

    pre: valid(state)
    post: __return__
    """
    next_one = seen.locked and seen.epoch == state.epoch + 1
    expected = Held(epoch=state.epoch + 1, gone=state.gone) if next_one else None
    return reached(machine.TABLE.step(state, seen)) == expected


def only_the_newest_epoch_writes(state: LeaseState, seen: Write) -> bool:
    """LEA.C2: Exactly the holder of the newest epoch writes, and writing changes no ownership.

    pre: valid(state)
    post: __return__
    """
    owner = isinstance(state, Held) and seen.epoch == state.epoch
    return reached(machine.TABLE.step(state, seen)) == (state if owner else None)


def gone_is_proven_by_the_owner(state: LeaseState, seen: Gone) -> bool:
    """LEA.C3: The owner proves every earlier epoch gone, once, and only when no worker lives.

    pre: valid(state)
    post: __return__
    """
    proof = (
        isinstance(state, Held)
        and seen.epoch == state.epoch
        and not seen.workers
        and seen.gone == state.epoch - 1
        and state.gone < state.epoch - 1
    )
    expected = Held(epoch=state.epoch, gone=state.epoch - 1) if proof else None
    return reached(machine.TABLE.step(state, seen)) == expected


def closing_proves_itself_gone(state: LeaseState, seen: Close) -> bool:
    """LEA.C4: An owner lets go only without workers, and its own epoch is gone with it.

    pre: valid(state)
    post: __return__
    """
    closes = isinstance(state, Held) and seen.epoch == state.epoch == seen.gone and not seen.workers
    expected = Free(epoch=state.epoch, gone=state.epoch) if closes else None
    return reached(machine.TABLE.step(state, seen)) == expected


def order_is_kept(state: LeaseState, seen: LeaseSeen) -> bool:
    """LEA.C5: Epoch and proof never fall, and no living owner's epoch is ever proven gone.

    pre: valid(state)
    post: __return__
    """
    after = reached(machine.TABLE.step(state, seen))
    if after is None:
        return True
    return valid(after) and after.epoch >= state.epoch and after.gone >= state.gone


def stale_owner_is_fenced(state: Held, seen: Write | Gone | Close) -> bool:
    """LEA.C6: Whatever another epoch than the holder's tries, it is told that it was fenced.

    pre: seen.epoch != state.epoch
    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.OWNER_FENCED
