"""A schema moves forward whole, once, or not at all."""

from pathlib import Path

import pytest

from crashworthy.store.connect import APPLICATION_ID, Connector, read_version
from crashworthy.store.errors import SchemaNewerError, StorageFullError
from crashworthy.store.migrate import Migration, migrate, newest_version
from crashworthy.store.txn import Txn, WriteDoor

from .rig import MIGRATIONS, make_rig


def add_note(txn: Txn) -> None:
    txn.run("ALTER TABLE rows ADD COLUMN note TEXT")


LATER = (*MIGRATIONS, Migration(version=2, apply=add_note))


def open_door(place: Path, newest: int) -> WriteDoor:
    connection = Connector(busy_ms=50).open_owner(place / "ledger.sqlite3", newest=newest)
    return WriteDoor(connection=connection)


def test_every_step_is_applied_once_when_the_file_is_new(tmp_path: Path) -> None:
    door = open_door(tmp_path, 2)
    assert migrate(door, LATER) == (1, 2)
    assert migrate(door, LATER) == ()
    assert read_version(door.connection, newest=2) == 2
    assert door.connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    door.close()


def test_rows_are_kept_when_an_older_schema_is_brought_up(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    rig.door.transact(rig.append("a"))
    rig.shut()
    door = open_door(tmp_path, 2)
    assert migrate(door, LATER) == (2,)
    assert door.connection.execute("SELECT * FROM rows").fetchall() == [(1, "a", None)]
    door.close()


def test_nothing_is_changed_when_a_step_fails(tmp_path: Path) -> None:
    def fail(txn: Txn) -> None:
        txn.run("CREATE TABLE half (x INT) STRICT")
        raise StorageFullError(stage="statement", cause="SQLITE_FULL")

    door = open_door(tmp_path, 2)
    with pytest.raises(StorageFullError):
        migrate(door, (*MIGRATIONS, Migration(version=2, apply=fail)))
    assert read_version(door.connection, newest=2) == 0
    assert door.connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    door.close()


def test_version_is_read_again_under_the_lock(tmp_path: Path) -> None:
    """Another process may have migrated between our look and our lock: no step runs twice."""
    door = open_door(tmp_path, 2)
    late = open_door(tmp_path, 2)

    def someone_else_is_first(name: str) -> None:
        door.probe = lambda _name: None
        assert name == "txn.begun"
        door.connection.execute("ROLLBACK")
        assert migrate(late, LATER) == (1, 2)
        door.connection.execute("BEGIN IMMEDIATE")

    door.probe = someone_else_is_first
    assert migrate(door, LATER) == ()
    door.close()
    late.close()


def test_newer_schema_is_refused_also_when_it_appears_under_the_lock(tmp_path: Path) -> None:
    door = open_door(tmp_path, 1)
    newer = open_door(tmp_path, 2)
    migrate(newer, LATER)
    with pytest.raises(SchemaNewerError, match="found=2, newest=1"):
        migrate(door, MIGRATIONS)
    door.close()
    newer.close()


def test_numbering_has_no_gaps() -> None:
    assert newest_version(LATER) == 2
    with pytest.raises(AssertionError, match="numbered"):
        newest_version(LATER[1:])
