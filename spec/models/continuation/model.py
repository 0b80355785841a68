"""Put the continuation model together: one chain, everybody at it, and what must hold."""

from collections.abc import Iterable
from functools import partial

from ....machines.lifecycles import host
from ...explorer import Action, Model
from ...invariant import Invariant
from ..act import changes
from . import acts
from .promises import PROMISES
from .unit import Unit
from .world import Laws, Owner, Scope, World, production, start


def continuation(
    scope: Scope, laws: Laws | None = None, reached: tuple[Invariant, ...] = ()
) -> Model[World]:
    """Return the model of a scope, under the tables of production or of a planted bug."""
    return Model(
        name="continuation",
        initial=lambda: (start(scope),),
        actions=partial(_actions, scope, laws or production()),
        invariants=(*PROMISES, *reached),
        show=changes(World._fields, start(scope)),
    )


def _actions(scope: Scope, laws: Laws, world: World) -> Iterable[Action[World]]:
    yield from acts.opens(scope, laws, world)
    for one in world.owners:
        yield from acts.dies(scope, world, one)
        if not Unit(laws, world, one).refused:
            yield from _owns(scope, laws, world, one)


def _owns(scope: Scope, laws: Laws, world: World, one: Owner) -> Iterable[Action[World]]:
    """Yield what an owner that is not fenced may do in its phase."""
    if isinstance(one.state, host.Recovering):
        yield from acts.recovers(laws, world, one)
    if isinstance(one.state, host.Ready):
        yield from acts.runs_on(laws, world, one)
        yield from acts.continues(scope, laws, world, one)
        yield from acts.people_speak(scope, laws, world, one)
