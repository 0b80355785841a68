"""A few processes that let histories happen side by side, each one history after another."""

import contextlib
import gc
import importlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from types import MappingProxyType
from typing import Final

import attrs

from ..launch import interpreter
from ..matrix import scratch_base
from ..promises import SURVIVES
from ..wire import decode, encode
from ..workload import Finding, import_path
from .history import History, remove, run_history

HISTORIES: Final[Mapping[str, int]] = MappingProxyType({"ci": 40, "deep": 5_000})
"""How many histories each profile lets happen."""


@attrs.frozen(kw_only=True)
class Order:
    """One history for one process; `seconds_max` is the real time of one owner."""

    seed: int
    home: str
    seconds_max: int


@attrs.frozen(kw_only=True)
class Course:
    """Which histories are run.

    Attributes:
        histories: How many, from `seed` on.
        jobs: How many side by side.
        seconds_max: Real time of one owner.
    """

    histories: int
    seed: int
    jobs: int
    seconds_max: int


def serve() -> None:
    """Run the histories whose orders stand on standard input, one a line; answer each by a line.

    Everything that an owner needs is imported, and no connection was ever opened here: the owners
    are forks of this process.
    """
    importlib.import_module("anyio._backends._trio")
    gc.collect()
    gc.freeze()  # A collection in a child would copy every page of the parent.
    for line in sys.stdin:
        order = decode(Order, line)
        home = Path(order.home)
        history = run_history(order.seed, home, seconds_max=order.seconds_max)
        remove(home)
        sys.stdout.write(encode(history) + "\n")
        sys.stdout.flush()


def run_histories(course: Course) -> Iterator[History]:
    """Let as many histories happen, and yield what came of each, in the order of the seeds."""
    with (
        tempfile.TemporaryDirectory(prefix="crashlab-simulate-", dir=scratch_base()) as scratch,
        _hired(min(course.jobs, course.histories)) as hands,
        ThreadPoolExecutor(course.jobs) as pool,
    ):
        work = partial(_work, hands, Path(scratch), course.seconds_max)
        yield from pool.map(work, range(course.seed, course.seed + course.histories))


Hands = SimpleQueue["subprocess.Popen[str]"]


@contextlib.contextmanager
def _hired(jobs: int) -> Generator[Hands]:
    """Start processes and end them with the block."""
    hands: Hands = SimpleQueue()
    started = [_start() for _ in range(jobs)]
    for process in started:
        hands.put(process)
    try:
        yield hands
    finally:
        while not hands.empty():
            _end(hands.get())


def _start() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        interpreter("crashworthy.crashlab.simulation.hands", "serve"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # an interrupt ends the driver, and the driver ends us
        env={**os.environ, "PYTHONPATH": import_path()},
    )


def _end(process: "subprocess.Popen[str]") -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    process.wait()
    process.stdout.close()


def _work(hands: Hands, scratch: Path, seconds_max: int, seed: int) -> History:
    """Let one free process run one history; one that is lost is a finding, and is replaced."""
    order = Order(seed=seed, home=str(scratch / str(seed)), seconds_max=seconds_max)
    process = hands.get()
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(encode(order) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    if line.endswith("\n"):
        hands.put(process)
        return decode(History, line)
    _end(process)
    hands.put(_start())
    finding = Finding(promise=SURVIVES.id, detail=f"the lab's process ended: {process.returncode}")
    return History(
        seed=seed,
        owners=(),
        facts=0,
        digest="",
        deaths=0,
        told=(),
        rows=(),
        findings=(finding,),
    )
