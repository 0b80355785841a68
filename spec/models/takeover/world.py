"""The world of the takeover model: what is durable, who lives, and what happened outside."""

from typing import NamedTuple

import attrs

from ....machines.lifecycles import host, interaction, lease, operation, request, run, session
from ....machines.recovery import operations, runs
from ....machines.recovery.decision import DecisionTable
from ..law import Law


@attrs.frozen(kw_only=True)
class Scope:
    """How much may happen; every history within these bounds is looked at.

    Attributes:
        modes: One operation for each, all called in one step, with this recovery contract.
        asked: How many of them, from the first, need a person's approval.
        epochs: How many owners there may be, one after another or (beside a zombie) at once.
        requests: How many model requests there may be.
        processes: How many host processes may live at once.
    """

    modes: tuple[operation.Mode, ...]
    asked: int
    epochs: int
    requests: int
    processes: int = 2


@attrs.frozen(kw_only=True, eq=False)
class Laws:
    """The tables that everybody obeys, and where a planted bug takes something away.

    Attributes:
        waits_for_the_dead: Recovery believes that an epoch is gone only when the lease says so.
        retries: What recovery does not write but runs again: nothing, except in a plant.
    """

    lease: Law[lease.LeaseState, lease.LeaseSeen]
    host: Law[host.HostState, host.HostSeen]
    session: Law[session.SessionState, session.SessionSeen]
    run: Law[run.RunState, run.RunSeen]
    request: Law[request.RequestState, request.RequestSeen]
    operation: Law[operation.OperationState, operation.OperationSeen]
    interaction: Law[interaction.InteractionState, interaction.InteractionSeen]
    leftovers: DecisionTable[operations.Leftover, operations.Settlement]
    run_repair: DecisionTable[runs.Orphan, runs.Repair]
    waits_for_the_dead: bool = True
    retries: frozenset[operations.Settlement] = frozenset()


def production() -> Laws:
    """Return the tables of production, as they stand in their modules now."""
    return Laws(
        lease=Law(lease.TABLE),
        host=Law(host.TABLE),
        session=Law(session.TABLE),
        run=Law(run.TABLE),
        request=Law(request.TABLE),
        operation=Law(operation.TABLE),
        interaction=Law(interaction.TABLE),
        leftovers=operations.LEFTOVERS,
        run_repair=runs.RUN_REPAIR,
    )


class Owner(NamedTuple):
    """A host process that believes it owns the root; all of it is lost when it dies.

    Attributes:
        epoch: The epoch it opened with; another process may have opened a later one since.
        looks: What its recovery saw of each operation's effect.
    """

    state: host.HostState
    epoch: int
    looks: tuple[operations.Sight, ...]


class Work(NamedTuple):
    """One operation: its ledger state, its request to a person, and what really happens.

    Epochs are kept as bits, because a bug may let two of them act for one operation.

    Attributes:
        starts: How many T1 are durable.
        epoch: The epoch of the last T1, 0 before it.
        owed: Owners that hold a T1 which they have not handed to a worker yet.
        hands: Workers that will act, now or much later.
        done: Owners that were told of the effect and have not stored it yet.
        effects: How often it happened outside.
        seen: What recovery wrote that it saw.
    """

    state: operation.OperationState
    ask: interaction.InteractionState
    starts: int = 0
    epoch: int = 0
    owed: int = 0
    hands: int = 0
    done: int = 0
    effects: int = 0
    seen: operations.Sight = operations.Sight.NOT_YET


class World(NamedTuple):
    """Everything there is.

    Attributes:
        owners: The living host processes.
        workers: The epochs whose workers live, as bits; they outlive their host.
        due: The deadline of the requests to a person has passed.
        sent: How many model requests left.
        ends: How many terminals were written.
    """

    lease: lease.LeaseState
    owners: tuple[Owner, ...]
    session: session.SessionState
    run: run.RunState
    request: request.RequestState
    works: tuple[Work, ...]
    workers: int = 0
    due: bool = False
    sent: int = 0
    ends: int = 0


def start(scope: Scope) -> World:
    """Return the world before anybody opened the root."""
    work = Work(state=operation.Absent(), ask=interaction.Absent())
    return World(
        lease=lease.TABLE.start,
        owners=(),
        session=session.Fresh(),
        run=run.TABLE.start,
        request=request.TABLE.start,
        works=(work,) * len(scope.modes),
    )
