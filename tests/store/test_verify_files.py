"""Bytes of the real files: what a disk changes or loses is never passed over (STORE-9a)."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.store.audit.findings import Check
from crashworthy.store.audit.report import Status
from crashworthy.store.errors import (
    AcknowledgedFactsMissingError,
    DatabaseDamagedError,
    SchemaUnknownError,
)
from crashworthy.store.sql import Row
from crashworthy.store.verify import verify

from .conformance.conftest import die
from .logs import FACT_COLUMNS, copied, database, fact_rows, varied_log
from .tale import Tale, open_here, whole_run

BOUND = {"lease": 7, "workers": 2}
"""Tables whose later columns describe a process: nothing else says them, so nobody can tell."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied_log(tmp_path_factory.mktemp("files") / "root")


def flip(path: Path, at: int, mask: int = 1) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        [byte] = file.read(1)
        file.seek(at)
        file.write(bytes([byte ^ mask]))


def everything(place: Path) -> dict[str, list[Row]] | None:
    """Read all rows of all tables through their tables, or nothing where that cannot be done."""
    connection = sqlite3.connect(database(place))
    connection.text_factory = bytes
    try:
        names = [
            name.decode()
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        tables = {
            name: connection.execute(f"SELECT * FROM {name} NOT INDEXED").fetchall()  # noqa: S608 - names of the schema
            for name in names
        }
        for name, bound in BOUND.items():
            tables[name] = [tuple(row[:bound]) for row in tables[name]]
    except (sqlite3.DatabaseError, UnicodeDecodeError):
        return None
    else:
        return tables
    finally:
        connection.close()


@pytest.mark.parametrize("column", ["chain", "root", "stamp", "body"])
def test_byte_flipped_on_disk_names_its_row(made: Path, tmp_path: Path, column: str) -> None:
    place = FACT_COLUMNS.index(column)
    data = database(made).read_bytes()
    for row in fact_rows(made)[::5]:
        bytes_of = [value for value in row if isinstance(value, bytes)]
        at = data.find(b"".join(bytes_of))
        assert at > 0, "a small row lies in one piece"
        before = sum(map(len, bytes_of[: place - FACT_COLUMNS.index("chain")]))
        log = copied(made, tmp_path / f"root{row[0]!r}")
        flip(database(log), at + before + len(bytes_of[0]) // 2)

        report = verify(log)

        # The same chain value also stands in what rests on it: claims and the head of a session.
        assert report.findings[0].ordinal == row[0]
        assert {found.ordinal for found in report.findings if found.fact is not None} == {row[0]}


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_clean_report_means_that_no_row_of_any_table_changed(
    made: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any byte of the file: SQLite's own structures, every table, every index."""
    log = copied(made, tmp_path_factory.mktemp("flip") / "root")
    at = data.draw(st.integers(100, database(log).stat().st_size - 1), label="offset")
    flip(database(log), at, data.draw(st.integers(1, 255), label="mask"))

    try:
        report = verify(log)
    except (DatabaseDamagedError, SchemaUnknownError):
        return  # The page that says what tables there are: nothing can be read, and that is said.

    assert report.total or everything(log) == everything(made)


def left_in_the_wal(place: Path) -> int:
    """Let an owner die with its last facts in the WAL, and return the last acknowledged ordinal."""
    store = open_here(place)
    whole_run(Tale(store=store).begun())
    last = store.read(lambda view: view.last().ordinal)
    die(store)
    return last


@pytest.mark.parametrize("share", [0.3, 0.9])
@pytest.mark.parametrize("harm", ["flip", "cut"])
def test_damaged_wal_is_missing_facts_to_verify_and_to_the_next_owner(
    tmp_path: Path, harm: str, share: float
) -> None:
    """SQLite drops what stands behind a bad frame and says nothing; the anchor does (STORE-9a)."""
    place = tmp_path / "root"
    last = left_in_the_wal(place)
    assert verify(place).head.ordinal == last
    wal = place / "ledger.sqlite3-wal"
    at = int(wal.stat().st_size * share)
    if harm == "flip":
        flip(wal, at)
    else:
        with wal.open("r+b") as file:
            file.truncate(at)

    report = verify(place)

    assert report.status is Status.FACTS_MISSING
    assert [found.check for found in report.findings] == [Check.ANCHOR]
    assert report.head.ordinal < last
    frames = wal.read_bytes()
    with pytest.raises(AcknowledgedFactsMissingError):
        open_here(place)
    assert wal.read_bytes() == frames, "the refused owner kept what may be all that can be mended"
    assert verify(place) == report, "the refused owner wrote nothing"


def test_accepted_loss_leaves_a_clean_log(tmp_path: Path) -> None:
    place = tmp_path / "root"
    left_in_the_wal(place)
    flip(place / "ledger.sqlite3-wal", int((place / "ledger.sqlite3-wal").stat().st_size * 0.6))
    open_here(place, accept_loss=True).close()

    report = verify(place)

    assert (report.status, report.findings) == (Status.CLEAN, ())
