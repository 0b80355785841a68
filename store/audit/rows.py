"""A stored row, read strictly: columns, body and stamp in their one form (BYTE-2)."""

import re
from typing import Final

import attrs

from ...machines.facts.codec import decode_body, decode_stamp
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.model import RuntimeEvent, Stamp
from ..sql import Row, SqlValue
from .findings import Check, Finding

COLUMNS: Final = (
    *("ordinal", "seq", "id", "kind", "epoch", "session", "invocation", "run", "turn"),
    *("chain", "root", "stamp", "body"),
)
"""What is read of a row: all its columns, in this order."""

KINDS_OF: Final = (int, int, str, str, int, str, str, str, str, bytes, bytes, bytes, bytes)
"""The types of the columns."""

STATED: Final = 9
"""So many of the columns say what body and stamp say."""

_STAMPS_MAX: Final = 10_000
_END: Final = re.compile(rb"[1-9][0-9]{0,14}\}")


@attrs.frozen(kw_only=True)
class Raw:
    """A row whose columns are of the schema's types, and whose body and stamp can be read."""

    columns: Row
    chain: str
    root: str
    stamp_bytes: bytes
    body: bytes
    stamp: Stamp
    event: RuntimeEvent


@attrs.define(eq=False)
class RowReader:
    """Reads rows, and remembers what stamps begin with.

    The canonical bytes of a stamp end with its sequence, and what stands before it is the same for
    most facts that the same rows admitted: so it is decoded once.
    """

    _stamps: dict[bytes, Stamp] = attrs.field(factory=dict[bytes, Stamp], init=False)

    def read(self, row: Row) -> Raw | Finding:
        """Read a row strictly, or return why it cannot be read."""
        if tuple(map(type, row)) != KINDS_OF:
            return at_row(row, Check.FILE, Code.ROW_MALFORMED, "columns")
        chain, root, stamp_bytes, body = row[9:]
        assert isinstance(chain, bytes)
        assert isinstance(root, bytes)
        assert isinstance(stamp_bytes, bytes)
        assert isinstance(body, bytes)
        try:
            event = decode_body(body)
        except CrashworthyError as error:
            return at_row(row, Check.BODY, error.code, "body")
        try:
            stamp = self._stamp(stamp_bytes)
        except CrashworthyError as error:
            return at_row(row, Check.STAMP, error.code, "stamp")
        return Raw(
            columns=row,
            chain=chain.hex(),
            root=root.hex(),
            stamp_bytes=stamp_bytes,
            body=body,
            stamp=stamp,
            event=event,
        )

    def _stamp(self, data: bytes) -> Stamp:
        head, _colon, tail = data.rpartition(b":")
        known = self._stamps.get(head)
        if known is not None and _is_end(tail):
            return Stamp(seq=int(tail[:-1]), root=known.root, epoch=known.epoch, rows=known.rows)
        stamp = decode_stamp(data)
        if _is_end(tail):
            if len(self._stamps) >= _STAMPS_MAX:
                self._stamps.clear()
            self._stamps[head] = stamp
        return stamp


def _is_end(tail: bytes) -> bool:
    """Say whether this is a canonical positive number and the end of its object."""
    return _END.fullmatch(tail) is not None


def stated(ordinal: int, event: RuntimeEvent, stamp: Stamp) -> Row:
    """Return what the first columns have to say (BYTE-5a)."""
    spine = event.spine
    return (
        ordinal,
        stamp.seq,
        event.id,
        event.kind,
        stamp.epoch,
        spine.session,
        spine.invocation,
        spine.run,
        spine.turn,
    )


def at_row(row: Row, check: Check, code: Code, detail: str) -> Finding:
    """Return a finding about a row, as far as its columns can be shown."""
    fact, session = row[2], row[5]
    return Finding(
        check=check,
        code=code,
        detail=detail,
        fact=shown(fact),
        session=shown(session),
    )


def finding_at(check: Check, code: Code, raw: Raw, at: int, detail: str) -> Finding:
    """Return a finding about a row whose place is known."""
    return attrs.evolve(at_row(raw.columns, check, code, detail), ordinal=at)


def shown(value: SqlValue) -> str | None:
    """Return a text column for a report; bytes that are no text are escaped."""
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else None


def hex_of(value: SqlValue) -> str:
    """Return a chain column as it is compared; another type matches nothing."""
    return value.hex() if isinstance(value, bytes) else ""
