"""Records to JSON objects and back, exactly and closed, by plans made once for each class (LOG-2).

A plan belongs to one set of present keys (unpacking) or to one tuple of value types (packing); both
are few, for a record has few optional fields. So a record costs one lookup and one comparison of
types in C, and only what is not a plain str, int or bool is touched one by one.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain, combinations, product
from operator import attrgetter, itemgetter
from typing import Final, NoReturn, cast

import attrs

from . import canonical
from .illegal import (
    ABSENT,
    FactIllegalError,
    FactMalformedError,
    IllegalFactError,
    UnknownFactError,
    kind_of,
)
from .json_values import CanonicalError
from .shapes import REQUIRED, Field, Sort, fields_of

Pack = Callable[[object], object]
Unpack = Callable[[object], object]
_Setter = Callable[[object, object], None]

_OMITTED: Final = object()
"""What a packed field is that equals its default: canonical bodies never state a default."""


# --- packing --------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _PackPlan:
    """How values of one tuple of types become an object: plain ones at once, parts one by one."""

    names: tuple[str, ...]
    plain: Callable[[tuple[object, ...]], tuple[object, ...]]
    parts: tuple[tuple[str, int, Pack], ...]


def packer(record: type, fields: tuple[Field, ...]) -> Pack:
    """Return the function that turns exactly a `record` into its JSON object.

    The function raises:
        IllegalFactError: `fact_malformed`, where a value is not of its declared type.
        CanonicalError: Where free JSON is outside the accepted domain.
    """
    read = _reader(tuple(field.name for field in fields))
    parts = tuple(map(_part_packer, fields))
    plans = {types: _pack_plan(fields, parts, types) for types in product(*map(_types_of, fields))}

    def pack(value: object) -> object:
        if type(value) is not record:
            raise FactMalformedError(path=(), found=kind_of(value))
        values = read(value)
        plan = plans.get(tuple(map(type, values)))
        if plan is None:
            _refuse_types(fields, values)
        out = dict(zip(plan.names, plan.plain(values), strict=True))
        name = ""
        try:
            for name, position, part in plan.parts:
                packed = part(values[position])
                if packed is not _OMITTED:
                    out[name] = packed
        except (IllegalFactError, CanonicalError) as error:
            error.path = (name, *error.path)
            raise
        return out

    return pack


@cache
def record_packer(record: type) -> Pack:
    """Return the one packer of a class whose fields do not depend on a kind."""
    return packer(record, fields_of(record))


def _types_of(field: Field) -> tuple[type, ...]:
    if field.many:
        return (tuple,)
    if field.sort is Sort.FREE:
        return (dict, list, str, int, float, bool, type(None))
    return (field.type, type(None)) if field.default is None else (field.type,)


def _pack_plan(
    fields: tuple[Field, ...], parts: tuple[Pack, ...], types: tuple[type, ...]
) -> _PackPlan:
    present = [
        (position, field)
        for position, field in enumerate(fields)
        if types[position] is not type(None) or field.default is not None
    ]
    plain = [(position, field) for position, field in present if _is_plain(field)]
    return _PackPlan(
        names=tuple(field.name for _, field in plain),
        plain=_picker(tuple(position for position, _ in plain)),
        parts=tuple(
            (field.name, position, parts[position])
            for position, field in present
            if not _is_plain(field)
        ),
    )


def _part_packer(field: Field) -> Pack:
    item = _item_packer(field)
    if field.many:
        return _many_packer(item)
    default = field.default
    if default is REQUIRED or default is None:
        return item
    if field.sort is Sort.RECORD:  # every field of such a record has a default of its own
        return lambda value: item(value) or _OMITTED
    return lambda value: _OMITTED if value is default else item(value)


def _many_packer(item: Pack) -> Pack:
    def pack(value: object) -> object:
        if not value:
            return _OMITTED
        out: list[object] = []
        try:
            for entry in cast("tuple[object, ...]", value):
                out.append(item(entry))  # noqa: PERF401 (its length names the place)
        except (IllegalFactError, CanonicalError) as error:
            error.path = (len(out), *error.path)
            raise
        return out

    return pack


def _item_packer(field: Field) -> Pack:
    if field.sort is Sort.RECORD:
        return record_packer(field.type)
    if field.sort is Sort.FREE:
        return _pack_free
    exact = field.type
    text = cast("Pack", str.__str__)  # the exact str of a word, which is a subclass

    def pack(value: object) -> object:
        if type(value) is exact:
            return text(value) if field.sort is Sort.WORD else value
        if value is None and field.nullable:
            return None
        raise FactMalformedError(path=(), found=kind_of(value))

    # A lone word was typed by the plan already.
    return text if field.sort is Sort.WORD and not field.many else pack


def _pack_free(value: object) -> object:
    canonical.check(value)
    return value


def _refuse_types(fields: tuple[Field, ...], values: tuple[object, ...]) -> NoReturn:
    for field, value in zip(fields, values, strict=True):
        if type(value) in _types_of(field):
            continue
        if field.sort is Sort.RECORD and attrs.has(type(value)):
            raise FactIllegalError(path=(field.name,), found=kind_of(value))
        found = ABSENT if value is None else kind_of(value)
        raise FactMalformedError(path=(field.name,), found=found)
    raise AssertionError(values)


# --- unpacking ------------------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _UnpackPlan:
    """How an object with one set of keys becomes a record."""

    plain: tuple[Field, ...]
    values: Callable[[object], tuple[object, ...]]
    types: tuple[type, ...]
    setters: tuple[_Setter, ...]
    parts: tuple[tuple[str, Unpack, _Setter], ...]
    absent: tuple[tuple[_Setter, object], ...]


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
    # Records are built without their constructor, in half the time. That is sound only for a class
    # whose constructor does nothing but set its fields.
    assert "__slots__" in vars(record)
    assert not hasattr(record, "__attrs_post_init__")
    make = cast("Callable[[type], object]", object.__new__)
    parts = {field.name: _part_unpacker(field) for field in fields}
    optional = [field for field in fields if field.default is not REQUIRED]
    plans: dict[tuple[str, ...], _UnpackPlan] = {}
    for absent in _subsets(optional):
        present = tuple(field for field in fields if field not in absent)
        plans[tuple(field.name for field in present)] = _unpack_plan(record, fields, present, parts)

    def unpack(value: object) -> object:
        if type(value) is not dict:
            raise FactMalformedError(path=(), found=kind_of(value))
        held = cast("dict[str, object]", value)
        plan = plans.get(tuple(held))
        if plan is None:
            _refuse_keys(fields, foreign, held)
        values = plan.values(held)
        if tuple(map(type, values)) != plan.types:
            _refuse_plain(plan.plain, values)
        out = make(record)
        for put, entry in zip(plan.setters, values, strict=True):
            put(out, entry)
        name = ""
        try:
            for name, part, put in plan.parts:
                put(out, part(held[name]))
        except IllegalFactError as error:
            error.path = (name, *error.path)
            raise
        for put, default in plan.absent:
            put(out, default)
        return out

    return unpack


@cache
def record_unpacker(record: type) -> Unpack:
    """Return the one unpacker of a class whose fields do not depend on a kind."""
    return unpacker(record, fields_of(record), {})


def _subsets(optional: list[Field]) -> Iterable[tuple[Field, ...]]:
    return chain.from_iterable(combinations(optional, size) for size in range(len(optional) + 1))


def _unpack_plan(
    record: type,
    fields: tuple[Field, ...],
    present: tuple[Field, ...],
    parts: Mapping[str, Unpack],
) -> _UnpackPlan:
    plain = tuple(field for field in present if _is_plain(field))
    defaults = {field.name: field.default for field in fields}
    names = {field.name for field in present}
    return _UnpackPlan(
        plain=plain,
        values=_picker(tuple(field.name for field in plain)),
        types=tuple(field.type for field in plain),
        setters=tuple(_setter(record, field.name) for field in plain),
        parts=tuple(
            (field.name, parts[field.name], _setter(record, field.name))
            for field in present
            if not _is_plain(field)
        ),
        # A field that the caller left out of `fields` is one that this kind does not have.
        absent=tuple(
            (_setter(record, item.name), defaults.get(item.name))
            for item in attrs.fields(cast("type[attrs.AttrsInstance]", record))
            if item.name not in names
        ),
    )


def _setter(record: type, name: str) -> _Setter:
    """Return the slot's own setter, which a frozen class does not override."""
    return cast("_Setter", vars(record)[name].__set__)


def _refuse_plain(fields: tuple[Field, ...], values: tuple[object, ...]) -> NoReturn:
    for field, value in zip(fields, values, strict=True):
        if type(value) is not field.type:
            raise FactMalformedError(path=(field.name,), found=kind_of(value))
    raise AssertionError(values)


def _part_unpacker(field: Field) -> Unpack:
    item = _item_unpacker(field)
    if field.many:
        return _many_unpacker(item)
    if field.default is REQUIRED:
        return item
    # What equals its default has one canonical form, the absent key. Other sorts refuse null by
    # their type; only free JSON and constants need the question.
    stated: object = {} if field.sort is Sort.RECORD else field.default

    def unpack(value: object) -> object:
        if value == stated:
            raise FactMalformedError(path=(), found=f"stated default, {kind_of(value)}")
        return item(value)

    return unpack if field.default is not None or field.sort is Sort.FREE else item


def _many_unpacker(item: Unpack) -> Unpack:
    def unpack(value: object) -> object:
        if type(value) is not list:
            raise FactMalformedError(path=(), found=kind_of(value))
        if not value:
            raise FactMalformedError(path=(), found="stated default, array")
        out: list[object] = []
        try:
            for entry in cast("list[object]", value):
                out.append(item(entry))  # noqa: PERF401 (its length names the place)
        except IllegalFactError as error:
            error.path = (len(out), *error.path)
            raise
        return tuple(out)

    return unpack


def _item_unpacker(field: Field) -> Unpack:
    if field.sort is Sort.RECORD:
        return record_unpacker(field.type)
    if field.sort is Sort.FREE:
        return lambda value: value
    if field.sort is Sort.WORD:
        return _word_unpacker(cast("type[StrEnum]", field.type))

    def unpack(value: object) -> object:
        if type(value) is field.type or (value is None and field.nullable):
            return value
        raise FactMalformedError(path=(), found=kind_of(value))

    return unpack


def _word_unpacker(words: type[StrEnum]) -> Unpack:
    members = {str(member): member for member in words}

    def unpack(value: object) -> object:
        if type(value) is not str:
            raise FactMalformedError(path=(), found=kind_of(value))
        member = members.get(value)
        if member is None:
            raise UnknownFactError(path=(), found=f"unknown word of {words.__name__}")
        return member

    return unpack


def _refuse_keys(
    fields: tuple[Field, ...],
    foreign: Mapping[str, type[IllegalFactError]],
    held: dict[str, object],
) -> NoReturn:
    declared = {field.name for field in fields}
    for key, value in held.items():
        if key in foreign:
            raise foreign[key](path=(key,), found=kind_of(value))
        if key not in declared:
            raise UnknownFactError(path=(key,), found=kind_of(value))
    for field in fields:
        if field.default is REQUIRED and field.name not in held:
            raise FactMalformedError(path=(field.name,), found=ABSENT)
    raise AssertionError(tuple(held))


# --- both -----------------------------------------------------------------------------------------


def _is_plain(field: Field) -> bool:
    return field.sort is Sort.PLAIN and not field.many


def _picker(keys: tuple[str, ...] | tuple[int, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return the reader of several items at once; `itemgetter` of one would not give a tuple."""
    if len(keys) > 1:
        return cast("Callable[[object], tuple[object, ...]]", itemgetter(*keys))
    if not keys:
        return lambda _held: ()
    get = cast("Callable[[object], object]", itemgetter(*keys))
    return lambda held: (get(held),)


def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return the reader of several attributes at once."""
    if len(names) > 1:
        return cast("Callable[[object], tuple[object, ...]]", attrgetter(*names))
    if not names:
        return lambda _record: ()
    get = cast("Callable[[object], object]", attrgetter(*names))
    return lambda record: (get(record),)
