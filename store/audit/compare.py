"""Projections beside the fold: what differs is looked at twice, for a live host moves it."""

from collections.abc import Callable, Iterator
from typing import Final

from ...machines.facts.codes import Code
from ..sql import Row, SqlValue
from .findings import Check, Finding
from .tables import CELLS, FORMS, KEYS, SESSIONS, Key, TableForm, Tables

SUSPECTS_MAX: Final = 10_000
"""Differing rows that get a second look; where more differ, these are enough to say so."""

_OWNER: Final = {CELLS.name: 2, SESSIONS.name: 0, KEYS.name: 0}
"""Where each table names the session of a row."""

_PLACED: Final = {CELLS.name: 7, SESSIONS.name: 1}
"""Where a table says at which ordinal a row was moved or made."""


def suspects(live: Tables, own: Tables) -> list[tuple[TableForm, Key]]:
    """Return the keys whose rows differ at first sight, at most `SUSPECTS_MAX`.

    Both sides are read in the order of their keys, a page at a time.
    """
    found: list[tuple[TableForm, Key]] = []
    for form in FORMS:
        for key in _differing(form, live.rows(form), own.rows(form)):
            found.append((form, key))
            if len(found) >= SUSPECTS_MAX:
                return found
    return found


def confirmed(
    suspected: list[tuple[TableForm, Key]],
    live: Tables,
    own: Tables,
    session_of: Callable[[str], str | None],
) -> Iterator[Finding]:
    """Yield a finding for each suspect that differs in one moment; the caller holds a snapshot.

    Args:
        suspected: What `suspects` returned.
        live: The stored rows.
        own: The rows of the fold, brought to the head of this snapshot.
        session_of: Returns the session of a fact.
    """
    for form, key in suspected:
        stored, folded = _row(live, form, key), own.row(form, key)
        if stored != folded:
            yield _finding(form, stored, folded, session_of)


def _differing(form: TableForm, live: Iterator[Row], own: Iterator[Row]) -> Iterator[Key]:
    stored, folded = next(live, None), next(own, None)
    while stored is not None or folded is not None:
        if stored == folded:
            stored, folded = next(live, None), next(own, None)
            continue
        left = None if stored is None else stored[: form.width]
        right = None if folded is None else folded[: form.width]
        if right is None or (left is not None and _order(left) <= _order(right)):
            assert left is not None
            yield left
            stored = next(live, None)
            if left == right:
                folded = next(own, None)
        else:
            yield right
            folded = next(own, None)


def _order(key: Key) -> tuple[tuple[int, str | bytes | float], ...]:
    """Return what sorts like SQLite sorts, also where damage changed the type of a column."""
    return tuple(map(_rank, key))


def _rank(value: SqlValue) -> tuple[int, str | bytes | float]:
    if isinstance(value, str):
        return 2, value
    if isinstance(value, bytes):
        return 3, value
    return (0, 0) if value is None else (1, value)


def _row(tables: Tables, form: TableForm, key: Key) -> Row | None:
    try:
        return tables.row(form, key)
    except UnicodeEncodeError:
        return key  # Bytes that are no text: no fold makes such a key, and none asks for it.


def _finding(
    form: TableForm,
    stored: Row | None,
    folded: Row | None,
    session_of: Callable[[str], str | None],
) -> Finding:
    row = folded or stored
    assert row is not None
    if stored is None:
        detail = f"{form.name}: a row is missing"
    elif folded is None or len(stored) != len(folded):
        detail = f"{form.name}: a row that no fact makes"
    else:
        names = [name for name, a, b in zip(form.columns, stored, folded, strict=True) if a != b]
        detail = f"{form.name}: {', '.join(names)}"
    session = row[_OWNER[form.name]]
    if form is KEYS and session == "" and len(row) == len(form.columns):
        session = session_of(str(row[3]))
    place = _PLACED.get(form.name)
    ordinal = row[place] if place is not None and place < len(row) else None
    return Finding(
        check=Check.PROJECTION,
        code=Code.PROJECTION_DIFFERS,
        detail=detail,
        ordinal=ordinal if isinstance(ordinal, int) else None,
        session=_shown(session),
    )


def _shown(value: SqlValue) -> str | None:
    return value.encode(errors="backslashreplace").decode() if isinstance(value, str) else None
