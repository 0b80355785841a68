"""The door for outcomes: it refuses no Python value and says what it had to change (BYTE-1a).

An effect has happened, so its result must be recorded. What is JSON of the accepted domain stays as
it is. Everything else becomes, with a loss that names its place:

- an integer beyond 2^53-1: `{"$int": "..."}`
- an integral float beyond it, NaN, an infinity: `{"$float": "..."}`
- bytes, bytearray, memoryview: `{"$bytes": base64}`
- unclean text: the text that `repair_text` makes of it
- a tuple, or a subclass of an accepted kind: the list, or the plain kind; an Enum: its value
- a set: a list, sorted by canonical bytes
- a dict with keys that are not clean text: `{"$pairs": [[key, value], ...]}`
- a dataclass or attrs object: a dict of its fields, without those that its `repr` hides
- any other object: `{"$repr": text, "$type": name}`
- what is nested too deep: the text `$cut`; from the value that is too many on: `$cut`, then nothing
"""

import dataclasses
from binascii import Error as Base64Error
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable
from enum import Enum, StrEnum
from typing import ClassVar, Final, cast

import attrs

from .codes import Code, CrashworthyError
from .exact_json import write_exact
from .json_values import DEPTH_MAX, SAFE_INT_MAX, Json, Path, ValueKindError, render_path
from .model import Loss
from .text import is_clean, repair_text

OUTCOME_DEPTH_MAX: Final = DEPTH_MAX - 16
"""The fact around a result nests too: what this door lets through must fit into it."""
VALUES_MAX: Final = 1_000_000
"""Shared parts are written as often as they are met; a small graph can be endless as a tree."""
LOSSES_MAX: Final = 64
REPR_CHARS_MAX: Final = 4096
CUT: Final = "$cut"

_DECIMAL_BITS_MAX: Final = 4096


class LossReason(StrEnum):
    """Why a result differs from what was returned, beside the reasons of `text`; append-only."""

    INT_WRAPPED = "int_wrapped"
    FLOAT_WRAPPED = "float_wrapped"
    BYTES_WRAPPED = "bytes_wrapped"
    KIND_CHANGED = "kind_changed"
    SET_SORTED = "set_sorted"
    KEYS_AS_PAIRS = "keys_as_pairs"
    OBJECT_AS_FIELDS = "object_as_fields"
    OBJECT_AS_TEXT = "object_as_text"
    CUT_DEPTH = "cut_depth"
    CUT_SIZE = "cut_size"
    MORE_LOSSES = "more_losses"  # how many entries this list has no room for


@attrs.define(eq=False, kw_only=True)
class ResultNotRepresentableError(CrashworthyError):
    """Not even the outcome door could read the value: the effect happened, its result is lost.

    Attributes:
        kind: The type of the value.
        cause: The type of the exception that reading it raised.
    """

    code: ClassVar[Code] = Code.RESULT_NOT_REPRESENTABLE
    kind: str
    cause: str


def represent(value: object) -> tuple[Json, tuple[Loss, ...]]:
    """Return `value` in the accepted domain, at most `OUTCOME_DEPTH_MAX` deep, and what changed.

    Raises:
        ResultNotRepresentableError: `result_not_representable`, when reading `value` raises.
    """
    door = _Door()
    try:
        result = door.bring(value, (), 0)
    except Exception as error:  # A foreign object may raise anything; one code says so.
        raise ResultNotRepresentableError(
            kind=type(value).__qualname__, cause=type(error).__qualname__
        ) from error
    return result, door.all_losses()


def wrap_int(number: int) -> Json:
    """Return the documented encoding of an integer of any size.

    It is decimal, and hexadecimal beyond 4096 bits: both can be written and read in linear time.
    """
    decimal = number.bit_length() <= _DECIMAL_BITS_MAX
    return {"$int": str(number) if decimal else hex(number)}


def unwrap_int(value: Json) -> int:
    """Return the integer that `wrap_int` made `value` of.

    Raises:
        ValueKindError: `value_kind_refused`, when it made no such value.
    """
    if isinstance(value, dict) and isinstance(text := value.get("$int"), str):
        try:
            number = int(text, 0)
        except ValueError:
            pass
        else:
            if wrap_int(number) == value:
                return number
    raise ValueKindError(found="not an integer as `wrap_int` writes it")


def wrap_bytes(data: bytes) -> Json:
    """Return the documented encoding of bytes: standard base64 with padding."""
    return {"$bytes": b2a_base64(data, newline=False).decode("ascii")}


def unwrap_bytes(value: Json) -> bytes:
    """Return the bytes that `wrap_bytes` made `value` of.

    Raises:
        ValueKindError: `value_kind_refused`, when it made no such value.
    """
    if isinstance(value, dict) and isinstance(text := value.get("$bytes"), str):
        try:
            data = a2b_base64(text)
        except (Base64Error, ValueError):
            pass
        else:
            if wrap_bytes(data) == value:
                return data
    raise ValueKindError(found="not bytes as `wrap_bytes` writes them")


@attrs.define(eq=False)
class _Door:
    """One passage through the door: what may still be written, and what was lost so far."""

    values_left: int = VALUES_MAX
    cut_size: bool = False
    losses: list[tuple[Path, StrEnum, int]] = attrs.field(factory=list[tuple[Path, StrEnum, int]])
    unlisted: int = 0

    def all_losses(self) -> tuple[Loss, ...]:
        losses = self.losses
        if self.unlisted:
            losses = [*losses, ((), LossReason.MORE_LOSSES, self.unlisted)]
        # Plain text: a member of an enum is no value of the accepted domain.
        return tuple(
            Loss(path=render_path(path), reason=reason.value, count=count)
            for path, reason, count in losses
        )

    def bring(self, value: object, where: Path, depth: int) -> Json:
        """Return `value` in the accepted domain; `type(value)` cannot lie as `__class__` can."""
        if not self.values_left:
            self.cut_size = True
            return self._cut(LossReason.CUT_SIZE, where)
        self.values_left -= 1
        kind = type(value)
        if value is None or value is True or value is False:
            return value
        if issubclass(kind, str):
            text = str.__str__(cast("str", value))
            return self._text(text, where, changed=kind is not str)
        if issubclass(kind, int):
            number = int.__index__(cast("int", value))
            return self._int(number, where, depth, changed=kind is not int)
        if issubclass(kind, float):
            real = float.__float__(cast("float", value))
            return self._float(real, where, depth, changed=kind is not float)
        if issubclass(kind, Enum):
            self._lose(LossReason.KIND_CHANGED, where)
            return self.bring(cast("Enum", value).value, where, depth)
        if depth >= OUTCOME_DEPTH_MAX:
            return self._cut(LossReason.CUT_DEPTH, where)
        return self._container(value, where, depth + 1)

    def _container(self, value: object, where: Path, depth: int) -> Json:
        kind = type(value)
        if issubclass(kind, dict):
            pairs = dict[object, object].items(cast("dict[object, object]", value))
            return self._object(list(pairs), where, depth, changed=kind is not dict)
        if issubclass(kind, list):
            items = list[object].__iter__(cast("list[object]", value))
            return self._array(items, where, depth, changed=kind is not list)
        if issubclass(kind, tuple):
            items = tuple[object, ...].__iter__(cast("tuple[object, ...]", value))
            return self._array(items, where, depth, changed=True)
        if issubclass(kind, (set, frozenset)):
            return self._set(list(cast("frozenset[object]", value)), where, depth)
        if issubclass(kind, (bytes, bytearray, memoryview)):
            self._lose(LossReason.BYTES_WRAPPED, where)
            return wrap_bytes(memoryview(cast("bytes", value)).tobytes())
        fields = _visible_fields(value)
        if fields is None:
            return self._opaque(value, where)
        self._lose(LossReason.OBJECT_AS_FIELDS, where)
        return self._object(fields, where, depth, changed=False)

    def _text(self, text: str, where: Path, *, changed: bool) -> str:
        if changed:
            self._lose(LossReason.KIND_CHANGED, where)
        repaired, losses = repair_text(text)
        for loss in losses:
            self._lose(loss.reason, where, loss.count)
        return repaired

    def _int(self, number: int, where: Path, depth: int, *, changed: bool) -> Json:
        if changed:
            self._lose(LossReason.KIND_CHANGED, where)
        if -SAFE_INT_MAX <= number <= SAFE_INT_MAX:
            return number
        if depth >= OUTCOME_DEPTH_MAX:
            return self._cut(LossReason.CUT_DEPTH, where)
        self._lose(LossReason.INT_WRAPPED, where)
        return wrap_int(number)

    def _float(self, number: float, where: Path, depth: int, *, changed: bool) -> Json:
        if changed:
            self._lose(LossReason.KIND_CHANGED, where)
        # Beyond that bound every float is integral; NaN is outside of every interval.
        if -SAFE_INT_MAX <= number <= SAFE_INT_MAX:
            return number
        if depth >= OUTCOME_DEPTH_MAX:
            return self._cut(LossReason.CUT_DEPTH, where)
        self._lose(LossReason.FLOAT_WRAPPED, where)
        return {"$float": repr(number)}

    def _array(self, items: Iterable[object], where: Path, depth: int, *, changed: bool) -> Json:
        if changed:
            self._lose(LossReason.KIND_CHANGED, where)
        result: list[Json] = []
        for position, item in enumerate(items):
            if self.cut_size:
                self._lose(LossReason.CUT_SIZE, where)
                break
            result.append(self.bring(item, (*where, position), depth))
        return result

    def _object(
        self, pairs: list[tuple[object, object]], where: Path, depth: int, *, changed: bool
    ) -> Json:
        keys = [_clean_key(key) for key, _ in pairs]
        texts = [key for key in keys if key is not None]
        if len(set(texts)) != len(pairs):
            return self._pairs(pairs, where, depth)
        if changed or any(type(key) is not str for key, _ in pairs):
            self._lose(LossReason.KIND_CHANGED, where)
        result: dict[str, Json] = {}
        for key, (_, value) in zip(texts, pairs, strict=True):
            if self.cut_size:
                self._lose(LossReason.CUT_SIZE, where)
                break
            result[key] = self.bring(value, (*where, key), depth)
        return result

    def _pairs(self, pairs: list[tuple[object, object]], where: Path, depth: int) -> Json:
        self._lose(LossReason.KEYS_AS_PAIRS, where)
        listed = [[key, value] for key, value in pairs]
        return {"$pairs": self.bring(listed, (*where, "$pairs"), depth)}

    def _set(self, members: list[object], where: Path, depth: int) -> Json:
        self._lose(LossReason.SET_SORTED, where)
        brought: list[tuple[bytes, Json, _Door]] = []
        for member in members:
            # The place of a member is only known once all are sorted, so each has its own list.
            door = _Door(values_left=self.values_left)
            item = door.bring(member, (), depth)
            brought.append((write_exact(item), item, door))
            self.values_left = door.values_left
            self.cut_size = self.cut_size or door.cut_size
        # Different members can look the same afterwards; then their losses decide.
        brought.sort(key=lambda entry: (entry[0], str(entry[2].losses)))
        for position, (_, _, door) in enumerate(brought):
            self.unlisted += door.unlisted
            for path, reason, count in door.losses:
                self._lose(reason, (*where, position, *path), count)
        return [item for _, item, _ in brought]

    def _opaque(self, value: object, where: Path) -> Json:
        self._lose(LossReason.OBJECT_AS_TEXT, where)
        try:
            shown = repr(value)
        except Exception:  # noqa: BLE001 (a foreign object may raise anything; its name is left)
            shown = ""
        if len(shown) > REPR_CHARS_MAX:
            self._lose(LossReason.CUT_SIZE, where)
        return {
            "$repr": self._text(shown[:REPR_CHARS_MAX], where, changed=False),
            "$type": type(value).__qualname__,
        }

    def _cut(self, reason: LossReason, where: Path) -> str:
        self._lose(reason, where)
        return CUT

    def _lose(self, reason: StrEnum, where: Path, count: int = 1) -> None:
        if len(self.losses) < LOSSES_MAX:
            self.losses.append((where, reason, count))
        else:
            self.unlisted += 1


def _clean_key(key: object) -> str | None:
    if not issubclass(type(key), str):
        return None
    text = str.__str__(cast("str", key))
    return text if is_clean(text) else None


def _visible_fields(value: object) -> list[tuple[object, object]] | None:
    """Return names and values of a dataclass or attrs object, or None where they cannot be read."""
    kind = type(value)
    if attrs.has(kind):
        names = [field.name for field in attrs.fields(kind) if field.repr]
    elif dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind) if field.repr]
    else:
        return None
    try:
        return [(name, getattr(value, name)) for name in names]
    except Exception:  # noqa: BLE001 (a property may raise anything; the object is shown as text then)
        return None
