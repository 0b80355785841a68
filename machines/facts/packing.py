"""Records to JSON objects and back, exactly, by plans made once for each class (LOG-2).

A plan belongs to the keys that are there and to the types of their values. Both are few, for a
record has few optional fields; so one lookup tells right from wrong, and only words, records and
lists are touched again. On the wrong, `offences` walks the same fields at leisure.
"""

from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cache
from itertools import chain, combinations, product
from operator import attrgetter, itemgetter
from typing import Final, cast

from .json_values import DEPTH_MAX
from .offences import Offence, blame_object, blame_record
from .shapes import REQUIRED, Field, Sort, fields_of

Pack = Callable[[object], object]
Unpack = Callable[[object], object]
Setter = Callable[[object, object], None]


def packer(record: type) -> Pack:
    """Return the function that turns exactly a `record` into its JSON object.

    The function raises:
        IllegalFactError: `fact_malformed`, where a value is not of its declared type, or
            `fact_illegal`, where it is a record of another class.
        CanonicalError: Where free JSON is outside the accepted domain.
    """
    fast = fast_packer(record)

    def pack(value: object) -> object:
        try:
            return fast(value)
        except Offence:
            blame_record(record, fields_of(record), value)

    return pack


def unpacker(record: type) -> Unpack:
    """Return the function that reads exactly what `packer` writes, from canonical JSON.

    The function raises:
        IllegalFactError: `fact_malformed` or `unknown_fact`.
    """
    fast = fast_unpacker(record)

    def unpack(value: object) -> object:
        try:
            return fast(value)
        except Offence:
            blame_object(fields_of(record), {}, value)

    return unpack


# --- packing --------------------------------------------------------------------------------------


@cache
def fast_packer(record: type) -> Pack:
    """Return the packer that only tells right from wrong, by `Offence`."""
    fields = fields_of(record)
    read = _reader(tuple(field.name for field in fields))
    converters = tuple(map(_pack_converter, fields))
    plans = {
        types: _pack_plan(fields, converters, types) for types in product(*map(_types_of, fields))
    }

    def pack(held: object) -> object:
        if type(held) is not record:
            raise Offence
        values = read(held)
        plan = plans.get(tuple(map(type, values)))
        if plan is None:
            raise Offence
        pick, steps = plan
        out: dict[str, object] = {}
        for (name, default, convert), value in zip(steps, pick(values)):  # noqa: B905 (hot path)
            if value is not default:
                packed = value if convert is None else convert(value)
                if packed is not _OMITTED:
                    out[name] = packed
        return out

    return pack


_PackPlan = tuple[
    Callable[[tuple[object, ...]], tuple[object, ...]], tuple[tuple[str, object, Pack | None], ...]
]
"""Which values are there, and for each its key, its default and what turns it into JSON."""

_OMITTED: Final = object()
"""What a packed value is that equals its default: canonical bodies never state a default."""


def _types_of(field: Field) -> tuple[type, ...]:
    if field.many:
        return (tuple,)
    if field.sort is Sort.FREE:
        return _JSON_TYPES
    return (field.type, type(None)) if field.default is None else (field.type,)


_JSON_TYPES: Final = (dict, list, str, int, float, bool, type(None))


def _pack_plan(
    fields: tuple[Field, ...], converters: tuple[Pack | None, ...], types: tuple[type, ...]
) -> _PackPlan:
    present = [
        position
        for position, field in enumerate(fields)
        if types[position] is not type(None) or field.default is not None
    ]
    steps = ((fields[at].name, fields[at].default, converters[at]) for at in present)
    return _picker(tuple(present)), tuple(steps)


def _pack_converter(field: Field) -> Pack | None:
    """Return what is left to do for a value whose type the plan has compared."""
    item = _item_packer(field)
    # Only the envelope has constant defaults, and `envelope` knows them.
    assert field.many or field.default is REQUIRED or field.default is None, field.name
    if field.many:
        assert field.sort in {Sort.PLAIN, Sort.RECORD}, f"{field.name}: a tuple of {field.sort}"
        each = item or _typed_item(field)
        return lambda value: (
            [each(entry) for entry in cast("tuple[object, ...]", value)] or _OMITTED
        )
    return item


def _item_packer(field: Field) -> Pack | None:
    if field.sort is Sort.RECORD:
        return fast_packer(field.type)
    if field.sort is Sort.FREE:
        return _pack_free
    if field.sort is Sort.WORD:
        # A word is a subclass of str, which its own text is not.
        return cast("Pack", str.__str__)
    return None


def _pack_free(value: object) -> object:
    if not _is_trusted(value, 0):
        raise Offence
    return value


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
def fast_unpacker(record: type) -> Unpack:
    """Return the unpacker that only tells right from wrong, by `Offence`."""
    fields = fields_of(record)
    # The constructor is passed by, which halves the time. That is sound only for a class whose
    # constructor does nothing but set its slots.
    assert "__slots__" in vars(record)
    assert not hasattr(record, "__attrs_post_init__")
    make = cast("Callable[[type], object]", object.__new__)
    converters = {field.name: _unpack_converter(field) for field in fields}
    optional = [field for field in fields if field.default is not REQUIRED]
    plans: dict[tuple[object, ...], _UnpackPlan] = {}
    for absent in _subsets(optional):
        present = tuple(field for field in fields if field not in absent)
        plan = _unpack_plan(record, fields, present, converters)
        for types in product(*map(_json_types_of, present)):
            plans[*(field.name for field in present), *types] = plan

    def unpack(held: object) -> object:
        if type(held) is not dict:
            raise Offence
        entries = cast("dict[str, object]", held)
        plan = plans.get((*entries, *map(type, entries.values())))
        if plan is None:
            raise Offence
        steps, absent = plan
        out = make(record)
        for (put, convert), value in zip(steps, entries.values()):  # noqa: B905 (hot path)
            put(out, value if convert is None else convert(value))
        for put, default in absent:
            put(out, default)
        return out

    return unpack


_UnpackPlan = tuple[tuple[tuple[Setter, Unpack | None], ...], tuple[tuple[Setter, object], ...]]
"""The setter of each key that is there, with what turns its JSON into a value; then the absent."""


def _subsets(optional: list[Field]) -> Iterable[tuple[Field, ...]]:
    return chain.from_iterable(combinations(optional, size) for size in range(len(optional) + 1))


def _json_types_of(field: Field) -> tuple[type, ...]:
    if field.many:
        return (list,)
    if field.sort is Sort.FREE:
        # Null as the default has one canonical form, the absent key.
        return _JSON_TYPES if field.default is REQUIRED else _JSON_TYPES[:-1]
    return ({Sort.RECORD: dict, Sort.WORD: str}.get(field.sort, field.type),)


def _unpack_plan(
    record: type,
    fields: tuple[Field, ...],
    present: tuple[Field, ...],
    converters: Mapping[str, Unpack | None],
) -> _UnpackPlan:
    steps = ((setter(record, field.name), converters[field.name]) for field in present)
    absent = ((setter(record, f.name), f.default) for f in fields if f not in present)
    return tuple(steps), tuple(absent)


def setter(record: type, name: str) -> Setter:
    """Return the slot's own setter, which a frozen class does not override."""
    return cast("Setter", vars(record)[name].__set__)


def _unpack_converter(field: Field) -> Unpack | None:
    """Return what is left to do for JSON whose type the plan has compared."""
    if field.sort is Sort.WORD:
        return _word_unpacker({str(word): word for word in field.words})
    if field.sort is Sort.RECORD:
        item = fast_unpacker(field.type)
        return _many_unpacker(item) if field.many else item
    return _many_unpacker(_typed_item(field)) if field.many else None


def _word_unpacker(words: Mapping[str, StrEnum]) -> Unpack:
    def unpack(value: object) -> object:
        word = words.get(cast("str", value))
        if word is None:
            raise Offence
        return word

    return unpack


def _many_unpacker(item: Unpack) -> Unpack:
    def unpack(value: object) -> object:
        if not value:
            raise Offence
        return tuple([item(entry) for entry in cast("list[object]", value)])

    return unpack


# --- both -----------------------------------------------------------------------------------------


def _typed_item(field: Field) -> Pack:
    exact, nullable = field.type, field.nullable

    def item(value: object) -> object:
        if type(value) is exact or (nullable and value is None):
            return value
        raise Offence

    return item


def _picker(positions: tuple[int, ...]) -> Callable[[tuple[object, ...]], tuple[object, ...]]:
    """Return the reader of several items at once; `itemgetter` of one would give no tuple."""
    if len(positions) > 1:
        return cast("Callable[[tuple[object, ...]], tuple[object, ...]]", itemgetter(*positions))
    return lambda values: tuple(values[position] for position in positions)


def _reader(names: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return the reader of several attributes at once; `attrgetter` of one would give no tuple."""
    if len(names) > 1:
        return cast("Callable[[object], tuple[object, ...]]", attrgetter(*names))
    return lambda record: tuple(getattr(record, name) for name in names)
