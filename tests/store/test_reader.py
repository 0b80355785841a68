"""Looking creates nothing, changes nothing, and disturbs nobody."""

import hashlib
import sqlite3
import stat
import tempfile
from pathlib import Path

import pytest

from crashworthy.store.connect import Connector
from crashworthy.store.errors import (
    NeedsUpgradeError,
    SchemaNewerError,
    StorageBusyError,
    StorageReadOnlyError,
    StoreNotFoundError,
)
from crashworthy.store.reader import Reader, open_reader, shm_of, wal_of

from .conftest import StartChild
from .rig import Rig, make_rig


def look(path: Path, newest: int = 1) -> Reader:
    return open_reader(Connector(busy_ms=50), path, newest=newest)


def texts(reader: Reader) -> list[object]:
    return [text for (text,) in reader.fetch("SELECT text FROM rows ORDER BY position")]


def traces(place: Path) -> dict[str, str]:
    """Return what stands in the directory; the WAL index is SQLite's scratch, so only its name."""
    return {
        path.name: ""
        if path.name.endswith("-shm")
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.iterdir()
    }


CRASHING = """
import os, signal, sys
from pathlib import Path
from crashworthy.store.connect import APPLICATION_ID, Connector
connection = Connector().open_owner(Path(sys.argv[1]), newest=1)
for sql in (
    "CREATE TABLE rows (position INTEGER PRIMARY KEY, text TEXT)",
    f"PRAGMA application_id = {APPLICATION_ID}",
    "PRAGMA user_version = 1",
    "INSERT INTO rows VALUES (1, 'only in the WAL')",
):
    connection.execute(sql)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def crashed(start_child: StartChild, tmp_path: Path) -> Path:
    """Return the database of an owner that was killed: all of it is still in the WAL."""
    path = tmp_path / "ledger.sqlite3"
    assert start_child(CRASHING, path).wait() == -9
    return path


def test_reader_sees_commits_beside_a_living_owner(rig: Rig) -> None:
    reader = look(rig.path)
    rig.writer.submit_sync(rig.append("a"))
    assert texts(reader) == ["a"]
    assert not reader.immutable
    reader.close()
    rig.writer.submit_sync(rig.append("b"))


def test_snapshot_shows_one_moment_and_never_blocks_the_owner(rig: Rig) -> None:
    rig.writer.submit_sync(rig.append("a"))
    reader = look(rig.path)
    with reader.snapshot():
        assert texts(reader) == ["a"]
        rig.writer.submit_sync(rig.append("b"))
        assert texts(reader) == ["a"]
    assert texts(reader) == ["a", "b"]
    reader.close()


def test_reader_can_write_nothing(rig: Rig) -> None:
    reader = look(rig.path)
    with pytest.raises(StorageReadOnlyError):
        reader.fetch("INSERT INTO rows VALUES (1, 'a')")
    reader.close()


def test_looking_leaves_the_directory_as_it_was_after_a_crash(crashed: Path) -> None:
    before = traces(crashed.parent)
    reader = look(crashed)
    assert texts(reader) == ["only in the WAL"]
    reader.close()
    assert traces(crashed.parent) == before


def test_looking_creates_no_side_file_when_there_is_no_wal(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    rig.door.transact(rig.append("a"))
    rig.shut()  # the last connection: SQLite removes the side files
    assert not wal_of(rig.path).exists()
    before = traces(tmp_path)
    reader = look(rig.path)
    assert reader.immutable
    with reader.snapshot():
        assert texts(reader) == ["a"]
    assert traces(tmp_path) == before
    reader.close()
    assert traces(tmp_path) == before


def test_side_files_stay_when_the_owner_closes_its_writer_first(tmp_path: Path) -> None:
    """So that a later mode=ro finds them and creates none."""
    rig = make_rig(tmp_path)
    rig.writer.submit_sync(rig.append("a"))
    own_reader = look(rig.path)
    rig.writer.close()
    own_reader.close()
    before = traces(tmp_path)
    assert {rig.path.name, wal_of(rig.path).name, shm_of(rig.path).name} <= before.keys()
    reader = look(rig.path)
    assert texts(reader) == ["a"]
    reader.close()
    assert traces(tmp_path) == before


def test_snapshot_is_refused_when_an_owner_appears_beside_an_immutable_reader(
    tmp_path: Path,
) -> None:
    """SQLite was told that nobody writes, so what was read may be torn."""
    make_rig(tmp_path).shut()
    reader = look(tmp_path / "ledger.sqlite3")
    snapshot = reader.snapshot()
    snapshot.__enter__()
    owner = make_rig(tmp_path)
    with pytest.raises(StorageBusyError, match="an owner appeared"):
        snapshot.__exit__(None, None, None)
    reader.close()
    owner.shut()


def test_wal_is_read_from_a_private_copy_when_its_index_is_gone(crashed: Path) -> None:
    shm_of(crashed).unlink()
    before = traces(crashed.parent)
    left = set(Path(tempfile.gettempdir()).glob("crashworthy-look-*"))
    reader = look(crashed)
    assert texts(reader) == ["only in the WAL"]
    [copy] = set(Path(tempfile.gettempdir()).glob("crashworthy-look-*")) - left
    assert stat.S_IMODE(copy.stat().st_mode) == 0o700
    reader.close()
    assert not copy.exists()
    assert traces(crashed.parent) == before


# Modes do not bind root. Without these two capabilities (override and search) they do; an exec
# takes them away from a process whose bounding set has lost them.
WITHOUT_ROOT_POWERS = """
import ctypes, os, sys
if os.geteuid() == 0:
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (1, 2):
        assert libc.prctl(24, capability, 0, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.executable, [sys.executable, "-c", *sys.argv[1:]])
"""
LOOKING = """
import sys
from pathlib import Path
from crashworthy.store.connect import Connector
from crashworthy.store.reader import open_reader
try:
    Path(sys.argv[1]).with_name("written").touch()
except PermissionError:
    print("read-only place", flush=True)
reader = open_reader(Connector(), Path(sys.argv[1]), newest=1)
print(reader.fetch("SELECT text FROM rows"), flush=True)
reader.close()
"""


@pytest.mark.parametrize("without_index", [False, True], ids=["whole", "without index"])
def test_crashed_store_is_readable_in_a_read_only_place(
    start_child: StartChild, crashed: Path, *, without_index: bool
) -> None:
    if without_index:
        shm_of(crashed).unlink()
    for each in crashed.parent.iterdir():
        each.chmod(0o444)
    crashed.parent.chmod(0o555)
    before = traces(crashed.parent)
    child = start_child(WITHOUT_ROOT_POWERS, LOOKING, crashed)
    assert [child.hear(), child.hear()] == ["read-only place", "[('only in the WAL',)]"]
    assert child.wait() == 0
    assert traces(crashed.parent) == before
    crashed.parent.chmod(0o755)


def test_store_is_not_found_and_not_made_when_absent_or_empty(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFoundError):
        look(tmp_path / "ledger.sqlite3")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.sqlite3").touch()
    with pytest.raises(StoreNotFoundError):
        look(tmp_path / "empty.sqlite3")


def test_older_and_newer_schemas_are_told_apart(tmp_path: Path) -> None:
    make_rig(tmp_path).shut()
    path = tmp_path / "ledger.sqlite3"
    with pytest.raises(NeedsUpgradeError, match="found=1, newest=2"):
        look(path, newest=2)
    with pytest.raises(SchemaNewerError, match="found=1, newest=0"):
        look(path, newest=0)


def test_own_locks_survive_a_private_copy_made_beside_another_store(
    rig: Rig, tmp_path_factory: pytest.TempPathFactory, start_child: StartChild
) -> None:
    """Copying inside this process would close descriptors, and SQLite's locks with them."""
    rig.connection.execute("BEGIN IMMEDIATE")
    other = tmp_path_factory.mktemp("other") / "ledger.sqlite3"
    assert start_child(CRASHING, other).wait() == -9
    shm_of(other).unlink()
    look(other).close()
    rival = start_child(
        "import sqlite3, sys\n"
        "c = sqlite3.connect(sys.argv[1], timeout=0, isolation_level=None)\n"
        "try:\n    c.execute('BEGIN IMMEDIATE')\n"
        "except sqlite3.OperationalError as e:\n    print(e.sqlite_errorname, flush=True)\n",
        rig.path,
    )
    assert rival.hear() == "SQLITE_BUSY"
    rig.connection.execute("ROLLBACK")


def test_reader_uses_the_injected_class(rig: Rig) -> None:
    class Counting(sqlite3.Connection):
        pass

    reader = open_reader(Connector(factory=Counting), rig.path, newest=1)
    assert isinstance(reader.connection, Counting)
    reader.close()
