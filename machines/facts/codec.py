"""Bodies and stamps to canonical bytes and back: the only codec of facts (BYTE-2, LOG-2)."""

from collections.abc import Mapping
from functools import cache
from typing import Final, cast

from . import canonical
from .forms import refuse_ill_formed
from .illegal import (
    ABSENT,
    BranchReservedError,
    FactIllegalError,
    FactMalformedError,
    IllegalFactError,
    UnknownFactError,
    kind_of,
)
from .kinds import KINDS, KindSpec, refuse_illegal
from .model import RuntimeEvent, Stamp
from .packing import Pack, Unpack, packer, record_packer, record_unpacker, unpacker
from .shapes import Field, fields_of, settled
from .vocabulary import Kind


def encode_body(event: RuntimeEvent) -> bytes:
    """Return the canonical bytes of a legal body.

    Absent fields, empty tuples, empty refs and `visible` have no key; free JSON is written as the
    canonical door accepts it. The bytes share nothing with `event`.

    Raises:
        IllegalFactError: `fact_malformed`, `fact_illegal`, `unknown_fact` or `unknown_protocol`.
        CanonicalError: Where text or free JSON is outside the accepted domain (BYTE-1).
    """
    packed = _packer(event.kind)(event)
    refuse_illegal(event)
    return canonical.encode_trusted(packed)


def decode_body(data: bytes) -> RuntimeEvent:
    """Return the body whose bytes are `data`, refusing what `encode_body` would not have written.

    Raises:
        FactMalformedError: `fact_malformed`.
        IllegalFactError: `fact_illegal`, `unknown_fact`, `unknown_protocol` or `branch_reserved`.
        CanonicalError: `bytes_not_canonical` and the other refusals of the canonical door.
    """
    value = canonical.decode(data)
    if type(value) is not dict:
        raise FactMalformedError(path=(), found=kind_of(value))
    kind = value.get("kind")
    if type(kind) is not str:
        raise FactMalformedError(path=("kind",), found=kind_of(kind) if "kind" in value else ABSENT)
    event = cast("RuntimeEvent", _unpacker(kind)(value))
    refuse_illegal(event)
    return event


def detached(event: RuntimeEvent) -> RuntimeEvent:
    """Return the fact as it will be read back: nobody else holds the JSON inside it.

    Raises:
        IllegalFactError: As `encode_body`.
        CanonicalError: As `encode_body`.
    """
    return decode_body(encode_body(event))


def encode_stamp(stamp: Stamp) -> bytes:
    """Return the canonical bytes of a stamp (BYTE-5a).

    Raises:
        IllegalFactError: `fact_malformed` or `fact_illegal`.
    """
    packed = _PACK_STAMP(stamp)
    _refuse_illegal_stamp(stamp)
    return canonical.encode_trusted(packed)


def decode_stamp(data: bytes) -> Stamp:
    """Return the stamp whose bytes are `data`.

    Raises:
        IllegalFactError: `fact_malformed`, `fact_illegal` or `unknown_fact`.
        CanonicalError: As `decode_body`.
    """
    stamp = cast("Stamp", _UNPACK_STAMP(canonical.decode(data)))
    _refuse_illegal_stamp(stamp)
    return stamp


def _refuse_illegal_stamp(stamp: Stamp) -> None:
    """Refuse a fact that no row admitted, or one row twice: it moves one instance of a machine.

    Raises:
        FactIllegalError: `fact_illegal`.
    """
    refuse_ill_formed(stamp)
    if not stamp.rows or len(set(stamp.rows)) != len(stamp.rows):
        raise FactIllegalError(path=("rows",), found=kind_of(stamp.rows))


_PACK_STAMP: Final = record_packer(Stamp)
_UNPACK_STAMP: Final = record_unpacker(Stamp)


# --- the body of each kind ------------------------------------------------------------------------


def _fields(spec: KindSpec) -> tuple[Field, ...]:
    return settled(fields_of(RuntimeEvent), {"content": spec.content, "actions": spec.actions})


@cache
def _packer(kind: Kind) -> Pack:
    return packer(RuntimeEvent, _fields(_spec(kind)))


@cache
def _unpacker(kind: str) -> Unpack:
    fields = _fields(_spec(kind))
    declared = {field.name for field in fields}
    foreign = {name: error for name, error in _FOREIGN.items() if name not in declared}
    return unpacker(RuntimeEvent, fields, foreign)


def _spec(kind: str) -> KindSpec:
    spec = _KINDS_BY_TEXT.get(kind)
    if spec is None:
        raise UnknownFactError(path=("kind",), found=kind_of(kind))
    return spec


_KINDS_BY_TEXT: Final[Mapping[str, KindSpec]] = {str(kind): spec for kind, spec in KINDS.items()}
_FOREIGN: Final[Mapping[str, type[IllegalFactError]]] = {
    "branch": BranchReservedError,
    # Known keys, but not of every kind.
    "content": FactIllegalError,
    "actions": FactIllegalError,
}
