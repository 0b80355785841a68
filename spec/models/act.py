"""How a composed model names what happened, and how one transaction of it is made."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ...machines.lifecycles.table import Refused
from ..explorer import readable
from .law import Law

S = TypeVar("S")
E = TypeVar("E")


class Act(NamedTuple):
    """The label of an action: who did it (0: the outside), and what.

    Attributes:
        writes: It committed a transaction.
    """

    epoch: int
    what: str
    writes: bool = True

    def __str__(self) -> str:
        """Return the label as a trace shows it."""
        return f"{f'owner {self.epoch}' if self.epoch else 'outside'}: {self.what}"


class Transaction:
    """A unit in the making: after the first refusal nothing of it counts (MACH-5c)."""

    def __init__(self) -> None:
        """Begin with nothing admitted."""
        self.rows: list[str] = []
        self.refused = False

    def step(self, law: Law[S, E], state: S, seen: E) -> S:
        """Return the state after `seen`, or the same one once anything was refused."""
        if self.refused:
            return state
        done = law.step(state, seen)
        if isinstance(done, Refused):
            self.refused = True
            return state
        self.rows.append(done[1])
        return done[0]


def bit(epoch: int) -> int:
    """Return the bit of an epoch in a set of epochs."""
    return 1 << epoch


def changes(names: Sequence[str], start: tuple[object, ...]) -> Callable[[tuple[object, ...]], str]:
    """Return how a trace shows a world: only what is no longer as it was at the start."""

    def show(world: tuple[object, ...]) -> str:
        told = [
            f"{name}={readable(now)}"
            for name, before, now in zip(names, start, world, strict=True)
            if now != before
        ]
        return ", ".join(told) or "as at the start"

    return show
