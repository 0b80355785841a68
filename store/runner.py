"""Where a commit runs is injected: in one thread, or in place under a virtual clock (STORE-9b)."""

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

import anyio
import anyio.to_thread
import attrs

T = TypeVar("T")


class Runner(Protocol):
    """Runs the store's blocking work, one piece at a time, to its end."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and return its result; once begun it is never abandoned."""
        ...


@attrs.frozen(kw_only=True)
class ThreadRunner:
    """One worker thread behind anyio's door: production.

    Attributes:
        sync_delay_s: Seconds added to each piece, as a slower disk would (benchmarks).
    """

    sync_delay_s: float = 0.0
    _limiter: anyio.CapacityLimiter = attrs.field(
        init=False, factory=lambda: anyio.CapacityLimiter(1)
    )

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread; cancellation is held off until its outcome is known."""
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(
                self._slowed, work, abandon_on_cancel=False, limiter=self._limiter
            )
        return result  # noqa: RET504 - mypy reads a return inside the scope as one that may be lost

    def _slowed(self, work: Callable[[], T]) -> T:
        if self.sync_delay_s > 0:
            time.sleep(self.sync_delay_s)
        return work()


@attrs.frozen(kw_only=True)
class InlineRunner:
    """The caller's own thread: simulation, where a real thread would break the virtual clock.

    Attributes:
        latency_s: Asked before each piece: virtual seconds that it takes.
    """

    latency_s: Callable[[], float] = lambda: 0.0

    async def run(self, work: Callable[[], T]) -> T:
        """Let the latency pass, then run `work` in place."""
        with anyio.CancelScope(shield=True):
            await anyio.sleep(self.latency_s())
        return work()
