"""A chain value depends on all that came before, on its order, and on nothing else (BYTE-5)."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.chain import (
    chain_next,
    chain_start,
    context_next,
    context_start,
    root_next,
    root_start,
)
from crashworthy.machines.facts.digests import is_digest
from crashworthy.machines.facts.model import Spine

from ...strategies import digests, ids, spines
from .facts_by_hand import SPINE, hexed

PAIRS = st.tuples(st.binary(max_size=20), st.binary(max_size=20))


def folded(spine: Spine, rows: list[tuple[bytes, bytes]]) -> str:
    value = chain_start(spine)
    for body, stamp in rows:
        value = chain_next(value, body, stamp)
    return value


@given(spines(), spines())
def test_chain_starts_differ_when_spines_differ(one: Spine, other: Spine) -> None:
    assert (chain_start(one) == chain_start(other)) == (one == other)


def test_chain_start_keeps_the_four_identities_apart() -> None:
    """ID-1: swapping two ids is another spine."""
    swapped = attrs.evolve(SPINE, run=SPINE.turn, turn=SPINE.run)

    assert chain_start(swapped) != chain_start(SPINE)


@given(spines(), st.lists(PAIRS, max_size=5), st.lists(PAIRS, max_size=5))
def test_chains_differ_when_any_row_or_their_order_differs(
    spine: Spine, one: list[tuple[bytes, bytes]], other: list[tuple[bytes, bytes]]
) -> None:
    assert (folded(spine, one) == folded(spine, other)) == (one == other)


@given(st.binary(min_size=1, max_size=9), st.integers(0, 8))
def test_byte_cannot_move_between_body_and_stamp(data: bytes, cut: int) -> None:
    cut = min(cut, len(data) - 1)
    previous = chain_start(SPINE)

    one = chain_next(previous, data[:cut], data[cut:])
    assert one != chain_next(previous, data[: cut + 1], data[cut + 1 :])


@given(ids(), digests(), st.integers(1, 2**53 - 1))
def test_root_chain_binds_the_ordinal(root: str, chain: str, ordinal: int) -> None:
    previous = root_start(root)

    assert root_next(previous, ordinal, chain) != root_next(previous, ordinal + 1, chain)
    assert is_digest(root_next(previous, ordinal, chain))


def test_context_depends_on_the_order_of_closed_runs() -> None:
    start = context_start("ses_1")
    one = context_next(context_next(start, hexed("a")), hexed("b"))
    other = context_next(context_next(start, hexed("b")), hexed("a"))

    assert one != other


@pytest.mark.parametrize("text", ["x", "ses_1"])
def test_starts_of_different_chains_never_meet(text: str) -> None:
    """BYTE-4: what is digested says what it is."""
    assert root_start(text) != context_start(text)
