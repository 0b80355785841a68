"""A production table as a model obeys it: asked again and again, computed once."""

from typing import Generic, TypeVar

from ...machines.lifecycles.table import Refused, Table

S = TypeVar("S")
E = TypeVar("E")


class Law(Generic[S, E]):
    """One table; a model of millions of steps meets the same pair many thousand times."""

    def __init__(self, table: Table[S, E]) -> None:
        """Obey `table`."""
        self.table = table
        self._known: dict[tuple[S, E], tuple[S, str] | Refused] = {}

    def step(self, state: S, seen: E) -> tuple[S, str] | Refused:
        """Return what the table makes of `seen` in `state`."""
        pair = (state, seen)
        done = self._known.get(pair)
        if done is None:
            done = self._known[pair] = self.table.step(state, seen)
        return done
