"""Records to JSON objects and back, exactly, by the annotations of their fields (LOG-2)."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import cast

import attrs

from .illegal import IllegalFactError
from .json_values import DEPTH_MAX
from .offences import blame_object, blame_record
from .shapes import REQUIRED, Field, Sort, fields_of
from .straight import Offence, straight

Pack = Callable[[object], object]
Unpack = Callable[[object], object]


def packer(record: type, fields: tuple[Field, ...]) -> Pack:
    """Return the function that turns exactly a `record` into its JSON object.

    The function raises:
        IllegalFactError: `fact_malformed`, where a value is not of its declared type, or
            `fact_illegal`, where it is a record of another class.
        CanonicalError: Where free JSON is outside the accepted domain.
    """
    fast = _compiled_packer(record, fields)

    def pack(value: object) -> object:
        try:
            return fast(value)
        except Offence:
            blame_record(record, fields, value)

    return pack


def unpacker(
    record: type, fields: tuple[Field, ...], foreign: Mapping[str, type[IllegalFactError]]
) -> Unpack:
    """Return the function that reads exactly what `packer` writes, from canonical JSON.

    Args:
        record: The class to build.
        fields: Its fields here; which content and actions a fact has depends on its kind.
        foreign: Keys that have a refusal of their own; any other key is `unknown_fact`.

    The function raises:
        IllegalFactError: `fact_malformed` or `unknown_fact`, or the refusal of a foreign key.
    """
    fast = _compiled_unpacker(record, fields)

    def unpack(value: object) -> object:
        try:
            return fast(value)
        except Offence:
            blame_object(fields, foreign, value)

    return unpack


def record_packer(record: type) -> Pack:
    """Return the packer of a class whose fields do not depend on a kind."""
    return packer(record, fields_of(record))


def record_unpacker(record: type) -> Unpack:
    """Return the unpacker of a class whose fields do not depend on a kind."""
    return unpacker(record, fields_of(record), {})


# --- packing --------------------------------------------------------------------------------------


@cache
def _compiled_packer(record: type, fields: tuple[Field, ...]) -> Pack:
    names: dict[str, object] = {
        "record": record,
        "text": str.__str__,
        "trusted": _is_trusted,
    }
    lines = [" if type(held) is not record: raise Offence", " out = {}"]
    for field in fields:
        names[f"type_{field.name}"] = field.type
        names[f"default_{field.name}"] = field.default
        if field.many or field.sort is Sort.RECORD:
            names[f"item_{field.name}"] = _item_packer(field)
        lines.append(f" value = held.{field.name}")
        lines += _pack_lines(field)
    lines.append(" return out")
    return straight(lines, names)


def _pack_lines(field: Field) -> Iterator[str]:
    """Write `value` into `out`, unless it equals its default."""
    name = field.name
    if field.many:
        yield " if type(value) is not tuple: raise Offence"
        yield f" if value: out['{name}'] = [item_{name}(item) for item in value]"
        return
    indent = " "
    if field.default is not REQUIRED and not (field.sort is Sort.RECORD and field.default):
        yield f" if value is not default_{name}:"
        indent = "  "
    if field.sort is Sort.FREE:
        yield f"{indent}if not trusted(value, 0): raise Offence"
    elif field.sort is Sort.RECORD:
        yield f"{indent}value = item_{name}(value)"
    else:
        yield f"{indent}if type(value) is not type_{name}: raise Offence"
    if field.sort is Sort.RECORD and field.default is not REQUIRED and field.default is not None:
        # All fields of such a record have defaults, so the default one has no key.
        yield f"{indent}if value: out['{name}'] = value"
    else:
        # A word is a subclass of str, which only its own text is not.
        yield f"{indent}out['{name}'] = {'text(value)' if field.sort is Sort.WORD else 'value'}"


def _item_packer(field: Field) -> Pack:
    if field.sort is Sort.RECORD:
        return _compiled_packer(field.type, fields_of(field.type))
    assert field.sort is not Sort.FREE, f"{field.name}: no record holds a tuple of free JSON"
    return _typed_item(field)


def _is_trusted(value: object, depth: int) -> bool:
    """Tell whether free JSON has what `canonical.encode_trusted` leaves to its caller to know.

    Those are exact kinds and text keys; numbers, text and the depth of the whole are judged there.
    """
    kind = type(value)
    if kind is str or value is None or kind is int or kind is bool or kind is float:
        return True
    depth += 1
    if depth > DEPTH_MAX:
        return False
    if kind is dict:
        for key, item in cast("dict[object, object]", value).items():
            if type(key) is not str or not _is_trusted(item, depth):
                return False
        return True
    if kind is list:
        return all(_is_trusted(item, depth) for item in cast("list[object]", value))
    return False


# --- unpacking ------------------------------------------------------------------------------------


@cache
def _compiled_unpacker(record: type, fields: tuple[Field, ...]) -> Unpack:
    # The constructor is passed by, which halves the time. That is sound only for a class whose
    # constructor does nothing but set its slots.
    assert "__slots__" in vars(record)
    assert not hasattr(record, "__attrs_post_init__")
    names: dict[str, object] = {
        "record": record,
        "new": object.__new__,
        "MISSING": object(),
    }
    lines = [" if type(held) is not dict: raise Offence", f" size = {len(fields)}"]
    for field in fields:
        names[f"type_{field.name}"] = field.type
        names[f"default_{field.name}"] = field.default
        if field.many or field.sort is Sort.RECORD:
            names[f"item_{field.name}"] = _item_unpacker(field)
        elif field.sort is Sort.WORD:
            names[f"words_{field.name}"] = {str(word): word for word in field.words}
        lines += _unpack_lines(field)
    lines += [" if len(held) != size: raise Offence", " out = new(record)"]
    declared = {field.name for field in fields}
    for item in attrs.fields(cast("type[attrs.AttrsInstance]", record)):
        # The slot's own setter, which a frozen class does not override.
        names[f"set_{item.name}"] = vars(record)[item.name].__set__
        # A field that the caller left out is one that facts of this kind do not have.
        value = f"value_{item.name}" if item.name in declared else "None"
        lines.append(f" set_{item.name}(out, {value})")
    lines.append(" return out")
    return straight(lines, names)


def _unpack_lines(field: Field) -> Iterator[str]:
    """Read the field out of `held`, counting down `size` where its key is absent.

    A stated null is not counted, so that the object seems too large and is refused.
    """
    name, to = field.name, f"value_{field.name}"
    if field.sort is Sort.FREE and field.default is REQUIRED:
        yield f" {to} = held.get('{name}', MISSING)"
        yield f" if {to} is MISSING: raise Offence"
        return
    yield f" {to} = held.get('{name}')"
    indent = " "
    if field.default is not REQUIRED:
        yield f" if {to} is None:"
        yield "  size -= 1"
        yield f"  {to} = default_{name}"
        yield " else:"
        indent = "  "
    if field.many:
        yield f"{indent}if type({to}) is not list or not {to}: raise Offence"
        yield f"{indent}{to} = tuple([item_{name}(item) for item in {to}])"
    elif field.sort is Sort.RECORD:
        if field.default is not REQUIRED and field.default is not None:
            yield f"{indent}if not {to}: raise Offence"
        yield f"{indent}{to} = item_{name}({to})"
    elif field.sort is Sort.WORD:
        yield f"{indent}if type({to}) is not str: raise Offence"
        yield f"{indent}{to} = words_{name}.get({to})"
        yield f"{indent}if {to} is None or {to} is default_{name}: raise Offence"
    elif field.sort is Sort.PLAIN:
        yield f"{indent}if type({to}) is not type_{name}: raise Offence"
    else:
        yield f"{indent}pass"


def _item_unpacker(field: Field) -> Unpack:
    if field.sort is Sort.RECORD:
        return _compiled_unpacker(field.type, fields_of(field.type))
    assert field.sort is Sort.PLAIN, f"{field.name}: no record holds a tuple of {field.sort}"
    return _typed_item(field)


# --- both -----------------------------------------------------------------------------------------


def _typed_item(field: Field) -> Pack:
    exact, nullable = field.type, field.nullable

    def item(value: object) -> object:
        if type(value) is exact or (nullable and value is None):
            return value
        raise Offence

    return item
