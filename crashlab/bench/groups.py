"""What group commit gains: many runs beside one, and beside the store's own ceiling (STORE-3)."""

import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import trio

from ...store.journal import writers
from ...store.journal.orders import Append
from ...store.runner import ThreadRunner
from ...store.sqlite import SqliteStore
from ..workloads.teller import Teller
from .figure import Figure, at_least
from .ground import WORDS, Sizes, commit_together, opened

SLOW_SYNC_S: Final = 0.005
_ROUNDS: Final = 5


def measure_ceiling_share(place: Path, sizes: Sizes) -> Figure:
    """Compare concurrent runs with the same units in one transaction, round by round."""
    grouped: list[float] = []
    ceiling: list[float] = []

    async def measure(store: SqliteStore) -> None:
        tellers = await _running(store, sizes.runs)
        for _ in range(_ROUNDS):
            # Nobody has handed anything in, so the driver sleeps and the door is ours.
            orders = [_text(teller) for _ in range(sizes.units) for teller in tellers]
            began = time.perf_counter()
            commit_together(store, orders)
            ceiling.append(len(orders) / (time.perf_counter() - began))
            grouped.append(await _rate(store, tellers, sizes.units))

    with opened(place, runner=ThreadRunner()) as store:
        trio.run(_driven, store, measure)
    return Figure(
        name="group_commit.ceiling_share",
        value=median(grouped) / median(ceiling),
        unit="ratio",
        target=at_least(0.6, "c"),
        parts={"facts_per_s": median(grouped), "ceiling_facts_per_s": median(ceiling)},
    )


def measure_gain(place: Path, sizes: Sizes) -> Figure:
    """Compare many runs with one where every sync takes 5 ms more."""
    alone: list[float] = []
    together: list[float] = []

    async def measure(store: SqliteStore) -> None:
        tellers = await _running(store, sizes.runs)
        for _ in range(_ROUNDS):
            alone.append(await _rate(store, tellers[:1], sizes.units))
            together.append(await _rate(store, tellers, sizes.units))

    with opened(place, runner=ThreadRunner(sync_delay_s=SLOW_SYNC_S)) as store:
        trio.run(_driven, store, measure)
    return Figure(
        name=f"group_commit.gain_{sizes.runs}_slow_sync",
        value=median(together) / median(alone),
        unit="ratio",
        target=at_least(15.0, "c"),
        parts={"facts_per_s": median(together), "alone_facts_per_s": median(alone)},
    )


async def _driven(store: SqliteStore, work: Callable[[SqliteStore], Awaitable[None]]) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(store.drive)
        await work(store)
        await store.writer.aclose_queue()


async def _running(store: SqliteStore, count: int) -> list[Teller]:
    """Open so many sessions, each with a run whose model is speaking."""
    tellers = [Teller(session=f"ses-{number}") for number in range(count)]
    for teller in tellers:
        await store.submit(teller.open_session())
        await store.submit(teller.open_run())
        await store.submit(writers.dispatch_request(teller.request(1)))
    return tellers


async def _rate(store: SqliteStore, tellers: Sequence[Teller], units: int) -> float:
    """Return the facts a second of so many tasks, each of which awaits one unit after another."""

    async def speak(orders: Sequence[Append]) -> None:
        for order in orders:
            await store.submit(order)

    told = [[_text(teller) for _ in range(units)] for teller in tellers]
    began = time.perf_counter()
    async with trio.open_nursery() as nursery:
        for orders in told:
            nursery.start_soon(speak, orders)
    return units * len(tellers) / (time.perf_counter() - began)


def _text(teller: Teller) -> Append:
    return writers.add_content(teller.text(WORDS))
