"""The claim: at most one continuation of a boundary, decided in one transaction (CONT-3, CONT-4)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class Source(StrEnum):
    """The immediate source as it is now, against what was verified before the transaction."""

    EXACT = "exact"  # one terminal, at the tail, everything as verified
    OPEN = "open"
    CHANGED = "changed"


class Standing(StrEnum):
    """What else stands in the way of a claim."""

    CLEAR = "clear"
    CLAIMED = "claimed"  # source or target ids belong to another claim
    TARGET_USED = "target_used"
    ABANDONED = "abandoned"
    SUPERSEDED = "superseded"  # a later inline run of the session exists


class Kind(StrEnum):
    """Which of the two narrow writers starts the target (CONT-4)."""

    ADMISSION = "admission"
    REPAIR = "repair"


class Binding(StrEnum):
    """Whether the start repeats the claim's boundary, source, profile and replay exactly."""

    SAME = "same"
    OTHER = "other"


@attrs.frozen(kw_only=True)
class Absent:
    """The boundary has no claim."""


@attrs.frozen(kw_only=True)
class Claimed:
    """Acquired: the source is sealed, the target reserved; no start yet."""

    epoch: int


@attrs.frozen(kw_only=True)
class Admitted:
    """The live start is written; only it may reach a provider."""


@attrs.frozen(kw_only=True)
class Repaired:
    """The repair start is written; no provider was or will be called."""


ClaimState: TypeAlias = Absent | Claimed | Admitted | Repaired


@attrs.frozen(kw_only=True)
class Make:
    """The claim record itself."""

    epoch: int
    source: Source
    standing: Standing


@attrs.frozen(kw_only=True)
class Begin:
    """run_opened of the target by one of the start writers."""

    epoch: int
    kind: Kind
    binding: Binding


ClaimSeen: TypeAlias = Make | Begin


def _acquires(_state: Absent, seen: Make) -> bool:
    return seen.source is Source.EXACT and seen.standing is Standing.CLEAR


def _admits(state: Claimed, seen: Begin) -> bool:
    return (
        seen.kind is Kind.ADMISSION and seen.binding is Binding.SAME and seen.epoch == state.epoch
    )


def _repairs(state: Claimed, seen: Begin) -> bool:
    return seen.kind is Kind.REPAIR and seen.binding is Binding.SAME and seen.epoch > state.epoch


# T2/T3: the owner that claimed may go on; a later owner may only close what it finds (CONT-7).
# fmt: off
_ROWS: Final = (
    #    id        from     event  guard      to
    row("CLM.T1", Absent,  Make,  _acquires, Claimed, takes=("epoch",)),
    row("CLM.T2", Claimed, Begin, _admits,   Admitted),
    row("CLM.T3", Claimed, Begin, _repairs,  Repaired),
)
# fmt: on


def _open(_state: Absent, seen: Make) -> bool:
    return seen.source is Source.OPEN


def _changed(_state: Absent, seen: Make) -> bool:
    return seen.source is Source.CHANGED


def _abandoned(_state: Absent, seen: Make) -> bool:
    return seen.standing is Standing.ABANDONED


def _used(_state: Absent, seen: Make) -> bool:
    return seen.standing is Standing.TARGET_USED


def _superseded(_state: Absent, seen: Make) -> bool:
    return seen.standing is Standing.SUPERSEDED


def _unbound(_state: Claimed, seen: Begin) -> bool:
    return seen.binding is Binding.OTHER


TABLE: Final[Table[ClaimState, ClaimSeen]] = Table(
    machine="claim",
    prefix="CLM",
    start=Absent(),
    states=(Absent, Claimed, Admitted, Repaired),
    events=(Make, Begin),
    rows=_ROWS,
    denials=(
        deny(Code.SOURCE_NOT_ENDED, source=Absent, event=Make, when=_open),
        deny(Code.SOURCE_CHANGED, source=Absent, event=Make, when=_changed),
        deny(Code.BOUNDARY_ABANDONED, source=Absent, event=Make, when=_abandoned),
        deny(Code.TARGET_NOT_EMPTY, source=Absent, event=Make, when=_used),
        deny(Code.SUPERSEDED_BY_LATER_TURN, source=Absent, event=Make, when=_superseded),
        deny(Code.CLAIM_CONFLICT, source=Absent, event=Make),
        deny(Code.CLAIM_EXISTING, source=Claimed, event=Make),
        deny(Code.CLAIM_EXISTING, source=Admitted, event=Make),
        deny(Code.CLAIM_EXISTING, source=Repaired, event=Make),
        deny(Code.SOURCE_CHANGED, source=Claimed, event=Begin, when=_unbound),
    ),
    default={
        Absent: Code.CLAIM_MISSING,
        Claimed: Code.RUN_NOT_ATTACHED,
        Admitted: Code.CLAIM_STARTED,
        Repaired: Code.CLAIM_STARTED,
    },
)
