"""What one durable fact costs, beside a raw insert and at the end of a long history."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

import attrs
import trio

from ...store.journal.records import Stored
from ...store.runner import ThreadRunner
from ...store.sqlite import SqliteStore
from ..workloads.teller import Teller
from .clock import spread_ms
from .figure import Figure, at_most
from .ground import RawTwin, Sizes, emptied_wal, last_stored, metered, opened, raw_twin, wal_frames
from .singles import KINDS, singles

RAW_SHARE: Final = 1.5
RAW_MORE_MS: Final = 0.25
GROWTH_ROUNDS_MAX: Final = 60
"""Few enough that the short log stays short."""


# --- beside raw SQLite ---


def measure_budget(place: Path, sizes: Sizes) -> list[Figure]:
    """Measure single awaited facts, each beside a raw insert of the row before it of its kind.

    The rounds are interleaved, so that a busy neighbour disturbs both sides alike. Raw comes behind
    ours in one round and before it in the next: a file system that has just synced one file syncs
    the next one at a fraction of the cost, whoever that belongs to.
    """
    ours: dict[str, list[float]] = {}
    raw: dict[str, list[float]] = {}

    async def measure(store: SqliteStore) -> None:
        teller = Teller(session="budget")
        async with trio.open_nursery() as nursery:
            await nursery.start(store.drive)
            await store.submit(teller.open_session())
            rows_of: dict[str, list[Stored]] = {}
            for number, (name, order) in enumerate(singles(teller, sizes.rounds)):
                before = store.heads.now.ordinal
                rows = rows_of.get(name, [])
                raw_first = number // 2 % 2 == 0  # by twos, for T1 and T2 alternate as well
                raw_s = _timed(twin, rows) if raw_first else 0.0
                began = time.perf_counter()
                await store.submit(order)
                our_s = time.perf_counter() - began
                raw_s = raw_s if raw_first else _timed(twin, rows)
                rows_of[name] = last_stored(store, store.heads.now.ordinal - before)
                if name and rows:
                    raw.setdefault(name, []).append(raw_s)
                    ours.setdefault(name, []).append(our_s)
            await store.writer.aclose_queue()

    with opened(place, runner=ThreadRunner()) as store, raw_twin(place) as twin:
        trio.run(measure, store)
    return [_budget(name, ours[name], raw[name]) for name in ours]


def _timed(twin: RawTwin, rows: Sequence[Stored]) -> float:
    began = time.perf_counter()
    twin.insert(rows)
    return time.perf_counter() - began


def _budget(name: str, ours: Sequence[float], raw: Sequence[float]) -> Figure:
    us, them = spread_ms(ours), spread_ms(raw)
    budget_ms = RAW_SHARE * them.p50 + RAW_MORE_MS
    return Figure(
        name=f"append.budget.{name}",
        value=us.p50 / budget_ms,
        unit="ratio",
        target=at_most(1.0, "a"),
        parts={
            "p50_ms": us.p50,
            "p95_ms": us.p95,
            "raw_p50_ms": them.p50,
            "raw_p95_ms": them.p95,
            "budget_ms": budget_ms,
        },
    )


# --- at the end of a history ---


@attrs.define(eq=False, kw_only=True)
class End:
    """The end of one log, where units are measured.

    Attributes:
        seconds: Wall time of each kind of unit, in place and without a scheduler.
        frames: Pages that each adds to the WAL.
        steps: Instructions of SQLite's virtual machine that each takes.
        statements: SQL statements of each, BEGIN and COMMIT included.
        rows: Rows that they return.
    """

    store: SqliteStore
    teller: Teller
    seconds: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])
    frames: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])
    steps: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])
    statements: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])
    rows: dict[str, list[float]] = attrs.field(factory=dict[str, list[float]])


def measure_growth(short: End, long: End, sizes: Sizes) -> list[Figure]:
    """Compare commits at the end of a short log with commits at the end of a long one."""
    rounds = min(sizes.rounds, GROWTH_ROUNDS_MAX)
    ends = (short, long)
    # Side by side: a neighbour that comes and goes must not fall on one of them alone.
    for pair in zip(*(singles(end.teller, rounds) for end in ends), strict=True):
        for end, (name, order) in zip(ends, pair, strict=True):
            began = time.perf_counter()
            end.store.write(order)
            end.seconds.setdefault(name, []).append(time.perf_counter() - began)
    for end in ends:
        for name, order in singles(end.teller, rounds):
            emptied_wal(end.store)
            with metered(end.store) as meter:
                end.store.write(order)
            end.frames.setdefault(name, []).append(wal_frames(end.store))
            end.steps.setdefault(name, []).append(meter.steps)
            end.statements.setdefault(name, []).append(meter.statements)
            end.rows.setdefault(name, []).append(meter.rows)
    return [figure for kind in KINDS for figure in _grown(kind, short, long)]


def _grown(kind: str, short: End, long: End) -> list[Figure]:
    wall = [spread_ms(end.seconds[kind]).p50 for end in (short, long)]
    steps = [fmean(end.steps[kind]) for end in (short, long)]
    frames = [fmean(end.frames[kind]) for end in (short, long)]
    return [
        Figure(
            name=f"append.growth.{kind}",
            value=wall[1] / wall[0],
            unit="ratio",
            target=at_most(1.3, "a"),
            parts={"short_p50_ms": wall[0], "long_p50_ms": wall[1]},
        ),
        Figure(
            name=f"append.growth_steps.{kind}",
            value=steps[1] / steps[0],
            unit="ratio",
            target=at_most(1.15, "a"),
            parts={"short_steps": steps[0], "long_steps": steps[1]},
        ),
        Figure(
            name=f"append.growth_frames.{kind}",
            value=frames[1] / frames[0],
            unit="ratio",
            target=at_most(1.15, "a"),
            parts={"short_frames": frames[0], "long_frames": frames[1]},
        ),
        Figure(
            name=f"append.rows_read.{kind}",
            value=fmean(long.rows[kind]),
            unit="rows",
            parts={"statements": fmean(long.statements[kind])},
        ),
    ]
