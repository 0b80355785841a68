"""Put the takeover model together: one world, everybody in it, and what must hold."""

from collections.abc import Iterable
from functools import partial

from ....machines.lifecycles import host
from ...explorer import Action, Model
from ...invariant import Invariant
from ..act import changes
from . import outside, owner, recovery
from .promises import PROMISES
from .unit import Unit
from .world import Laws, Owner, Scope, World, production, start


def takeover(
    scope: Scope, laws: Laws | None = None, reached: tuple[Invariant, ...] = ()
) -> Model[World]:
    """Return the model of a scope, under the tables of production or of a planted bug."""
    return Model(
        name="takeover",
        initial=lambda: (start(scope),),
        actions=partial(_actions, scope, laws or production()),
        invariants=(*PROMISES, *reached),
        canonical=_in_order,
        show=changes(World._fields, start(scope)),
    )


def _actions(scope: Scope, laws: Laws, world: World) -> Iterable[Action[World]]:
    yield from outside.opens(scope, laws, world)
    yield from outside.workers_act(scope, world)
    yield from outside.deadline_passes(world)
    for one in world.owners:
        yield from outside.dies(scope, world, one)
        yield from owner.hands_over(world, one)
        if not Unit(laws, world, one).refused:
            yield from _owns(scope, laws, world, one)


def _owns(scope: Scope, laws: Laws, world: World, one: Owner) -> Iterable[Action[World]]:
    """Yield what an owner that is not fenced may do in its phase."""
    match one.state:
        case host.Recovering():
            yield from recovery.recovers(scope, laws, world, one)
            yield from outside.drains(scope, laws, world, one)
        case host.Ready():
            yield from owner.works_on(scope, laws, world, one)
            yield from owner.settles(laws, world, one)
            yield from outside.drains(scope, laws, world, one)
        case host.Draining():
            yield from owner.settles(laws, world, one)
            yield from owner.closes(laws, world, one)
        case host.Opening() | host.Closed() | host.Failed():
            pass


def _in_order(world: World) -> World:
    """Return the same world with its processes in order: which of them is which does not matter."""
    return world._replace(owners=tuple(sorted(world.owners, key=lambda one: one.epoch)))
