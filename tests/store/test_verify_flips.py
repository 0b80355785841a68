"""Every byte of every column of every fact: changed, it is found, in that row alone (BYTE-2)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts.codec import decode_stamp
from crashworthy.store.audit.findings import Check, Finding
from crashworthy.store.audit.rows import Raw, RowReader
from crashworthy.store.sql import Row, SqlValue

from .logs import FACT_COLUMNS, fact_rows, findings_of, flipped, looking, varied_log, width

FEW = 7


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied_log(tmp_path_factory.mktemp("flips") / "root")


@pytest.fixture(scope="module")
def rows(log: Path) -> list[Row]:
    return fact_rows(log)


def test_walk_over_the_whole_log_finds_nothing(log: Path, rows: list[Row]) -> None:
    with looking(log) as look:
        assert findings_of(look, rows) == []


def bent(rows: list[Row], index: int, column: str, at: int, mask: int) -> list[Row]:
    """Return the rows with one byte of one column changed."""
    place = FACT_COLUMNS.index(column)
    bad = list(rows[index])
    bad[place] = flipped(bad[place], at, mask)
    return [*rows[:index], tuple(bad), *rows[index + 1 :]]


@pytest.mark.slow
@pytest.mark.parametrize("column", FACT_COLUMNS)
def test_every_byte_of_a_small_log_is_found_once_and_in_its_row(
    log: Path, rows: list[Row], column: str
) -> None:
    """One bit of each byte in turn; what follows from a bad row is not told again."""
    few = rows[:FEW]
    with looking(log) as look:
        for index, row in enumerate(few):
            for at in range(width(row[FACT_COLUMNS.index(column)])):
                found = findings_of(look, bent(few, index, column, at, 1 << at % 8))
                assert [finding.ordinal for finding in found] == [row[0]], (at, found)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_any_byte_of_a_varied_log_is_found_once_and_in_its_row(
    log: Path, rows: list[Row], data: st.DataObject
) -> None:
    """Drawn from all bytes alike, so that most are words that only a chain can vouch for."""
    bytes_of = [
        (index, column, at)
        for index, row in enumerate(rows)
        for column, value in zip(FACT_COLUMNS, row, strict=True)
        for at in range(width(value))
    ]
    index, column, at = bytes_of[data.draw(st.integers(0, len(bytes_of) - 1), label="byte")]
    mask = data.draw(st.integers(1, 127), label="mask")

    with looking(log) as look:
        found = findings_of(look, bent(rows, index, column, at, mask))

    assert [finding.ordinal for finding in found] == [rows[index][0]]


@pytest.mark.parametrize("column", FACT_COLUMNS[1:])
@pytest.mark.parametrize("other", [None, 7, 1.5, "7", b"7"], ids=repr)
def test_column_of_another_type_is_found_once_and_in_its_row(
    log: Path, rows: list[Row], column: str, other: SqlValue
) -> None:
    """A flipped byte of a record's header gives a column another type, whatever the table says."""
    bad = list(rows[8])
    bad[FACT_COLUMNS.index(column)] = other

    with looking(log) as look:
        found = findings_of(look, [*rows[:8], tuple(bad), *rows[9:]])

    assert [finding.ordinal for finding in found] == [9]


def test_row_with_two_faults_is_told_once(log: Path, rows: list[Row]) -> None:
    twice = bent(bent(rows, 8, "body", 0, 1), 8, "root", 3, 1)

    with looking(log) as look:
        found = findings_of(look, twice)

    assert [(finding.check, finding.ordinal) for finding in found] == [(Check.BODY, 9)]


@pytest.mark.parametrize("tail", [b"07}", b"+7}", b" 7}", b"7 }", b"7.0}", b"-7}", b"7}}", b"}"])
def test_stamp_is_read_strictly_however_often_its_beginning_was_seen(
    rows: list[Row], tail: bytes
) -> None:
    """What stamps begin with is remembered; what they end with is read each time (BYTE-2)."""
    reader = RowReader()
    row = rows[8]
    stamp = row[11]
    assert isinstance(stamp, bytes)
    assert isinstance(reader.read(row), Raw)
    head = stamp[: stamp.rindex(b":") + 1]

    again = reader.read((*row[:11], head + b"7}", row[12]))
    loose = reader.read((*row[:11], head + tail, row[12]))

    assert isinstance(again, Raw)
    assert again.stamp == decode_stamp(head + b"7}")
    assert isinstance(loose, Finding)
    assert loose.check is Check.STAMP
