"""How the lab owns a root: through every production door, and with an end like a process's own."""

from collections.abc import Callable
from pathlib import Path

from ...machines.facts.ids import RootId
from ...store.connect import Connector
from ...store.sqlite import SqliteStore, open_store
from ..workload import Doors

ROOT: RootId = RootId("root_lab")

Open = Callable[[Path, Doors, str], SqliteStore]
"""Opens a root through the doors of the lab, as the host of that name."""


def own(path: Path, doors: Doors, host: str) -> SqliteStore:
    """Own the root at `path` with all that production opens it with; commits run in place."""
    return _own(path, doors, host)


def own_accepting(path: Path, doors: Doors, host: str) -> SqliteStore:
    """Own the root at `path` on the word of a person who accepts whatever is missing (STORE-9a)."""
    return _own(path, doors, host, accept_loss=True)


def _own(path: Path, doors: Doors, host: str, *, accept_loss: bool = False) -> SqliteStore:
    return open_store(
        path,
        host=host,
        since="lab",
        new_root_id=lambda: ROOT,
        connector=Connector(factory=doors.factory),
        probe=doors.probe,
        pause=lambda _seconds: None,
        idle_s=None,
        accept_loss=accept_loss,
    )


def abandon(store: SqliteStore) -> None:
    """End an owner as the end of its process would: nothing is written on the way out."""
    store.writer.batcher.door.close()
    store.reader.close()
    assert store.tenure is not None
    store.tenure.anchor.close()
    store.tenure.release()
