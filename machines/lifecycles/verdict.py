"""The verdict: what a person says about one operation that nobody could settle (OP-4, LOG-8)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class RunIs(StrEnum):
    """The run of the operation, in its own ledger and in the authority rows."""

    OPEN = "open"
    ENDED = "ended"
    CLAIMED = "claimed"


class Generation(StrEnum):
    """Whether the stated generation is the one after the last."""

    NEXT = "next"
    OTHER = "other"


@attrs.frozen(kw_only=True)
class Unjudged:
    """Nobody has spoken."""


@attrs.frozen(kw_only=True)
class Judged:
    """A person has spoken; a later generation may correct it until a claim seals the run."""


VerdictState: TypeAlias = Unjudged | Judged


@attrs.frozen(kw_only=True)
class Give:
    """verdict_given.

    Attributes:
        unsettled: The operation is unknown or parked.
        gone: The owner epoch of its T1 is proven gone (OWN-2).
    """

    run: RunIs
    unsettled: bool
    gone: bool
    generation: Generation


VerdictSeen: TypeAlias = Give


def _gives(_state: Unjudged | Judged, seen: Give) -> bool:
    return (
        seen.run is RunIs.ENDED
        and seen.unsettled
        and seen.gone
        and seen.generation is Generation.NEXT
    )


# fmt: off
_ROWS: Final = (
    #    id        from      event  guard   to
    row("VER.T1", Unjudged, Give,  _gives, Judged),
    row("VER.T2", Judged,   Give,  _gives, Judged),
)
# fmt: on


def _open(_state: Unjudged | Judged, seen: Give) -> bool:
    return seen.run is RunIs.OPEN


def _claimed(_state: Unjudged | Judged, seen: Give) -> bool:
    return seen.run is RunIs.CLAIMED


def _settled(_state: Unjudged | Judged, seen: Give) -> bool:
    return not seen.unsettled


def _alive(_state: Unjudged | Judged, seen: Give) -> bool:
    return not seen.gone


TABLE: Final[Table[VerdictState, VerdictSeen]] = Table(
    machine="verdict",
    prefix="VER",
    start=Unjudged(),
    states=(Unjudged, Judged),
    events=(Give,),
    rows=_ROWS,
    denials=(
        deny(Code.VERDICT_NOT_WANTED, event=Give, when=_settled),
        deny(Code.SEALED_BY_CLAIM, event=Give, when=_claimed),
        deny(Code.RUN_NOT_ENDED, event=Give, when=_open),
        deny(Code.EPOCH_NOT_GONE, event=Give, when=_alive),
    ),
    default={Unjudged: Code.GENERATION_DIFFERS, Judged: Code.GENERATION_DIFFERS},
)
