"""The world of the messages model: a queue, the turns of a session, and one owner after another."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import attrs

from ....machines.lifecycles import host, lease, message, run
from ....machines.recovery import runs as repairs
from ....machines.recovery.decision import DecisionTable
from ..act import Act
from ..law import Law


@attrs.frozen(kw_only=True)
class Scope:
    """How much may happen; every history within these bounds is looked at.

    Attributes:
        messages: How many messages a person may send.
        turns: How many runs the session may have.
        epochs: How many owners there may be.
    """

    messages: int
    turns: int
    epochs: int


@attrs.frozen(kw_only=True, eq=False)
class Laws:
    """The tables that everybody obeys.

    Attributes:
        hands_back: The unit that ends a run returns the queued steering (LOG-4a).
    """

    lease: Law[lease.LeaseState, lease.LeaseSeen]
    host: Law[host.HostState, host.HostSeen]
    run: Law[run.RunState, run.RunSeen]
    message: Law[message.MessageState, message.MessageSeen]
    run_repair: DecisionTable[repairs.Orphan, repairs.Repair]
    hands_back: bool = True


def production() -> Laws:
    """Return the tables of production, as they stand in their modules now."""
    return Laws(
        lease=Law(lease.TABLE),
        host=Law(host.TABLE),
        run=Law(run.TABLE),
        message=Law(message.TABLE),
        run_repair=repairs.RUN_REPAIR,
    )


class Owner(NamedTuple):
    """The host process that owns the root."""

    state: host.HostState
    epoch: int


class Letter(NamedTuple):
    """One message: its ledger state, and what really became of it.

    Attributes:
        turn: The turn that was open when it was sent, 0 for none.
        delivered: How many texts carry it.
        reached: The turn whose text carries it, 0 for none.
    """

    state: message.MessageState
    turn: int = 0
    delivered: int = 0
    reached: int = 0


class World(NamedTuple):
    """Everything there is; `turn` numbers the newest run, and `run` is its state."""

    lease: lease.LeaseState
    owner: Owner | None
    run: run.RunState
    letters: tuple[Letter, ...]
    turn: int = 0


Actions: TypeAlias = Iterator[tuple[Act, World, tuple[str, ...]]]


def start(scope: Scope) -> World:
    """Return the world before anybody opened the root."""
    return World(
        lease=lease.TABLE.start,
        owner=None,
        run=run.TABLE.start,
        letters=(Letter(message.Absent()),) * scope.messages,
    )


def is_open(world: World) -> bool:
    """Say whether the newest run is open."""
    return not isinstance(world.run, run.Absent | run.Ended)
