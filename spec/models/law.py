"""A production table as a model obeys it: asked again and again, computed once."""

from typing import Generic, TypeVar

import attrs

from ...machines.lifecycles.table import Refused, Table

S = TypeVar("S")
E = TypeVar("E")


@attrs.frozen(kw_only=True, eq=False)
class Law(Generic[S, E]):
    """One table; a model of millions of steps meets the same pair many thousand times."""

    table: Table[S, E]
    _known: dict[tuple[S, E], tuple[S, str] | Refused] = attrs.field(init=False)

    @_known.default
    def _nothing_known(self) -> dict[tuple[S, E], tuple[S, str] | Refused]:
        return {}

    def step(self, state: S, seen: E) -> tuple[S, str] | Refused:
        """Return what the table makes of `seen` in `state`."""
        pair = (state, seen)
        done = self._known.get(pair)
        if done is None:
            done = self._known[pair] = self.table.step(state, seen)
        return done
