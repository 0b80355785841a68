"""Ids follow one grammar; fresh ones sort by time; derived ones depend on their inputs alone."""

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.ids import (
    IdError,
    IdSource,
    Prefix,
    SequentialIds,
    ask_id,
    checked_id,
    control_invocation,
    control_run,
    control_turn,
    operation_id,
    outcome_fact_id,
    recovery_fact_id,
    time_ordered,
)

MS: st.SearchStrategy[int] = st.integers(0, 2**48 - 1)
COUNTERS: st.SearchStrategy[int] = st.integers(0, 2**16 - 1)
ENTROPY: st.SearchStrategy[bytes] = st.binary(min_size=8, max_size=8)


@pytest.mark.parametrize("text", ["a", "9", "run_1", "A.b:c-d_e", "x" * 128])
def test_grammar_accepts(text: str) -> None:
    assert checked_id(text, "run") == text


@pytest.mark.parametrize(
    "text", ["", "_a", "-a", ".", "a b", "a/b", "a\n", "\u00e4", "\u0661", "a\ud800", "x" * 129]
)
def test_grammar_refuses_with_code_and_printable_beginning(text: str) -> None:
    with pytest.raises(IdError) as caught:
        checked_id(text, "run")
    assert caught.value.code == Code.ID_MALFORMED
    assert caught.value.what == "run"
    assert str(caught.value).isascii()
    assert len(str(caught.value)) < 200


@pytest.mark.proves("ID-2", "ID-3")
@given(
    *[st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)] * 2,
    *[st.integers(0, 300)] * 4,
)
def test_operation_is_a_pure_function_of_invocation_step_and_position(
    one: str, two: str, step: int, other_step: int, position: int, other_position: int
) -> None:
    same_inputs = (one, step, position) == (two, other_step, other_position)
    first, second = operation_id(one, step, position), operation_id(two, other_step, other_position)
    assert (first == second) == same_inputs
    assert checked_id(first, "operation") == first


@pytest.mark.proves("ID-3")
def test_derivations_from_one_input_do_not_meet() -> None:
    derived = (
        control_invocation("s"),
        control_run("s"),
        control_turn("s"),
        outcome_fact_id("s"),
        recovery_fact_id("s", ""),
        recovery_fact_id("", "s"),
        ask_id("s", 0),
        ask_id("s", 1),
        operation_id("s", 0, 0),
    )
    digits = {identity.partition("_")[2] for identity in derived}
    assert len(digits) == len(derived)


@pytest.mark.proves("LOG-9")
@given(MS, COUNTERS, ENTROPY, MS, COUNTERS, ENTROPY)
def test_time_ordered_ids_sort_by_time_then_counter(
    ms: int, counter: int, entropy: bytes, ms2: int, counter2: int, entropy2: bytes
) -> None:
    one, two = (
        time_ordered("run", ms, counter, entropy),
        time_ordered("run", ms2, counter2, entropy2),
    )
    assert (one < two) == ((ms, counter, entropy) < (ms2, counter2, entropy2))


@pytest.mark.parametrize(
    ("ms", "counter", "entropy"),
    [(-1, 0, bytes(8)), (2**48, 0, bytes(8)), (0, -1, bytes(8)), (0, 2**16, bytes(8)), (0, 0, b"")],
)
def test_time_ordered_refuses_what_would_break_the_order(
    ms: int, counter: int, entropy: bytes
) -> None:
    with pytest.raises(AssertionError):
        time_ordered("run", ms, counter, entropy)


@pytest.mark.proves("LOG-9")
def test_sequential_ids_repeat_themselves_and_keep_lanes_apart() -> None:
    def give(source: IdSource) -> list[str]:
        return [source.next_id(prefix) for prefix in (Prefix.RUN, Prefix.FACT, Prefix.FACT)]

    assert give(SequentialIds()) == ["run_a00000001", "fact_a00000002", "fact_a00000003"]
    assert give(SequentialIds()) == give(SequentialIds())
    assert not set(give(SequentialIds(lane="b"))) & set(give(SequentialIds()))


def test_sequential_ids_refuse_a_lane_outside_the_grammar() -> None:
    with pytest.raises(IdError):
        SequentialIds(lane="a b").next_id("run")


def test_id_error_has_only_declared_fields() -> None:
    assert [field.name for field in attrs.fields(IdError)] == ["what", "found"]
