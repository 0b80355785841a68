"""The codec gives one form to each accepted value and refuses every other with code and path."""

import json
import math
import struct
from collections import OrderedDict
from collections.abc import Callable
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.canonical import (
    DEPTH_MAX,
    SAFE_INT_MAX,
    BytesNotCanonicalError,
    CanonicalError,
    DepthExceededError,
    JsonMalformedError,
    TextUncleanError,
    check,
    decode,
    encode,
    encode_trusted,
    parse,
    render_path,
    same,
)
from crashworthy.machines.facts.codes import Code

VECTORS: Final = json.loads((Path(__file__).parents[2] / "vectors/rfc8785.json").read_text("utf-8"))
WRITERS: Final = (encode, encode_trusted)

pytestmark = pytest.mark.proves("BYTE-1")


class Level(IntEnum):
    HIGH = 3


class Colour(StrEnum):
    RED = "red"


class Text(str):
    __slots__ = ()


class Real(float):
    __slots__ = ()


class Items(list[int]):
    __slots__ = ()


def nested(depth: int, *, objects: bool = False) -> object:
    """Return `depth` containers inside each other."""
    value: object = 1
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


def refusal(act: Callable[[], object]) -> tuple[Code, str]:
    """Return code and path with which `act` is refused."""
    with pytest.raises(CanonicalError) as caught:
        act()
    return caught.value.code, render_path(caught.value.path)


# --- published vectors ---


@pytest.mark.parametrize("vector", VECTORS["numbers"], ids=lambda vector: vector["ieee754"])
@pytest.mark.parametrize("write", WRITERS)
def test_number_has_the_published_form_or_the_stated_refusal(
    write: Callable[[object], bytes], vector: dict[str, str | None]
) -> None:
    assert vector["ieee754"] is not None
    (number,) = struct.unpack(">d", bytes.fromhex(vector["ieee754"]))
    if vector["refused"] is not None:
        assert refusal(lambda: write([number])) == (vector["refused"], "$[0]")
        return
    assert vector["canonical"] is not None
    assert write(number) == vector["canonical"].encode()
    assert decode(vector["canonical"].encode()) == number


@pytest.mark.parametrize("vector", VECTORS["texts"], ids=lambda vector: vector["name"])
def test_text_has_the_published_form_or_the_stated_refusal(vector: dict[str, str]) -> None:
    if vector["refused"]:
        stated = (vector["refused"], vector["path"])
        assert refusal(lambda: parse(vector["json"])) == stated
        assert refusal(lambda: decode(vector["canonical"].encode())) == stated
        return
    data = vector["canonical"].encode()
    value = parse(vector["json"])
    assert encode(value) == encode_trusted(value) == data
    assert same(decode(data), value)


# --- forms ---


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (-0.0, b"0"),
        (1.0, b"1"),
        (float(SAFE_INT_MAX), b"9007199254740991"),
        (-SAFE_INT_MAX, b"-9007199254740991"),
        (5e-324, b"5e-324"),
        (1.5e-7, b"1.5e-7"),
        (-1.25e-5, b"-0.0000125"),
        (0.1, b"0.1"),
        ('\x00\x1f\x7f\u2028"\\/', b'"\\u0000\\u001f\x7f\xe2\x80\xa8\\"\\\\/"'),
        ({}, b"{}"),
        ([], b"[]"),
        ({"b": [True, False, None], "a": {}}, b'{"a":{},"b":[true,false,null]}'),
        # By code point the second key would come first.
        ({"\U0001f600": 1, "\ufb33": 2}, '{"\U0001f600":1,"\ufb33":2}'.encode()),
        # Strings that only look like numbers, brackets and keys to the quick road.
        (
            {"a": ',1.5:12345678901234567,[2e-7,"', "b": "[{" * 40 + '"\\'},
            b'{"a":",1.5:12345678901234567,[2e-7,\\"","b":"' + b"[{" * 40 + b'\\"\\\\"}',
        ),
    ],
)
def test_value_has_one_form_on_every_road(value: object, data: bytes) -> None:
    assert encode(value) == data
    assert encode_trusted(value) == data
    assert encode(decode(data)) == data
    assert parse(data) == value


def test_same_compares_what_is_written_not_python_equality() -> None:
    assert same({"a": 1, "b": [1.0]}, {"b": [1], "a": 1.0})
    assert not same([True], [1])
    assert not same([0], [False])


def test_trusted_road_takes_the_shapes_of_our_own_typed_codec() -> None:
    """A typed fact holds tuples and enum members; its codec need not copy them first."""
    assert encode_trusted({"colour": Colour.RED, "of": (1, 2)}) == b'{"colour":"red","of":[1,2]}'


# --- refusals of values ---


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize(
    ("value", "code", "path"),
    [
        ([math.nan], Code.NUMBER_NOT_FINITE, "$[0]"),
        ({"a": math.inf}, Code.NUMBER_NOT_FINITE, "$.a"),
        ([0, -math.inf], Code.NUMBER_NOT_FINITE, "$[1]"),
        ([2**53], Code.NUMBER_UNSAFE, "$[0]"),
        ([-(2**53)], Code.NUMBER_UNSAFE, "$[0]"),
        ({"a": [1, {"b": 10**5000}]}, Code.NUMBER_UNSAFE, "$.a[1].b"),
        ([float(2**53)], Code.NUMBER_UNSAFE, "$[0]"),
        ([1e21], Code.NUMBER_UNSAFE, "$[0]"),
        ({"a": "x\ud800"}, Code.TEXT_UNCLEAN, "$.a"),
        (["\udfff"], Code.TEXT_UNCLEAN, "$[0]"),
        ({"ok": 1, "bad\udc80": 2}, Code.TEXT_UNCLEAN, '$["bad\\udc80"]'),
        ([b"bytes"], Code.VALUE_KIND, "$[0]"),
        ([{1, 2}], Code.VALUE_KIND, "$[0]"),
        ({"a": {(1,): 2}}, Code.KEY_KIND, "$.a"),
        (nested(DEPTH_MAX + 1), Code.DEPTH_EXCEEDED, "$" + "[0]" * 12 + "..."),
        (nested(DEPTH_MAX + 1, objects=True), Code.DEPTH_EXCEEDED, "$" + ".a" * 12 + "..."),
        (nested(100_000), Code.DEPTH_EXCEEDED, "$" + "[0]" * 12 + "..."),
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, (Code, str)) else type(value).__name__,
)
def test_both_writers_refuse_with_code_and_path(
    write: Callable[[object], bytes], value: object, code: Code, path: str
) -> None:
    assert refusal(lambda: write(value)) == (code, path)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ([(1, 2)], Code.VALUE_KIND),
        ([Level.HIGH], Code.VALUE_KIND),
        ([Colour.RED], Code.VALUE_KIND),
        ([Text("a")], Code.VALUE_KIND),
        ([Real(1.5)], Code.VALUE_KIND),
        ([Items()], Code.VALUE_KIND),
        ([OrderedDict[str, int]()], Code.VALUE_KIND),
        ({1: 2}, Code.KEY_KIND),
        ({None: 2}, Code.KEY_KIND),
        ({Colour.RED: 2}, Code.KEY_KIND),
    ],
)
def test_strict_door_refuses_every_subclass_and_foreign_kind(value: object, code: Code) -> None:
    assert refusal(lambda: encode(value))[0] == code
    assert refusal(lambda: check(value))[0] == code


@pytest.mark.parametrize("write", WRITERS)
def test_writers_refuse_cycles_by_depth(write: Callable[[object], bytes]) -> None:
    cycle: dict[str, object] = {}
    cycle["self"] = [cycle]
    assert refusal(lambda: write(cycle))[0] == Code.DEPTH_EXCEEDED


@pytest.mark.parametrize("objects", [True, False])
def test_depth_is_allowed_up_to_the_limit(objects: bool) -> None:  # noqa: FBT001 (pytest passes it)
    value = nested(DEPTH_MAX, objects=objects)
    assert encode(value) == encode_trusted(value)
    assert decode(encode(value)) == value


def test_depth_limit_is_exact_beside_many_shallow_brackets() -> None:
    """More brackets than the limit send the text to the measuring scan."""
    row: list[object] = [[] for _ in range(200)]
    assert decode(encode([*row, nested(DEPTH_MAX - 1)])) == [*row, nested(DEPTH_MAX - 1)]
    deeper = [*row, nested(DEPTH_MAX)]
    assert refusal(lambda: encode(deeper))[0] == Code.DEPTH_EXCEEDED
    data = json.dumps(deeper, separators=(",", ":")).encode()
    assert refusal(lambda: decode(data))[0] == Code.DEPTH_EXCEEDED


def test_refusal_shows_the_place_and_not_the_content() -> None:
    """Errors are shown and logged; a refused value may be a secret (OWN-7)."""
    with pytest.raises(CanonicalError) as caught:
        encode({"login": ["swordfish\ud800"]})
    assert str(caught.value) == "[unclean_text] $.login[0]: lone surrogate at offset 9"


def test_path_is_printable_and_bounded_whatever_the_keys_are() -> None:
    assert render_path(("a", 3, "b c", "\ud800", "")) == '$.a[3]["b c"]["\\ud800"][""]'
    assert len(render_path(("k" * 10_000, *range(1000)))) < 150


# --- refusals of texts ---


@pytest.mark.proves("BYTE-2")
@pytest.mark.parametrize(
    "data",
    [
        b"-0",
        b"1.0",
        b"1e2",
        b"1E-7",
        b"1e-07",
        b" 1",
        b"1\n",
        b'{"a": 1}',
        b'{"b":1,"a":2}',
        '{"\ufb33":2,"\U0001f600":1}'.encode(),
        b'"\\u0041"',
        b'"\\/"',
        b'"\\u000A"',
        b'"\\u000F"',
        b'"\\ud83d\\ude00"',
    ],
)
def test_decode_refuses_json_that_is_not_in_the_one_form(data: bytes) -> None:
    parse(data)  # It is strict JSON, only not canonical.
    with pytest.raises(BytesNotCanonicalError):
        decode(data)


@pytest.mark.parametrize(
    ("data", "code", "path"),
    [
        (b"", Code.JSON_MALFORMED, "$"),
        (b"1 2", Code.JSON_MALFORMED, "$"),
        (b"[1,]", Code.JSON_MALFORMED, "$"),
        (b"01", Code.JSON_MALFORMED, "$"),
        (b"nul", Code.JSON_MALFORMED, "$"),
        (b"'a'", Code.JSON_MALFORMED, "$"),
        (b'"a\nb"', Code.JSON_MALFORMED, "$"),
        (b"\xef\xbb\xbf1", Code.JSON_MALFORMED, "$"),
        (b'{"a":1}]', Code.JSON_MALFORMED, "$"),
        (b'"\xff"', Code.TEXT_UNCLEAN, "$"),
        (b'"\xed\xa0\x80"', Code.TEXT_UNCLEAN, "$"),
        (b'["\\ud800"]', Code.TEXT_UNCLEAN, "$[0]"),
        (b'{"a":{"\\udfff":1}}', Code.TEXT_UNCLEAN, '$.a["\\udfff"]'),
        (b'{"a":1,"a":1}', Code.KEY_DUPLICATE, "$"),
        (b'{"x":[{"a":1,"b":2,"\\u0061":3}]}', Code.KEY_DUPLICATE, "$.x[0]"),
        (b"[NaN]", Code.NUMBER_NOT_FINITE, "$[0]"),
        (b'{"a":-Infinity}', Code.NUMBER_NOT_FINITE, "$.a"),
        (b"9007199254740992", Code.NUMBER_UNSAFE, "$"),
        (b"[0,-9007199254740992]", Code.NUMBER_UNSAFE, "$[1]"),
        (b"[" + b"9" * 100_000 + b"]", Code.NUMBER_UNSAFE, "$[0]"),
        (b"1e21", Code.NUMBER_UNSAFE, "$"),
        (b"[1e400]", Code.NUMBER_UNSAFE, "$[0]"),
        (b"[" * 100_000, Code.DEPTH_EXCEEDED, "$"),
        (b'{"a":' * 100_000, Code.DEPTH_EXCEEDED, "$"),
        (b"[" * 65 + b"]" * 65, Code.DEPTH_EXCEEDED, "$"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else "",
)
@pytest.mark.parametrize("read", [decode, parse])
def test_both_readers_refuse_with_code_and_path(
    read: Callable[[bytes], object], data: bytes, code: Code, path: str
) -> None:
    assert refusal(lambda: read(data)) == (code, path)


def test_parse_reads_what_people_write() -> None:
    assert parse(' {"b" : 1.50, "a" : "\\u00e9"}\n') == {"a": "\u00e9", "b": 1.5}


def test_parse_refuses_lone_surrogates_that_stand_raw_in_a_str() -> None:
    with pytest.raises(TextUncleanError):
        parse('["\ud800"]')


@pytest.mark.parametrize("read", [decode, parse])
def test_readers_take_linear_time_for_hostile_text(read: Callable[[bytes], object]) -> None:
    """Without possessive matching the depth scan of this one would take hours."""
    with pytest.raises((DepthExceededError, JsonMalformedError)):
        read(b"[" * 60 + b'"' + b'\\"' * 500_000 + b"[" * 100)


@pytest.mark.proves("BYTE-2")
@given(
    st.binary(max_size=40) | st.text('{}[]",:\\0123456789.e-+ntu ab', max_size=20).map(str.encode)
)
def test_decode_accepts_only_what_it_would_write(data: bytes) -> None:
    try:
        value = decode(data)
    except CanonicalError:
        return
    assert encode(value) == data
