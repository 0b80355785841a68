"""The exact road of the codec: it looks at every value and says where a refusal lies (BYTE-1)."""

import json
import re
from collections.abc import Callable
from json import encoder as stdlib_encoder
from math import isfinite
from typing import Final, NoReturn, TypeAlias, cast

import attrs

from .json_values import (
    DEPTH_MAX,
    SAFE_INT_MAX,
    CanonicalError,
    DepthExceededError,
    Json,
    JsonMalformedError,
    KeyDuplicateError,
    KeyKindError,
    NumberNotFiniteError,
    NumberUnsafeError,
    TextUncleanError,
    ValueKindError,
)

_Where: TypeAlias = "tuple[_Where, str | int] | None"
"""The way down to a value, linked upwards: paths are only built for a refusal."""


def write_exact(value: object) -> bytes:
    """Return the canonical bytes of `value`.

    Raises:
        CanonicalError: As `canonical.encode`.
    """
    pieces: list[str] = []
    _write(value, None, 0, pieces.append)
    return "".join(pieces).encode()


def _write(value: object, where: _Where, depth: int, out: Callable[[str], None]) -> None:
    """Write `value`; asked in the order of frequency, and by `type() is` to keep subclasses out."""
    if type(value) is str:
        out(_quoted(value, where))
    elif type(value) is dict:
        _write_object(cast("dict[object, object]", value), where, depth + 1, out)
    elif type(value) is int:
        if not -SAFE_INT_MAX <= value <= SAFE_INT_MAX:
            _refuse(NumberUnsafeError, where, f"integer of {value.bit_length()} bits")
        out(str(value))
    elif value is None:
        out("null")
    elif type(value) is bool:
        out("true" if value else "false")
    elif type(value) is list:
        _write_array(cast("list[object]", value), where, depth + 1, out)
    elif type(value) is float:
        out(_float_text(value, where))
    elif type(value) is _Flaw:
        _refuse(value.error, where, value.found)
    else:
        _refuse(ValueKindError, where, type(value).__qualname__)


def _write_object(
    value: dict[object, object], where: _Where, depth: int, out: Callable[[str], None]
) -> None:
    if depth > DEPTH_MAX:
        _refuse(DepthExceededError, where, f"more than {DEPTH_MAX} containers")
    plain = True
    for key in value:
        if type(key) is not str:
            _refuse(KeyKindError, where, type(key).__qualname__)
        plain = plain and key.isascii()
    keys = cast("dict[str, object]", value)
    quoted = {key: _quoted(key, (where, key)) for key in keys}
    separator = "{"
    for key in sorted(quoted) if plain else sorted(quoted, key=_utf16_order):
        out(f"{separator}{quoted[key]}:")
        _write(keys[key], (where, key), depth, out)
        separator = ","
    out("}" if quoted else "{}")


def _write_array(
    value: list[object], where: _Where, depth: int, out: Callable[[str], None]
) -> None:
    if depth > DEPTH_MAX:
        _refuse(DepthExceededError, where, f"more than {DEPTH_MAX} containers")
    separator = "["
    for position, item in enumerate(value):
        out(separator)
        _write(item, (where, position), depth, out)
        separator = ","
    out("]" if value else "[]")


def _utf16_order(key: str) -> bytes:
    """RFC 8785 3.2.3: keys are sorted by their UTF-16 code units, without a byte order mark."""
    return key.encode("utf-16-be")


def _quoted(text: str, where: _Where) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            _refuse(TextUncleanError, where, f"lone surrogate at offset {error.start}")
    return stdlib_encoder.encode_basestring(text)


def _float_text(number: float, where: _Where) -> str:
    """RFC 8785 3.2.2.3: the shortest digits, laid out as ECMAScript does."""
    if number.is_integer():
        if not -SAFE_INT_MAX <= number <= SAFE_INT_MAX:
            _refuse(NumberUnsafeError, where, f"float {number!r}")
        return str(int(number))
    text = repr(number)
    mantissa, mark, exponent = text.partition("e-")
    if not mark:
        if text in {"nan", "inf", "-inf"}:
            _refuse(NumberNotFiniteError, where, f"float {text}")
        return text
    # Python leaves the fixed form below 1e-4, ECMAScript below 1e-6. Fractions are never large
    # enough for a positive exponent.
    power = int(exponent)
    if power > _FIXED_FORM_EXPONENT_MAX:
        return f"{mantissa}e-{power}"
    sign = "-" if number < 0 else ""
    digits = mantissa.removeprefix("-").replace(".", "")
    return f"{sign}0.{'0' * (power - 1)}{digits}"


_FIXED_FORM_EXPONENT_MAX: Final = 6


def _refuse(error: type[CanonicalError], where: _Where, found: str) -> NoReturn:
    steps: list[str | int] = []
    while where is not None:
        where, step = where
        steps.append(step)
    raise error(path=tuple(reversed(steps)), found=found)


@attrs.frozen
class _Flaw:
    """A refusal seen while scanning, put in the value's place: only the way down knows the path."""

    error: type[CanonicalError]
    found: str


def scan_exact(text: str | bytes) -> Json:
    """Read one JSON value; what the scanner would change silently stays in it as a `_Flaw`.

    Raises:
        TextUncleanError: `unclean_text`, when the bytes are not UTF-8.
        DepthExceededError: `depth_exceeded`, before the scanner could run out of stack.
        JsonMalformedError: `json_malformed`.
    """
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise TextUncleanError(found=f"invalid UTF-8 at byte {error.start}") from None
    if nests_too_deep(text):
        raise DepthExceededError(found=f"more than {DEPTH_MAX} containers")
    try:
        value: Json = _EXACT_DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonMalformedError(found=f"{error.msg} at offset {error.pos}") from None
    return value


def _exact_int(literal: str) -> object:
    # The length comes first: Python refuses to convert thousands of digits, and would be slow.
    if len(literal) > _INT_LITERAL_MAX:
        return _Flaw(NumberUnsafeError, f"integer literal of {len(literal)} characters")
    return int(literal)


_INT_LITERAL_MAX: Final = len(str(-SAFE_INT_MAX))


def _exact_float(literal: str) -> object:
    number = float(literal)
    # `1e400` is a number, only not one that a double can hold.
    return number if isfinite(number) else _Flaw(NumberUnsafeError, "float literal out of range")


def _exact_constant(literal: str) -> object:
    return _Flaw(NumberNotFiniteError, literal)


def _exact_object(pairs: list[tuple[str, object]]) -> object:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return _Flaw(KeyDuplicateError, f"key of {len(key)} characters, twice")
        seen.add(key)
    raise AssertionError(len(pairs))


_EXACT_DECODER: Final = json.JSONDecoder(
    parse_int=_exact_int,
    parse_float=_exact_float,
    parse_constant=_exact_constant,
    object_pairs_hook=_exact_object,
)


_STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_NOT_BRACKET: Final = re.compile(r"[^\[\]{}]+")


def nests_too_deep(text: str) -> bool:
    """Measure the nesting of a JSON text without recursion; few brackets need no measuring."""
    if text.count("[") + text.count("{") <= DEPTH_MAX:
        return False
    # Possessive, and content with a missing end quote: a hostile text costs one pass.
    depth = 0
    for bracket in _NOT_BRACKET.sub("", _STRING.sub("", text)):
        if bracket in "[{":
            depth += 1
            if depth > DEPTH_MAX:
                return True
        else:
            depth -= 1
    return False
