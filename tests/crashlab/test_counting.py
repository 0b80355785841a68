"""A watched connection reports every step, and SQLite's own trace proves that none is missing."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.counting import Site, driver_error, watched_by
from crashworthy.crashlab.workload import import_path


@attrs.define
class Recorder:
    tracing: bool = True
    steps: list[str] = attrs.field(factory=list[str])
    bypasses: list[str] = attrs.field(factory=list[str])

    @contextmanager
    def crossing(self, site: Site) -> Generator[None]:
        self.steps.append(f"{site.kind} {site.name}")
        yield
        self.steps.append(f"/{site.kind}")

    def note_bypass(self, what: str) -> None:
        self.bypasses.append(what)


def opened(path: Path, recorder: Recorder) -> sqlite3.Connection:
    db = sqlite3.connect(path / "a.db", factory=watched_by(recorder), isolation_level=None)
    db.execute("CREATE TABLE t (a INTEGER) STRICT")
    recorder.steps.clear()
    return db


def by_connection(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (?)", (1,))


def by_named_parameter(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO t VALUES (:a)", {"a": 1})


def by_cursor(db: sqlite3.Connection) -> None:
    db.cursor().execute("INSERT INTO t VALUES (1)")


def by_many(db: sqlite3.Connection) -> None:
    db.executemany("INSERT INTO t VALUES (?)", iter([(1,), (2,)]))


def by_many_of_cursor(db: sqlite3.Connection) -> None:
    db.cursor().executemany("INSERT INTO t VALUES (?)", [(1,)])


def by_script(db: sqlite3.Connection) -> None:
    db.executescript("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)")


def by_returning(db: sqlite3.Connection) -> None:
    assert db.execute("INSERT INTO t VALUES (7) RETURNING a").fetchall() == [(7,)]


WAYS = (
    by_connection, by_named_parameter, by_cursor, by_many, by_many_of_cursor, by_script,
    by_returning,
)  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_statement_is_one_crossing_whatever_door_it_takes(
    way: Callable[[sqlite3.Connection], None], tmp_path: Path
) -> None:
    recorder = Recorder()
    with closing(opened(tmp_path, recorder)) as db:
        way(db)
        opening, closing_step = recorder.steps
    assert opening.startswith(("insert INSERT INTO t", "script INSERT INTO t"))
    assert closing_step.startswith("/")
    assert recorder.bypasses == []


def test_block_of_the_connection_commits_in_a_crossing(tmp_path: Path) -> None:
    """The driver's own `__exit__` commits in C, where no override is called."""
    recorder = Recorder()
    with closing(opened(tmp_path, recorder)) as db:
        with db:
            db.execute("BEGIN")
        assert recorder.steps[2:] == ["commit commit()", "/commit"]
        recorder.steps.clear()
        with pytest.raises(sqlite3.OperationalError), db:
            db.executescript("BEGIN; nonsense")
        assert recorder.steps[-2:] == ["rollback rollback()", "/rollback"]
        assert not db.in_transaction
    assert recorder.bypasses == []


def test_open_and_close_are_crossings_named_without_their_directory(tmp_path: Path) -> None:
    recorder = Recorder()
    factory = watched_by(recorder)
    uri = f"file:{tmp_path}/a.db?mode=rwc"
    sqlite3.connect(uri, uri=True, factory=factory).close()
    assert recorder.steps == ["open a.db", "/open", "close close()", "/close"]


def test_statement_of_a_trigger_is_part_of_its_crossing(tmp_path: Path) -> None:
    recorder = Recorder()
    with closing(opened(tmp_path, recorder)) as db:
        db.execute("CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t WHERE a = 0; END")
        db.execute("INSERT INTO t VALUES (1)")
    assert recorder.bypasses == []


def test_statement_of_a_foreign_cursor_is_reported_as_bypass(tmp_path: Path) -> None:
    recorder = Recorder()
    with closing(opened(tmp_path, recorder)) as db:
        sqlite3.Cursor(db).execute("DELETE FROM t")
        db.cursor(sqlite3.Cursor).execute("DELETE FROM t WHERE a = 1")
    assert recorder.bypasses == ["DELETE FROM t", "DELETE FROM t WHERE a = 1"]


def test_backup_is_a_crossing(tmp_path: Path) -> None:
    recorder = Recorder()
    with closing(opened(tmp_path, recorder)) as db, closing(sqlite3.connect(":memory:")) as copy:
        db.backup(copy)
        assert recorder.steps == ["backup backup()", "/backup"]
        assert copy.execute("SELECT count(*) FROM t").fetchone() == (0,)


def test_two_factories_do_not_share_a_watcher(tmp_path: Path) -> None:
    one, two = Recorder(), Recorder()
    with closing(opened(tmp_path, one)):
        sqlite3.connect(tmp_path / "b.db", factory=watched_by(two)).close()
    assert not any("b.db" in step for step in one.steps)


def test_driver_error_carries_the_code_of_its_name() -> None:
    error = driver_error("SQLITE_FULL", "planted")
    assert (error.sqlite_errorcode, error.sqlite_errorname) == (sqlite3.SQLITE_FULL, "SQLITE_FULL")


def test_foreign_connection_is_reported_unless_it_has_no_file(tmp_path: Path) -> None:
    """An audit hook stays for ever, so the process that has it is one of its own."""
    script = (
        "import sqlite3, sys\n"
        "from crashworthy.crashlab.counting import watch_foreign_connections\n"
        "reports = []\n"
        "watch_foreign_connections(reports.append)\n"
        "for database in ('', ':memory:', sys.argv[1]):\n"
        "    sqlite3.connect(database).close()\n"
        "    print(len(reports))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "a.db")],
        env={**os.environ, "PYTHONPATH": import_path()},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["0", "0", "1"]
