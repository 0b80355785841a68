"""Put the messages model together, and state what must hold of every message."""

from collections.abc import Iterable
from functools import partial
from typing import Final, TypeAlias

from ....machines.lifecycles import host, message
from ...explorer import Action, Model
from ...invariant import Invariant, Step, always, attainable, each_step, sometimes
from ..act import changes
from . import acts
from .world import Laws, Scope, World, is_open, production, start

Moment: TypeAlias = Step[World]


def _delivered_once(world: World) -> bool:
    return all(
        letter.delivered == isinstance(letter.state, message.Taken) for letter in world.letters
    )


def _steering_stays_in_its_turn(step: Moment) -> bool:
    for before, after in zip(step.before.letters, step.after.letters, strict=True):
        steered = before.state == message.Queued(intent=message.Intent.STEER)
        if steered and after.delivered > before.delivered and after.reached != before.turn:
            return False
    return True


def _follow_up_opens(step: Moment) -> bool:
    for before, after in zip(step.before.letters, step.after.letters, strict=True):
        follows = before.state == message.Queued(intent=message.Intent.FOLLOW_UP)
        delivered = after.delivered > before.delivered
        if follows and delivered and step.after.turn != step.before.turn + 1:
            return False
    return True


def _nothing_steers_nothing(world: World) -> bool:
    steering = message.Queued(intent=message.Intent.STEER)
    return is_open(world) or all(letter.state != steering for letter in world.letters)


def _fate_is_final(step: Moment) -> bool:
    over = message.Taken | message.Returned | message.Retracted
    pairs = zip(step.before.letters, step.after.letters, strict=True)
    return all(not isinstance(before.state, over) or before == after for before, after in pairs)


def _none_waits(world: World) -> bool:
    return not any(isinstance(letter.state, message.Queued) for letter in world.letters)


DELIVERED_ONCE: Final = always(
    "MSG.I1",
    "A message is in exactly one text if it was taken, and in none otherwise.",
    "The model would read a person's words twice, or never.",
    _delivered_once,
)
OWN_TURN: Final = each_step(
    "MSG.I2",
    "Steering reaches the turn it was sent to, or none.",
    "A correction meant for one task would redirect the next.",
    _steering_stays_in_its_turn,
)
FOLLOW_UP_OPENS: Final = each_step(
    "MSG.I3",
    "A follow-up is delivered only by the opening of a turn.",
    "The next task would leak into the running one.",
    _follow_up_opens,
)
HANDED_BACK: Final = always(
    "MSG.I4",
    "No steering is queued while no run is open.",
    "Words would lie in a queue that nobody reads.",
    _nothing_steers_nothing,
)
FATE_IS_FINAL: Final = each_step(
    "MSG.I5",
    "What became of a message never changes.",
    "A message that was given back would be delivered after all.",
    _fate_is_final,
)
NONE_WAITS: Final = attainable(
    "MSG.I6",
    "From everywhere every message finds its end.",
    "A message would be stuck in the queue for ever.",
    _none_waits,
)
PROMISES: Final[tuple[Invariant, ...]] = (
    DELIVERED_ONCE,
    OWN_TURN,
    FOLLOW_UP_OPENS,
    HANDED_BACK,
    FATE_IS_FINAL,
    NONE_WAITS,
)


def _returned_by_recovery(world: World) -> bool:
    return (
        world.owner is not None
        and isinstance(world.owner.state, host.Recovering)
        and any(isinstance(letter.state, message.Returned) for letter in world.letters)
    )


REACHED: Final[tuple[Invariant, ...]] = (
    sometimes(
        "SCOPE.S9",
        "Recovery finds or hands back returned steering.",
        "Returns over crashes are untested.",
        _returned_by_recovery,
    ),
)


def messages(
    scope: Scope, laws: Laws | None = None, reached: tuple[Invariant, ...] = ()
) -> Model[World]:
    """Return the model of a scope, under the tables of production or of a planted bug."""
    return Model(
        name="messages",
        initial=lambda: (start(scope),),
        actions=partial(_actions, scope, laws or production()),
        invariants=(*PROMISES, *reached),
        canonical=_in_order,
        show=changes(World._fields, start(scope)),
    )


def _actions(scope: Scope, laws: Laws, world: World) -> Iterable[Action[World]]:
    yield from acts.opens(scope, laws, world)
    yield from acts.dies(scope, world)
    if world.owner is not None and isinstance(world.owner.state, host.Recovering):
        yield from acts.recovers(laws, world, world.owner)
    if world.owner is not None and isinstance(world.owner.state, host.Ready):
        yield from acts.serves(scope, laws, world, world.owner)


def _in_order(world: World) -> World:
    """Return the same world with its messages in order: which of them is which does not matter."""
    return world._replace(letters=tuple(sorted(world.letters, key=repr)))
