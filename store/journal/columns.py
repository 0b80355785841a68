"""Rows of SQL as records of the journal; a row that is none is damage, never half read."""

from collections.abc import Iterable, Mapping
from typing import Final, TypeVar

import attrs

from ...machines.facts import canonical
from ...machines.facts.illegal import UnknownFactError, kind_of
from ...machines.facts.model import Spine
from ...machines.facts.vocabulary import Kind
from ...machines.lifecycles.cells import Cell, Machine, cell_from_json
from ..errors import DatabaseDamagedError
from ..sql import Row, SqlValue
from .records import (
    CellRow,
    ClaimRecord,
    KeyRow,
    Partial,
    Place,
    Quarantine,
    SessionRow,
    Stored,
)

T = TypeVar("T")

PLACE = "ordinal, seq, id, kind, epoch, session, invocation, run, turn, chain"
STORED = f"{PLACE}, root, stamp, body"
CELL = "machine, instance, session, scope, made, moved, reducer, cell"
SESSION = "session, opened, context, last_run, abandoned, runs, adopted"
QUARANTINE = "session, code, first_bad, head_seq, head_chain, ordinal"
KEY = "scope, key, input, fact, message, run"
PARTIAL = "owner, stream, session, invocation, run, turn, lane, finished, bytes_total, snapshot"
CLAIM = (
    "claim, session, boundary, source_run, target_invocation, target_run, target_turn,"
    " projection, replay, epoch, ordinal, row, evidence, profile, manifest"
)


def first(found: Iterable[T]) -> T | None:
    """Return the one item of an answer, or None."""
    return next(iter(found), None)


def integer(value: SqlValue) -> int:
    """Return a column that STRICT tables hold as an integer.

    Raises:
        DatabaseDamagedError: `database_damaged`; only a changed file has another type there.
    """
    if isinstance(value, int):
        return value
    raise DatabaseDamagedError(stage="row", cause=_told(value))


def text(value: SqlValue) -> str:
    """Return a column that STRICT tables hold as text.

    Raises:
        DatabaseDamagedError: As `integer`.
    """
    if isinstance(value, str):
        return value
    raise DatabaseDamagedError(stage="row", cause=_told(value))


def data(value: SqlValue) -> bytes:
    """Return a column that STRICT tables hold as bytes.

    Raises:
        DatabaseDamagedError: As `integer`.
    """
    if isinstance(value, bytes):
        return value
    raise DatabaseDamagedError(stage="row", cause=_told(value))


def _told(value: SqlValue) -> str:
    return f"a column holds {type(value).__name__}"


def optional_text(value: SqlValue) -> str | None:
    """Return a text column that may be absent."""
    return None if value is None else text(value)


def place_of(row: Row) -> Place:
    """Read the columns of `PLACE`.

    Raises:
        UnknownFactError: `unknown_fact`, a kind that this build does not know (LOG-2).
    """
    ordinal, seq, fact, kind, epoch, session, invocation, run, turn, chain = row[:10]
    return Place(
        ordinal=integer(ordinal),
        seq=integer(seq),
        id=text(fact),
        kind=_kind_of(text(kind)),
        epoch=integer(epoch),
        spine=Spine(
            session=text(session), invocation=text(invocation), run=text(run), turn=text(turn)
        ),
        chain=data(chain).hex(),
    )


def _kind_of(word: str) -> Kind:
    kind = _KINDS.get(word)
    if kind is None:
        raise UnknownFactError(path=("kind",), found=kind_of(word))
    return kind


_KINDS: Final[Mapping[str, Kind]] = {kind.value: kind for kind in Kind}


def stored_of(row: Row) -> Stored:
    """Read the columns of `STORED`.

    Raises:
        UnknownFactError: `unknown_fact`.
    """
    root, stamp, body = row[10:]
    return Stored(place=place_of(row), root=data(root).hex(), stamp=data(stamp), body=data(body))


def stored_values(stored: Stored) -> tuple[SqlValue, ...]:
    """Return the columns of `STORED`."""
    place, spine = stored.place, stored.place.spine
    return (
        place.ordinal,
        place.seq,
        place.id,
        place.kind.value,
        place.epoch,
        spine.session,
        spine.invocation,
        spine.run,
        spine.turn,
        bytes.fromhex(place.chain),
        bytes.fromhex(stored.root),
        stored.stamp,
        stored.body,
    )


@attrs.frozen(kw_only=True)
class PackedCell:
    """A stored instance before its bytes are read: they may be another build's.

    Attributes:
        reducer: The version of the fold that wrote it.
    """

    row: CellRow
    reducer: int


def packed_cell_of(row: Row, blank: Cell) -> PackedCell:
    """Read the columns of `CELL` but for the state, which stays `blank`."""
    machine, instance, session, scope, made, moved, reducer, _cell = row
    return PackedCell(
        row=CellRow(
            machine=Machine(text(machine)),
            instance=text(instance),
            session=text(session),
            scope=text(scope),
            cell=blank,
            made=integer(made),
            moved=integer(moved),
        ),
        reducer=integer(reducer),
    )


def cell_state_of(machine: Machine, stored: SqlValue) -> Cell:
    """Read the state in the column `cell`.

    Raises:
        CrashworthyError: `cell_malformed`, or not canonical JSON.
    """
    return cell_from_json(machine, canonical.decode(data(stored)))


def session_of(row: Row) -> SessionRow:
    """Read the columns of `SESSION`."""
    session, opened, context, last_run, abandoned, runs, adopted = row
    return SessionRow(
        session=text(session),
        opened=integer(opened),
        context=text(context),
        last_run=optional_text(last_run),
        abandoned=bool(abandoned),
        runs=integer(runs),
        adopted=None if adopted is None else integer(adopted),
    )


def quarantine_of(row: Row) -> Quarantine:
    """Read the columns of `QUARANTINE`."""
    session, code, first_bad, head_seq, head_chain, ordinal = row
    return Quarantine(
        session=text(session),
        code=text(code),
        first_bad=integer(first_bad),
        head_seq=integer(head_seq),
        head_chain=text(head_chain),
        ordinal=integer(ordinal),
    )


def key_of(row: Row) -> KeyRow:
    """Read the columns of `KEY`."""
    scope, key, told, fact, message, run = row
    return KeyRow(
        scope=text(scope),
        key=text(key),
        input=text(told),
        fact=text(fact),
        message=optional_text(message),
        run=optional_text(run),
    )


def partial_of(row: Row) -> Partial:
    """Read the columns of `PARTIAL`."""
    owner, stream, session, invocation, run, turn, lane, finished, bytes_total, snapshot = row
    return Partial(
        owner=text(owner),
        stream=text(stream),
        spine=Spine(
            session=text(session), invocation=text(invocation), run=text(run), turn=text(turn)
        ),
        lane=text(lane),
        snapshot=data(snapshot),
        bytes_total=integer(bytes_total),
        finished=bool(finished),
    )


def claim_of(row: Row) -> ClaimRecord:
    """Read the columns of `CLAIM`.

    Raises:
        CrashworthyError: The named evidence is not canonical JSON.
    """
    claim, session, boundary, source, invocation, run, turn, projection, replay = row[:9]
    epoch, ordinal, admitted, evidence, profile, manifest = row[9:]
    named = canonical.decode(text(evidence).encode())
    assert isinstance(named, list)
    return ClaimRecord(
        claim=text(claim),
        boundary=text(boundary),
        manifest=data(manifest),
        source_run=text(source),
        target=Spine(
            session=text(session), invocation=text(invocation), run=text(run), turn=text(turn)
        ),
        projection=integer(projection),
        replay=text(replay),
        profile=data(profile),
        evidence=tuple(str(fact) for fact in named),
        epoch=integer(epoch),
        ordinal=integer(ordinal),
        row=text(admitted),
    )


def claim_values(record: ClaimRecord) -> tuple[SqlValue, ...]:
    """Return the columns of `CLAIM`."""
    target = record.target
    return (
        record.claim,
        target.session,
        record.boundary,
        record.source_run,
        target.invocation,
        target.run,
        target.turn,
        record.projection,
        record.replay,
        record.epoch,
        record.ordinal,
        record.row,
        canonical.encode(list(record.evidence)).decode(),
        record.profile,
        record.manifest,
    )
