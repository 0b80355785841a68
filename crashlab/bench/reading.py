"""What the whole of a log costs: verify, rebuild, load and reopen, at a constant memory."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from ...store.journal.ledger import View
from ...store.journal.records import Stored
from ...store.rebuild import rebuild
from ...store.sqlite import SqliteStore
from ...store.verify import verify
from ..launch import interpreter
from ..wire import decode, encode
from ..workload import import_path
from .clock import spread_ms
from .figure import Figure, at_least, at_most
from .ground import opened

MEMORY_MB_MAX: Final = 200.0
_OPENINGS: Final = 9
_LOADED: Final = 10_000
_PAGE: Final = 500
_MEBIBYTE: Final = 1024 * 1024
# Linux counts kibibytes, macOS bytes.
_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1024


class Task(StrEnum):
    """What goes over a whole log, and is measured in a process of its own."""

    VERIFY = "verify"
    REBUILD = "rebuild"


@attrs.frozen(kw_only=True)
class _Errand:
    task: Task
    place: str
    name: str


@attrs.frozen(kw_only=True)
class _Account:
    """What a task took.

    Attributes:
        clean: Whether it found nothing wrong.
        before_mb: Greatest resident size before it began.
        after_mb: Greatest resident size when it had ended.
    """

    facts: int
    clean: bool
    cpu_s: float
    wall_s: float
    before_mb: float
    after_mb: float


def measure_openings(short: Path, long: Path) -> Figure:
    """Compare reopening a clean root behind a short log with reopening one behind a long log."""
    seconds: dict[Path, list[float]] = {short: [], long: []}
    for _ in range(_OPENINGS):
        for path, times in seconds.items():
            began = time.perf_counter()
            with opened(path.parent, name=path.name):
                times.append(time.perf_counter() - began)
    first, second = spread_ms(seconds[short]).p50, spread_ms(seconds[long]).p50
    return Figure(
        name="open.growth",
        value=second / first,
        unit="ratio",
        target=at_most(1.3, "f"),
        parts={"short_p50_ms": first, "long_p50_ms": second},
    )


def measure_load(store: SqliteStore) -> Figure:
    """Measure reading and decoding ten thousand facts, or all of fewer and in proportion."""
    began = time.perf_counter()
    count = after = 0
    while count < _LOADED:
        page = store.read(partial(_page, after=after))
        if not page:
            break
        for stored in page:
            stored.event()
        count += len(page)
        after = page[-1].place.ordinal
    seconds = time.perf_counter() - began
    return Figure(
        name="load.ms_10k",
        value=1_000 * seconds * _LOADED / count,
        unit="ms",
        parts={"facts": count},
    )


def _page(view: View, *, after: int) -> Sequence[Stored]:
    return view.log(after=after, limit=_PAGE)


def measure_task(task: Task, root: Path) -> list[Figure]:
    """Measure one task over a closed root, in a new interpreter whose memory is its own."""
    errand = _Errand(task=task, place=str(root.parent), name=root.name)
    done = subprocess.run(
        interpreter("crashworthy.crashlab.bench.reading", "run_alone"),
        input=encode(errand).encode(),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": import_path()},
        check=True,
    )
    account = decode(_Account, done.stdout)
    assert account.clean, "what is measured must be whole"
    # A core that does something else meanwhile is not ours: processor time is what a core gives.
    rate = account.facts / account.cpu_s
    least = 15_000 if task is Task.VERIFY else 10_000
    return [
        Figure(
            name=f"{task}.facts_per_s",
            value=rate,
            unit="facts/s",
            target=at_least(least, "e"),
            parts={
                "facts": account.facts,
                "wall_facts_per_s": account.facts / account.wall_s,
            },
        ),
        Figure(
            name=f"{task}.memory_mb",
            value=account.after_mb,
            unit="MB",
            target=at_most(MEMORY_MB_MAX, "e"),
            parts={"before_mb": account.before_mb},
        ),
    ]


def run_alone() -> None:
    """Do the errand that stands on standard input, and account for it on standard output."""
    errand = decode(_Errand, sys.stdin.buffer.read())
    place = Path(errand.place)
    before = _resident_mb()
    if errand.task is Task.VERIFY:
        cpu, wall = time.process_time(), time.perf_counter()
        report = verify(place / errand.name)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        facts, clean = report.facts, not report.total
    else:
        with opened(place, name=errand.name) as store:
            cpu, wall = time.process_time(), time.perf_counter()
            made = rebuild(store)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        facts, clean = made.facts, not made.findings
    account = _Account(
        facts=facts,
        clean=clean,
        cpu_s=cpu,
        wall_s=wall,
        before_mb=before,
        after_mb=_resident_mb(),
    )
    sys.stdout.write(encode(account))


def _resident_mb() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used * _RSS_UNIT / _MEBIBYTE
