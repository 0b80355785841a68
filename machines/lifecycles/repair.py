"""The repair: the saga that closes one claim nobody started (CONT-7)."""

from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, row


@attrs.frozen(kw_only=True)
class Idle:
    """Nothing is written."""


@attrs.frozen(kw_only=True)
class Started:
    """The repair start is written; its failed end must follow in the unit."""


@attrs.frozen(kw_only=True)
class Done:
    """Start and end are written; the repaired run may be a source again."""


RepairState: TypeAlias = Idle | Started | Done


@attrs.frozen(kw_only=True)
class Begin:
    """run_opened with cause claim_repair; `startless`: the claim has no start of any kind."""

    startless: bool


@attrs.frozen(kw_only=True)
class Finish:
    """run_ended; `abandoned`: failed as abandoned before any provider was called."""

    abandoned: bool


RepairSeen: TypeAlias = Begin | Finish


def _begins(_state: Idle, seen: Begin) -> bool:
    return seen.startless


def _finishes(_state: Started, seen: Finish) -> bool:
    return seen.abandoned


# fmt: off
_ROWS: Final = (
    #    id        from     event   guard      to
    row("REP.T1", Idle,    Begin,  _begins,   Started),
    row("REP.T2", Started, Finish, _finishes, Done),
)
# fmt: on

TABLE: Final[Table[RepairState, RepairSeen]] = Table(
    machine="repair",
    prefix="REP",
    start=Idle(),
    states=(Idle, Started, Done),
    events=(Begin, Finish),
    rows=_ROWS,
    denials=(),
    default={
        Idle: Code.REPAIR_NOT_STARTED,
        Started: Code.REPAIR_ONLY_FAILS,
        Done: Code.REPAIR_DONE,
    },
    transient=frozenset((Started,)),
)
