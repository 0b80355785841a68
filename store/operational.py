"""Operational records: how things went, for people, apart from the ledger (LOG-10).

They lie in a file of their own, so that no damage and no full table of theirs can cost a fact. Each
is written when it happens, without a sync: it survives the process, not always the machine. Nothing
that fails here is raised, and nothing decides by what is read here.
"""

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from ..machines.facts import canonical
from ..machines.facts.canonical import CanonicalError, Json
from ..machines.facts.codes import CrashworthyError
from ..machines.facts.redact import redacted
from ..machines.facts.text import repair_text
from .connect import Connector, set_pragmas
from .errors import DatabaseDamagedError, StorageError
from .ownership.errors import LockReplacedError
from .ownership.lock import anywhere
from .sql import Row, SqlValue, fetch

RECORDS_MAX: Final = 20_000
"""Records of a root; older ones go."""

RUN_RECORDS_MAX: Final = 1_000
"""Records of one run; older ones go."""

TEXT_CHARS_MAX: Final = 500
"""Characters of one text in a record; the rest is cut."""

_READ_CHARS_MAX: Final = 20_000
"""Characters of one text that are looked at: redacted first, so that no cut hides a secret's form,
but not for as long as anybody outside likes, for the scheduler waits meanwhile."""

_TRIM_EVERY: Final = 64
_BUSY_MS: Final = 50
_VERSION: Final = 1
_TABLE: Final = """
CREATE TABLE records (
  number INTEGER PRIMARY KEY,
  run TEXT NOT NULL,
  id TEXT NOT NULL,
  ts INTEGER NOT NULL,
  kind TEXT NOT NULL,
  details BLOB NOT NULL,
  UNIQUE (run, id)
) STRICT
""".strip()
_INSERT: Final = "INSERT OR IGNORE INTO records (run, id, ts, kind, details) VALUES (?,?,?,?,?)"
_TRIM: Final = "DELETE FROM records WHERE number <= (SELECT max(number) FROM records) - ?"
_TRIM_RUN: Final = """
DELETE FROM records WHERE run = ? AND number <=
(SELECT number FROM records WHERE run = ? ORDER BY number DESC LIMIT 1 OFFSET ?)
""".strip()
_READ: Final = """
SELECT number, run, id, ts, kind, details FROM records WHERE number > ? ORDER BY number LIMIT ?
""".strip()
_PAGE: Final = 200


class OperationalKind(StrEnum):
    """What a record tells. Closed for writers; readers show what later builds wrote, too."""

    HOST_OPENED = "host_opened"  # a host is ready; how long it took
    HOST_CLOSED = "host_closed"  # a host has drained
    HOST_HUNG = "host_hung"  # the shutdown of an owner before did not end (OWN-3)
    RUN_EXECUTED = "run_executed"  # a run is over or left, and how long this host worked on it
    REQUEST_TIMED = "request_timed"  # a model request, from its dispatch to its last event
    REQUEST_RETRIED = "request_retried"  # a request failed and is sent again
    STORE_RETRIED = "store_retried"  # the environment refused a fact, which is tried again
    STORE_FAILED = "store_failed"  # the environment refused a fact, and the run ends for it
    TOOL_TIMED = "tool_timed"  # a tool, from its dispatch to its ending
    LATE_ERROR = "late_error"  # a backend failed behind its stated finish (RUN-2)
    INTERNAL_ERROR = "internal_error"  # a mistake of ours ended a run


@attrs.frozen(kw_only=True)
class OperationalRecord:
    """One record.

    Attributes:
        run: The run it is about; empty for the host itself.
        id: Unique within the run.
        ts: Milliseconds since the Unix epoch.
        kind: A member of `OperationalKind`, or what a later build wrote.
    """

    run: str
    id: str
    ts: int
    kind: str
    details: Mapping[str, Json]


@attrs.frozen(kw_only=True)
class OperationalReading:
    """What can be read.

    Attributes:
        damaged: Records that cannot be read; a file that cannot be read counts as one.
    """

    records: tuple[OperationalRecord, ...]
    damaged: int


@attrs.define(eq=False)
class OperationalBook:
    """Writes the records of one owner, at its best.

    Attributes:
        in_place: Demands that the root is still where it was; else nothing is written or moved
            there, for it may be somebody else's (OWN-5).
        lost: Records that could not be written.
    """

    _path: Path
    _epoch: int
    _connector: Connector = attrs.field(factory=Connector)
    in_place: Callable[[], None] = attrs.field(default=anywhere, kw_only=True)
    lost: int = attrs.field(default=0, init=False)
    _connection: sqlite3.Connection | None = attrs.field(default=None, init=False)
    _number: int = attrs.field(default=0, init=False)
    _of_run: Counter[str] = attrs.field(factory=Counter[str], init=False)

    def note(self, run: str, ts: int, kind: OperationalKind, details: Mapping[str, Json]) -> None:
        """Write a record, or count it as lost; never raises for what the environment does."""
        self._number += 1
        self._of_run[run] += 1
        # With its time, for an epoch may come again behind an accepted loss (STORE-9a).
        name = f"{self._epoch}.{self._number}.{ts}"
        row = (run, name, ts, str(kind), _stored(details))
        try:
            self.in_place()
            self._write(run, row)
        except LockReplacedError:
            self._lose(damaged=False)
        except (StorageError, OSError) as error:
            self._lose(damaged=isinstance(error, DatabaseDamagedError))
        except (CrashworthyError, sqlite3.Error, ValueError):
            self._lose(damaged=True)  # It is no table of ours, or not any more.

    def _lose(self, *, damaged: bool) -> None:
        """Count a record as lost; nobody depends on a damaged file, so it is begun anew."""
        self.lost += 1
        self.close()
        if damaged:
            _set_aside(self._path)

    def close(self) -> None:
        """Let go of the file; a later record opens it again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(sqlite3.Error):
                connection.close()

    def _write(self, run: str, row: Row) -> None:
        if self._connection is None:
            self._connection = _open(self._path, self._connector)
        fetch(self._connection, _INSERT, row)
        if self._number % _TRIM_EVERY == 0:
            fetch(self._connection, _TRIM, (RECORDS_MAX,))
        if self._of_run[run] % _TRIM_EVERY == 0:
            fetch(self._connection, _TRIM_RUN, (run, run, RUN_RECORDS_MAX))


def read_operational(path: Path, run: str | None = None) -> OperationalReading:
    """Read the records of a root, or of one run, oldest first; never fails for what is damaged.

    Args:
        path: The file.
        run: Only records of this run.
    """
    if not path.exists():
        return OperationalReading(records=(), damaged=0)
    found: list[OperationalRecord] = []
    damaged = 0
    try:
        for record in _records(path):
            if record is None:
                damaged += 1
            elif run in (None, record.run):
                found.append(record)
    except (CrashworthyError, sqlite3.Error, OSError, ValueError):
        damaged += 1
    return OperationalReading(records=tuple(found), damaged=damaged)


def _records(path: Path) -> Iterator[OperationalRecord | None]:
    """Yield each record, None for a damaged one, until something cannot be read at all.

    Raises:
        CrashworthyError: Something cannot be read.
        ValueError: SQLite's own words about it are no text.
    """
    connection = Connector(busy_ms=_BUSY_MS).connect(path, query="mode=ro")
    with contextlib.closing(connection):
        connection.text_factory = _any_text
        after: SqlValue = 0
        while page := fetch(connection, _READ, (after, _PAGE)):
            yield from map(_record, page)
            after = page[-1][0]


def _record(row: Row) -> OperationalRecord | None:
    _number, run, name, ts, kind, stored = row
    if not isinstance(ts, int) or not isinstance(stored, bytes):
        return None
    try:
        details = canonical.parse(stored)
    except CanonicalError:
        return None
    if not isinstance(details, dict):
        return None
    return OperationalRecord(run=str(run), id=str(name), ts=ts, kind=str(kind), details=details)


def _stored(details: Mapping[str, Json]) -> bytes:
    return canonical.encode({name: _shown(value) for name, value in details.items()})


def _shown(value: Json) -> Json:
    """Return a detail as it may be written: clean, redacted, and of bounded length."""
    if not isinstance(value, str):
        return value
    text, _losses = repair_text(value[:_READ_CHARS_MAX])
    text = redacted(text)
    return text if len(text) <= TEXT_CHARS_MAX else f"{text[:TEXT_CHARS_MAX]}..."


def _open(path: Path, connector: Connector) -> sqlite3.Connection:
    """Open the file, making it if there is none.

    Raises:
        DatabaseDamagedError: `database_damaged`; it holds no table of ours.
        CrashworthyError: The environment failed.
        OSError: It failed while the file was made.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = attrs.evolve(connector, busy_ms=_BUSY_MS).connect(path, query="mode=rw")
    try:
        _prepare(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    # No sync: what a power cut takes or spoils here is missed by no decision.
    set_pragmas(connection, "journal_mode = TRUNCATE", "synchronous = OFF")
    [(version,)] = fetch(connection, "PRAGMA user_version")
    if version == 0:
        fetch(connection, "BEGIN IMMEDIATE")
        fetch(connection, _TABLE)
        fetch(connection, f"PRAGMA user_version = {_VERSION}")
        fetch(connection, "COMMIT")
    elif version != _VERSION:
        raise DatabaseDamagedError(stage="open", cause=f"version {version!r}")


def _set_aside(path: Path) -> None:
    """Move a file that cannot be used out of the way; the one that was moved before goes."""
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}-journal").unlink(missing_ok=True)
        path.replace(path.with_suffix(".damaged"))


def _any_text(data: bytes) -> str:
    return data.decode(errors="replace")
