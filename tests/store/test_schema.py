"""The schema of each version stays as released, and guards what the tables promise (STORE-11)."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from crashworthy.store.errors import SchemaAlteredError
from crashworthy.store.schema import NEWEST

from .tale import Tale, open_here, whole_run
from .write_schema import GOLDEN, fresh_schema

INSERT = "INSERT INTO facts VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"


def test_new_database_has_the_golden_schema(tmp_path: Path) -> None:
    assert fresh_schema(tmp_path / "ledger.sqlite3") == GOLDEN.read_text(encoding="utf-8")


def test_every_version_has_a_golden_file() -> None:
    names = {path.name for path in GOLDEN.parent.iterdir()}
    assert names == {f"v{version}.sql" for version in range(1, NEWEST + 1)}


@pytest.mark.parametrize(
    ("change", "guard"),
    [
        ({"seq": 7, "id": "x"}, "CHECK"),  # an opening that is not first
        ({"invocation": "inv_x", "id": "x"}, "facts.run"),  # a second invocation of a run
        ({"run": "run_x", "id": "x"}, "facts.invocation"),  # a second opening of an invocation
        ({"run": "run_x", "invocation": "inv_x"}, "facts.id"),
    ],
)
def test_last_guard_refuses_a_second_opening(
    tmp_path: Path, change: dict[str, object], guard: str
) -> None:
    """The writers refuse these first; the schema is what remains if one of them is wrong."""
    store = open_here(tmp_path / "root")
    Tale(store=store).begun().running()
    store.close()
    with sqlite3.connect(tmp_path / "root" / "ledger.sqlite3") as db:
        db.row_factory = sqlite3.Row
        opening = dict(db.execute("SELECT * FROM facts WHERE kind = 'run_opened'").fetchone())
        row = {**opening, "ordinal": 1000, **change}
        with pytest.raises(sqlite3.IntegrityError, match=guard):
            db.execute(INSERT, tuple(row.values()))
    db.close()


def test_last_guard_refuses_a_second_terminal(tmp_path: Path) -> None:
    store = open_here(tmp_path / "root")
    whole_run(Tale(store=store).begun())
    store.close()
    with sqlite3.connect(tmp_path / "root" / "ledger.sqlite3") as db:
        db.row_factory = sqlite3.Row
        end = dict(db.execute("SELECT * FROM facts WHERE kind = 'run_ended'").fetchone())
        row = {**end, "ordinal": 1000, "seq": end["seq"] + 1, "id": "x"}
        with pytest.raises(sqlite3.IntegrityError, match=r"facts\.run"):
            db.execute(INSERT, tuple(row.values()))
    db.close()


@pytest.mark.parametrize(
    "harm",
    ["DROP TABLE claims", "CREATE TABLE extra (x TEXT) STRICT", "DROP INDEX facts_terminal"],
)
def test_altered_tables_are_refused_before_anything_is_written(tmp_path: Path, harm: str) -> None:
    open_here(tmp_path / "root").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "root" / "ledger.sqlite3")) as db:
        db.execute(harm)
        db.commit()

    with pytest.raises(SchemaAlteredError):
        open_here(tmp_path / "root")
    with contextlib.closing(sqlite3.connect(tmp_path / "root" / "ledger.sqlite3")) as db:
        ((epochs,),) = db.execute("SELECT count(*) FROM lease WHERE event = 'open'").fetchall()
    assert epochs == 1
