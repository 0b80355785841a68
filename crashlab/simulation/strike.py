"""Counts what one owner passes, lets statements of it fail, and kills its process at one place."""

import os
import signal
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Final, Never

import attrs
import trio

from ..counting import Site, watched_by
from ..faults import Injector
from ..workload import Doors
from .plot import End, LifePlan

_PLACE_MAX: Final = 80


@attrs.define(eq=False, kw_only=True)
class Strike(trio.abc.Instrument):
    """Where one owner dies: at the n-th boundary, before the n-th step of any task, or in time.

    A statement is two boundaries, before and after it, and a probe is one (CRASH-1). Death is
    SIGKILL: nothing is unwound and no memory stays, and what was written stays as it was.

    Attributes:
        plan: Says which end, and at which count.
        last_words: Is told the place right before the process dies; writes what outlives it.
        boundaries: How many were passed since the count began.
        steps: How many steps tasks took since then.
        calls: How many orders workers were given.
    """

    plan: LifePlan
    last_words: Callable[[str], None]
    injector: Injector
    boundaries: int = 0
    steps: int = 0
    calls: int = 0
    counts: bool = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Count from the beginning if the opening counts."""
        self.counts = self.plan.opening

    def ready(self) -> None:
        """Begin to count, unless the opening counts."""
        if not self.plan.opening:
            self.boundaries = self.steps = 0
            self.counts = True

    def die_in_time(self) -> None:
        """Die now if that is how this owner ends."""
        if self.plan.end is End.KILLED_IN_TIME:
            self._die("a time of rest")

    async def die_in_call(self) -> None:
        """Count a call that begins; die some time behind it if it is the one."""
        self.calls += 1
        if self.calls == self.plan.at and self.plan.end is End.KILLED_IN_CALL:
            await trio.sleep(self.plan.after_ms / 1000)
            self._die(f"call {self.calls}, {self.plan.after_ms} ms behind its beginning")

    @property
    def doors(self) -> Doors:
        """Return what production is given for its statements and its probes."""
        return Doors(factory=watched_by(_Watch(self)), probe=self.probe)

    def probe(self, name: str) -> None:
        """Count a named step of the host or of a worker; die at it if it is the one."""
        self.pass_boundary(f"probe {name}")

    def pass_boundary(self, place: str) -> None:
        """Count a boundary; die at it if it is the one."""
        self.boundaries += 1
        if self.counts and self.boundaries == self.plan.at and self.plan.end is End.KILLED:
            self._die(f"boundary {self.boundaries}, {place[:_PLACE_MAX]}")

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        """Count a step; die right before it if it is the one (trio.abc.Instrument)."""
        self.steps += 1
        if self.counts and self.steps == self.plan.at and self.plan.end is End.KILLED_AT_STEP:
            self._die(f"step {self.steps}, of {task.name.rpartition('.')[2].rstrip('>')}")

    def _die(self, place: str) -> Never:
        self.last_words(place)
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(1)  # The signal is delivered before `kill` returns; this is for the reader.


@attrs.frozen(eq=False)
class _Watch:
    """What the connections of one owner tell of (counting.Watcher)."""

    strike: Strike

    @property
    def tracing(self) -> bool:
        """Compare nothing: the matrix shows that no statement bypasses the wrapper."""
        return False

    def crossing(self, site: Site) -> AbstractContextManager[None]:
        """Return the frame of one statement."""
        injector = self.strike.injector
        inner = None if injector.fault is None else injector.crossing(site)
        return _Crossing(self.strike, site.name, inner)

    def note_bypass(self, what: str) -> None:
        """Take no note; nothing is traced."""


@attrs.define(eq=False)
class _Crossing(AbstractContextManager[None]):
    """One statement: a boundary, the statement or its failure, a boundary."""

    _strike: Strike
    _name: str
    _inner: AbstractContextManager[None] | None

    def __enter__(self) -> None:
        self._strike.pass_boundary(f"before {self._name}")
        if self._inner is not None:
            self._inner.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None:
        # Also after a statement that raised: what it left behind is a state like any other.
        self._strike.pass_boundary(f"after {self._name}")
        return None if self._inner is None else self._inner.__exit__(kind, error, trace)
