"""Where a record or JSON object breaks its declared shape: the first offence (LOG-2)."""

from collections.abc import Mapping
from typing import NoReturn, cast

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
from .json_values import CanonicalError, Path
from .shapes import REQUIRED, Field, Sort, fields_of


class Offence(Exception):  # noqa: N818 (a signal; it never leaves the module that catches it)
    """Something is wrong somewhere in a value; whoever stands at the door asks what and where."""


def blame_record(record: type, fields: tuple[Field, ...], value: object) -> NoReturn:
    """Raise what is wrong with a value that should be a `record` of exactly these fields.

    Raises:
        IllegalFactError: `fact_malformed` or `fact_illegal`.
        CanonicalError: As `canonical.encode`, for the free JSON inside.
        AssertionError: Never: whoever asks has seen an offence.
    """
    _judge_record(record, fields, value, ())
    raise AssertionError(type(value))


def blame_object(
    fields: tuple[Field, ...], foreign: Mapping[str, type[IllegalFactError]], value: object
) -> NoReturn:
    """Raise what is wrong with a JSON value that should be an object of exactly these fields.

    Raises:
        IllegalFactError: `fact_malformed`, `unknown_fact`, or the refusal of a foreign key.
        AssertionError: Never: whoever asks has seen an offence.
    """
    _judge_object(fields, foreign, value, ())
    raise AssertionError(type(value))


def _judge_record(record: type, fields: tuple[Field, ...], value: object, where: Path) -> None:
    if type(value) is not record:
        error = FactIllegalError if attrs.has(type(value)) else FactMalformedError
        raise error(path=where, found=ABSENT if value is None else kind_of(value))
    for field in fields:
        held: object = getattr(value, field.name)
        place = (*where, field.name)
        if not field.many:
            if held is not field.default or held is REQUIRED:
                _judge_item(field, held, place)
        elif type(held) is not tuple:
            raise FactMalformedError(path=place, found=kind_of(held))
        else:
            for position, item in enumerate(cast("tuple[object, ...]", held)):
                if item is not None or not field.nullable:
                    _judge_item(field, item, (*place, position))


def _judge_item(field: Field, value: object, where: Path) -> None:
    if field.sort is Sort.RECORD:
        _judge_record(field.type, fields_of(field.type), value, where)
    elif field.sort is not Sort.FREE:
        if type(value) is not field.type:
            found = ABSENT if value is None else kind_of(value)
            raise FactMalformedError(path=where, found=found)
    else:
        try:
            canonical.check(value)
        except CanonicalError as error:
            error.path = (*where, *error.path)
            raise


def _judge_object(
    fields: tuple[Field, ...],
    foreign: Mapping[str, type[IllegalFactError]],
    value: object,
    where: Path,
) -> None:
    if type(value) is not dict:
        raise FactMalformedError(path=where, found=kind_of(value))
    held = cast("dict[str, object]", value)
    declared = {field.name for field in fields}
    for key, entry in held.items():
        if key not in declared:
            error = foreign.get(key, UnknownFactError)  # A foreign key that is declared is none.
            raise error(path=(*where, key), found=kind_of(entry))
    for field in fields:
        place = (*where, field.name)
        if field.name in held:
            _judge_entry(field, held[field.name], place)
        elif field.default is REQUIRED:
            raise FactMalformedError(path=place, found=ABSENT)


def _judge_entry(field: Field, value: object, where: Path) -> None:
    if field.many:
        if type(value) is not list:
            raise FactMalformedError(path=where, found=kind_of(value))
        items = cast("list[object]", value)
        _refuse_default(not items, items, where)
        for position, item in enumerate(items):
            if item is not None or not field.nullable:
                _judge_value(field, item, (*where, position))
        return
    if field.sort is Sort.RECORD:
        stated = field.default is not REQUIRED and field.default is not None and value == {}
    else:
        stated = field.default is not REQUIRED and value == field.default
    _refuse_default(stated, value, where)
    _judge_value(field, value, where)


def _refuse_default(stated: bool, value: object, where: Path) -> None:  # noqa: FBT001 (one sentence)
    """Refuse what has exactly one canonical form, the absent key.

    Raises:
        FactMalformedError: `fact_malformed`.
    """
    if stated:
        raise FactMalformedError(path=where, found=f"stated default, {kind_of(value)}")


def _judge_value(field: Field, value: object, where: Path) -> None:
    if field.sort is Sort.RECORD:
        _judge_object(fields_of(field.type), {}, value, where)
    elif field.sort is Sort.WORD:
        if type(value) is not str:
            raise FactMalformedError(path=where, found=kind_of(value))
        if value not in {str(word) for word in field.words}:
            found = f"unknown word of {field.type.__name__}"
            raise UnknownFactError(path=where, found=found)
    elif field.sort is Sort.PLAIN and type(value) is not field.type:
        raise FactMalformedError(path=where, found=kind_of(value))
