"""The one codec between JSON values and their RFC 8785 bytes (BYTE-1, BYTE-2).

Two roads lead to the same bytes. The exact one (`exact_json`) looks at every value, knows the
number and key order rules of RFC 8785, and says where a refusal lies. The quick one (`quick_json`)
is the C scanner and encoder of the standard library; it is taken only where its result provably is
the canonical form, and everything doubtful goes the exact road. A differential test holds both
against each other and against the `rfc8785` package.
"""

from .exact_json import scan_exact, write_exact
from .json_values import (
    DEPTH_MAX,
    SAFE_INT_MAX,
    BytesNotCanonicalError,
    CanonicalError,
    DepthExceededError,
    Json,
    JsonMalformedError,
    KeyDuplicateError,
    KeyKindError,
    NumberNotFiniteError,
    NumberUnsafeError,
    Path,
    TextUncleanError,
    ValueKindError,
    render_path,
)
from .quick_json import read_quick, write_quick

__all__ = [
    "DEPTH_MAX",
    "SAFE_INT_MAX",
    "BytesNotCanonicalError",
    "CanonicalError",
    "DepthExceededError",
    "Json",
    "JsonMalformedError",
    "KeyDuplicateError",
    "KeyKindError",
    "NumberNotFiniteError",
    "NumberUnsafeError",
    "Path",
    "TextUncleanError",
    "ValueKindError",
    "check",
    "decode",
    "encode",
    "encode_trusted",
    "parse",
    "render_path",
    "same",
]


def encode(value: object) -> bytes:
    """Return the canonical bytes of `value`, looking at all of it.

    Raises:
        CanonicalError: `value_kind_refused`, `key_kind_refused`, `number_unsafe`,
            `number_not_finite`, `unclean_text` or `depth_exceeded`, with the path (BYTE-1).
    """
    return write_exact(value)


def encode_trusted(value: object) -> bytes:
    """Return the canonical bytes of `value`, which our own typed codec built out of checked parts.

    Use it only where every value is known to be of an accepted kind and every key a str, because it
    came through `encode`, `decode`, `parse` or a typed field: kinds are not judged again, so a
    tuple counts as an array and a member of a StrEnum as its text. Numbers, key order, text and
    depth are still judged, so the bytes are exact or the value is refused.

    Raises:
        CanonicalError: As `encode`.
    """
    try:
        return write_quick(value)
    except (ValueError, TypeError, RecursionError):
        return write_exact(value)


def decode(data: bytes) -> Json:
    """Return the value whose canonical bytes are `data`.

    Raises:
        BytesNotCanonicalError: `bytes_not_canonical`, when encoding the value again gives other
            bytes (BYTE-2).
        CanonicalError: As `parse`.
    """
    try:
        return read_quick(data)
    except ValueError:
        pass  # The exact road finds out what it is, and where.
    value = scan_exact(data)
    if write_exact(value) != data:
        raise BytesNotCanonicalError(found=f"{len(data)} bytes that encode differently")
    return value


def parse(text: str | bytes) -> Json:
    """Return the value of a JSON text that need not be canonical but must be strict.

    Raises:
        CanonicalError: `json_malformed`, `key_duplicate`, or any refusal of `encode`.
    """
    value = scan_exact(text)
    write_exact(value)
    return value


def check(value: object) -> None:
    """Refuse what `encode` refuses.

    Raises:
        CanonicalError: As `encode`.
    """
    write_exact(value)


def same(a: object, b: object) -> bool:
    """Tell whether two values have the same canonical bytes, as 1 and 1.0 have but not True.

    Raises:
        CanonicalError: As `encode`.
    """
    return write_exact(a) == write_exact(b)
