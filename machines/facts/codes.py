"""Every refusal and failure has one stable machine code, listed here, append-only."""

from enum import StrEnum
from typing import ClassVar

import attrs


class Code(StrEnum):
    """The machine codes of crashworthy.

    A code is never renamed, reused or removed; `tests/tidy/codes.txt` lists all that were ever
    published and a test demands that this enum is a superset of it.
    """

    # --- bytes (BYTE-1 .. BYTE-6) ---
    NUMBER_UNSAFE = "number_unsafe"  # an integer or float that JSON readers would change
    NUMBER_NOT_FINITE = "number_not_finite"  # NaN or an infinity
    TEXT_UNCLEAN = "unclean_text"  # lone surrogates or invalid UTF-8
    VALUE_KIND = "value_kind_refused"  # not one of the exact JSON types
    KEY_KIND = "key_kind_refused"  # an object key that is not exactly a str
    DEPTH_EXCEEDED = "depth_exceeded"  # nested deeper than the stated limit
    JSON_MALFORMED = "json_malformed"  # the bytes are not one JSON value
    KEY_DUPLICATE = "key_duplicate"  # an object names a key twice
    BYTES_NOT_CANONICAL = "bytes_not_canonical"  # decode then encode gives other bytes

    # --- facts (LOG-1 .. LOG-10, ID-1 .. ID-3) ---

    # --- lifecycles (MACH-1 .. MACH-6) ---

    # --- recovery and continuation ---

    # --- store and ownership (STORE-*, OWN-*) ---

    # --- tools, people, runs (OP-*, ASK-*, RUN-*) ---

    # --- crash lab, proofs, command line ---
    ASSERTS_DISABLED = "asserts_disabled"  # started with -O: invariants would not be checked
    COMMAND_UNAVAILABLE = "command_unavailable"  # this build has no such command


@attrs.define(eq=False, kw_only=True)
class CrashworthyError(Exception):
    """The root of all errors that cross a layer; the text is derived from code and fields."""

    code: ClassVar[Code]

    def __str__(self) -> str:
        """Return `[code] field=value, ...`."""
        fields = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in attrs.fields(type(self)))
        return f"[{self.code}] {fields}"
