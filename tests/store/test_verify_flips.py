"""Every byte of every column of every fact: changed, it is found, in that row alone (BYTE-2)."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.store.sql import Row

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
@settings(max_examples=60, deadline=None)
def test_any_byte_of_a_varied_log_is_found_once_and_in_its_row(
    log: Path, rows: list[Row], data: st.DataObject
) -> None:
    index = data.draw(st.integers(0, len(rows) - 1), label="row")
    column = data.draw(st.sampled_from(FACT_COLUMNS), label="column")
    value = rows[index][FACT_COLUMNS.index(column)]
    at = data.draw(st.integers(0, width(value) - 1), label="byte")
    mask = data.draw(st.integers(1, 127 if isinstance(value, int) else 255), label="mask")

    with looking(log) as look:
        found = findings_of(look, bent(rows, index, column, at, mask))

    assert [finding.ordinal for finding in found] == [rows[index][0]]
