"""The workload `checkpoints` on a store with one sync taken away; the lab has to find each."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar
from unittest import mock

import attrs

from crashworthy.crashlab.workload import Doors, Finding, Stage
from crashworthy.crashlab.workloads.checkpoints import tell_through_checkpoints
from crashworthy.crashlab.workloads.ownership import Open, own
from crashworthy.crashlab.workloads.stagehand import Stagehand
from crashworthy.crashlab.workloads.store import StoreWorkload
from crashworthy.store import blobs
from crashworthy.store.ownership import root
from crashworthy.store.platform import sync_directory
from crashworthy.store.probe import no_probe
from crashworthy.store.sqlite import SqliteStore


class Lax(sqlite3.Connection):
    """Syncs less than it is told to."""

    level: ClassVar[str]

    def execute(self, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
        weaker = sql.replace("synchronous = FULL", f"synchronous = {self.level}")
        return super().execute(weaker, parameters)  # type: ignore[arg-type]  # stubs differ


class Normal(Lax):
    level = "NORMAL"


class Off(Lax):
    level = "OFF"


def own_lax(factory: type[Lax]) -> Callable[[Path, Doors, str], SqliteStore]:
    return lambda path, _doors, host: own(path, Doors(factory=factory, probe=no_probe), host)


def own_with_idle_anchor(path: Path, doors: Doors, host: str) -> SqliteStore:
    store = own(path, doors, host)
    store.writer.checkpointer.anchor = None  # Written all the same, never synced.
    return store


def make_if_missing(path: Path) -> None:
    """Take every directory that is there for durable, as the store once did."""
    if not path.is_dir():
        path.mkdir(mode=0o700)
        sync_directory(path.parent)


@attrs.frozen(kw_only=True)
class Trusting(StoreWorkload):
    """Takes what a killed owner made for durable."""

    def recover(self, stage: Stage) -> None:
        with mock.patch.object(root, "make_directory", make_if_missing):
            super().recover(stage)

    def finish(self, stage: Stage) -> Sequence[Finding]:
        with mock.patch.object(blobs, "make_directory", make_if_missing):
            return super().finish(stage)


def nothing(_argument: object) -> None:
    """Sync nothing."""


def told(open_with: Open = own) -> StoreWorkload:
    return StoreWorkload(name="toy", tell=tell_through_checkpoints, open=open_with)


def told_without(step: str) -> StoreWorkload:
    """Return the workload with one function that blobs are made durable with doing nothing."""

    def tell(hand: Stagehand) -> None:
        with mock.patch.object(blobs, step, nothing):
            tell_through_checkpoints(hand)

    return StoreWorkload(name="toy", tell=tell)


def normal() -> StoreWorkload:
    return told(own_lax(Normal))


def off() -> StoreWorkload:
    return told(own_lax(Off))


def anchor_unsynced() -> StoreWorkload:
    return told(own_with_idle_anchor)


def blob_name_unsynced() -> StoreWorkload:
    return told_without("sync_directory")


def blob_content_unsynced() -> StoreWorkload:
    return told_without("full_sync")


def trusting() -> StoreWorkload:
    return Trusting(name="toy", tell=tell_through_checkpoints)
