"""Bodies and stamps to canonical bytes and back: the only codec of facts (BYTE-2, LOG-2)."""

import re
from collections.abc import Mapping
from typing import Final, cast

import attrs

from . import canonical
from .envelope import pack_envelope, unpack_envelope
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
from .kinds import KINDS, refuse_illegal
from .model import RuntimeEvent, Stamp
from .offences import Offence, blame_object, blame_record
from .packing import Pack, Unpack, fast_packer, fast_unpacker, packer, unpacker
from .plain_body import read_plain
from .shapes import Field, fields_of, settled
from .vocabulary import Kind


def encode_body(event: RuntimeEvent) -> bytes:
    """Return the canonical bytes of a legal body.

    Absent fields, empty tuples, empty refs and `visible` have no key; free JSON is written as the
    canonical door accepts it. The bytes share nothing with `event`.

    Raises:
        UnknownFactError: `unknown_fact`, a kind that this build does not know.
        IllegalFactError: `fact_malformed`, `fact_illegal` or `unknown_protocol`.
        CanonicalError: Where text or free JSON is outside the accepted domain (BYTE-1).
    """
    shape = _SHAPES.get(event.kind)
    if shape is None:
        raise UnknownFactError(path=("kind",), found=kind_of(event.kind))
    packed = shape.pack(event)
    refuse_illegal(event)
    return canonical.encode_trusted(packed)


def decode_body(data: bytes) -> RuntimeEvent:
    """Return the body whose bytes are `data`, refusing what `encode_body` would not have written.

    Raises:
        FactMalformedError: `fact_malformed`.
        UnknownFactError: `unknown_fact`, a kind, key or word that this build does not know.
        IllegalFactError: `fact_illegal`, `unknown_protocol` or `branch_reserved`.
        CanonicalError: `bytes_not_canonical` and the other refusals of the canonical door.
    """
    plain = read_plain(data)
    return decode_at_length(data) if plain is None else plain


def decode_at_length(data: bytes) -> RuntimeEvent:
    """Do what `decode_body` does, by the long road alone: it reads all bodies, and names faults.

    Raises:
        FactMalformedError: As `decode_body`.
        UnknownFactError: As `decode_body`.
        IllegalFactError: As `decode_body`.
        CanonicalError: As `decode_body`.
    """
    value = canonical.decode(data)
    if type(value) is not dict:
        raise FactMalformedError(path=(), found=kind_of(value))
    kind = value.get("kind")
    if type(kind) is not str:
        raise FactMalformedError(path=("kind",), found=kind_of(kind) if "kind" in value else ABSENT)
    shape = _SHAPES.get(kind)
    if shape is None:
        raise UnknownFactError(path=("kind",), found=kind_of(kind))
    event = shape.unpack(cast("dict[str, object]", value))
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
    plain = _PLAIN_STAMP.fullmatch(data)
    if plain is not None:
        epoch, root, rows, seq = plain.groups()
        names = tuple(rows.decode("ascii").split('","'))
        if len(set(names)) == len(names):
            return Stamp(seq=int(seq), root=root.decode("ascii"), epoch=int(epoch), rows=names)
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


# The language of the stamps that our own stores write is regular, so one match reads it, and is
# proof that it is canonical and legal. Whatever does not match takes the long road, which says why.
_PLAIN_STAMP: Final = re.compile(
    rb'\{"epoch":([1-9][0-9]{0,14}),"root":"([A-Za-z0-9][A-Za-z0-9_.:-]{0,127})",'
    rb'"rows":\["([A-Z]+\.T[1-9][0-9]*(?:","[A-Z]+\.T[1-9][0-9]*)*)"\],'
    rb'"seq":([1-9][0-9]{0,14})\}'
)
_PACK_STAMP: Final = packer(Stamp)
_UNPACK_STAMP: Final = unpacker(Stamp)


# --- the body of each kind ------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class _Shape:
    """How the bodies of one kind are written and read."""

    kind: Kind
    content: type | None
    actions: type | None
    pack_content: Pack | None
    pack_actions: Pack | None
    unpack_content: Unpack | None
    unpack_actions: Unpack | None

    def pack(self, event: RuntimeEvent) -> object:
        try:
            return pack_envelope(event, self.pack_content, self.pack_actions)
        except Offence:
            blame_record(RuntimeEvent, self._fields(), event)

    def unpack(self, value: dict[str, object]) -> RuntimeEvent:
        try:
            return unpack_envelope(value, self.kind, self.unpack_content, self.unpack_actions)
        except Offence:
            blame_object(self._fields(), _FOREIGN, value)

    def _fields(self) -> tuple[Field, ...]:
        parts = {"content": self.content, "actions": self.actions}
        return settled(fields_of(RuntimeEvent), parts)


def _shape(kind: Kind) -> _Shape:
    content: type | None = KINDS[kind].content
    actions: type | None = KINDS[kind].actions
    return _Shape(
        kind=kind,
        content=content,
        actions=actions,
        pack_content=None if content is None else fast_packer(content),
        pack_actions=None if actions is None else fast_packer(actions),
        unpack_content=None if content is None else fast_unpacker(content),
        unpack_actions=None if actions is None else fast_unpacker(actions),
    )


_SHAPES: Final[Mapping[str, _Shape]] = {str(kind): _shape(kind) for kind in Kind}
_FOREIGN: Final[Mapping[str, type[IllegalFactError]]] = {
    "branch": BranchReservedError,
    # Known keys, but not of every kind.
    "content": FactIllegalError,
    "actions": FactIllegalError,
}
