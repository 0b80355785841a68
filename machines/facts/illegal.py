"""The refusals of a fact: which field offends, and what kind of value stands there (LOG-2)."""

from enum import Enum
from typing import ClassVar, Final

import attrs

from .codes import Code, CrashworthyError
from .json_values import Path, render_path


@attrs.define(eq=False, kw_only=True)
class IllegalFactError(CrashworthyError):
    """A fact or stamp is outside the contract; its author must change it (LOG-2).

    Attributes:
        path: Field names and positions from the body or stamp down to the offending place.
        found: What kind of value stands there, never the value: facts may hold secrets.
    """

    path: Path
    found: str

    def __str__(self) -> str:
        """Return `[code] $.path: found`."""
        return f"[{self.code}] {render_path(self.path)}: {self.found}"


@attrs.define(eq=False, kw_only=True)
class FactMalformedError(IllegalFactError):
    """A declared key is absent, or its value is not of the declared type."""

    code: ClassVar[Code] = Code.FACT_MALFORMED


@attrs.define(eq=False, kw_only=True)
class FactIllegalError(IllegalFactError):
    """The types are right, but the table of kinds forbids this field, value or combination."""

    code: ClassVar[Code] = Code.FACT_ILLEGAL


@attrs.define(eq=False, kw_only=True)
class UnknownFactError(IllegalFactError):
    """A kind, key or word that this build does not know: a newer build may have written it."""

    code: ClassVar[Code] = Code.UNKNOWN_FACT


@attrs.define(eq=False, kw_only=True)
class UnknownProtocolError(IllegalFactError):
    """An opening states a protocol version that this build does not speak."""

    code: ClassVar[Code] = Code.UNKNOWN_PROTOCOL


@attrs.define(eq=False, kw_only=True)
class BranchReservedError(IllegalFactError):
    """The key `branch` is reserved in protocol version 1."""

    code: ClassVar[Code] = Code.BRANCH_RESERVED


ABSENT: Final = "absent"
"""What is found where a declared key is missing."""

_WORDS: Final[dict[object, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "float",
    str: "string",
    list: "array",
    dict: "object",
}


def kind_of(value: object) -> str:
    """Return what kind of value this is, in words of JSON where it has one."""
    if isinstance(value, Enum):
        return f"word of {type(value).__name__}"
    return _WORDS.get(type(value), type(value).__name__)
