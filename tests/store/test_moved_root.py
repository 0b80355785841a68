"""An owner whose root was moved, replaced or removed writes nothing more, anywhere (OWN-5)."""

import shutil
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from crashworthy.machines.facts.ids import RootId
from crashworthy.store.blobs import BlobStore
from crashworthy.store.ownership.errors import LockReplacedError
from crashworthy.store.sqlite import SqliteStore, open_store
from crashworthy.store.verify import verify

from .tale import Tale

Harm = Callable[[Path], None]


@contextmanager
def opened(path: Path) -> Generator[SqliteStore]:
    store = open_store(
        path, host="h", since="now", new_root_id=lambda: RootId(f"root_{path.parent.name}")
    )
    with closing(store):
        yield store


def blobs_of(store: SqliteStore) -> BlobStore:
    assert store.tenure is not None
    return BlobStore(
        place=store.tenure.root.blobs, is_named=lambda _blob: False, in_place=store.tenure.check
    )


def move(root: Path) -> None:
    root.rename(root.with_name("moved"))


def remove(root: Path) -> None:
    shutil.rmtree(root)


def replace(root: Path) -> None:
    """Put another root, with a session of its own, where this one was."""
    move(root)
    with opened(root) as other:
        Tale(session="other", store=other).begun()


def put_a_file_there(root: Path) -> None:
    move(root)
    root.write_text("no root")


HARMS = pytest.mark.parametrize(
    "harm", [move, remove, replace, put_a_file_there], ids=lambda one: one.__name__
)


@HARMS
@pytest.mark.proves("OWN-5")
def test_nothing_is_acknowledged_where_nobody_will_find_it(tmp_path: Path, harm: Harm) -> None:
    root = tmp_path / "root"
    with opened(root) as store:
        Tale(session="mine", store=store).begun()
        harm(root)

        with pytest.raises(LockReplacedError):
            Tale(session="lost", store=store).begun()
        with pytest.raises(LockReplacedError):
            blobs_of(store).put(b"data")

    if harm in (move, replace, put_a_file_there):
        assert verify(tmp_path / "moved").facts == 1
        assert not (tmp_path / "moved" / "blobs").exists()
    if harm is replace:
        assert verify(root).facts == 1
        assert not (root / "blobs").exists()


@pytest.mark.proves("OWN-5")
def test_root_that_is_put_back_is_written_again(tmp_path: Path) -> None:
    root = tmp_path / "root"
    with opened(root) as store:
        move(root)
        with pytest.raises(LockReplacedError):
            Tale(session="one", store=store).begun()
        (tmp_path / "moved").rename(root)

        Tale(session="two", store=store).begun()
        blobs_of(store).put(b"data")

    report = verify(root)
    assert (report.facts, report.total) == (1, 0)


@pytest.mark.proves("OWN-5")
def test_alias_that_is_turned_elsewhere_takes_no_fact_with_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    alias = tmp_path / "alias"
    alias.symlink_to(tmp_path / "a")
    with opened(alias / "root") as store:
        Tale(session="mine", store=store).begun()
        with opened(tmp_path / "b" / "root") as other:
            Tale(session="other", store=other).begun()
            alias.unlink()
            alias.symlink_to(tmp_path / "b")

            with pytest.raises(LockReplacedError):
                Tale(session="lost", store=store).begun()
            with pytest.raises(LockReplacedError):
                blobs_of(store).put(b"data")

    assert verify(tmp_path / "a" / "root").facts == verify(tmp_path / "b" / "root").facts == 1
    assert not (tmp_path / "b" / "root" / "blobs").exists()


@pytest.mark.proves("OWN-5")
@pytest.mark.parametrize("name", ["ledger.sqlite3", "ledger.sqlite3-wal"])
@pytest.mark.parametrize("put_back", [False, True], ids=["removed", "backup put there"])
def test_nothing_is_acknowledged_into_a_file_that_is_gone(
    tmp_path: Path, name: str, *, put_back: bool
) -> None:
    """The root is where it was, but what it names is not what SQLite writes."""
    root = tmp_path / "root"
    with opened(root) as store:
        tale = Tale(session="mine", store=store).begun()
        shutil.copy(root / name, tmp_path / "backup")
        (root / name).unlink()
        if put_back:
            shutil.copy(tmp_path / "backup", root / name)

        with pytest.raises(LockReplacedError) as caught:
            tale.running()

    assert caught.value.path == str(root / name)
