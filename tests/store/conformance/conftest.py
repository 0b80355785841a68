"""One suite for every store: a test asks for a part, and runs on the stores that have it."""

from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeAlias

import pytest

from crashworthy.store.memory import MemoryStore, open_memory
from crashworthy.store.port import Store
from crashworthy.store.sqlite import SqliteStore

from ..tale import ROOT, Tale, open_here

TakeOver: TypeAlias = Callable[[], Store]


@pytest.fixture(params=["sqlite", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Store]:
    """A fresh store of each kind: the part `semantics`."""
    opened: Store = open_here(tmp_path / "root") if request.param == "sqlite" else open_memory(ROOT)
    yield opened
    opened.close()


@pytest.fixture
def tale(store: Store) -> Tale:
    """A session that is open in a fresh store."""
    return Tale(store=store).begun()


@pytest.fixture
def take_over(store: Store, tmp_path: Path) -> Generator[TakeOver]:
    """Let a next owner have the store, with every former epoch proven gone."""
    later: list[Store] = []

    def next_owner() -> Store:
        held = later[-1] if later else store
        if isinstance(held, MemoryStore):
            later.append(held.taken_over(gone=True))
        else:
            assert isinstance(held, SqliteStore)
            die(held)
            later.append(open_here(tmp_path / "root"))
        return later[-1]

    yield next_owner
    for opened in later:
        opened.close()


def die(store: SqliteStore) -> None:
    """End an owner as the end of its process would: nothing is written on the way out."""
    store.writer.batcher.door.close()
    store.reader.close()
    assert store.tenure is not None
    store.tenure.anchor.close()
    store.tenure.release()
