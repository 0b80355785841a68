"""Where a commit runs is injected: in one thread, or in place under a virtual clock (STORE-9b)."""

import contextlib
import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeVar

import anyio
import anyio.to_thread
import attrs

T = TypeVar("T")

_GO: Final = b"g"
_END: Final = b"e"


class Runner(Protocol):
    """Runs the store's blocking work, one piece at a time, to its end."""

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` and return its result; once begun it is never abandoned."""
        ...

    def serving(self) -> AbstractAsyncContextManager["Runner"]:
        """Return a runner for many pieces in a row, which may cost less each, for one block."""
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
        kept: list[T] = []
        with anyio.CancelScope(shield=True):
            result = await anyio.to_thread.run_sync(
                self._slowed, work, abandon_on_cancel=False, limiter=self._limiter
            )
            kept.append(result)
        return kept[0]

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncGenerator["Runner"]:
        """Keep one thread for the whole block: a hand-over by two pipes takes a third of the time.

        Whatever the block raises leaves as it is: the group that holds the thread wraps nothing.
        """
        raised: BaseException | None = None
        with contextlib.closing(_Desk(sync_delay_s=self.sync_delay_s)) as desk:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(desk.keep_thread)
                try:
                    yield desk
                except BaseException as error:  # noqa: BLE001 - raised again below
                    raised = error
                finally:
                    desk.dismiss()
            if raised is not None:
                raise raised

    def _slowed(self, work: Callable[[], T]) -> T:
        if self.sync_delay_s > 0:
            time.sleep(self.sync_delay_s)
        return work()


@attrs.define(eq=False, kw_only=True)
class _Desk:
    """A thread that waits at one pipe for work and says at another that it is done."""

    sync_delay_s: float
    _orders: tuple[int, int] = attrs.field(init=False, factory=os.pipe)
    _answers: tuple[int, int] = attrs.field(init=False, factory=os.pipe)
    _work: Callable[[], None] | None = attrs.field(init=False, default=None)
    _error: BaseException | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        os.set_blocking(self._answers[0], False)

    async def run(self, work: Callable[[], T]) -> T:
        """Hand `work` over; cancellation is held off until its outcome is known."""
        kept: list[T] = []
        self._work = lambda: kept.append(work())
        os.write(self._orders[1], _GO)
        try:
            await self._answered()
        except anyio.get_cancelled_exc_class():
            # The scope stays cancelled, so the caller's next checkpoint raises again.
            with anyio.CancelScope(shield=True):
                await self._answered()
        error, self._work, self._error = self._error, None, None
        if error is not None:
            raise error
        return kept[0]

    def serving(self) -> AbstractAsyncContextManager[Runner]:
        """Return itself: it serves already."""
        return contextlib.nullcontext(self)

    async def keep_thread(self) -> None:
        """Hold the thread until `dismiss`."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(
                self._serve, abandon_on_cancel=False, limiter=anyio.CapacityLimiter(1)
            )

    def dismiss(self) -> None:
        """Let the thread end; it has no work, for `run` waits to the end."""
        os.write(self._orders[1], _END)

    def close(self) -> None:
        """Close the pipes, when the thread has ended."""
        for end in (*self._orders, *self._answers):
            os.close(end)

    async def _answered(self) -> None:
        while True:
            await anyio.wait_readable(self._answers[0])
            with contextlib.suppress(BlockingIOError):
                os.read(self._answers[0], 1)
                return

    def _serve(self) -> None:
        while os.read(self._orders[0], 1) == _GO:
            assert self._work is not None
            try:
                if self.sync_delay_s > 0:
                    time.sleep(self.sync_delay_s)
                self._work()
            except BaseException as error:  # noqa: BLE001 - it is the caller's, not the thread's
                self._error = error
            os.write(self._answers[1], _GO)


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

    def serving(self) -> AbstractAsyncContextManager[Runner]:
        """Return itself: there is nothing to keep."""
        return contextlib.nullcontext(self)
