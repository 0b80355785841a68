"""How long a host takes to be ready: beside many sessions, and over what a killed one left."""

import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import attrs
import trio

from ...actors.host import HostSettings, open_host
from ...actors.runtime import tell_history
from ...machines.facts.vocabulary import Finish
from ...store.journal import writers
from ...store.journal.ends import EndRun
from ...store.journal.orders import Order
from ...store.sqlite import SqliteStore
from ..workloads.ownership import abandon
from ..workloads.teller import Teller
from .figure import Figure, at_most
from .ground import CALLS_A_STEP, TEXTS_A_STEP, WORDS, Sizes, Together, made, opened

OPEN_MS: Final = 300.0
REPAIR_MS: Final = 1_000.0
OPENINGS: Final = 5
REPAIRS: Final = 3

_TOGETHER: Final = 200


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
        store = made(place, name=name)
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
