"""Time and fresh ids as the runtime gets them: injected, so that simulations replay (LOG-9)."""

import os
import time
from typing import Protocol

import attrs

from ..machines.facts.ids import time_ordered


class Clock(Protocol):
    """Wall time, for display and for durable deadlines; never for order (LOG-9)."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        ...


@attrs.frozen
class SystemClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        """Return milliseconds since the Unix epoch."""
        return time.time_ns() // 1_000_000


_COUNTER_MAX = 0xFFFF
_ENTROPY_BYTES = 8


@attrs.define(eq=False, kw_only=True)
class FreshIds:
    """The production id source: time-ordered, and unlike any other process's (facts.ids.IdSource).

    A clock that steps back does not step the ids back: they go on from the newest time seen.
    """

    clock: Clock
    _ms: int = 0
    _counter: int = 0

    def next_id(self, prefix: str) -> str:
        """Return a fresh id that begins with `prefix` and an underscore."""
        now = self.clock.now_ms()
        if now > self._ms:
            self._ms, self._counter = now, 0
        elif self._counter == _COUNTER_MAX:
            self._ms, self._counter = self._ms + 1, 0
        else:
            self._counter += 1
        return time_ordered(prefix, self._ms, self._counter, os.urandom(_ENTROPY_BYTES))
