"""Connections are explicit, private, and refuse what they cannot keep."""

import sqlite3
import stat
from pathlib import Path

import pytest

from crashworthy.store import connect
from crashworthy.store.connect import (
    APPLICATION_ID,
    Connector,
    check_filesystem,
    check_sqlite_version,
)
from crashworthy.store.errors import (
    DatabaseDamagedError,
    SchemaNewerError,
    SchemaUnknownError,
    SqliteTooOldError,
    StorageCannotOpenError,
    UnsupportedFilesystemError,
)


def test_connection_commits_durably_when_opened_for_the_owner(tmp_path: Path) -> None:
    connection = Connector().open_owner(tmp_path / "ledger.sqlite3", newest=1)
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in (
            *("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync", "foreign_keys"),
            *("temp_store", "mmap_size", "trusted_schema", "wal_autocheckpoint", "busy_timeout"),
        )
    }
    connection.close()
    assert pragmas == {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "checkpoint_fullfsync": 1,
        "foreign_keys": 1,
        "temp_store": 2,
        "mmap_size": 0,
        "trusted_schema": 0,
        "wal_autocheckpoint": 0,
        "busy_timeout": 5000,
    }


def test_database_is_private_when_created(tmp_path: Path) -> None:
    connection = Connector().open_owner(tmp_path / "ledger.sqlite3", newest=1)
    connection.execute("CREATE TABLE t (x INT) STRICT")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    connection.close()
    assert modes == dict.fromkeys(
        ("ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm"), 0o600
    )


def test_connection_is_of_the_injected_class(tmp_path: Path) -> None:
    class Counting(sqlite3.Connection):
        pass

    connection = Connector(factory=Counting).open_owner(tmp_path / "ledger.sqlite3", newest=1)
    connection.close()
    assert isinstance(connection, Counting)


def test_sqlite_is_refused_when_older_than_the_minimum() -> None:
    check_sqlite_version((3, 37, 0))
    with pytest.raises(SqliteTooOldError, match=r"found='3\.36\.9', needed='3\.37\.0'"):
        check_sqlite_version((3, 36, 9))


def kind_of_nfs(_path: Path) -> str:
    return "nfs4"


def test_root_is_refused_when_on_a_network_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_filesystem(tmp_path)
    monkeypatch.setattr(connect, "filesystem_kind", kind_of_nfs)
    with pytest.raises(UnsupportedFilesystemError, match="nfs4"):
        Connector().open_owner(tmp_path / "ledger.sqlite3", newest=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("application_id", "version", "refusal"),
    [
        (APPLICATION_ID, 2, SchemaNewerError),
        (APPLICATION_ID, 0, SchemaUnknownError),
        (7, 1, SchemaUnknownError),
        (0, 0, SchemaUnknownError),
        (0, 1, SchemaUnknownError),
    ],
)
def test_database_is_left_unchanged_when_newer_or_unknown(
    tmp_path: Path, application_id: int, version: int, refusal: type[Exception]
) -> None:
    """Not even its journal mode may change: another program may rely on it."""
    path = tmp_path / "ledger.sqlite3"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("CREATE TABLE theirs (x)")
    other.execute(f"PRAGMA application_id = {application_id}")
    other.execute(f"PRAGMA user_version = {version}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(refusal):
        Connector().open_owner(path, newest=1)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["ledger.sqlite3"]


def test_file_is_damage_when_it_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite3"
    path.write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(DatabaseDamagedError):
        Connector().open_owner(path, newest=1)


def test_opening_is_typed_when_the_directory_is_missing(tmp_path: Path) -> None:
    with pytest.raises(StorageCannotOpenError):
        Connector().connect(tmp_path / "no" / "ledger.sqlite3", query="mode=rw")


def test_path_is_taken_literally_when_it_holds_uri_characters(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c%20d é.sqlite3"
    Connector().open_owner(path, newest=1).close()
    assert path.exists()
