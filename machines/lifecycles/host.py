"""The host: who owns store, workers and recovery in one process, from opening to release (OWN-3)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class Anchor(StrEnum):
    """The log's head against the anchor outside the database (STORE-9a)."""

    MATCHES = "matches"
    BEHIND = "behind"


@attrs.frozen(kw_only=True)
class Opening:
    """Lock, epoch and anchor are being taken and compared; nothing is admitted."""


@attrs.frozen(kw_only=True)
class Recovering:
    """The recorded recovery sequence runs; nothing is admitted (OWN-4)."""


@attrs.frozen(kw_only=True)
class Ready:
    """Work is admitted."""


@attrs.frozen(kw_only=True)
class Draining:
    """Nothing more is admitted; what runs is awaited."""


@attrs.frozen(kw_only=True)
class Closed:
    """Everything was released, the lock last."""


@attrs.frozen(kw_only=True)
class Failed:
    """Opening or closing failed; what was taken is released, or the lock is kept and said so."""

    lock_kept: bool


HostState: TypeAlias = Opening | Recovering | Ready | Draining | Closed | Failed


@attrs.frozen(kw_only=True)
class Owned:
    """The lock is held, the epoch row is durable, the anchor was compared."""

    anchor: Anchor


@attrs.frozen(kw_only=True)
class Recovered:
    """The recovery sequence ended; `trace`: every step of it was recorded."""

    trace: bool


@attrs.frozen(kw_only=True)
class Admit:
    """A start, a request, a tool, an answer, a re-attach."""


@attrs.frozen(kw_only=True)
class Drain:
    """A stop was asked for, or a background task failed."""


@attrs.frozen(kw_only=True)
class Released:
    """Tasks awaited, workers ended, stores closed, in reverse order of taking."""


@attrs.frozen(kw_only=True)
class Broke:
    """Opening or recovery failed; `released`: what had been taken was released."""

    released: bool


@attrs.frozen(kw_only=True)
class Hung:
    """The shutdown's grace passed: a drain marker is durable, the lock is kept until the exit."""


HostSeen: TypeAlias = Owned | Recovered | Admit | Drain | Released | Broke | Hung


def _owns(_state: Opening, seen: Owned) -> bool:
    return seen.anchor is Anchor.MATCHES


def _recovered(_state: Recovering, seen: Recovered) -> bool:
    return seen.trace


def _admits(_state: Ready, _seen: Admit) -> bool:
    return True


def _drains(_state: Opening | Recovering | Ready, _seen: Drain) -> bool:
    return True


def _releases(_state: Draining, _seen: Released) -> bool:
    return True


def _breaks(_state: Opening | Recovering, seen: Broke) -> bool:
    return seen.released


def _breaks_holding(_state: Opening | Recovering, seen: Broke) -> bool:
    return not seen.released


def _hangs(_state: Draining, _seen: Hung) -> bool:
    return True


_GONE: Final = {"lock_kept": False}
_KEPT: Final = {"lock_kept": True}

# The lock is let go in HST.T7 and HST.T8/T10 only, and never before everything else is released.
# fmt: off
_ROWS: Final = (
    #    id         from        event      guard            to
    row("HST.T1",  Opening,    Owned,     _owns,           Recovering),
    row("HST.T2",  Recovering, Recovered, _recovered,      Ready),
    row("HST.T3",  Ready,      Admit,     _admits,         Ready),
    row("HST.T4",  Ready,      Drain,     _drains,         Draining),
    row("HST.T5",  Recovering, Drain,     _drains,         Draining),
    row("HST.T6",  Opening,    Drain,     _drains,         Draining),
    row("HST.T7",  Draining,   Released,  _releases,       Closed),
    row("HST.T8",  Opening,    Broke,     _breaks,         Failed, sets=_GONE),
    row("HST.T9",  Opening,    Broke,     _breaks_holding, Failed, sets=_KEPT),
    row("HST.T10", Recovering, Broke,     _breaks,         Failed, sets=_GONE),
    row("HST.T11", Recovering, Broke,     _breaks_holding, Failed, sets=_KEPT),
    row("HST.T12", Draining,   Hung,      _hangs,          Failed, sets=_KEPT),
)
# fmt: on


TABLE: Final[Table[HostState, HostSeen]] = Table(
    machine="host",
    prefix="HST",
    start=Opening(),
    states=(Opening, Recovering, Ready, Draining, Closed, Failed),
    events=(Owned, Recovered, Admit, Drain, Released, Broke, Hung),
    rows=_ROWS,
    denials=(deny(Code.ACKNOWLEDGED_FACTS_MISSING, source=Opening, event=Owned),),
    default={
        Opening: Code.HOST_NOT_READY,
        Recovering: Code.HOST_NOT_READY,
        Ready: Code.HOST_DRAINING,
        Draining: Code.HOST_DRAINING,
        Closed: Code.HOST_CLOSED,
        Failed: Code.HOST_CLOSED,
    },
)
