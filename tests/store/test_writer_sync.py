"""A program without a scheduler commits unit by unit through the same writer."""

import pytest

from crashworthy.store.anchor import read_anchor
from crashworthy.store.errors import ConstraintRefusedError, StoreClosedError

from .rig import Rig


def test_submit_sync_returns_the_result_when_durable_and_anchored(rig: Rig) -> None:
    assert rig.writer.submit_sync(rig.append("a")) == 1
    assert rig.rows() == [(1, "a")]
    anchored = read_anchor(rig.path.with_name("anchor"))
    assert anchored is not None
    assert anchored.ordinal == 1


def test_submit_sync_raises_the_refusal_and_leaves_memory_as_it_was(rig: Rig) -> None:
    rig.writer.submit_sync(rig.append("a"))
    with pytest.raises(ConstraintRefusedError):
        rig.writer.submit_sync(rig.append("a"))
    assert rig.heads.position == 1


def test_close_empties_the_wal_and_refuses_later_units(rig: Rig) -> None:
    rig.writer.submit_sync(rig.append("a"))
    rig.writer.close()
    rig.writer.close()
    with pytest.raises(StoreClosedError):
        rig.writer.submit_sync(rig.append("b"))
