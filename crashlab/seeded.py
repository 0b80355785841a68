"""A trio that repeats itself: one seed runs the same tasks in the same order, in one thread."""

import importlib
import random
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar, TypeVarTuple, cast

import trio
from trio.abc import Clock, Instrument

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# Private names of trio, which its own tests and pytest-trio use. A test of ours notices if they go.
_SCHEDULER: Final = "trio._core._run"
_SWITCH: Final = "_ALLOW_DETERMINISTIC_SCHEDULING"
_RANDOM: Final = "_r"


def run_seeded(
    seed: int,
    work: Callable[[], Awaitable[T]],
    *,
    clock: Clock | None = None,
    instruments: Sequence[Instrument] = (),
) -> T:
    """Run `work` to its end; the order of tasks that are ready together follows from `seed`.

    Blocking work runs in place: a thread would come back when the machine lets it, and boundaries
    would be passed in another order each time (threads are sampled by `moments`).

    Args:
        seed: Of the scheduler.
        work: What is run.
        clock: The time that tasks sleep by; None takes the machine's.
        instruments: What is told of every step of a task.
    """
    scheduler = importlib.import_module(_SCHEDULER)
    assert hasattr(scheduler, _SWITCH), "this trio has no deterministic scheduling"
    setattr(scheduler, _SWITCH, True)
    cast("random.Random", getattr(scheduler, _RANDOM)).seed(seed)
    with _no_threads():
        return trio.run(work, clock=clock, instruments=instruments)


@contextmanager
def _no_threads() -> Generator[None]:
    threads = trio.to_thread.run_sync
    # Where production asks trio for a thread; the store's own door is injected (STORE-9b).
    setattr(trio.to_thread, "run_sync", _in_place)  # noqa: B010 - it is a stand-in, not an override
    try:
        yield
    finally:
        setattr(trio.to_thread, "run_sync", threads)  # noqa: B010 - likewise


async def _in_place(work: Callable[[*Ts], T], *args: *Ts, **_options: object) -> T:
    await trio.lowlevel.checkpoint()
    return work(*args)
