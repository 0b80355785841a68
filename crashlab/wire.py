"""Frozen value types to JSON and back, for the lab's own pipes and reports."""

import json
import types
import typing
from enum import StrEnum
from typing import TypeVar, cast

import attrs

T = TypeVar("T")


def encode(value: attrs.AttrsInstance) -> str:
    """Return `value` as one line of JSON."""
    return json.dumps(attrs.asdict(value), separators=(",", ":"))


def decode(kind: type[T], text: str | bytes) -> T:
    """Return the `kind` that `encode` wrote; both ends are the same build of the lab."""
    return cast("T", _shape(kind, cast("object", json.loads(text))))


def _shape(hint: object, data: object) -> object:
    origin, arguments = typing.get_origin(hint), cast("tuple[object, ...]", typing.get_args(hint))
    if origin is tuple:
        assert isinstance(data, list)
        return tuple(_shape(arguments[0], item) for item in cast("list[object]", data))
    if origin is types.UnionType:
        assert arguments[1] is type(None)
        return None if data is None else _shape(arguments[0], data)
    assert isinstance(hint, type)
    if attrs.has(hint):
        assert isinstance(data, dict)
        fields = cast("dict[str, object]", data)
        hints = cast("dict[str, object]", typing.get_type_hints(hint))
        return hint(**{f.name: _shape(hints[f.name], fields[f.name]) for f in attrs.fields(hint)})
    if issubclass(hint, StrEnum):
        assert isinstance(data, str)
        return hint(data)
    assert isinstance(data, float if hint is float else hint)
    return data
