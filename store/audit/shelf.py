"""A mapping of any size in bounded memory: what was not used lately is laid aside."""

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Final, Generic, TypeVar

import attrs

K = TypeVar("K")
V = TypeVar("V")

ROOM: Final = 8_192
"""Entries that stay in memory; half of them are laid aside when it is full."""


@attrs.define(eq=False, kw_only=True)
class Shelf(Generic[K, V]):
    """Values by key; only what was changed is saved again.

    Attributes:
        load: Reads a value that was laid aside, or None.
        save: Writes a value over that of the same key.
        room: How many stay in memory.
        laid_aside: Whether `load` may find anything.
    """

    load: Callable[[K], V | None]
    save: Callable[[V], None]
    room: int = ROOM
    laid_aside: bool = False
    _hot: dict[K, V] = attrs.field(factory=dict[K, V], init=False)
    _changed: set[K] = attrs.field(factory=set[K], init=False)

    def get(self, key: K) -> V | None:
        """Return the value of `key`."""
        value = self._hot.get(key)
        if value is None and self.laid_aside:
            value = self.load(key)
            if value is not None:
                self._keep(key, value)
        return value

    def put(self, key: K, value: V) -> None:
        """Set the value of `key`, which is now the one used last."""
        self._hot.pop(key, None)
        self._changed.add(key)
        self._keep(key, value)

    def flush(self) -> None:
        """Save all that was changed; what is loaded later is what was saved."""
        self._save(self._hot)

    def _keep(self, key: K, value: V) -> None:
        if len(self._hot) >= self.room:
            oldest = list(islice(self._hot, self.room // 2))
            self._save(oldest)
            for old in oldest:
                del self._hot[old]
            self.laid_aside = True
        self._hot[key] = value

    def _save(self, keys: Iterable[K]) -> None:
        for key in keys:
            if key in self._changed:
                self.save(self._hot[key])
                self._changed.discard(key)
