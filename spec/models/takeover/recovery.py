"""What a recovering owner does: decision tables say what, lifecycles whether (OWN-4)."""

from typing import Final

from ....machines.lifecycles import host, interaction, lease, operation, run
from ....machines.recovery.operations import Leftover, Settlement, Sight
from ....machines.recovery.runs import Orphan, Repair
from ..act import Act, bit
from .owner import expires
from .unit import Actions, Unit
from .world import Laws, Owner, Scope, World

_SAME = operation.Match.SAME
_SIGHTS: Final = {
    Sight.EXPECTED: operation.Sight.EXPECTED,
    Sight.PRIOR: operation.Sight.PRIOR,
    Sight.DIVERGED: operation.Sight.DIVERGED,
    Sight.UNREADABLE: operation.Sight.UNREADABLE,
}
_VERDICTS: Final = {
    Settlement.INTERRUPT: operation.Verdict.COMPLETED,
    Settlement.FINALISE: operation.Verdict.COMPLETED,
    Settlement.PARK_BY_KEY: operation.Verdict.BY_KEY,
    Settlement.PARK_PRIOR: operation.Verdict.PRIOR,
    Settlement.PARK_DIVERGED: operation.Verdict.DIVERGED,
    Settlement.PARK_UNREADABLE: operation.Verdict.UNREADABLE,
}
_RESTS = (Settlement.NOTHING, Settlement.WORKER_ALIVE, Settlement.KEEP_UNKNOWN)
_KEPT = (Repair.NOTHING, Repair.ALIVE, Repair.KEEP_WAITING)


def recovers(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the next things recovery may do; a crash may come between any two."""
    earlier = bit(owner.epoch) - 1
    unit = Unit(laws, world, owner)
    unit.move_lease(
        lease.Gone(
            epoch=owner.epoch,
            gone=owner.epoch - 1,
            workers=world.workers & earlier != 0,
        )
    )
    yield from unit.commit("proves the others gone")
    if isinstance(world.run, run.Active | run.Stopping):
        settlements = [_settlement(laws, world, owner, at) for at in range(len(world.works))]
        for at, settlement in enumerate(settlements):
            yield from _settles(scope, laws, world, owner, at, settlement)
        if not all(settlement in _RESTS for settlement in settlements):
            return
        repair = laws.run_repair.answer(
            Orphan(
                state=world.run,
                gone=_gone(laws, world, world.run.epoch),
                due=world.due,
                released=False,
                continuation=False,
            )
        )
        yield from _repairs(laws, world, owner, repair)
        if repair not in _KEPT:
            return
    yield from _is_ready(scope, laws, world, owner)


def _gone(laws: Laws, world: World, epoch: int) -> bool:
    return not laws.waits_for_the_dead or world.lease.gone >= epoch


def _settlement(laws: Laws, world: World, owner: Owner, at: int) -> Settlement:
    work = world.works[at]
    return laws.leftovers.answer(
        Leftover(state=work.state, gone=_gone(laws, world, work.epoch), sight=owner.looks[at])
    )


def _settles(
    scope: Scope, laws: Laws, world: World, owner: Owner, at: int, settlement: Settlement
) -> Actions:
    """Yield the look, or the one unit of recovery facts of an operation (OP-4)."""
    if settlement is Settlement.OBSERVE:
        yield from _looks(world, owner, at)
        return
    if settlement in laws.retries:
        yield from _starts_again(scope, laws, world, owner, at)
    if settlement in _RESTS:
        return
    work, sight = world.works[at], owner.looks[at]
    gone = _gone(laws, world, work.epoch)
    unit = Unit(laws, world, owner)
    if sight is not Sight.NOT_YET:
        unit.move_run(run.Recovery(epoch=owner.epoch))
        unit.move_operation(at, operation.Observation(sight=_SIGHTS[sight], gone=gone))
    outcome = {
        Settlement.INTERRUPT: operation.Via.INTERRUPTED,
        Settlement.FINALISE: operation.Via.RECONCILED,
    }.get(settlement)
    if outcome is not None:
        unit.move_run(run.Settled(epoch=owner.epoch, via=run.Via.RECOVERY))
        unit.move_operation(at, operation.Outcome(epoch=owner.epoch, via=outcome, gone=gone))
    unit.move_run(run.Recovery(epoch=owner.epoch))
    verdict = _VERDICTS[settlement]
    unit.move_operation(at, operation.Decision(verdict=verdict, gone=gone, evidence=_SAME))
    yield from unit.commit(f"{settlement}({at})", works={at: work._replace(seen=sight)})


def _starts_again(scope: Scope, laws: Laws, world: World, owner: Owner, at: int) -> Actions:
    """Yield a second T1 of an operation: what the tables of production never admit."""
    work, epoch = world.works[at], owner.epoch
    unit = Unit(laws, world, owner)
    unit.move_operation(
        at,
        operation.Dispatch(
            epoch=epoch,
            mode=scope.modes[at],
            local=True,
            action=_SAME,
            grant=operation.Grant.NONE,
            retry=operation.Retry.NONE,
        ),
    )
    again = work._replace(starts=work.starts + 1, epoch=epoch, owed=work.owed | bit(epoch))
    yield from unit.commit(f"T1({at}) again", works={at: again})


def _looks(world: World, owner: Owner, at: int) -> Actions:
    """Yield what the effect may look like; files may also have been changed by others."""
    happened = world.works[at].effects > 0
    for sight in (Sight.EXPECTED if happened else Sight.PRIOR, Sight.DIVERGED, Sight.UNREADABLE):
        looks = (*owner.looks[:at], sight, *owner.looks[at + 1 :])
        after = world._replace(
            owners=tuple(one._replace(looks=looks) if one is owner else one for one in world.owners)
        )
        yield Act(owner.epoch, f"sees {sight}({at})", writes=False), after, ()


def _repairs(laws: Laws, world: World, owner: Owner, repair: Repair) -> Actions:
    """Yield the unit that closes a run, or a request to a person whose deadline passed."""
    if repair is Repair.EXPIRE:
        for at, work in enumerate(world.works):
            if isinstance(work.ask, interaction.Open):
                yield from expires(laws, world, owner, at)
    elif repair not in _KEPT:
        unit = Unit(laws, world, owner)
        aborted = repair is Repair.ABORT
        unit.close_run(run.Status.ABORTED if aborted else run.Status.FAILED, released=False)
        yield from unit.commit(f"repairs: {repair}")


def _is_ready(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the end of recovery; without proof only when a later owner may still come (OWN-2)."""
    if world.lease.gone < owner.epoch - 1 and owner.epoch == scope.epochs:
        return
    done = laws.host.step(owner.state, host.Recovered(trace=True))
    if isinstance(done, tuple):
        fresh = Owner(done[0], owner.epoch, (Sight.NOT_YET,) * len(owner.looks))
        owners = tuple(fresh if one is owner else one for one in world.owners)
        yield Act(owner.epoch, "is ready", writes=False), world._replace(owners=owners), (done[1],)
