"""Operational records are bounded, redacted, and never in anybody's way (LOG-10)."""

import signal
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import Json
from crashworthy.store import operational
from crashworthy.store.operational import (
    OperationalBook,
    OperationalKind,
    read_operational,
)

from .conftest import StartChild

KIND = OperationalKind.TOOL_TIMED


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "operational.sqlite3"


def noted(path: Path, *runs: str, epoch: int = 1) -> OperationalBook:
    """A closed book with a record of each of these runs."""
    book = OperationalBook(path, epoch)
    for ts, run in enumerate(runs, 1):
        book.note(run, ts, KIND, {"ms": ts})
    book.close()
    return book


def test_records_are_read_in_order_and_by_run(path: Path) -> None:
    noted(path, "", "run_a", "run_b", "run_a")

    read = read_operational(path)

    assert [(one.run, one.ts, one.kind) for one in read.records] == [
        ("", 1, "tool_timed"),
        ("run_a", 2, "tool_timed"),
        ("run_b", 3, "tool_timed"),
        ("run_a", 4, "tool_timed"),
    ]
    assert [one.details for one in read_operational(path, "run_a").records] == [
        {"ms": 2},
        {"ms": 4},
    ]
    assert read.damaged == 0


def test_owners_one_after_the_other_add_to_one_book(path: Path) -> None:
    noted(path, "run_a", epoch=1)
    noted(path, "run_a", epoch=2)

    assert [one.id for one in read_operational(path).records] == ["1.1.1", "2.1.1"]

    # Behind an accepted loss an epoch may come again; its records are no repetition.
    book = OperationalBook(path, 2)
    book.note("run_a", 9, KIND, {})
    assert (book.lost, len(read_operational(path).records)) == (0, 3)


def test_nothing_was_written_yet(path: Path) -> None:
    assert read_operational(path) == operational.OperationalReading(records=(), damaged=0)


def test_file_is_its_owners_alone(path: Path) -> None:
    noted(path, "run_a")

    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file


WRITES_AND_DIES = """
import os, signal, sys
from pathlib import Path
from crashworthy.store.operational import OperationalBook, OperationalKind
book = OperationalBook(Path(sys.argv[1]), 1)
for number in range(100):
    book.note("run_a", number, OperationalKind.LATE_ERROR, {})
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_records_survive_the_death_of_their_writer(path: Path, start_child: StartChild) -> None:
    died = start_child(WRITES_AND_DIES, path)

    assert died.process.wait(60) == -signal.SIGKILL
    assert len(read_operational(path).records) == 100
    noted(path, "run_b", epoch=2)
    assert len(read_operational(path).records) == 101


def test_texts_are_clean_bounded_and_without_credentials(path: Path) -> None:
    book = OperationalBook(path, 1)
    said: dict[str, Json] = {"message": "\ud800 password=hunter2hunter2 " + "x" * 9_999, "ms": 3}

    book.note("run_a", 1, OperationalKind.LATE_ERROR, said)

    [record] = read_operational(path).records
    message = record.details["message"]
    assert isinstance(message, str)
    assert message.startswith("\ufffd password=[redacted] xxx")
    assert len(message) <= operational.TEXT_CHARS_MAX + 3
    assert record.details["ms"] == 3


def test_old_records_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operational, "RECORDS_MAX", 150)
    monkeypatch.setattr(operational, "RUN_RECORDS_MAX", 40)
    trim = 64

    noted(path, *["run_a"] * 300, *["run_b"] * 20)

    read = read_operational(path).records
    of_a = [one for one in read if one.run == "run_a"]
    assert len(of_a) <= 40 + trim
    assert of_a[-1].ts == 300
    assert len(read) <= 150 + trim
    noted(path, *[f"run_{number}" for number in range(400)], epoch=2)
    assert len(read_operational(path).records) <= 150 + trim


def test_record_of_a_later_build_is_shown(path: Path) -> None:
    noted(path, "run_a")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE records SET kind = 'dreamed'")
    file.close()

    [record] = read_operational(path).records

    assert record.kind == "dreamed"


@pytest.mark.parametrize("details", [b"\x00", b"[]", b'{"', b""])
def test_record_that_cannot_be_read_is_counted(path: Path, details: bytes) -> None:
    noted(path, "run_a", "run_b", "run_c")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE records SET details = ? WHERE run = 'run_b'", (details,))
    file.close()

    read = read_operational(path)

    assert [one.run for one in read.records] == ["run_a", "run_c"]
    assert read.damaged == 1


def test_unclean_text_of_a_damaged_row_is_shown_as_such(path: Path) -> None:
    noted(path, "run_a")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE records SET kind = CAST(x'FF' AS TEXT)")
    file.close()

    [record] = read_operational(path).records

    assert record.kind == "\ufffd"


def spoil_with_garbage(path: Path) -> None:
    path.write_bytes(b"no database at all" * 400)


def spoil_by_cutting(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5_000])


def spoil_by_a_later_version(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("PRAGMA user_version = 99")
        file.execute("ALTER TABLE records RENAME TO other")
    file.close()


def spoil_by_dropping_the_table(path: Path) -> None:
    with sqlite3.connect(path) as file:
        file.execute("DROP TABLE records")
    file.close()


def spoil_by_a_foreign_journal(path: Path) -> None:
    path.write_bytes(b"no database at all" * 400)
    path.with_name(f"{path.name}-journal").write_bytes(b"nor a journal" * 99)


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_with_garbage,
        spoil_by_cutting,
        spoil_by_a_later_version,
        spoil_by_dropping_the_table,
        spoil_by_a_foreign_journal,
    ],
)
def test_file_that_cannot_be_used_is_set_aside_and_begun_anew(path: Path, spoil: object) -> None:
    noted(path, *["run_a"] * 200)
    assert callable(spoil)
    spoil(path)

    assert read_operational(path).damaged <= 1
    book = noted(path, "run_b", "run_c", epoch=2)

    assert book.lost <= 1
    assert read_operational(path).records[-1].run == "run_c"


@pytest.mark.parametrize("place", ["a directory", "no directory"])
def test_record_that_cannot_be_written_is_counted(tmp_path: Path, place: str) -> None:
    path = tmp_path / "there" / "operational.sqlite3"
    if place == "a directory":
        (path / "inside").mkdir(parents=True)

    book = noted(path, "run_a", "run_b")

    assert book.lost == 2
    assert read_operational(path).records == ()


def test_book_that_another_process_holds_is_left_alone(path: Path) -> None:
    noted(path, "run_a")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")

    book = noted(path, "run_b", epoch=2)
    assert book.lost == 1
    other.execute("ROLLBACK")
    other.close()
    book.note("run_c", 3, KIND, {})

    assert [one.run for one in read_operational(path).records] == ["run_a", "run_c"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(flips=st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), min_size=1))
def test_no_damage_stops_writer_or_reader(path: Path, flips: list[tuple[int, int]]) -> None:
    for file in path.parent.iterdir():
        file.unlink()
    noted(path, *["run_a"] * 100)
    data = bytearray(path.read_bytes())
    for at, mask in flips:
        data[at % len(data)] ^= mask
    path.write_bytes(data)

    read_operational(path)
    noted(path, *["run_b"] * 70, epoch=2)
    read_operational(path)
