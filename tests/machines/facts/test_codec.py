"""Bodies and stamps have exactly one form, and nothing else is read (BYTE-2, BYTE-5a, LOG-2)."""

import contextlib
import copy
import json
from typing import cast

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crashworthy.machines.facts import canonical
from crashworthy.machines.facts import model as m
from crashworthy.machines.facts import vocabulary as v
from crashworthy.machines.facts.canonical import CanonicalError, Json
from crashworthy.machines.facts.codec import (
    decode_body,
    decode_stamp,
    detached,
    encode_body,
    encode_stamp,
)
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.illegal import IllegalFactError
from crashworthy.machines.facts.kinds import KINDS

from ...strategies import events, stamps
from .facts_by_hand import EVENTS, OUTCOME, SPINE, STAMP, changed

EACH_KIND = pytest.mark.parametrize("kind", v.Kind)
FEW = settings(max_examples=10)


NOTHING: dict[str, Json] = {}


def objects_in(body: Json) -> list[dict[str, Json]]:
    """The body and every object below it, free JSON included."""
    if isinstance(body, list):
        return [found for item in body for found in objects_in(item)]
    if isinstance(body, dict):
        return [body, *(found for item in body.values() for found in objects_in(item))]
    return []


def body_of(event: m.RuntimeEvent) -> dict[str, Json]:
    """The JSON of a fact, to be spoiled by a test."""
    return cast("dict[str, Json]", json.loads(encode_body(event)))


def refusal(spoiled: Json) -> IllegalFactError:
    """What `decode_body` says of a body that is canonical but not a fact."""
    with pytest.raises(IllegalFactError) as caught:
        decode_body(canonical.encode(spoiled))
    return caught.value


def spoil(event: m.RuntimeEvent, *path: str, value: Json) -> IllegalFactError:
    """What is said when the value at `path` is replaced, or added."""
    body = body_of(event)
    place: dict[str, Json] = body
    for step in path[:-1]:
        place = cast("dict[str, Json]", place.setdefault(step, {}))
    place[path[-1]] = value
    return refusal(body)


@EACH_KIND
@FEW
@given(data=st.data())
def test_body_reads_back_as_itself(kind: v.Kind, data: st.DataObject) -> None:
    event = data.draw(events(kind))

    assert decode_body(encode_body(event)) == event


@given(events())
def test_body_bytes_are_those_of_the_strict_door(event: m.RuntimeEvent) -> None:
    """The codec writes by the quick road, which trusts it; the exact road must agree."""
    data = encode_body(event)

    assert canonical.encode(canonical.decode(data)) == data


@given(stamps())
def test_stamp_reads_back_as_itself(stamp: m.Stamp) -> None:
    assert decode_stamp(encode_stamp(stamp)) == stamp


@given(events(), st.data())
def test_body_with_one_change_is_refused_or_still_legal(
    event: m.RuntimeEvent, data: st.DataObject
) -> None:
    """LOG-2: whatever is read is what would have been written; there is no third possibility."""
    body = body_of(event)
    place = data.draw(st.sampled_from(objects_in(body)))
    key = data.draw(st.sampled_from([*place, "unheard_of", *attrs.fields_dict(m.RuntimeEvent)]))
    words: list[Json] = [*map(str, (*v.Kind, *v.Role, *v.Author))]
    words += ["", "x", 0, -1, None, True, [], {}]
    if data.draw(st.booleans()) and key in place:
        del place[key]
    else:
        place[key] = data.draw(st.sampled_from(words))
    spoiled = canonical.encode(body)

    read = None
    with contextlib.suppress(IllegalFactError):
        read = decode_body(spoiled)

    assert read is None or encode_body(read) == spoiled


@EACH_KIND
def test_key_that_nobody_declared_is_refused_at_every_level(kind: v.Kind) -> None:
    event = EVENTS[kind]
    declared = [("spine",), ()]
    declared += [("content",)] if event.content is not None else []
    declared += [("actions",)] if event.actions is not None else []
    declared += [("refs",)] if event.refs != m.NO_REFS else []

    for path in declared:
        error = spoil(event, *path, "unheard_of", value=1)

        assert (error.code, error.path) == (Code.UNKNOWN_FACT, (*path, "unheard_of"))
        assert error.found == "integer"


@EACH_KIND
def test_key_branch_is_refused_by_its_own_code(kind: v.Kind) -> None:
    error = spoil(EVENTS[kind], "branch", value="b")

    assert (error.code, error.path) == (Code.BRANCH_RESERVED, ("branch",))


def test_kind_of_another_build_is_an_unknown_fact() -> None:
    error = spoil(OUTCOME, "kind", value="time_travelled")

    assert (error.code, error.path) == (Code.UNKNOWN_FACT, ("kind",))


@pytest.mark.parametrize("value", [None, 7, ["outcome"], {"kind": "outcome"}])
def test_kind_that_is_no_text_is_malformed(value: Json) -> None:
    error = spoil(OUTCOME, "kind", value=value)

    assert (error.code, error.path) == (Code.FACT_MALFORMED, ("kind",))


def test_word_of_another_build_is_an_unknown_fact() -> None:
    error = spoil(OUTCOME, "actions", "result", value="teleported")

    assert (error.code, error.path) == (Code.UNKNOWN_FACT, ("actions", "result"))


@pytest.mark.parametrize("value", [7, True, "ok", ["a"], None])
def test_value_that_is_no_object_is_no_body(value: Json) -> None:
    error = refusal(value)

    assert (error.code, error.path) == (Code.FACT_MALFORMED, ())


@EACH_KIND
def test_required_key_is_missed_by_name(kind: v.Kind) -> None:
    for name in ("id", "spine", "kind", "ts", "role", "author"):
        body = body_of(EVENTS[kind])
        del body[name]
        error = refusal(body)

        assert (error.code, error.path, error.found) == (Code.FACT_MALFORMED, (name,), "absent")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("refs",), {}),
        (("refs", "ask"), None),
        (("visibility",), "visible"),
        (("origin",), None),
        (("content", "losses"), []),
        (("content", "cut"), None),
        (("actions", "duration_ms"), None),
    ],
)
def test_default_is_refused_when_it_is_stated(path: tuple[str, ...], value: Json) -> None:
    """Two forms of one fact would have two chain values (BYTE-5)."""
    error = spoil(OUTCOME, *path, value=value)

    assert (error.code, error.path) == (Code.FACT_MALFORMED, path)


@pytest.mark.parametrize(
    ("path", "value", "found"),
    [
        (("ts",), "1", "string"),
        (("ts",), True, "boolean"),
        (("ts",), 1.5, "float"),
        (("id",), 1, "integer"),
        (("spine",), "s", "string"),
        (("spine", "run"), None, "null"),
        (("content",), [], "array"),
        (("content", "is_error"), 0, "integer"),
        (("content", "label"), {"secret": "hunter2"}, "object"),
        (("actions", "state"), 1, "integer"),
    ],
)
def test_value_of_another_type_is_refused_without_being_shown(
    path: tuple[str, ...], value: Json, found: str
) -> None:
    error = spoil(OUTCOME, *path, value=value)

    assert (error.code, error.path, error.found) == (Code.FACT_MALFORMED, path, found)
    assert "hunter2" not in str(error)


ENVELOPE: list[tuple[str, ...]] = [
    *((name,) for name in attrs.fields_dict(m.RuntimeEvent) if name not in {"content", "actions"}),
    *(("spine", name) for name in attrs.fields_dict(m.Spine)),
    *(("refs", name) for name in attrs.fields_dict(m.Refs)),
]


@pytest.mark.parametrize("value", [1.5, [NOTHING], False])
@pytest.mark.parametrize("path", ENVELOPE)
def test_envelope_of_another_type_is_refused_field_by_field(
    path: tuple[str, ...], value: Json
) -> None:
    error = spoil(OUTCOME, *path, value=value)
    assert (error.code, error.path) == (Code.FACT_MALFORMED, path)

    outer, inner = path[0], dict.fromkeys(path[1:], value)
    part = changed(getattr(OUTCOME, outer), **inner) if inner else value
    if path != ("kind",):
        with pytest.raises(IllegalFactError) as caught:
            encode_body(changed(OUTCOME, **{outer: part}))
        assert (caught.value.code, caught.value.path) == (Code.FACT_MALFORMED, path)


@pytest.mark.parametrize("kind", ["time_travelled", None])
def test_event_of_no_known_kind_is_not_written(kind: object) -> None:
    with pytest.raises(IllegalFactError) as caught:
        encode_body(changed(OUTCOME, kind=kind))

    assert (caught.value.code, caught.value.path) == (Code.UNKNOWN_FACT, ("kind",))


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (v.Kind.REQUEST_DISPATCHED, "parts", [1]),
        (v.Kind.REQUEST_DISPATCHED, "parts", [None]),
        (v.Kind.ASK_ANSWERED, "answers", ["a", 1]),
    ],
)
def test_item_of_another_type_is_refused_by_position(
    kind: v.Kind, name: str, value: list[Json]
) -> None:
    at = ("actions", name, len(value) - 1)

    error = spoil(EVENTS[kind], "actions", name, value=value)
    assert (error.code, error.path) == (Code.FACT_MALFORMED, at)
    with pytest.raises(IllegalFactError) as caught:
        encode_body(
            changed(EVENTS[kind], actions=changed(EVENTS[kind].actions, **{name: tuple(value)}))
        )
    assert (caught.value.code, caught.value.path) == (Code.FACT_MALFORMED, at)


def test_null_is_no_expansion() -> None:
    """Free JSON may be null, but an absent expansion has one form only."""
    error = spoil(EVENTS[v.Kind.ASK_OPENED], "actions", "expansion", value=None)

    assert (error.code, error.path) == (Code.FACT_MALFORMED, ("actions", "expansion"))


def test_place_in_a_list_is_named_by_position() -> None:
    loss: dict[str, Json] = {"path": "$", "reason": "text", "count": 1}
    error = spoil(OUTCOME, "content", "losses", value=[loss, {**loss, "count": 0}])

    assert (error.code, error.path) == (Code.FACT_ILLEGAL, ("content", "losses", 1, "count"))


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        (None, {"ts": "1"}),
        (None, {"ts": True}),
        (None, {"role": "tool"}),
        (None, {"spine": None}),
        (None, {"refs": None}),
        ("spine", {"run": b"run"}),
        ("content", {"losses": []}),
        ("content", {"losses": ("lost",)}),
        ("actions", {"result": "ok"}),
    ],
)
def test_event_of_other_types_is_not_written(part: str | None, fields: dict[str, object]) -> None:
    event = (
        changed(OUTCOME, **fields)
        if part is None
        else changed(OUTCOME, **{part: changed(getattr(OUTCOME, part), **fields)})
    )

    with pytest.raises(IllegalFactError) as caught:
        encode_body(event)

    assert caught.value.code is Code.FACT_MALFORMED


@pytest.mark.parametrize(
    ("result", "code", "below"),
    [
        ({"a": [1, (2,)]}, Code.VALUE_KIND, ("a", 1)),
        ({1: "a"}, Code.KEY_KIND, ()),
        ([float("nan")], Code.NUMBER_NOT_FINITE, (0,)),
        ([2**53], Code.NUMBER_UNSAFE, (0,)),
        (["\ud800"], Code.TEXT_UNCLEAN, (0,)),
        ([v.Role.USER], Code.VALUE_KIND, (0,)),
        ([b"x"], Code.VALUE_KIND, (0,)),
    ],
)
def test_free_json_passes_the_strict_door_with_its_path(
    result: object, code: Code, below: tuple[str | int, ...]
) -> None:
    assert isinstance(OUTCOME.content, m.FunctionResponse)
    content = changed(OUTCOME.content, result=cast("Json", result))

    with pytest.raises(CanonicalError) as caught:
        encode_body(changed(OUTCOME, content=content))

    assert caught.value.code is code
    assert caught.value.path[: 2 + len(below)] == ("content", "result", *below)


def test_unclean_text_of_a_declared_field_is_refused_with_its_path() -> None:
    spoken = EVENTS[v.Kind.USER_TEXT]

    with pytest.raises(CanonicalError) as caught:
        encode_body(changed(spoken, content=m.Text(text="a\ud800")))

    assert (caught.value.code, caught.value.path) == (Code.TEXT_UNCLEAN, ("content", "text"))


def test_free_json_is_as_deep_as_its_body_lets_it_be() -> None:
    """What is written can be read: the limit counts the body's own containers, too."""

    def nested(depth: int) -> m.RuntimeEvent:
        result: Json = "leaf"
        for _ in range(depth):
            result = [result]
        assert isinstance(OUTCOME.content, m.FunctionResponse)
        return changed(OUTCOME, content=changed(OUTCOME.content, result=result))

    deepest = canonical.DEPTH_MAX - 2
    assert decode_body(encode_body(nested(deepest))) == nested(deepest)
    with pytest.raises(CanonicalError) as caught:
        encode_body(nested(deepest + 1))
    assert caught.value.code is Code.DEPTH_EXCEEDED


def test_json_that_holds_itself_is_refused() -> None:
    endless: list[Json] = []
    endless.append(endless)
    assert isinstance(OUTCOME.content, m.FunctionResponse)

    with pytest.raises(CanonicalError) as caught:
        encode_body(changed(OUTCOME, content=changed(OUTCOME.content, result=endless)))
    assert caught.value.code is Code.DEPTH_EXCEEDED


@EACH_KIND
def test_illegal_event_is_not_written(kind: v.Kind) -> None:
    with pytest.raises(IllegalFactError) as caught:
        encode_body(changed(EVENTS[kind], author=v.Author.AGENT, role=v.Role.TOOL))

    assert (caught.value.code, caught.value.path) in {
        (Code.FACT_ILLEGAL, ("role",)),
        (Code.FACT_ILLEGAL, ("author",)),
    }


def test_detached_fact_keeps_what_was_said_when_the_speaker_changes_it() -> None:
    args: dict[str, Json] = {"paths": ["a"], "deep": {"n": 1}}
    call = EVENTS[v.Kind.CALL]
    assert isinstance(call.content, m.FunctionCall)
    event = changed(call, content=changed(call.content, args=args))
    before = copy.deepcopy(args)
    fact = detached(event)

    cast("list[Json]", args["paths"]).append("b")
    args["deep"] = None

    assert isinstance(fact.content, m.FunctionCall)
    assert fact.content.args == before


@EACH_KIND
def test_fact_cannot_be_changed(kind: v.Kind) -> None:
    fact = decode_body(encode_body(EVENTS[kind]))

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        fact.ts = 0  # type: ignore[misc]  # frozen: the case
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        fact.spine.run = "other"  # type: ignore[misc]  # likewise


@EACH_KIND
def test_fact_is_what_its_constructor_would_have_built(kind: v.Kind) -> None:
    """Facts are built past the constructor; nothing may tell them apart."""
    event = EVENTS[kind]
    fact = decode_body(encode_body(event))

    assert (fact, repr(fact)) == (event, repr(event))
    assert changed(fact) == copy.copy(fact) == event


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("seq", 0, Code.FACT_ILLEGAL),
        ("seq", "1", Code.FACT_MALFORMED),
        ("epoch", 0, Code.FACT_ILLEGAL),
        ("root", "no id", Code.FACT_ILLEGAL),
        ("rows", ["RUN.T1", "RUN.T1"], Code.FACT_ILLEGAL),
        ("rows", [""], Code.FACT_ILLEGAL),
        ("rows", [], Code.FACT_MALFORMED),
        ("ordinal", 1, Code.UNKNOWN_FACT),
    ],
)
def test_stamp_outside_its_form_is_refused(name: str, value: Json, code: Code) -> None:
    held = {"seq": STAMP.seq, "root": STAMP.root, "epoch": STAMP.epoch, "rows": list(STAMP.rows)}

    with pytest.raises(IllegalFactError) as caught:
        decode_stamp(canonical.encode({**held, name: value}))

    assert (caught.value.code, caught.value.path[0]) == (code, name)


def test_stamp_without_a_row_is_not_written() -> None:
    """MACH-4: what no row admitted is no fact."""
    with pytest.raises(IllegalFactError) as caught:
        encode_stamp(changed(STAMP, rows=()))

    assert (caught.value.code, caught.value.path) == (Code.FACT_ILLEGAL, ("rows",))


def test_every_kind_has_an_example_by_hand() -> None:
    assert set(EVENTS) == set(v.Kind) == set(KINDS)
    assert all(event.spine == SPINE for event in EVENTS.values())
