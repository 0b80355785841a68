"""What nobody controls: processes open, die and drain, workers act and end, deadlines pass."""

from ....machines.lifecycles import host, interaction, lease
from ....machines.recovery.operations import Sight
from ..act import Act, bit
from .unit import Actions, with_work
from .world import Laws, Owner, Scope, World

_EFFECTS_MAX = 2  # enough to tell once from more than once


def opens(scope: Scope, laws: Laws, world: World) -> Actions:
    """Yield a new process that takes the root over, also from one that still lives.

    The OS lock forbids the latter, unless its file was replaced: that is how a zombie comes to be.
    """
    if world.lease.epoch >= scope.epochs or len(world.owners) >= scope.processes:
        return
    opened = laws.lease.step(world.lease, lease.Open(epoch=world.lease.epoch + 1, locked=True))
    owned = laws.host.step(laws.host.table.start, host.Owned(anchor=host.Anchor.MATCHES))
    if isinstance(opened, tuple) and isinstance(owned, tuple):
        state, epoch = owned[0], opened[0].epoch
        owner = Owner(state, epoch, (Sight.NOT_YET,) * len(scope.modes))
        after = world._replace(lease=opened[0], owners=(*world.owners, owner))
        yield Act(epoch, "opens the root"), after, (opened[1], owned[1])


def dies(scope: Scope, world: World, owner: Owner) -> Actions:
    """Yield the death of an owner at this point; its worker lives on."""
    if world.lease.epoch < scope.epochs or owner.epoch < world.lease.epoch:
        yield Act(0, f"owner {owner.epoch} dies", writes=False), without(world, owner), ()


def drains(scope: Scope, laws: Laws, world: World, owner: Owner) -> Actions:
    """Yield the wish that an owner close; the last owner that the scope allows stays."""
    done = laws.host.step(owner.state, host.Drain())
    if world.lease.epoch < scope.epochs and isinstance(done, tuple):
        owners = tuple(one._replace(state=done[0]) if one is owner else one for one in world.owners)
        yield Act(owner.epoch, "drains", writes=False), world._replace(owners=owners), (done[1],)


def without(world: World, owner: Owner) -> World:
    """Return the world after a process ended: what only it knew is lost."""
    mine = bit(owner.epoch)
    works = tuple(
        work._replace(owed=work.owed & ~mine, done=work.done & ~mine) for work in world.works
    )
    left = tuple(one for one in world.owners if one is not owner)
    return world._replace(owners=left, works=works)


def workers_act(scope: Scope, world: World) -> Actions:
    """Yield each effect that may happen now, and each death of a worker."""
    living = {owner.epoch for owner in world.owners}
    for epoch in range(1, scope.epochs + 1):
        mine = bit(epoch)
        if not world.workers & mine:
            continue
        for at, work in enumerate(world.works):
            if work.hands & mine:
                acted = work._replace(
                    hands=work.hands & ~mine,
                    done=work.done | (mine if epoch in living else 0),
                    effects=min(work.effects + 1, _EFFECTS_MAX),
                )
                act = Act(0, f"worker {epoch} acts({at})", writes=False)
                yield act, with_work(world, at, acted), ()
        works = tuple(work._replace(hands=work.hands & ~mine) for work in world.works)
        ended = world._replace(workers=world.workers & ~mine, works=works)
        yield Act(0, f"worker {epoch} ends", writes=False), ended, ()


def deadline_passes(world: World) -> Actions:
    """Yield the moment at which an answer comes too late."""
    if not world.due and any(isinstance(work.ask, interaction.Open) for work in world.works):
        yield Act(0, "the deadline passes", writes=False), world._replace(due=True), ()
