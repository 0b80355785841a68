"""A pool of real workers over a temporary root, and orders for it."""

import importlib
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import attrs
import pytest
import trio

from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.effects.files import plan
from crashworthy.actors.tools.paths import Workspace, workspace_boundary
from crashworthy.actors.tools.pool import WorkerPool, open_pool
from crashworthy.actors.tools.process import WorkerSettings
from crashworthy.actors.tools.runner import Audience, Ending, WorkOrder
from crashworthy.machines.facts.canonical import Json
from crashworthy.store.ownership.workers import LeftWorker

SOURCE = Path(__file__).parents[3] / ".src"

PATIENCE_S = 60
"""How long a test waits for another process on a busy machine."""


@attrs.define(eq=False)
class MemoryLog:
    """What a store would know about living workers."""

    living: list[LeftWorker] = attrs.field(factory=list[LeftWorker])
    seen: list[LeftWorker] = attrs.field(factory=list[LeftWorker])

    async def started(self, record: LeftWorker) -> None:
        await trio.lowlevel.checkpoint()
        self.living.append(record)
        self.seen.append(record)

    async def ended(self, record: LeftWorker) -> None:
        await trio.lowlevel.checkpoint()
        self.living.remove(record)


@attrs.define(eq=False, kw_only=True)
class Bench:
    """Runs tools in workers; `shown` is what a person would see live."""

    pool: WorkerPool
    log: MemoryLog
    place: Workspace
    lock: Path
    shown: list[str] = attrs.field(factory=list[str])

    def order(self, tool: Tool, **args: Json) -> WorkOrder:
        evidence = None if tool.effect is None else plan(tool.effect, args, self.place).evidence
        return WorkOrder(
            tool=tool, operation="op-1", args=args, workspace=self.place, evidence=evidence
        )

    async def run(self, tool: Tool, **args: Json) -> Ending:
        audience = Audience(show=self.shown.append, spools=None)
        return await self.pool.run(self.order(tool, **args), audience)


@asynccontextmanager
async def open_bench(home: Path, *, probe: str | None = None) -> AsyncGenerator[Bench]:
    root = home / "work"
    root.mkdir(exist_ok=True)
    found = str(root.resolve())
    place = Workspace(root=found, identity="w-1", boundary=workspace_boundary(found))
    lock, log = home / "workers.lock", MemoryLog()
    settings = WorkerSettings(lock_path=lock, grace_ms=300, probe=probe)
    async with open_pool(settings, log) as pool:
        yield Bench(pool=pool, log=log, place=place, lock=lock)
    assert log.living == []


def play(
    home: Path, scene: Callable[[Bench], Awaitable[None]], *, probe: str | None = None
) -> Bench:
    """Play a scene on a bench of its own, and return the bench when it is closed."""
    benches: list[Bench] = []

    async def main() -> None:
        with trio.fail_after(PATIENCE_S):
            async with open_bench(home, probe=probe) as bench:
                benches.append(bench)
                await scene(bench)

    trio.run(main)
    return benches[0]


def tools_of(module: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tool]:
    """Write a module that workers can import as the host does, and return its tools by name."""
    (home / "tools_of_this_test.py").write_text(module)
    monkeypatch.setattr(sys, "path", [str(home), *sys.path])
    monkeypatch.delitem(sys.modules, "tools_of_this_test", raising=False)
    made = importlib.import_module("tools_of_this_test")
    return lambda name: cast("Tool", vars(made)[name])
