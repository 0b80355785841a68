"""The anchor remembers what was acknowledged, through torn writes and lost ones."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.store.anchor import Head, compare_anchor, open_anchor, read_anchor
from crashworthy.store.errors import AcknowledgedFactsMissingError, StorageError

from .rig import chain_of


def head(position: int) -> Head:
    return Head(ordinal=position, chain=chain_of(position))


def write_heads(path: Path, *positions: int) -> None:
    anchor = open_anchor(path)
    for position in positions:
        anchor.write(head(position))
    anchor.close()


@pytest.mark.parametrize("count", range(5))
def test_anchor_says_the_last_head_written(tmp_path: Path, count: int) -> None:
    write_heads(tmp_path / "anchor", *range(1, count + 1))
    assert read_anchor(tmp_path / "anchor") == (head(count) if count else None)


def test_anchor_goes_on_from_its_newest_slot_when_reopened(tmp_path: Path) -> None:
    write_heads(tmp_path / "anchor", 1, 2, 3)
    write_heads(tmp_path / "anchor", 4)
    assert read_anchor(tmp_path / "anchor") == head(4)


@pytest.mark.parametrize("slot", [0, 1])
def test_head_before_remains_when_a_slot_is_torn(tmp_path: Path, slot: int) -> None:
    path = tmp_path / "anchor"
    write_heads(path, 1, 2)
    data = bytearray(path.read_bytes())
    data[slot * 4096 + 30] ^= 1
    path.write_bytes(data)
    # Write counters start at 1, so slot 0 holds the second head.
    assert read_anchor(path) == head(1 if slot == 0 else 2)


@given(flips=st.lists(st.tuples(st.integers(0, 8191), st.integers(1, 255)), max_size=4))
def test_anchor_never_says_a_head_that_was_not_written(
    tmp_path_factory: pytest.TempPathFactory, flips: list[tuple[int, int]]
) -> None:
    path = tmp_path_factory.mktemp("flips") / "anchor"
    write_heads(path, 1, 2, 3)
    data = bytearray(path.read_bytes())
    for offset, bits in flips:
        data[offset] ^= bits
    path.write_bytes(data)
    assert read_anchor(path) in {None, head(2), head(3)}


def test_anchor_says_nothing_when_absent_or_no_file(tmp_path: Path) -> None:
    assert read_anchor(tmp_path / "absent") is None
    os.mkfifo(tmp_path / "pipe")
    assert read_anchor(tmp_path / "pipe") is None
    (tmp_path / "short").write_bytes(b"short")
    assert read_anchor(tmp_path / "short") is None
    (tmp_path / "link").symlink_to(tmp_path / "absent")
    with pytest.raises(StorageError):
        open_anchor(tmp_path / "link")


def test_same_head_is_not_written_again(tmp_path: Path) -> None:
    seen: list[str] = []
    anchor = open_anchor(tmp_path / "anchor", probe=seen.append)
    anchor.write(head(1))
    anchor.write(head(1))
    anchor.sync()
    anchor.close()
    anchor.close()
    assert seen == ["anchor.written", "anchor.synced"]


def test_lower_head_is_believed_when_written_later(tmp_path: Path) -> None:
    """A person may accept a loss; then the log is shorter than it was."""
    write_heads(tmp_path / "anchor", 5, 3)
    assert read_anchor(tmp_path / "anchor") == head(3)


@pytest.mark.parametrize("stored", [3, 4, 100])
def test_stored_log_is_whole_when_it_reaches_the_anchor(stored: int) -> None:
    compare_anchor(head(3), head(stored), chain_of)
    compare_anchor(None, head(stored), chain_of)


def test_facts_are_missing_when_the_stored_head_is_behind() -> None:
    with pytest.raises(AcknowledgedFactsMissingError, match="anchored_ordinal=3, stored_ordinal=2"):
        compare_anchor(head(3), head(2), chain_of)


def test_facts_are_missing_when_the_stored_history_is_another_one() -> None:
    with pytest.raises(AcknowledgedFactsMissingError):
        compare_anchor(head(3), head(9), lambda _ordinal: chain_of(77))
