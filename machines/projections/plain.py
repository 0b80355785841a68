"""The one plain form of every view, for `--json`: objects, lists and words, no second codec."""

from collections.abc import Mapping
from enum import Enum
from typing import cast

import attrs

from ..facts.canonical import Json


def to_json(view: object) -> Json:
    """Return a view as plain JSON values: records as objects of their fields, enums as words."""
    if isinstance(view, Enum):
        return cast("Json", view.value)
    if view is None or isinstance(view, str | int | float | bool):
        return view
    if isinstance(view, Mapping):
        items = cast("Mapping[str, object]", view).items()
        return {key: to_json(value) for key, value in items}
    if isinstance(view, tuple | list):
        return [to_json(value) for value in cast("tuple[object, ...]", view)]
    kind = type(view)
    assert attrs.has(kind), kind  # Views are built of these kinds only.
    return {
        field.name: to_json(cast("object", getattr(view, field.name)))
        for field in attrs.fields(kind)
    }
