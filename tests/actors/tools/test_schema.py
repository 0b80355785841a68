"""Arguments are judged by the declared subset of JSON Schema, and named without their values."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.actors.tools.schema import FIELDS_MAX, offending_fields, schema_fault
from crashworthy.machines.facts.canonical import Json

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1, "maxLength": 4},
        "count": {"type": "integer", "minimum": 0, "maximum": 3},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "kind": {"enum": ["x", 1, None]},
        "many": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 2},
        "maybe": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "inner": {
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "required": ["a"],
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("args", "fields"),
    [
        ({"path": "a"}, ()),
        ({}, ("path",)),
        ([], ("$",)),
        ({"path": ""}, ("path",)),
        ({"path": "aaaaa"}, ("path",)),
        ({"path": "a", "count": 4}, ("count",)),
        ({"path": "a", "count": True}, ("count",)),
        ({"path": "a", "count": 1.5}, ("count",)),
        ({"path": "a", "ratio": 1}, ()),
        ({"path": "a", "ratio": False}, ("ratio",)),
        ({"path": "a", "flag": 1}, ("flag",)),
        ({"path": "a", "kind": 1}, ()),
        ({"path": "a", "kind": True}, ("kind",)),
        ({"path": "a", "many": []}, ("many",)),
        ({"path": "a", "many": ["x", 1]}, ("many[]",)),
        ({"path": "a", "maybe": None}, ()),
        ({"path": "a", "maybe": 1}, ("maybe",)),
        ({"path": "a", "map": {"token-123": "x"}}, ("map.*",)),
        ({"path": "a", "inner": {}}, ("inner.a",)),
        ({"path": "a", "inner": {"a": "", "b": 1}}, ("inner.b",)),
        ({"path": 1, "extra": 1}, ("path", "extra")),
    ],
    ids=str,
)
@pytest.mark.proves("OP-1")
def test_offending_fields_are_named(args: Json, fields: tuple[str, ...]) -> None:
    assert offending_fields(SCHEMA, args) == fields


def test_named_fields_are_bounded() -> None:
    args: dict[str, Json] = {f"{n}" * 200: 1 for n in range(100)}
    fields = offending_fields(SCHEMA, args)
    assert len(fields) == FIELDS_MAX
    assert max(map(len, fields)) <= 80


@pytest.mark.parametrize(
    "schema",
    [
        True,
        {"type": "string"},
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}},
        {"type": "object", "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "properties": {"a": {"type": ["string"]}}},
        {"type": "object", "properties": {"a": {"minimum": 1}}},
        {"type": "object", "required": ["a"]},
        {"type": "object", "additionalProperties": True},
        {"type": "object", "properties": {"a": {"enum": []}}},
        {"type": "object", "properties": {"a": {"anyOf": []}}},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": -1}}},
        {"type": "object", "properties": {"a": {"type": "integer", "minimum": "0"}}},
    ],
    ids=str,
)
def test_schema_outside_the_subset_is_refused(schema: Json) -> None:
    """A keyword that nobody checks would be a promise that nobody keeps."""
    assert schema_fault(schema) is not None


def test_schema_inside_the_subset_is_accepted() -> None:
    assert schema_fault(SCHEMA) is None


VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(["path", "count", "kind", "many", "map", "zz"]), VALUES))
def test_refusals_never_quote_a_value(args: dict[str, Json]) -> None:
    """Keys of objects that are data count as values too."""
    allowed = {"$", "path", "count", "kind", "many", "many[]", "map", "map.*", "zz"}
    assert set(offending_fields(SCHEMA, dict(args))) <= allowed
