"""Looking never touches: a reader changes nothing, disturbs nobody (STORE-10)."""

import contextlib
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Final

import attrs

from .connect import Connector, check_sqlite_version, read_version, set_pragmas
from .errors import (
    NeedsUpgradeError,
    StorageBusyError,
    StorageCannotOpenError,
    StorageReadOnlyError,
    StoreNotFoundError,
)
from .sql import Params, Row, fetch

_COPY_TRIES: Final = 5


@attrs.define(eq=False, kw_only=True)
class Reader:
    """A connection that can change nothing.

    Attributes:
        immutable: Whether SQLite was told that nobody writes, which is so only without a WAL.
    """

    connection: sqlite3.Connection
    immutable: bool = False
    _path: Path = attrs.field(alias="path")
    _copy: tempfile.TemporaryDirectory[str] | None = None

    def fetch(self, sql: str, params: Params = ()) -> list[Row]:
        """Execute one reading statement and return all its rows.

        Raises:
            StorageError: `storage_*` or `database_damaged`.
        """
        return fetch(self.connection, sql, params)

    @contextlib.contextmanager
    def snapshot(self) -> Generator[None]:
        """Let all reads of the block see one moment; keep it short, it holds the WAL back.

        Raises:
            StorageBusyError: `storage_busy`, when an owner appeared beside a connection that was
                told nobody writes: what was read is of no use, open a new reader.
        """
        fetch(self.connection, "BEGIN")
        try:
            yield
            if self.immutable and wal_of(self._path).exists():
                raise StorageBusyError(stage="statement", cause="an owner appeared")
        finally:
            if self.connection.in_transaction:
                fetch(self.connection, "ROLLBACK")

    def close(self) -> None:
        """Close the connection and remove a private copy; again does nothing."""
        self.connection.close()
        if self._copy is not None:
            self._copy.cleanup()


def open_reader(connector: Connector, path: Path, *, newest: int) -> Reader:
    """Open a database of exactly schema version `newest` for looking.

    Raises:
        SqliteTooOldError: `sqlite_too_old`.
        StoreNotFoundError: `not_found`, also for a database that is still empty.
        NeedsUpgradeError: `needs_upgrade`.
        SchemaNewerError: `schema_newer`.
        SchemaUnknownError: `schema_unknown`.
        StorageError: `storage_*` or `database_damaged`.
    """
    check_sqlite_version()
    reader = _open_any(connector, path)
    try:
        version = read_version(reader.connection, newest=newest)
        _demand_newest(path, version, newest)
    except BaseException:
        reader.close()
        raise
    return reader


def _demand_newest(path: Path, version: int, newest: int) -> None:
    if version == 0:
        raise StoreNotFoundError(path=str(path))
    if version < newest:
        raise NeedsUpgradeError(found=version, newest=newest)


def wal_of(path: Path) -> Path:
    """Return where SQLite keeps the WAL of the database `path`."""
    return path.with_name(path.name + "-wal")


def shm_of(path: Path) -> Path:
    """Return where SQLite keeps the WAL index of the database `path`."""
    return path.with_name(path.name + "-shm")


def _open_any(connector: Connector, path: Path) -> Reader:
    if not path.is_file():
        raise StoreNotFoundError(path=str(path))
    if not wal_of(path).exists():
        # Even mode=ro creates the side files of a WAL database, where it can.
        return _open(connector, path, "mode=ro&immutable=1", immutable=True)
    if shm_of(path).exists():
        with contextlib.suppress(StorageCannotOpenError, StorageReadOnlyError):
            return _open(connector, path, "mode=ro")
    return _open_copy(connector, path)


def _open(connector: Connector, path: Path, query: str, *, immutable: bool = False) -> Reader:
    connection = connector.connect(path, query=query)
    try:
        set_pragmas(connection, "query_only = ON")
        fetch(connection, "PRAGMA schema_version", stage="open")  # the first read opens the WAL
    except BaseException:
        connection.close()
        raise
    return Reader(connection=connection, immutable=immutable, path=path)


def _open_copy(connector: Connector, path: Path) -> Reader:
    """Read a private copy: without a usable WAL index the WAL can be read only where we may write.

    Whoever writes has an index, so nobody does; should an owner appear, the copy is made again.
    """
    copy = tempfile.TemporaryDirectory(prefix="crashworthy-look-")
    place = Path(copy.name) / path.name
    try:
        _copy_unmoved(path, place)
        reader = _open(connector, place, "mode=rw")
    except BaseException:
        copy.cleanup()
        raise
    return attrs.evolve(reader, copy=copy)


def _copy_unmoved(path: Path, place: Path) -> None:
    for _ in range(_COPY_TRIES):
        before = _traces(path)
        _copy_elsewhere(path, place)
        if _traces(path) == before:
            return
    raise StorageBusyError(stage="open", cause="an owner appeared")


def _traces(path: Path) -> list[tuple[int, int, int] | None]:
    """Return what a writer would change, by name only (STORE-1a)."""
    traces: list[tuple[int, int, int] | None] = []
    for file in (path, wal_of(path), shm_of(path)):
        try:
            stat = file.stat()
        except FileNotFoundError:
            traces.append(None)
        else:
            traces.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
    return traces


_COPY_SCRIPT: Final = """\
import shutil, sys
for source, target in zip(sys.argv[1::2], sys.argv[2::2]):
    shutil.copyfile(source, target)
"""


def _copy_elsewhere(path: Path, place: Path) -> None:
    # In another process: closing a descriptor of the database here would drop the locks of this
    # process's own connections (STORE-1a).
    names = [str(path), str(place), str(wal_of(path)), str(wal_of(place))]
    command = [sys.executable, "-I", "-S", "-c", _COPY_SCRIPT, *names]
    done = subprocess.run(  # noqa: S603 - our own interpreter and script
        command, check=False, capture_output=True, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        cause = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise StorageCannotOpenError(stage="open", cause=cause)
