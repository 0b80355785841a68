"""How long a host takes to be ready: beside many sessions, and over what a killed one left."""

import itertools
import statistics
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import trio

from ...actors.host import HostSettings, open_host
from ...actors.runtime import tell_history
from ...machines.facts.vocabulary import Finish
from ...store.connect import Connector
from ...store.journal import writers
from ...store.journal.ends import EndRun
from ...store.journal.orders import Order
from ...store.probe import no_probe
from ...store.sqlite import SqliteStore
from ..workload import Doors
from ..workloads.ownership import abandon, own
from ..workloads.teller import Teller
from .figure import Figure, at_most
from .ground import CALLS_A_STEP, TEXTS_A_STEP, WORDS, Sizes, Together, opened

OPEN_MS: Final = 300.0
REPAIR_MS: Final = 1_000.0
OPENINGS: Final = 5
REPAIRS: Final = 3

_TOGETHER: Final = 200
_PLAIN: Final = Doors(factory=Connector().factory, probe=no_probe)


def measure_hosts(place: Path, sizes: Sizes) -> list[Figure]:
    """Measure from the first look at a root to a host that is ready, recovery included."""
    return [_opening(place, sizes.claims), _repair(place, sizes.facts // 10)]


def _opening(place: Path, sessions: int) -> Figure:
    """Open a root of many closed sessions, each with one whole run."""
    with opened(place, name="sessions") as store:
        told = (order for number in range(sessions) for order in _closed(f"ses{number}"))
        _write(store, told)
        facts = store.heads.now.ordinal
    times = [_ready_ms(place / "sessions") for _ in range(OPENINGS)]
    return Figure(
        name="open.ms_1000_sessions",
        value=statistics.median(times),
        unit="ms",
        target=at_most(OPEN_MS, "f"),
        parts={"sessions": sessions, "facts": facts, "worst_ms": max(times)},
    )


def _repair(place: Path, facts: int) -> Figure:
    """Open a root whose owner was killed in one long run, its newest request unsettled."""
    times: list[float] = []
    length = 0
    for number in range(REPAIRS):
        name = f"left{number}"
        store = own(place / name, _PLAIN, "host_bench")
        _write(store, _left(Teller(session="ses"), facts))
        length = store.heads.now.ordinal
        abandon(store)
        times.append(_ready_ms(place / name))
    return Figure(
        name="repair.ms_10k_run",
        value=statistics.median(times),
        unit="ms",
        target=at_most(REPAIR_MS, "f"),
        parts={"facts": length, "worst_ms": max(times)},
    )


def _ready_ms(root: Path) -> float:
    """Return how long it takes until a host is ready, on a root that somebody owned before."""

    async def ready() -> float:
        began = time.perf_counter()
        async with open_host(HostSettings(root=root, make=False), tell_history):
            return 1_000 * (time.perf_counter() - began)
        raise AssertionError

    return trio.run(ready)


def _write(store: SqliteStore, orders: Iterable[Order[object]]) -> None:
    """Write many orders, a few transactions in all."""
    waiting = iter(orders)
    while some := tuple(itertools.islice(waiting, _TOGETHER)):
        store.write(Together(orders=some))


def _closed(session: str) -> Iterator[Order[object]]:
    """Yield the orders of a session with one turn of words."""
    teller = Teller(session=session)
    yield teller.open_session()
    yield teller.open_run()
    yield writers.dispatch_request(teller.request(1))
    yield writers.settle_step(teller.text(WORDS), teller.settled(Finish.STOP))
    yield EndRun(end=teller.completed())


def _left(teller: Teller, facts: int) -> Iterator[Order[object]]:
    """Yield the orders of a session whose one run has so many facts and no end."""
    yield teller.open_session()
    yield teller.open_run()
    told = 3
    for step in itertools.count(1):
        yield writers.dispatch_request(teller.request(step))
        told += 1
        if told >= facts:
            return
        texts = [teller.text(WORDS) for _ in range(TEXTS_A_STEP)]
        calls = [teller.call(step, at, path=f"dir/{at}") for at in range(1, CALLS_A_STEP + 1)]
        yield writers.settle_step(*texts, *calls, teller.settled(Finish.TOOL_CALLS))
        for call in calls:
            yield writers.dispatch(teller.dispatch(call))
            yield writers.settle(teller.outcome(call))
        told += len(texts) + 3 * len(calls) + 1
