"""The lease: at most one owner writes, and what it takes to know that an earlier one is gone (OWN-1, OWN-2)."""

from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


@attrs.frozen(kw_only=True)
class Free:
    """Nobody owns the root. Epochs up to `gone` are proven unable to act."""

    epoch: int
    gone: int


@attrs.frozen(kw_only=True)
class Held:
    """`epoch` owns the root."""

    epoch: int
    gone: int


LeaseState: TypeAlias = Free | Held


@attrs.frozen(kw_only=True)
class Open:
    """A new epoch row; `locked`: the process holds the OS lock on the file the path names."""

    epoch: int
    locked: bool


@attrs.frozen(kw_only=True)
class Write:
    """Any write transaction, by the epoch of its writer."""

    epoch: int


@attrs.frozen(kw_only=True)
class Gone:
    """The proof that no epoch up to `gone` can act: the workers lock was taken exclusively.

    Attributes:
        workers: Whether a worker of such an epoch may live (the lock was not to be had).
    """

    epoch: int
    gone: int
    workers: bool


@attrs.frozen(kw_only=True)
class Close:
    """The owner lets go of the root, its own workers ended: its epoch is gone too (`gone`)."""

    epoch: int
    gone: int
    workers: bool


LeaseSeen: TypeAlias = Open | Write | Gone | Close


def _next(state: Free | Held, seen: Open) -> bool:
    return seen.locked and seen.epoch == state.epoch + 1


def _writes(state: Held, seen: Write) -> bool:
    return seen.epoch == state.epoch


def _proves(state: Held, seen: Gone) -> bool:
    return (
        not seen.workers
        and seen.epoch == state.epoch
        and seen.gone == state.epoch - 1
        and seen.gone > state.gone
    )


def _closes(state: Held, seen: Close) -> bool:
    return not seen.workers and seen.epoch == state.epoch and seen.gone == state.epoch


# T2: a dead owner cannot close its row; whoever holds the OS lock raises the epoch over it (OWN-1).
# T4 and T5 are the only proofs that an epoch is gone, and nothing else settles what it left (OWN-2).
# fmt: off
_ROWS: Final = (
    #    id         from  event  guard     to
    row("LEA.T1",  Free, Open,  _next,    Held, takes=("epoch",)),
    row("LEA.T2",  Held, Open,  _next,    Held, takes=("epoch",)),
    row("LEA.T3",  Held, Write, _writes,  Held),
    row("LEA.T4",  Held, Gone,  _proves,  Held, takes=("gone",)),
    row("LEA.T5",  Held, Close, _closes,  Free, takes=("gone",)),
)
# fmt: on


def _unlocked(_state: Free | Held, seen: Open) -> bool:
    return not seen.locked


def _alive(_state: Held, seen: Gone | Close) -> bool:
    return seen.workers


def _stale(state: Held, seen: Gone | Close) -> bool:
    return seen.epoch != state.epoch


TABLE: Final[Table[LeaseState, LeaseSeen]] = Table(
    machine="lease",
    prefix="LEA",
    start=Free(epoch=0, gone=0),
    states=(Free, Held),
    events=(Open, Write, Gone, Close),
    rows=_ROWS,
    denials=(
        deny(Code.LEASE_HELD, source=Free, event=Open, when=_unlocked),
        deny(Code.LEASE_HELD, source=Held, event=Open, when=_unlocked),
        deny(Code.EPOCH_NOT_NEXT, source=Free, event=Open),
        deny(Code.EPOCH_NOT_NEXT, source=Held, event=Open),
        deny(Code.OWNER_FENCED, source=Held, event=Gone, when=_stale),
        deny(Code.OWNER_FENCED, source=Held, event=Close, when=_stale),
        deny(Code.WORKERS_ALIVE, source=Held, event=Gone, when=_alive),
        deny(Code.WORKERS_ALIVE, source=Held, event=Close, when=_alive),
        deny(Code.EPOCH_NOT_NEXT, source=Held, event=Gone),
        deny(Code.EPOCH_NOT_NEXT, source=Held, event=Close),
    ),
    default={Free: Code.LEASE_NOT_HELD, Held: Code.OWNER_FENCED},
)
