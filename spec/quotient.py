"""List every value of a small closed type: what a state or an event may be within stated ranges."""

import types
from collections.abc import Mapping
from enum import Enum
from itertools import product
from typing import ClassVar, Union, get_args, get_origin, get_type_hints

import attrs

from ..machines.facts.codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class SpaceUnboundedError(CrashworthyError):
    """A field is neither enum, bool nor int, so that its values cannot be listed (MACH-5b)."""

    code: ClassVar[Code] = Code.SPACE_UNBOUNDED
    owner: str
    field: str


def members(hint: object) -> tuple[object, ...]:
    """Return the alternatives of a union, or the one type."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


@attrs.frozen(kw_only=True)
class Ranges:
    """Which values a field may take: all of an enum or bool, a stated range of an int."""

    ints: Mapping[str, range]
    default: range

    def of_field(self, owner: str, field: str) -> range:
        """Return the range of an int field."""
        return self.ints.get(f"{owner}.{field}", self.ints.get(field, self.default))

    def instances(self, kind: type) -> tuple[object, ...]:
        """Return every value of an attrs class within the ranges.

        Raises:
            SpaceUnboundedError: `space_unbounded`, when it is none or a field is not finite.
        """
        if not attrs.has(kind):
            raise SpaceUnboundedError(owner=kind.__name__, field="-")
        hints = get_type_hints(kind)
        names = [field.name for field in attrs.fields(kind)]
        choices = [self.values(hints[name], kind.__name__, name) for name in names]
        return tuple(kind(**dict(zip(names, row, strict=True))) for row in product(*choices))

    def values(self, hint: object, owner: str, field: str) -> tuple[object, ...]:
        """Return every value of a type; `owner` and `field` find the range of an int.

        Raises:
            SpaceUnboundedError: `space_unbounded`, when the type has no small finite set of values.
        """
        found: list[object] = []
        for one in members(hint):
            if one is bool:
                found += (False, True)
            elif one is int:
                found += self.of_field(owner, field)
            elif one is types.NoneType:
                found.append(None)
            elif isinstance(one, type) and issubclass(one, Enum):
                found += one
            elif isinstance(one, type) and attrs.has(one):
                found += self.instances(one)
            else:
                raise SpaceUnboundedError(owner=owner, field=field)
        return tuple(found)
