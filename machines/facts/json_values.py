"""The exact set of values that the log accepts, and one refusal for each way out of it (BYTE-1)."""

import json
from typing import ClassVar, Final, TypeAlias

import attrs

from .codes import Code, CrashworthyError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
Path: TypeAlias = tuple[str | int, ...]

DEPTH_MAX: Final = 64
"""Containers inside containers, the outermost counted as one."""
SAFE_INT_MAX: Final = 2**53 - 1
"""The largest magnitude that every JSON reader keeps, also those that read numbers as doubles."""

_KEY_SHOWN_MAX: Final = 40
_STEPS_SHOWN_MAX: Final = 12


@attrs.define(eq=False, kw_only=True)
class CanonicalError(CrashworthyError):
    """A value or text is outside the accepted domain; its author must change it (BYTE-1).

    Attributes:
        path: Object keys and array positions from the root to the offending place.
        found: What stands there, described without quoting its content.
    """

    path: Path = ()
    found: str

    def __str__(self) -> str:
        """Return `[code] $.path: found`."""
        return f"[{self.code}] {render_path(self.path)}: {self.found}"


@attrs.define(eq=False, kw_only=True)
class NumberUnsafeError(CanonicalError):
    """An integer, or a float with an integral value, lies beyond +-(2^53-1)."""

    code: ClassVar[Code] = Code.NUMBER_UNSAFE


@attrs.define(eq=False, kw_only=True)
class NumberNotFiniteError(CanonicalError):
    """NaN and the infinities have no JSON form."""

    code: ClassVar[Code] = Code.NUMBER_NOT_FINITE


@attrs.define(eq=False, kw_only=True)
class TextUncleanError(CanonicalError):
    """A string or an object key holds a lone surrogate, or bytes are not UTF-8 (BYTE-3)."""

    code: ClassVar[Code] = Code.TEXT_UNCLEAN


@attrs.define(eq=False, kw_only=True)
class ValueKindError(CanonicalError):
    """A value is not exactly dict, list, str, int, float, bool or None."""

    code: ClassVar[Code] = Code.VALUE_KIND


@attrs.define(eq=False, kw_only=True)
class KeyKindError(CanonicalError):
    """An object key is not exactly a str."""

    code: ClassVar[Code] = Code.KEY_KIND


@attrs.define(eq=False, kw_only=True)
class DepthExceededError(CanonicalError):
    """Containers are nested deeper than `DEPTH_MAX`; every cycle ends here."""

    code: ClassVar[Code] = Code.DEPTH_EXCEEDED


@attrs.define(eq=False, kw_only=True)
class JsonMalformedError(CanonicalError):
    """The text is not one JSON value."""

    code: ClassVar[Code] = Code.JSON_MALFORMED


@attrs.define(eq=False, kw_only=True)
class KeyDuplicateError(CanonicalError):
    """An object names one key twice, so readers disagree about its value."""

    code: ClassVar[Code] = Code.KEY_DUPLICATE


@attrs.define(eq=False, kw_only=True)
class BytesNotCanonicalError(CanonicalError):
    """The bytes are JSON of the accepted domain, but not its one canonical form (BYTE-2)."""

    code: ClassVar[Code] = Code.BYTES_NOT_CANONICAL


def render_path(path: Path) -> str:
    """Return `path` as bounded ASCII text, such as `$.a[3]["odd key"]`."""
    shown = "".join(map(_render_step, path[:_STEPS_SHOWN_MAX]))
    return f"${shown}..." if len(path) > _STEPS_SHOWN_MAX else f"${shown}"


def _render_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if len(step) > _KEY_SHOWN_MAX:
        step = f"{step[:_KEY_SHOWN_MAX]}..."
    # `json.dumps` escapes everything beyond ASCII, lone surrogates too, so that the text can always
    # be printed and stored.
    return f".{step}" if step.isascii() and step.isidentifier() else f"[{json.dumps(step)}]"
