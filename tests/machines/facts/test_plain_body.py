"""One match reads a body exactly as the long road does, or not at all (BYTE-2, LOG-2)."""

import contextlib
import json
import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, TypeVar, cast

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts import canonical, forms, plain_body
from crashworthy.machines.facts import model as m
from crashworthy.machines.facts import vocabulary as v
from crashworthy.machines.facts.canonical import CanonicalError, Json
from crashworthy.machines.facts.codec import decode_at_length, decode_body, encode_body
from crashworthy.machines.facts.illegal import IllegalFactError
from crashworthy.machines.facts.kinds import KINDS
from crashworthy.machines.facts.plain_body import read_plain
from crashworthy.machines.facts.shapes import Sort, fields_of

from ...strategies import events
from .facts_by_hand import EVENTS, changed

R = TypeVar("R")

EACH_KIND = pytest.mark.parametrize("kind", v.Kind)

SPLINTERS: Final = (
    *('"', "\\", ",", ":", "{", "}", "[", "]", "0", "1", "-", ".", "e", " ", "\n", "\x7f", "é"),
    *("\\n", "\\u000a", "\\u0007", "\\u001F", "\\/", "null", "true", '""', "{}", '"kind":"call",'),
    *('"visibility":"visible",', '"visibility":"hidden"', '"refs":{},', "00", "1.0", "😀"),
    *("9007199254740993", '"branch":"b",', '"origin":"nested",'),
)


FREE: Final[Json] = {"list": [1, True, {}], "none": None, "text": "two\nlines"}


def simple(record: R) -> R:
    """The record with every tuple of records in it left empty, and free JSON without floats."""
    for field in fields_of(type(record)):
        value = cast("object", getattr(record, field.name))
        if field.many:
            if field.sort is Sort.RECORD:
                record = changed(record, **{field.name: ()})
        elif field.sort is Sort.RECORD and value is not None:
            record = changed(record, **{field.name: simple(value)})
        elif field.sort is Sort.FREE and value is not None:
            record = changed(record, **{field.name: FREE})
    return record


def simple_fact(kind: v.Kind) -> m.RuntimeEvent:
    """A fact that one match can read."""
    event = simple(EVENTS[kind])
    if isinstance(event.actions, m.Dispatched):  # Evidence may be absent, and holds free JSON.
        never = v.RecoveryMode.NEVER_AUTO_RETRY
        return changed(event, actions=changed(event.actions, recovery=never, evidence=None))
    if isinstance(event.actions, m.AskOpened):  # An expansion may be absent, and is free JSON.
        asked = changed(event.actions, purpose=v.Purpose.PERMISSION, expansion=None)
        return changed(event, actions=asked)
    if isinstance(event.actions, m.AskAnswered):
        return changed(event, actions=m.AskAnswered(decision=v.AnswerDecision.ALLOW))
    return event


def read_at_length(data: bytes) -> m.RuntimeEvent | None:
    """What the long road reads; None where it refuses."""
    with contextlib.suppress(IllegalFactError, CanonicalError):
        return decode_at_length(data)
    return None


def read_plainly(data: bytes) -> m.RuntimeEvent | None:
    """What one match reads; None where it does not match, or its kind's rule refuses."""
    with contextlib.suppress(IllegalFactError):
        return read_plain(data)
    return None


@EACH_KIND
def test_simple_fact_is_read_by_one_match(kind: v.Kind) -> None:
    event = simple_fact(kind)

    assert read_plain(encode_body(event)) == event


@EACH_KIND
def test_everything_of_a_simple_fact_is_of_the_same_type_as_at_length(kind: v.Kind) -> None:
    """Equality forgives True for 1, and a word for its text."""
    data = encode_body(simple_fact(kind))

    def typed(value: object) -> object:
        if attrs.has(type(value)):
            parts = attrs.fields(cast("type[attrs.AttrsInstance]", type(value)))
            return type(value), [typed(getattr(value, part.name)) for part in parts]
        if isinstance(value, tuple):
            return tuple(map(typed, cast("tuple[object, ...]", value)))
        return type(value), value

    assert typed(read_plain(data)) == typed(decode_at_length(data))


@given(events())
def test_both_roads_read_the_same(event: m.RuntimeEvent) -> None:
    data = encode_body(event)

    assert read_plain(data) in (None, event)
    assert decode_body(data) == decode_at_length(data) == event


@given(data=st.data())
@settings(max_examples=300)
def test_what_one_match_reads_of_spoiled_bytes_the_long_road_reads_the_same(
    data: st.DataObject,
) -> None:
    """The grammar may know less than the language, never more."""
    body = encode_body(data.draw(events())).decode()
    if data.draw(st.booleans()):
        body = encode_body(simple_fact(data.draw(st.sampled_from(v.Kind)))).decode()
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body)))
        gone = data.draw(st.sampled_from((0, 0, 1, 2, 8)))
        splinter = data.draw(st.sampled_from(("", *SPLINTERS)))
        body = body[:at] + splinter + body[at + gone :]

    spoiled = body.encode()
    plain = read_plainly(spoiled)

    if plain is not None:
        assert read_at_length(spoiled) == plain
        assert encode_body(plain) == spoiled


def written(body: Json) -> bytes:
    """The canonical bytes of a body with short ASCII keys, without looking at all of it again."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def agree(spoiled: bytes) -> bool:
    """Whether one match reads nothing here, or just what the long road reads."""
    plain = read_plainly(spoiled)
    return plain is None or plain == read_at_length(spoiled)


WORDS: Final = tuple(
    str(word)
    for words in vars(v).values()
    if isinstance(words, type) and issubclass(words, StrEnum)
    for word in words
)
NAMES: Final = (*attrs.fields_dict(m.RuntimeEvent), *attrs.fields_dict(m.Refs), "unheard_of")
VALUES: Final[list[Json]] = [
    *("", "x", "a b", "x" * 128, "x" * 129, "x" * 257, "\n", '"', "é", "0" * 64, "G" * 64),
    *(None, True, False, 0, 1, -1, 10**15, 2**53 - 1, 1.5),
    [],
    ["x"],
    [""],
    {},
    {"a": 1},
]


def places(value: Json) -> Iterator[dict[str, Json]]:
    """Every object of a body, from the outside in."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from places(item)


@EACH_KIND
def test_roads_agree_on_every_change_of_one_member(kind: v.Kind) -> None:
    """Each value of each object replaced by each other value or word, removed, or added."""
    body = cast("Json", json.loads(encode_body(simple_fact(kind))))

    for place in places(body):
        for name in {*place, *NAMES}:
            kept = dict(place)
            for value in (*VALUES, *WORDS):
                place[name] = value
                assert agree(written(body)), (name, value)
            place.pop(name)
            assert agree(written(body)), name
            place.clear()
            place.update(kept)


NUMBERS: Final = (
    "",
    "00",
    "01",
    "-0",
    "-1",
    "1.0",
    "1e3",
    "9007199254740993",
    "9" * 20,
    " 1",
    "+1",
)
CHARACTERS: Final = (
    *("\\u0041", "\\/", "\\u000a", "\\u0008", "\\u001F", "\\u001f", "\\u00e9", "\\x", "\\"),
    *("\n", "\x00", "\x1f", "\x7f", "\u2028", "😀", '"', '","'),
)


@EACH_KIND
def test_roads_agree_on_every_spelling(kind: v.Kind) -> None:
    """Each number, each text and each gap between two tokens, spelled otherwise."""
    body = encode_body(simple_fact(kind)).decode()
    texts = [match.end() for match in re.finditer(r':"', body)]
    gaps = [match.end() for match in re.finditer(r"[{}:,]", body)]

    for number in re.finditer(r":([0-9]+)", body):
        for literal in NUMBERS:
            assert agree((body[: number.start(1)] + literal + body[number.end() :]).encode())
    for at in texts:
        for character in CHARACTERS:
            assert agree((body[:at] + character + body[at:]).encode()), (at, character)
    for at in gaps:
        for gap in (" ", "\n", ",", "{}", "null"):
            assert agree((body[:at] + gap + body[at:]).encode()), (at, gap)


@EACH_KIND
def test_roads_agree_on_every_member_that_moved_or_came_twice(kind: v.Kind) -> None:
    """Members that are each right by themselves, in an order or a number that is wrong."""
    body = encode_body(simple_fact(kind)).decode()
    members = re.findall(r'"[a-z_]+":(?:"[^"\\]*"|[0-9]+|\{[^{}]*\}),?', body)

    for member in members:
        for bare in (body, body.replace(member, "", 1)):
            for place in re.finditer(r"[{,}]", bare):
                for at in (place.start(), place.end()):
                    assert agree((bare[:at] + member + bare[at:]).encode()), (member, at)


@EACH_KIND
def test_refs_that_a_kind_needs_are_not_read_as_absent(kind: v.Kind) -> None:
    if not KINDS[kind].needs:
        return
    body = encode_body(simple_fact(kind)).decode()
    bare = re.sub(r'"refs":\{[^}]*\},', "", body)

    assert bare != body
    assert read_plain(bare.encode()) is None
    assert read_plain(re.sub(r'"refs":\{[^}]*\}', '"refs":{}', body).encode()) is None


@pytest.mark.parametrize("form", plain_body.TEXTS)
@given(data=st.data())
def test_every_text_of_a_pattern_has_its_form(form: forms.Form, data: st.DataObject) -> None:
    pattern, convert = plain_body.TEXTS[form]
    # Hypothesis draws from neither possessive repeats nor look-aheads; the match below has them.
    drawn = st.from_regex(pattern.replace('(?!")', "").replace("*+", "*"), fullmatch=True)
    text = data.draw(drawn)
    if re.fullmatch(f'"({pattern})"', f'"{text}"') is None:
        assert text == ""
        return

    value = text if convert is None else convert(text)
    assert form(value)
    assert canonical.encode(value).decode() == f'"{text}"'


@pytest.mark.parametrize("form", plain_body.INTEGERS)
@given(data=st.data())
def test_every_number_of_a_pattern_has_its_form(form: forms.Form, data: st.DataObject) -> None:
    literal = data.draw(st.from_regex(f"(?:{plain_body.INTEGERS[form]})", fullmatch=True))

    assert form(int(literal))
    assert str(int(literal)) == literal
