"""Every connection is opened here, for its role and with nothing left to defaults (STORE-1)."""

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

import attrs

from .errors import (
    SchemaNewerError,
    SchemaUnknownError,
    SqliteTooOldError,
    StorageIoError,
    UnsupportedFilesystemError,
    classified,
    file_step,
)
from .platform import NETWORK_FILESYSTEMS, filesystem_kind, full_sync, sync_directory
from .sql import fetch

SQLITE_MIN: Final = (3, 37, 0)
"""STRICT tables came with this version."""

APPLICATION_ID: Final = 0x43577231
"""Marks a database file as ours ("CWr1")."""

BUSY_MS: Final = 5_000
"""Milliseconds that a statement waits for a lock; only checkpoints and readers ever meet one."""

_EVERYWHERE: Final = (
    "foreign_keys = ON",
    "temp_store = MEMORY",  # a temporary file would be one more thing to lose and to protect
    "mmap_size = 0",  # an I/O error must be an error, not a signal
    "trusted_schema = OFF",
    "cell_size_check = ON",
    "wal_autocheckpoint = 0",  # only the owner checkpoints, and only when it says so (STORE-9a)
)
_OWNER: Final = (
    "synchronous = FULL",
    "fullfsync = ON",  # these two change nothing outside macOS
    "checkpoint_fullfsync = ON",
)


@attrs.frozen(kw_only=True)
class Connector:
    """Opens connections; the crash lab puts its own connection class here.

    Attributes:
        factory: The class of every connection opened.
        busy_ms: Milliseconds that a statement waits for a lock.
    """

    factory: type[sqlite3.Connection] = sqlite3.Connection
    busy_ms: int = BUSY_MS

    def open_owner(self, path: Path, *, newest: int) -> sqlite3.Connection:
        """Open the one writing connection, creating an empty file (mode 0600) if there is none.

        The caller holds the owner lock. A database that is not ours, or newer than schema version
        `newest`, is refused before anything in it is changed, its journal mode included.

        Raises:
            SqliteTooOldError: `sqlite_too_old`.
            UnsupportedFilesystemError: `unsupported_filesystem`.
            SchemaNewerError: `schema_newer`.
            SchemaUnknownError: `schema_unknown`.
            StorageError: `storage_*`.
        """
        check_sqlite_version()
        check_filesystem(path.parent)
        _create_private(path)
        connection = self.connect(path, query="mode=rw")
        try:
            read_version(connection, newest=newest)
            _use_wal(connection)
            set_pragmas(connection, *_OWNER)
        except BaseException:
            connection.close()
            raise
        return connection

    def connect(self, path: Path, *, query: str) -> sqlite3.Connection:
        """Open `path` with the URI parameters `query`, in autocommit mode.

        The connection moves between worker threads, one at a time, so SQLite's own serialisation
        is enough and Python's thread check is off.

        Raises:
            StorageError: `storage_*`.
        """
        uri = f"file:{quote(os.fsencode(path.absolute()))}?{query}"
        try:
            connection = sqlite3.connect(
                uri,
                uri=True,
                timeout=self.busy_ms / 1000,
                isolation_level=None,
                check_same_thread=False,
                factory=self.factory,
            )
        except sqlite3.Error as error:
            raise classified(error, "open") or error from error
        try:
            set_pragmas(connection, *_EVERYWHERE)
        except BaseException:
            connection.close()
            raise
        return connection


def set_pragmas(connection: sqlite3.Connection, *assignments: str) -> None:
    """Set pragmas that SQLite ignores silently when it does not like them."""
    for assignment in assignments:
        fetch(connection, f"PRAGMA {assignment}", stage="open")


def check_sqlite_version(found: tuple[int, int, int] = sqlite3.sqlite_version_info) -> None:
    """Demand a SQLite that can keep our schema.

    Raises:
        SqliteTooOldError: `sqlite_too_old`.
    """
    if found < SQLITE_MIN:
        raise SqliteTooOldError(found=_dotted(found), needed=_dotted(SQLITE_MIN))


def check_filesystem(place: Path) -> None:
    """Refuse a directory on a network file system (STORE-1a).

    Raises:
        UnsupportedFilesystemError: `unsupported_filesystem`.
    """
    kind = filesystem_kind(place)
    if kind in NETWORK_FILESYSTEMS:
        raise UnsupportedFilesystemError(path=str(place), filesystem=kind)


def read_version(connection: sqlite3.Connection, *, newest: int) -> int:
    """Return the schema version, 0 for an empty file; changes nothing (STORE-11).

    Raises:
        SchemaNewerError: `schema_newer`, when it is greater than `newest`.
        SchemaUnknownError: `schema_unknown`, when it is not a database of ours.
    """
    [(application_id,)] = fetch(connection, "PRAGMA application_id", stage="open")
    [(version,)] = fetch(connection, "PRAGMA user_version", stage="open")
    [(objects,)] = fetch(connection, "SELECT count(*) FROM sqlite_master", stage="open")
    assert isinstance(application_id, int)
    assert isinstance(version, int)
    if (application_id, version, objects) == (0, 0, 0):
        return 0
    if application_id != APPLICATION_ID or version < 1:
        raise SchemaUnknownError(application_id=application_id, version=version)
    if version > newest:
        raise SchemaNewerError(found=version, newest=newest)
    return version


def _use_wal(connection: sqlite3.Connection) -> None:
    [(mode,)] = fetch(connection, "PRAGMA journal_mode", stage="open")
    if mode != "wal":
        [(mode,)] = fetch(connection, "PRAGMA journal_mode = WAL", stage="open")
    if mode != "wal":
        raise StorageIoError(stage="open", cause=f"journal mode stays {mode!r}")


def _create_private(path: Path) -> None:
    """Create an empty database file that nobody else can read; SQLite's own would be 0644.

    Exclusive creation opens nothing that exists: closing a second descriptor of a database would
    drop the locks of this process's connections (STORE-1a).
    """
    with file_step("open"):
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            return
        try:
            full_sync(fd)
            sync_directory(path.parent)
        finally:
            os.close(fd)


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(map(str, version))
