"""The world of the continuation model: a chain of runs, the claims between them, and who claims."""

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import attrs

from ....machines.lifecycles import claim, host, lease, operation, repair, run, session, verdict
from ....machines.recovery import runs as repairs
from ....machines.recovery.decision import DecisionTable
from ..act import Act
from ..law import Law


@attrs.frozen(kw_only=True)
class Scope:
    """How much may happen; every history within these bounds is looked at.

    Attributes:
        continuations: How many claims may follow one another; there is one run more.
        epochs: How many owners there may be.
        control: How many facts of the control ledger a person may add.
        processes: How many host processes may live at once.
    """

    continuations: int
    epochs: int
    control: int
    processes: int = 2


@attrs.frozen(kw_only=True, eq=False)
class Laws:
    """The tables that everybody obeys, and where a planted bug takes something away.

    Attributes:
        looks_at_the_seal: A verdict is told whether a claim seals the run.
        waits_for_the_end: A claim is told whether its source is still open.
    """

    lease: Law[lease.LeaseState, lease.LeaseSeen]
    host: Law[host.HostState, host.HostSeen]
    session: Law[session.SessionState, session.SessionSeen]
    run: Law[run.RunState, run.RunSeen]
    operation: Law[operation.OperationState, operation.OperationSeen]
    verdict: Law[verdict.VerdictState, verdict.VerdictSeen]
    claim: Law[claim.ClaimState, claim.ClaimSeen]
    repair: Law[repair.RepairState, repair.RepairSeen]
    run_repair: DecisionTable[repairs.Orphan, repairs.Repair]
    claim_repair: DecisionTable[repairs.Claim, repairs.ClaimRepair]
    looks_at_the_seal: bool = True
    waits_for_the_end: bool = True


def production() -> Laws:
    """Return the tables of production, as they stand in their modules now."""
    return Laws(
        lease=Law(lease.TABLE),
        host=Law(host.TABLE),
        session=Law(session.TABLE),
        run=Law(run.TABLE),
        operation=Law(operation.TABLE),
        verdict=Law(verdict.TABLE),
        claim=Law(claim.TABLE),
        repair=Law(repair.TABLE),
        run_repair=repairs.RUN_REPAIR,
        claim_repair=repairs.CLAIM_REPAIR,
    )


class Plan(NamedTuple):
    """What an owner verified before it claims; it lives in memory and holds the barrier.

    Attributes:
        source: The run that it wants to continue.
        control: How many facts of the control ledger it rests on.
        claimed: Its claim is durable, its start is not.
    """

    source: int
    control: int
    claimed: bool = False


class Owner(NamedTuple):
    """A host process that believes it owns the root."""

    state: host.HostState
    epoch: int
    plan: Plan | None = None


class World(NamedTuple):
    """Everything there is.

    Attributes:
        runs: Source, first continuation, and so on.
        operation: What the source left: T1 is durable, T2 may still come.
        claims: Between each run and the next.
        repairs: The saga of each claim that nobody started.
        abandoned: The boundaries that a person gave up.
        control: Facts of the control ledger that a plan may rest on.
        made: How often a claim of each boundary was acquired.
        asked: How many model requests left for each run.
        superseded: A later turn exists, so the chain is not the session's newest history.
    """

    lease: lease.LeaseState
    owners: tuple[Owner, ...]
    session: session.SessionState
    runs: tuple[run.RunState, ...]
    operation: operation.OperationState
    verdict: verdict.VerdictState
    claims: tuple[claim.ClaimState, ...]
    repairs: tuple[repair.RepairState, ...]
    abandoned: tuple[bool, ...]
    made: tuple[int, ...]
    asked: tuple[int, ...]
    control: int = 0
    superseded: bool = False


Actions: TypeAlias = Iterator[tuple[Act, World, tuple[str, ...]]]


def start(scope: Scope) -> World:
    """Return the world in which the first owner runs a tool of the source."""
    more = scope.continuations
    source = run.Active(
        epoch=1,
        last=run.Last.CALLS,
        calls=0,
        operations=1,
        asks=0,
        grants=0,
        troubled=False,
    )
    return World(
        lease=lease.Held(epoch=1, gone=0),
        owners=(Owner(host.Ready(), 1),),
        session=session.Fresh(),
        runs=(source, *(run.Absent(),) * more),
        operation=operation.Dispatched(epoch=1, mode=operation.Mode.NEVER, local=True),
        verdict=verdict.Unjudged(),
        claims=(claim.Absent(),) * more,
        repairs=(repair.Idle(),) * more,
        abandoned=(False,) * more,
        made=(0,) * more,
        asked=(0,) * (more + 1),
    )


def free(world: World) -> bool:
    """Say whether the session has no open inline run (RUN-5)."""
    return all(isinstance(one, run.Absent | run.Ended) for one in world.runs)
