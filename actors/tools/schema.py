"""The JSON Schema subset of tool arguments: arguments are judged, never rewritten (OP-1).

Supported keywords: `type` (one name), `properties`, `required`, `additionalProperties` (false or a
schema), `items`, `enum` (of text, numbers, booleans and null), `anyOf`, `minimum`, `maximum`,
`minLength`, `maxLength` (code points), `minItems`, `maxItems`; `title`, `description` and
`default` only inform. Any other keyword is refused when the tool is defined: a rule that is not
checked would be a promise that is not kept.
"""

from collections.abc import Mapping
from typing import Final

from ...machines.facts.canonical import Json, same

FIELDS_MAX: Final = 20
"""How many offending fields a refusal names."""
FIELD_CHARS_MAX: Final = 80

_KEYWORDS: Final = frozenset(
    {
        *("type", "properties", "required", "additionalProperties", "items", "enum", "anyOf"),
        *("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"),
        *("title", "description", "default"),
    }
)
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def schema_fault(schema: Json) -> str | None:
    """Return why `schema` is outside the subset, or None if it is inside; the root is an object."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return "the root must be an object schema"
    return _fault(schema, "$")


def offending_fields(schema: Json, args: Json) -> tuple[str, ...]:
    """Return the paths of the arguments that break the schema; none means valid.

    Paths hold declared names, `[]` for a place in an array, `*` for a key that is data, and the
    name of an undeclared argument cut to `FIELD_CHARS_MAX`; never a value.
    """
    found: list[str] = []
    _judge(schema, args, "", found)
    return tuple(dict.fromkeys(found))[:FIELDS_MAX]


def _fault(schema: Json, at: str) -> str | None:
    if not isinstance(schema, dict):
        return f"{at}: a schema is an object"
    unknown = sorted(schema.keys() - _KEYWORDS)
    if unknown:
        return f"{at}: keyword {unknown[0]} is not supported"
    kind = schema.get("type")
    if kind is not None and (not isinstance(kind, str) or kind not in _TYPES):
        return f"{at}: type must be one of {', '.join(_TYPES)}"
    if kind is None and "anyOf" not in schema and "enum" not in schema and _rules(schema):
        return f"{at}: rules without a type"
    return _inner_fault(schema, at) or _bound_fault(schema, at)


def _rules(schema: dict[str, Json]) -> bool:
    return bool(schema.keys() - {"title", "description", "default"})


def _inner_fault(schema: dict[str, Json], at: str) -> str | None:
    properties = schema.get("properties", {})
    required = schema.get("required", [])
    options = schema.get("anyOf", [])
    extra = schema.get("additionalProperties", False)
    if not isinstance(properties, dict):
        return f"{at}: properties must be an object"
    if not isinstance(required, list) or not all(name in properties for name in required):
        return f"{at}: required must list declared properties"
    if not isinstance(options, list) or ("anyOf" in schema and not options):
        return f"{at}: anyOf must list schemas"
    inner = [(f"{at}.{name}", part) for name, part in properties.items()]
    inner += [(f"{at}|{position}", part) for position, part in enumerate(options)]
    if extra is not False:
        inner.append((f"{at}.*", extra))
    if "items" in schema:
        inner.append((f"{at}[]", schema["items"]))
    return next((fault for place, part in inner if (fault := _fault(part, place))), None)


def _bound_fault(schema: dict[str, Json], at: str) -> str | None:
    enum = schema.get("enum", [None])
    if not isinstance(enum, list) or not enum or any(isinstance(e, dict | list) for e in enum):
        return f"{at}: enum must list plain values"
    for keyword in ("minLength", "maxLength", "minItems", "maxItems"):
        bound = schema.get(keyword, 0)
        if type(bound) is not int or bound < 0:
            return f"{at}: {keyword} must be a count"
    for keyword in ("minimum", "maximum"):
        if type(schema.get(keyword, 0)) not in {int, float}:
            return f"{at}: {keyword} must be a number"
    return None


def _judge(schema: Json, value: Json, path: str, found: list[str]) -> None:
    assert isinstance(schema, dict)  # `schema_fault` was asked when the tool was defined.
    here = path or "$"
    kind = schema.get("type")
    if isinstance(kind, str) and type(value) not in _TYPES[kind]:
        found.append(here)
        return
    enum = schema.get("enum")
    if isinstance(enum, list) and not any(same(value, allowed) for allowed in enum):
        found.append(here)
    options = schema.get("anyOf")
    if isinstance(options, list) and not any(_fits(option, value) for option in options):
        found.append(here)
    if not _within_bounds(schema, value):
        found.append(here)
    if isinstance(value, list) and "items" in schema:
        for item in value:
            _judge(schema["items"], item, f"{path}[]", found)
    if isinstance(value, dict) and ("properties" in schema or kind == "object"):
        _judge_object(schema, value, path, found)


def _fits(schema: Json, value: Json) -> bool:
    found: list[str] = []
    _judge(schema, value, "", found)
    return not found


def _within_bounds(schema: dict[str, Json], value: Json) -> bool:
    if isinstance(value, str):
        size, low, high = len(value), schema.get("minLength"), schema.get("maxLength")
    elif isinstance(value, list):
        size, low, high = len(value), schema.get("minItems"), schema.get("maxItems")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _between(value, schema.get("minimum"), schema.get("maximum"))
    else:
        return True
    return _between(size, low, high)


def _between(size: float, low: Json, high: Json) -> bool:
    above = not isinstance(low, int | float) or size >= low
    return above and (not isinstance(high, int | float) or size <= high)


def _judge_object(
    schema: dict[str, Json], value: dict[str, Json], path: str, found: list[str]
) -> None:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    assert isinstance(properties, dict)
    assert isinstance(required, list)
    extra = schema.get("additionalProperties", False)
    prefix = f"{path}." if path else ""
    found.extend(f"{prefix}{name}" for name in required if name not in value)
    for name, item in value.items():
        if name in properties:
            _judge(properties[name], item, f"{prefix}{name}", found)
        elif extra is False:
            found.append(f"{prefix}{name[:FIELD_CHARS_MAX]}")
        else:
            _judge(extra, item, f"{prefix}*", found)
