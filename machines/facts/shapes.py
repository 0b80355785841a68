"""What the fields of a record are, read once from its annotations."""

import types
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, cast, get_args, get_origin

import attrs

from .json_values import Json

REQUIRED: Final = object()
"""The default of a field that has none."""


class Sort(StrEnum):
    """How a field's items are written."""

    PLAIN = "plain"  # exactly str, int or bool: its own JSON
    WORD = "word"  # a member of a closed StrEnum: its text
    RECORD = "record"  # an attrs class: an object with exactly its fields
    FREE = "free"  # any JSON that the canonical door accepts


@attrs.frozen(kw_only=True)
class Field:
    """One field of a record.

    Attributes:
        type: The exact type of an item; `object` for free JSON and for a union of records.
        many: The value is a tuple of items.
        nullable: An item may be None (only in tuples; a lone None is an absent field).
        default: What an absent key means: REQUIRED, None, () or a constant.
    """

    name: str
    sort: Sort
    type: type
    many: bool
    nullable: bool
    default: object

    @property
    def words(self) -> tuple[StrEnum, ...]:
        """The members of the closed enum of a WORD."""
        assert issubclass(self.type, StrEnum)
        return tuple(self.type)


def fields_of(record: type) -> tuple[Field, ...]:
    """Return the fields of an attrs class, ordered by name as canonical JSON has them."""
    declared = attrs.fields(cast("type[attrs.AttrsInstance]", record))
    read = [_read(item.name, cast("object", item.type), item.default) for item in declared]
    return tuple(sorted(read, key=lambda field: field.name))


def settled(fields: tuple[Field, ...], records: Mapping[str, type | None]) -> tuple[Field, ...]:
    """Return `fields` with each union of records replaced by its one class here, or left out."""
    kept: list[Field] = []
    for field in fields:
        chosen = records.get(field.name, field.type)
        if field.name in records and chosen is not None:
            kept.append(attrs.evolve(field, type=chosen, default=REQUIRED))
        elif chosen is not None:
            kept.append(field)
    return tuple(kept)


def _read(name: str, annotation: object, declared_default: object) -> Field:
    default = REQUIRED if declared_default is attrs.NOTHING else declared_default
    annotation = _without_none(annotation) if default is None else annotation
    many = get_origin(annotation) is tuple
    nullable = False
    if many:
        item, dots = get_args(annotation)
        assert dots is ..., f"{name}: only tuples of any length"
        annotation = _without_none(item)
        nullable = annotation is not item
        # An empty tuple is never written, so an absent key always means the empty tuple.
        default = ()
    sort, exact = _sort(name, annotation)
    return Field(name=name, sort=sort, type=exact, many=many, nullable=nullable, default=default)


def _without_none(annotation: object) -> object:
    """Return `T` for `T | None`; free JSON has its own null and stays as it is."""
    arms = get_args(annotation) if get_origin(annotation) is types.UnionType else ()
    rest = [arm for arm in arms if arm is not types.NoneType]
    return cast("object", rest[0]) if len(rest) == 1 else annotation


def _sort(name: str, annotation: object) -> tuple[Sort, type]:
    if annotation == Json:
        return Sort.FREE, object
    if get_origin(annotation) is types.UnionType:
        arms = cast("tuple[type, ...]", get_args(annotation))
        assert all(attrs.has(arm) or arm is types.NoneType for arm in arms), name
        return Sort.RECORD, object
    assert isinstance(annotation, type), f"{name}: {annotation} is not a type the codec knows"
    held = cast("type[object]", annotation)
    return _sort_of_class(held), held


def _sort_of_class(held: type[object]) -> Sort:
    if held in {str, int, bool}:
        return Sort.PLAIN
    if issubclass(held, StrEnum):
        return Sort.WORD
    assert attrs.has(held), f"{held} is neither plain nor a closed word nor a record"
    return Sort.RECORD
