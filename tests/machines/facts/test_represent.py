"""The outcome door lets every Python value through as JSON and says what it changed (BYTE-1a)."""

import dataclasses
import enum
import math
import os
import subprocess
import sys
from collections import OrderedDict
from decimal import Decimal
from typing import Final, NamedTuple

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import (
    DEPTH_MAX,
    SAFE_INT_MAX,
    Json,
    ValueKindError,
    encode,
)
from crashworthy.machines.facts.model import Loss
from crashworthy.machines.facts.represent import (
    LOSSES_MAX,
    OUTCOME_DEPTH_MAX,
    REPR_CHARS_MAX,
    VALUES_MAX,
    ResultNotRepresentableError,
    represent,
    unwrap_bytes,
    unwrap_int,
    wrap_bytes,
    wrap_int,
)

from .json_strategies import json_values

pytestmark = pytest.mark.proves("BYTE-1a")


class Colour(enum.Enum):
    RED = "red"


class Kit(enum.Enum):
    PARTS = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    HI = "hi"


class Pair(NamedTuple):
    a: int
    b: int


@attrs.frozen
class Login:
    user: str
    password: str = attrs.field(repr=False)


@dataclasses.dataclass
class Point:
    x: int
    y: float
    secret: str = dataclasses.field(default="s", repr=False)


@attrs.define
class Unready:
    later: int = attrs.field(init=False)


class Mute:
    def __repr__(self) -> str:
        raise RuntimeError


class Loud:
    def __repr__(self) -> str:
        return "\ud800" * 10_000


class Hostile(dict[str, int]):
    """Its own methods lie, against the types too, and raise; the door must not call them."""

    def items(self) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError

    def __iter__(self) -> None:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        raise RuntimeError


def losses(value: object) -> list[tuple[str, str, int]]:
    return [(loss.path, loss.reason, loss.count) for loss in represent(value)[1]]


@given(json_values())
def test_accepted_values_pass_unchanged_and_without_loss(value: Json) -> None:
    result, lost = represent(value)
    assert (encode(result), lost) == (encode(value), ())


@pytest.mark.parametrize(
    ("value", "result", "lost"),
    [
        (2**53, {"$int": "9007199254740992"}, [("$", "int_wrapped", 1)]),
        ([float(2**53)], [{"$float": "9007199254740992.0"}], [("$[0]", "float_wrapped", 1)]),
        ({"a": math.nan}, {"a": {"$float": "nan"}}, [("$.a", "float_wrapped", 1)]),
        (-math.inf, {"$float": "-inf"}, [("$", "float_wrapped", 1)]),
        (b"\x00\xff", {"$bytes": "AP8="}, [("$", "bytes_wrapped", 1)]),
        (bytearray(b"a"), {"$bytes": "YQ=="}, [("$", "bytes_wrapped", 1)]),
        (memoryview(b"abcd")[::2], {"$bytes": "YWM="}, [("$", "bytes_wrapped", 1)]),
        ("a\ud800", "a\ufffd", [("$", "text_replaced", 1)]),
        ("\ud83d\ude00", "\U0001f600", [("$", "surrogates_joined", 1)]),
        ((1, (2,)), [1, [2]], [("$", "kind_changed", 1), ("$[1]", "kind_changed", 1)]),
        (Pair(1, 2), [1, 2], [("$", "kind_changed", 1)]),
        (Level.HIGH, 3, [("$", "kind_changed", 1)]),
        (Word.HI, "hi", [("$", "kind_changed", 1)]),
        (Colour.RED, "red", [("$", "kind_changed", 1)]),
        ({"b", "a"}, ["a", "b"], [("$", "set_sorted", 1)]),
        (OrderedDict[str, int](a=1), {"a": 1}, [("$", "kind_changed", 1)]),
        ({Word.HI: 1}, {"hi": 1}, [("$", "kind_changed", 1)]),
        (Hostile(a=1), {"a": 1}, [("$", "kind_changed", 1)]),
        ({1: "x", "1": "y"}, {"$pairs": [[1, "x"], ["1", "y"]]}, [("$", "keys_as_pairs", 1)]),
        (
            {"\ud800": 1},
            {"$pairs": [["\ufffd", 1]]},
            [("$", "keys_as_pairs", 1), ('$["$pairs"][0][0]', "text_replaced", 1)],
        ),
        (Login("ann", "pw"), {"user": "ann"}, [("$", "object_as_fields", 1)]),
        (Point(1, 2.5), {"x": 1, "y": 2.5}, [("$", "object_as_fields", 1)]),
        (
            Decimal("1.50"),
            {"$repr": "Decimal('1.50')", "$type": "Decimal"},
            [("$", "object_as_text", 1)],
        ),
        (int, {"$repr": "<class 'int'>", "$type": "type"}, [("$", "object_as_text", 1)]),
        (Mute(), {"$repr": "", "$type": "Mute"}, [("$", "object_as_text", 1)]),
        (
            Loud(),
            {"$repr": "\ufffd" * REPR_CHARS_MAX, "$type": "Loud"},
            [
                ("$", "object_as_text", 1),
                ("$", "cut_size", 1),
                ("$", "text_replaced", REPR_CHARS_MAX),
            ],
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_value_has_its_documented_encoding_and_loss(
    value: object, result: Json, lost: list[tuple[str, str, int]]
) -> None:
    assert represent(value)[0] == result
    assert losses(value) == lost
    encode(result)


def test_object_whose_fields_cannot_be_read_is_shown_as_text() -> None:
    result, lost = represent(Unready())
    assert result == {"$repr": "Unready(later=NOTHING)", "$type": "Unready"}
    assert [loss.reason for loss in lost] == ["object_as_text"]


FOREIGN: Final[st.SearchStrategy[object]] = st.recursive(
    st.integers()
    | st.floats()
    | st.text(st.characters() | st.sampled_from(["\ud83d", "\ude00"]), max_size=5)
    | st.binary(max_size=5)
    | st.complex_numbers()
    | st.sampled_from([Colour.RED, Level.HIGH, Word.HI, None, True, Ellipsis, print]),
    lambda parts: (
        st.lists(parts, max_size=4)
        | st.lists(parts, max_size=4).map(tuple)
        | st.dictionaries(
            st.text(max_size=3) | st.integers() | st.binary(max_size=2) | st.booleans(),
            parts,
            max_size=4,
        )
        | st.frozensets(st.integers() | st.text(max_size=3) | st.binary(max_size=2), max_size=4)
    ),
    max_leaves=10,
)


@given(FOREIGN)
def test_every_value_comes_through_in_the_accepted_domain(value: object) -> None:
    """And again without a loss: what the door let out is what it lets in."""
    result, lost = represent(value)
    encode(result)
    assert represent(result) == (result, ())
    encode([[loss.path, loss.reason, loss.count] for loss in lost])


@pytest.mark.parametrize("leaf", [1, 2**60, math.nan, b"", (), {1: 2}, Decimal(1), Point(1, 2)])
@pytest.mark.parametrize("depth", range(OUTCOME_DEPTH_MAX - 3, OUTCOME_DEPTH_MAX + 2))
def test_depth_is_cut_so_that_the_fact_around_it_has_room(leaf: object, depth: int) -> None:
    value = leaf
    for _ in range(depth):
        value = [value]
    result, _ = represent(value)
    for _ in range(DEPTH_MAX - OUTCOME_DEPTH_MAX):
        result = [result]
    encode(result)


@pytest.mark.parametrize("leaf", [1, "a", None, 1.5, Colour.RED, Level.HIGH, True])
def test_depth_leaves_room_for_values_that_nest_no_deeper(leaf: object) -> None:
    value = leaf
    for _ in range(OUTCOME_DEPTH_MAX):
        value = [value]
    assert "cut_depth" not in {loss.reason for loss in represent(value)[1]}
    assert "cut_depth" in {loss.reason for loss in represent([value])[1]}


def test_enum_takes_no_depth_of_its_own() -> None:
    value: object = Kit.PARTS
    for _ in range(OUTCOME_DEPTH_MAX - 1):
        value = [value]
    assert {loss.reason for loss in represent(value)[1]} == {"kind_changed"}


def test_sets_inside_sets_cost_no_more_than_lists_do() -> None:
    value: object = 1
    for _ in range(OUTCOME_DEPTH_MAX):
        value = frozenset({value})
    assert {loss.reason for loss in represent(value)[1]} == {"set_sorted"}


@pytest.mark.parametrize(
    ("value", "total"),
    [
        ({frozenset({(number,)}) for number in range(60)}, 1 + 60 * 2),
        ([{(number,) for number in range(99)}], 1 + 99),
        ({((),) * 99}, 1 + 1 + 99),
    ],
    ids=["sets", "tuples", "one member"],
)
def test_losses_inside_a_set_are_listed_and_counted_like_others(value: object, total: int) -> None:
    _, lost = represent(value)
    assert len(lost) == LOSSES_MAX + 1
    assert lost[-1] == Loss(path="$", reason="more_losses", count=total - LOSSES_MAX)


def test_set_members_that_end_up_alike_are_ordered_by_their_losses() -> None:
    one, other = (1,), frozenset({1})
    result, lost = represent({one, other})
    assert result == [[1], [1]]
    assert [(loss.path, loss.reason) for loss in lost[1:]] == [
        ("$[0]", "kind_changed"),
        ("$[1]", "set_sorted"),
    ]


def test_cycle_is_cut_by_depth() -> None:
    cycle: list[object] = []
    cycle.append(cycle)
    result, lost = represent(cycle)
    encode(result)
    assert [loss.reason for loss in lost] == ["cut_depth"]


def test_small_graph_that_is_endless_as_a_tree_is_cut_by_size() -> None:
    value: object = 1
    for _ in range(40):
        value = [value, value]
    result, lost = represent(value)
    assert len(encode(result)) < 10_000_000
    assert {loss.reason for loss in lost} == {"cut_size"}


TOO_MANY: Final = ["x"] * VALUES_MAX


@pytest.mark.parametrize(
    ("value", "place"),
    [([TOO_MANY, 1], "$[0]"), ({"a": TOO_MANY, "b": 1}, "$.a")],
    ids=["list", "dict"],
)
def test_what_follows_a_cut_by_size_is_left_out_with_a_loss(value: object, place: str) -> None:
    result, lost = represent(value)
    assert isinstance(result, (list, dict))
    assert len(result) == 1
    assert [(loss.path, loss.reason) for loss in lost] == [
        (f"{place}[{VALUES_MAX - 2}]", "cut_size"),
        (place, "cut_size"),
        ("$", "cut_size"),
    ]


def test_members_of_sets_count_as_values_like_others() -> None:
    value = [{("x",) * (VALUES_MAX - 10)}, {("y",) * 20}, 1]
    result, lost = represent(value)
    assert isinstance(result, list)
    assert len(result) == 2
    assert ("$", "cut_size") in {(loss.path, loss.reason) for loss in lost}


def test_losses_are_listed_up_to_a_bound_and_then_counted() -> None:
    _, lost = represent([(), *[()] * 999])
    assert len(lost) == LOSSES_MAX + 1
    assert lost[-1] == Loss(path="$", reason="more_losses", count=1000 - LOSSES_MAX)


def test_set_is_a_sorted_list_with_places_of_its_own() -> None:
    result, lost = represent({b"b", 2**60, "a", (1, frozenset({"z", "y"})), 3})
    assert result == ["a", 3, [1, ["y", "z"]], {"$bytes": "Yg=="}, {"$int": str(2**60)}]
    assert [(loss.path, loss.reason) for loss in lost] == [
        ("$", "set_sorted"),
        ("$[2]", "kind_changed"),
        ("$[2][1]", "set_sorted"),
        ("$[3]", "bytes_wrapped"),
        ("$[4]", "int_wrapped"),
    ]


def test_set_is_the_same_in_every_process() -> None:
    """Python orders a set by hashes that change with every start."""
    program = (
        "from crashworthy.machines.facts.represent import represent\n"
        "print(represent({*'abcdefgh', b'b', 2**60, ('x',), frozenset('x'), frozenset('yz')}))"
    )
    shown = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(shown) == 1


def test_value_that_cannot_be_read_is_a_settled_error_with_a_code() -> None:
    view = memoryview(b"gone")
    view.release()
    with pytest.raises(ResultNotRepresentableError) as caught:
        represent({"a": view})
    assert str(caught.value) == ("[result_not_representable] kind='dict', cause='ValueError'")


@given(st.integers())
def test_wrapped_integer_reads_back(number: int) -> None:
    assert unwrap_int(wrap_int(number)) == number


@pytest.mark.parametrize(
    "number", [10**5000, -(10**5000), 2**4096, SAFE_INT_MAX, 0], ids=int.bit_length
)
def test_wrapped_integer_has_no_limit(number: int) -> None:
    wrapped = wrap_int(number)
    encode(wrapped)
    assert unwrap_int(wrapped) == number


@given(st.binary())
def test_wrapped_bytes_read_back(data: bytes) -> None:
    wrapped = wrap_bytes(data)
    encode(wrapped)
    assert unwrap_bytes(wrapped) == data


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "5",
        {},
        {"$int": 5},
        {"$int": "x"},
        {"$int": "05"},
        {"$int": "0x5"},
        {"$int": "1_0"},
        {"$int": " 5"},
        {"$int": "5", "b": 1},
    ],
)
def test_unwrapping_an_integer_takes_only_what_wrapping_writes(value: Json) -> None:
    with pytest.raises(ValueKindError):
        unwrap_int(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "YQ==",
        {},
        {"$bytes": 1},
        {"$bytes": "YQ"},
        {"$bytes": "YQ== "},
        {"$bytes": "Y*Q=="},
        {"$bytes": "YR=="},
        {"$bytes": "\u00e9"},
        {"$bytes": "YQ==", "b": 1},
    ],
)
def test_unwrapping_bytes_takes_only_what_wrapping_writes(value: Json) -> None:
    with pytest.raises(ValueKindError):
        unwrap_bytes(value)
