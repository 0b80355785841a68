"""Asserts state invariants; nobody may own a root, or run a command, without them."""

from typing import ClassVar

import attrs

from .codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class AssertsDisabledError(CrashworthyError):
    """The interpreter runs with -O; start it without, because asserts state our invariants."""

    code: ClassVar[Code] = Code.ASSERTS_DISABLED


def demand_asserts(*, enabled: bool = __debug__) -> None:
    """Refuse to go on where the interpreter leaves asserts out.

    Raises:
        AssertsDisabledError: `asserts_disabled`.
    """
    if not enabled:
        raise AssertsDisabledError
