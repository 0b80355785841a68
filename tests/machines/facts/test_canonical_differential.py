"""Both roads of the codec give the bytes that the independent `rfc8785` package gives (BYTE-1)."""

import random
from typing import Final

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import (
    CanonicalError,
    Json,
    decode,
    encode,
    encode_trusted,
    parse,
    same,
)
from crashworthy.machines.facts.json_values import SAFE_INT_MAX

from .json_strategies import json_values, quick_value

# Drawing is what takes the time: `deep` draws each value as an example of its own (over a minute).
EXAMPLES: Final = 100_000 if settings.get_current_profile_name() == "deep" else 2_000
VALUES_PER_EXAMPLE: Final = 100_000 // EXAMPLES
SEEDS: Final = st.integers(0, 2**64 - 1)


def assert_agreement(value: Json) -> None:
    """Hold every door of the codec against the other implementation."""
    expected = rfc8785.dumps(value)
    assert encode(value) == expected
    assert encode_trusted(value) == expected
    assert encode(decode(expected)) == expected
    assert rfc8785.dumps(parse(expected)) == expected


@pytest.mark.proves("BYTE-1", "BYTE-2")
@given(json_values())
def test_codec_agrees_with_another_implementation_on_drawn_values(value: Json) -> None:
    assert_agreement(value)
    assert same(value, decode(encode(value)))


@pytest.mark.slow
@pytest.mark.proves("BYTE-1", "BYTE-2")
@settings(max_examples=EXAMPLES)
@given(SEEDS)
def test_codec_agrees_with_another_implementation_on_100_000_values(seed: int) -> None:
    source = random.Random(seed)  # noqa: S311 (it must repeat itself, not surprise anybody)
    for _ in range(VALUES_PER_EXAMPLE):
        assert_agreement(quick_value(source))


@given(st.floats() | st.integers(-(2**70), 2**70))
def test_codec_refuses_exactly_the_numbers_outside_the_domain(number: float) -> None:
    """The other package accepts large integral floats; beside that both must agree on refusals."""
    inside = -SAFE_INT_MAX <= number <= SAFE_INT_MAX
    for write in (encode, encode_trusted):
        try:
            data = write([number])
        except CanonicalError:
            assert not inside
        else:
            assert inside
            assert data == rfc8785.dumps([number])
