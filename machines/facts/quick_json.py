"""The quick road of the codec: C scanner and encoder, where they provably agree (BYTE-2)."""

import json
import re
from collections.abc import Callable, Sequence
from json import encoder as stdlib_encoder
from typing import Final, NoReturn, Protocol, cast

from .exact_json import nests_too_deep
from .json_values import SAFE_INT_MAX, Json


class NotQuickError(ValueError):
    """The quick road cannot prove its result; never seen outside the codec."""


def write_quick(value: object) -> bytes:
    """Return the canonical bytes of `value`, whose kinds and keys are taken as checked.

    Raises:
        NotQuickError: The exact road must decide; so must it after any other `ValueError`,
            `TypeError` and `RecursionError`.
    """
    text = "".join(_write_text(value, 0))
    data = text.encode()
    if _may_hold_odd_number(data) or _may_order_differently(text, data) or nests_too_deep(text):
        raise NotQuickError
    return data


def read_quick(data: bytes) -> Json:
    """Return the value whose canonical bytes are `data`.

    Raises:
        NotQuickError: The exact road must decide; so must it after any other `ValueError`.
    """
    text = data.decode()
    if nests_too_deep(text):
        raise NotQuickError
    value: Json = _DECODER.raw_decode(text)[0]
    # A key that stands twice is lost by the scanner, and so makes the texts differ.
    if "".join(_write_text(value, 0)) != text or _may_order_differently(text, data):
        raise NotQuickError
    return value


def read_quick_inside(text: str, at: int) -> tuple[Json, int]:
    """Return the value whose canonical text begins at `at` inside of `text`, and where it ends.

    Raises:
        NotQuickError: The exact road must decide; so must it after any other `ValueError`.
    """
    if nests_too_deep(text):
        raise NotQuickError
    value: Json
    value, end = _DECODER.raw_decode(text, at)
    inside = text[at:end]
    if "".join(_write_text(value, 0)) != inside or _may_order_differently(inside, inside.encode()):
        raise NotQuickError
    return value, end


class _ChunkWriter(Protocol):
    """The C encoder: value and indentation level in, pieces of text out."""

    def __call__(self, value: object, level: int, /) -> Sequence[str]: ...


class _ChunkWriterFactory(Protocol):
    """The constructor of the C encoder, which the type stubs of `json` leave out."""

    def __call__(
        self,
        markers: None,
        default: Callable[[object], object],
        encoder: Callable[[str], str],
        indent: None,
        key_separator: str,
        item_separator: str,
        sort_keys: bool,  # noqa: FBT001 (the order of all these is the standard library's)
        skipkeys: bool,  # noqa: FBT001 (likewise)
        allow_nan: bool,  # noqa: FBT001 (likewise)
        /,
    ) -> _ChunkWriter: ...


def _other_kind(value: object) -> NoReturn:
    raise TypeError(type(value))


def _make_write_text() -> _ChunkWriter:
    """Build the C encoder once; `JSONEncoder.encode` would build one for every call."""
    make = cast("_ChunkWriterFactory | None", vars(stdlib_encoder)["c_make_encoder"])
    quote = stdlib_encoder.encode_basestring
    if make is not None:
        return make(None, _other_kind, quote, None, ":", ",", True, False, False)
    python = json.JSONEncoder(
        ensure_ascii=False,
        check_circular=False,
        allow_nan=False,
        sort_keys=True,
        separators=(",", ":"),
        default=_other_kind,
    )
    return lambda value, _level: (python.encode(value),)


_write_text: Final = _make_write_text()


_LONG_LITERAL: Final = len(str(SAFE_INT_MAX))
"""From this many characters on an integer may be out of range."""


def _short_int(literal: str) -> int:
    if len(literal) >= _LONG_LITERAL:
        raise NotQuickError
    return int(literal)


def _not_quick(_literal: str) -> NoReturn:
    raise NotQuickError


# NaN and the infinities need no door here: the encoder refuses to write them again.
_DECODER: Final = json.JSONDecoder(parse_int=_short_int, parse_float=_not_quick)

_NUMBER_MARKS: Final = dict(zip(b"0123456789.e+-", b"0000000000.e--", strict=True))
_SHAPE: Final = bytes.maketrans(
    bytes(range(256)), bytes(_NUMBER_MARKS.get(byte, ord(" ")) for byte in range(256))
)
"""Every byte as what it may be in a number: digit, point, exponent mark, its sign, or nothing."""

_LONG_INTEGER: Final = b"0" * len(str(SAFE_INT_MAX))
_ODD_NUMBER: Final = re.compile(rb"[:,\[]-?(?:[0-9]{16}|[0-9]+[.e])")


def _may_hold_odd_number(data: bytes) -> bool:
    """Look for floats and long integers in what the C encoder wrote, which judges neither.

    Never misses one: 2^53 has 16 digits, `repr` of a float has a point or a signed exponent after a
    digit, and in an array or object a number follows one of three marks. Strings that look alike
    only cost the exact road. The shapes are asked first because the pattern takes ten times longer.
    """
    if data[0] not in b'[{"':
        return True
    shape = data.translate(_SHAPE)
    odd = _LONG_INTEGER in shape or b"0." in shape or b"0e-" in shape
    return odd and _ODD_NUMBER.search(data) is not None


def _may_order_differently(text: str, data: bytes) -> bool:
    """Look for characters beyond U+FFFF: only they sort differently in UTF-16 and by code point."""
    return not text.isascii() and any(lead in data for lead in _ASTRAL_LEADS)


_ASTRAL_LEADS: Final = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
