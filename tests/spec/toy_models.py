"""Small composed models with switches for planted bugs: two owners and one door, and a counter."""

from collections.abc import Iterator
from typing import NamedTuple

import attrs

from crashworthy.spec.explorer import Action, Model
from crashworthy.spec.invariant import Step, always, attainable, each_step, sometimes


class Doors(NamedTuple):
    """Who is inside, and who holds the key; `spent` counts entries.

    Attributes:
        inside: For each owner, whether it is inside.
        holder: The owner with the key, or None.
    """

    inside: tuple[bool, ...]
    holder: int | None
    spent: int


@attrs.frozen(kw_only=True)
class Bugs:
    """What is wrong in a variant; nothing by default."""

    enters_without_key: bool = False
    keeps_key_forever: bool = False
    entries_count_down: bool = False


ENTRIES_MAX = 2


def _alone(state: Doors) -> bool:
    return sum(state.inside) <= 1


def _counts_up(step: Step[Doors]) -> bool:
    return step.after.spent >= step.before.spent


def _crowded(state: Doors) -> bool:
    return any(state.inside)


def _over(state: Doors) -> bool:
    return state.spent == ENTRIES_MAX and state.holder is None


ALONE = always("DOOR.I1", "At most one owner is inside.", "Two would act at once.", _alone)
COUNTED = each_step("DOOR.I2", "Entries are never uncounted.", "History would change.", _counts_up)
ENDS = attainable("DOOR.I3", "The last entry can always be over.", "Work would hang.", _over)
CROWDED = sometimes("DOOR.I4", "Somebody is inside at times.", "Nothing is shown.", _crowded)


def doors(owners: int, bugs: Bugs | None = None, *, symmetric: bool = False) -> Model[Doors]:
    """Return the model of `owners` owners that share one key."""
    wrong = bugs or Bugs()

    def actions(state: Doors) -> Iterator[Action[Doors]]:
        for owner in range(owners):
            if state.holder is None and state.spent < ENTRIES_MAX:
                yield f"owner {owner} takes the key", state._replace(holder=owner), ("DOOR.T1",)
            may_enter = state.holder == owner or wrong.enters_without_key
            if may_enter and not state.inside[owner] and state.spent < ENTRIES_MAX:
                spent = state.spent - 1 if wrong.entries_count_down else state.spent + 1
                after = Doors(_set(state.inside, owner, value=True), state.holder, spent)
                yield f"owner {owner} enters", after, ("DOOR.T2",)
            if state.inside[owner]:
                holder = state.holder if wrong.keeps_key_forever else None
                after = Doors(_set(state.inside, owner, value=False), holder, state.spent)
                yield f"owner {owner} leaves", after, ("DOOR.T3", "DOOR.T4")

    def canonical(state: Doors) -> Doors:
        """Take the owner that holds the key, or else the one inside, as the first."""
        order = sorted(range(owners), key=lambda o: (state.holder != o, not state.inside[o]))
        inside = tuple(state.inside[o] for o in order)
        return Doors(
            inside, None if state.holder is None else order.index(state.holder), state.spent
        )

    return Model(
        name="doors",
        initial=lambda: (Doors((False,) * owners, None, 0),),
        actions=actions,
        invariants=(ALONE, COUNTED, ENDS, CROWDED),
        canonical=canonical if symmetric else None,
        may_rest=_over,
    )


def _set(flags: tuple[bool, ...], at: int, *, value: bool) -> tuple[bool, ...]:
    return (*flags[:at], value, *flags[at + 1 :])


def grid(side: int) -> Model[tuple[int, int]]:
    """Return a model with exactly side**2 states and 2 * side * (side - 1) edges."""

    def actions(state: tuple[int, int]) -> Iterator[Action[tuple[int, int]]]:
        x, y = state
        if x < side - 1:
            yield "right", (x + 1, y), ()
        if y < side - 1:
            yield "up", (x, y + 1), ()

    corner = attainable(
        "GRID.I1", "The corner stays attainable.", "None.", lambda s: s == (side - 1, side - 1)
    )
    return Model(name="grid", initial=lambda: ((0, 0),), actions=actions, invariants=(corner,))
