"""What owners, people and the outside may do to a chain of runs, in every order."""

from ....machines.lifecycles import claim, host, lease, operation, run, session, verdict
from ....machines.recovery.runs import Claim, ClaimRepair, Orphan, Repair
from ..act import Act
from .unit import Unit, put
from .world import Actions, Laws, Owner, Plan, Scope, World, free

_KEPT = (Repair.NOTHING, Repair.ALIVE, Repair.KEEP_WAITING)


def opens(scope: Scope, laws: Laws, world: World) -> Actions:
    """Yield a new process that takes the root over, also from one that still lives."""
    if world.lease.epoch >= scope.epochs or len(world.owners) >= scope.processes:
        return
    opened = laws.lease.step(world.lease, lease.Open(epoch=world.lease.epoch + 1, locked=True))
    owned = laws.host.step(laws.host.table.start, host.Owned(anchor=host.Anchor.MATCHES))
    if isinstance(opened, tuple) and isinstance(owned, tuple):
        owner = Owner(owned[0], opened[0].epoch)
        after = world._replace(lease=opened[0], owners=(*world.owners, owner))
        yield Act(owner.epoch, "opens the root"), after, (opened[1], owned[1])


def dies(scope: Scope, world: World, owner: Owner) -> Actions:
    """Yield the death of an owner: its plan and its admission are lost with it."""
    if world.lease.epoch < scope.epochs or owner.epoch < world.lease.epoch:
        left = tuple(one for one in world.owners if one is not owner)
        act = Act(0, f"owner {owner.epoch} dies", writes=False)
        yield act, world._replace(owners=left), ()


def recovers(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the recovery of claims, then of runs, as the decision tables say (OWN-4, CONT-7)."""
    unit = Unit(laws, world, owner)
    unit.move_lease(lease.Gone(epoch=owner.epoch, gone=owner.epoch - 1, workers=False))
    yield from unit.commit("proves the others gone")
    resting = world.lease.gone == owner.epoch - 1
    for at, state in enumerate(world.claims):
        gone = isinstance(state, claim.Claimed) and state.epoch <= world.lease.gone
        if laws.claim_repair.answer(Claim(state=state, gone=gone)) is ClaimRepair.CLOSE:
            resting = False
            unit = Unit(laws, world, owner)
            unit.repair_target(at)
            yield from unit.commit(f"repairs claim {at}")
    if not resting:
        return
    for at, left in enumerate(world.runs):
        if not isinstance(left, run.Active | run.Stopping):
            continue
        orphan = Orphan(
            state=left,
            gone=left.epoch <= world.lease.gone,
            due=False,
            released=False,
            continuation=at > 0,
        )
        repair = laws.run_repair.answer(orphan)
        if repair not in _KEPT:
            resting = False
            unit = Unit(laws, world, owner)
            aborted = repair is Repair.ABORT
            unit.end_run(at, run.Status.ABORTED if aborted else run.Status.FAILED)
            yield from unit.commit(f"repairs run {at}: {repair}")
    done = laws.host.step(owner.state, host.Recovered(trace=True))
    if resting and isinstance(done, tuple):
        owners = tuple(Owner(done[0], one.epoch) if one is owner else one for one in world.owners)
        yield Act(owner.epoch, "is ready", writes=False), world._replace(owners=owners), (done[1],)


def runs_on(laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield what a ready owner does in the runs that are attached to it."""
    epoch, same = owner.epoch, run.Named.SAME
    for at, state in enumerate(world.runs):
        if not isinstance(state, run.Active) or state.epoch != epoch:
            continue
        if at == 0 and isinstance(world.operation, operation.Dispatched):
            unit = Unit(laws, world, owner)
            unit.move_run(at, run.Settled(epoch=epoch, via=run.Via.TOOL))
            unit.move_operation(operation.Outcome(epoch=epoch, via=operation.Via.TOOL, gone=False))
            yield from unit.commit("T2", plan=owner.plan)
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_run(at, run.Request(epoch=epoch, retry=run.Retry.FRESH))
        unit.ask_model(at)
        yield from unit.commit(f"asks the model for run {at}", plan=owner.plan)
        unit = Unit(laws, world, owner)
        unit.move_run(at, run.Settlement(epoch=epoch, request=same, end=run.End.STOP))
        yield from unit.commit(f"hears stop in run {at}", plan=owner.plan)
        unit = Unit(laws, world, owner)
        unit.end_run(at, run.Status.FAILED)
        yield from unit.commit(f"fails run {at}", plan=owner.plan)
        unit = Unit(laws, world, owner)
        unit.end_run(at, run.Status.COMPLETED)
        yield from unit.commit(f"completes run {at}", plan=owner.plan)


def continues(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the two transactions of a continuation, and every way to leave them (CONT-7)."""
    plan = owner.plan
    if plan is None:
        for at, state in enumerate(world.claims):
            opened = isinstance(world.runs[at], run.Ended) or not laws.waits_for_the_end
            if opened and isinstance(state, claim.Absent):
                planned = _planning(world, owner, Plan(at, world.control))
                yield Act(owner.epoch, f"verifies run {at}", writes=False), planned, ()
    elif not plan.claimed:
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_claim(plan.source, _make(laws, world, owner.epoch, plan))
        yield from unit.commit(f"claims run {plan.source}", plan=plan._replace(claimed=True))
        yield Act(owner.epoch, "drops its plan", writes=False), _planning(world, owner, None), ()
    else:
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.open_target(plan.source, claim.Kind.ADMISSION)
        yield from unit.commit(f"starts run {plan.source + 1}")
        if world.lease.epoch < scope.epochs:
            after = _planning(world, owner, None)
            yield Act(owner.epoch, "leaves its claim unsafe", writes=False), after, ()


def _planning(world: World, owner: Owner, plan: Plan | None) -> World:
    owners = tuple(one._replace(plan=plan) if one is owner else one for one in world.owners)
    return world._replace(owners=owners)


def _make(laws: Laws, world: World, epoch: int, plan: Plan) -> claim.Make:
    """Return what the claim transaction sees, against what the plan verified (CONT-3)."""
    source = claim.Source.EXACT
    if world.control != plan.control:
        source = claim.Source.CHANGED
    if not isinstance(world.runs[plan.source], run.Ended) and laws.waits_for_the_end:
        source = claim.Source.OPEN
    standing = claim.Standing.CLEAR
    if world.superseded:
        standing = claim.Standing.SUPERSEDED
    if world.abandoned[plan.source]:
        standing = claim.Standing.ABANDONED
    if not isinstance(world.runs[plan.source + 1], run.Absent):
        standing = claim.Standing.TARGET_USED
    return claim.Make(epoch=epoch, source=source, standing=standing)


def people_speak(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield what a person may say: a verdict, a boundary given up, a new turn."""
    if world.control < scope.control:
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.move_verdict(
            verdict.Give(
                run=_stands(laws, world),
                unsettled=isinstance(world.operation, operation.Dispatched),
                gone=world.lease.gone >= 1,
                generation=verdict.Generation.NEXT,
            )
        )
        unit.note_control()
        yield from unit.commit("records a verdict", plan=owner.plan)
        for at, gone in enumerate(world.abandoned):
            if not gone:
                yield from _abandons(laws, world, owner, at)
    if owner.plan is None and not world.superseded and free(world):
        unit = Unit(laws, world, owner)
        unit.admit()
        unit.open_turn()
        yield from unit.commit("opens a later turn")


def _stands(laws: Laws, world: World) -> verdict.RunIs:
    if not isinstance(world.runs[0], run.Ended):
        return verdict.RunIs.OPEN
    claimed = not isinstance(world.claims[0], claim.Absent) and laws.looks_at_the_seal
    return verdict.RunIs.CLAIMED if claimed else verdict.RunIs.ENDED


def _abandons(laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    stands = session.RunIs.MISSING
    if isinstance(world.runs[at], run.Ended):
        claimed = not isinstance(world.claims[at], claim.Absent)
        stands = session.RunIs.CLAIMED if claimed else session.RunIs.ENDED
    elif not isinstance(world.runs[at], run.Absent):
        stands = session.RunIs.OPEN
    unit = Unit(laws, world, owner)
    unit.admit()
    unit.move_session(session.AbandonBoundary(run=stands))
    unit.note_control()
    for act, after, rows in unit.commit(f"gives boundary {at} up", plan=owner.plan):
        yield act, after._replace(abandoned=put(after.abandoned, at, True)), rows
