"""The lab's scheduler repeats itself by its seed, and only by its seed."""

import threading

import trio

from crashworthy.crashlab.seeded import run_seeded

TASKS = 12


async def order() -> tuple[int, ...]:
    """Return in which order tasks that are ready together are run, over three rounds."""
    seen: list[int] = []

    async def step(number: int) -> None:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
            seen.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(TASKS):
            nursery.start_soon(step, number)
    return tuple(seen)


def test_same_seed_gives_the_same_order() -> None:
    assert run_seeded(7, order) == run_seeded(7, order)


def test_other_seed_gives_another_order() -> None:
    """Guards the private switch of trio: without it every seed would give the same order."""
    assert len({run_seeded(seed, order) for seed in range(5)}) > 1


def test_blocking_work_runs_in_the_thread_of_the_scheduler() -> None:
    async def where() -> int:
        return await trio.to_thread.run_sync(threading.get_ident)

    assert run_seeded(1, where) == threading.get_ident()
    assert trio.run(where) != threading.get_ident()
