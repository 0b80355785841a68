"""The contracts of the claim: one claimant per boundary, one start by the right writer."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import claim as machine
from ...machines.lifecycles.claim import (
    Absent,
    Admitted,
    Begin,
    Binding,
    Claimed,
    ClaimState,
    Kind,
    Make,
    Repaired,
    Source,
    Standing,
)
from .reached import reached, refusal


def one_claimant(state: ClaimState, seen: Make) -> bool:
    """CLM.C1: Exactly the first claim of an ended, unchanged, unclaimed source is acquired.

    post: __return__
    """
    free = (
        isinstance(state, Absent)
        and seen.source is Source.EXACT
        and seen.standing is Standing.CLEAR
    )
    expected = Claimed(epoch=seen.epoch) if free else None
    return reached(machine.TABLE.step(state, seen)) == expected


def one_start(state: ClaimState, seen: Begin) -> bool:
    """CLM.C2: The claim's own epoch may only admit, a later one only repair, as claimed.

    post: __return__
    """
    expected: ClaimState | None = None
    if isinstance(state, Claimed) and seen.binding is Binding.SAME:
        if seen.kind is Kind.ADMISSION and seen.epoch == state.epoch:
            expected = Admitted()
        if seen.kind is Kind.REPAIR and seen.epoch > state.epoch:
            expected = Repaired()
    return reached(machine.TABLE.step(state, seen)) == expected


def second_claim_meets_the_first(state: Claimed | Admitted | Repaired, seen: Make) -> bool:
    """CLM.C3: A second claim of a boundary is answered with the one that exists.

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.CLAIM_EXISTING


def start_is_final(state: Admitted | Repaired, seen: Begin) -> bool:
    """CLM.C4: A started claim starts no second time, and the refusal says so.

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.CLAIM_STARTED
