"""What the store can refuse, and every failure of its environment as a type (STORE-9)."""

import contextlib
import sqlite3
from collections.abc import Generator
from errno import errorcode
from typing import ClassVar, Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class StorageError(CrashworthyError):
    """The environment failed: the ledger is as it was, and this is never damage (STORE-9).

    Attributes:
        stage: `open`, `begin`, `statement`, `commit`, `rollback`, `checkpoint` or a file step.
        cause: SQLite's or the system's own name of the error.
    """

    stage: str
    cause: str


@attrs.define(eq=False, kw_only=True)
class StorageFullError(StorageError):
    """No room is left; whoever runs the machine must make some."""

    code: ClassVar[Code] = Code.STORAGE_FULL


@attrs.define(eq=False, kw_only=True)
class StorageIoError(StorageError):
    """Reading, writing or syncing failed."""

    code: ClassVar[Code] = Code.STORAGE_IO


@attrs.define(eq=False, kw_only=True)
class StorageBusyError(StorageError):
    """Another connection held the lock for longer than the busy time."""

    code: ClassVar[Code] = Code.STORAGE_BUSY


@attrs.define(eq=False, kw_only=True)
class StorageReadOnlyError(StorageError):
    """The place or the connection cannot be written."""

    code: ClassVar[Code] = Code.STORAGE_READ_ONLY


@attrs.define(eq=False, kw_only=True)
class StorageCannotOpenError(StorageError):
    """A file could not be opened or created."""

    code: ClassVar[Code] = Code.STORAGE_CANNOT_OPEN


@attrs.define(eq=False, kw_only=True)
class StorageInterruptedError(StorageError):
    """A statement was stopped, or had no memory."""

    code: ClassVar[Code] = Code.STORAGE_INTERRUPTED


@attrs.define(eq=False, kw_only=True)
class DatabaseDamagedError(StorageError):
    """SQLite says that the file is malformed: the one case here that is damage."""

    code: ClassVar[Code] = Code.DATABASE_DAMAGED


@attrs.define(eq=False, kw_only=True)
class TransactionLostError(StorageError):
    """SQLite ended the transaction behind a unit's back, so nothing more may be written in it."""

    code: ClassVar[Code] = Code.TRANSACTION_LOST


@attrs.define(eq=False, kw_only=True)
class ConstraintRefusedError(CrashworthyError):
    """The schema's last guard refused a row; the writer above should have refused it first."""

    code: ClassVar[Code] = Code.CONSTRAINT_REFUSED
    cause: str
    detail: str


@attrs.define(eq=False, kw_only=True)
class CommitOutcomeUnknownError(CrashworthyError):
    """COMMIT raised and may have committed: the host must stop, recovery reads the truth."""

    code: ClassVar[Code] = Code.COMMIT_OUTCOME_UNKNOWN
    cause: str


@attrs.define(eq=False, kw_only=True)
class StorePoisonedError(CrashworthyError):
    """The store was used after a COMMIT of unknown outcome; only a new process may go on."""

    code: ClassVar[Code] = Code.STORE_POISONED


@attrs.define(eq=False, kw_only=True)
class StoreOnProbationError(CrashworthyError):
    """A dispatch or request was refused: the last commit failed and a probe commit did too."""

    code: ClassVar[Code] = Code.STORE_ON_PROBATION
    probe_code: Code


@attrs.define(eq=False, kw_only=True)
class StoreClosedError(CrashworthyError):
    """The store is closed, or was closed before this unit was taken; nothing was written."""

    code: ClassVar[Code] = Code.STORE_CLOSED


@attrs.define(eq=False, kw_only=True)
class ForkedError(CrashworthyError):
    """A forked child used what its parent owns (OWN-1)."""

    code: ClassVar[Code] = Code.FORKED


@attrs.define(eq=False, kw_only=True)
class SqliteTooOldError(CrashworthyError):
    """The linked SQLite cannot keep our schema (STORE-1)."""

    code: ClassVar[Code] = Code.SQLITE_TOO_OLD
    found: str
    needed: str


@attrs.define(eq=False, kw_only=True)
class UnsupportedFilesystemError(CrashworthyError):
    """The root is on a file system that keeps neither locks nor shared memory (STORE-1a)."""

    code: ClassVar[Code] = Code.UNSUPPORTED_FILESYSTEM
    path: str
    filesystem: str


@attrs.define(eq=False, kw_only=True)
class StoreNotFoundError(CrashworthyError):
    """There is no store at this place, and looking makes none (STORE-10)."""

    code: ClassVar[Code] = Code.NOT_FOUND
    path: str


@attrs.define(eq=False, kw_only=True)
class NeedsUpgradeError(CrashworthyError):
    """The schema is older than this build's; an owner migrates it, a reader may not."""

    code: ClassVar[Code] = Code.NEEDS_UPGRADE
    found: int
    newest: int


@attrs.define(eq=False, kw_only=True)
class SchemaNewerError(CrashworthyError):
    """A newer build wrote this database; it is left unchanged (STORE-11)."""

    code: ClassVar[Code] = Code.SCHEMA_NEWER
    found: int
    newest: int


@attrs.define(eq=False, kw_only=True)
class SchemaUnknownError(CrashworthyError):
    """This is no database of ours; it is left unchanged (STORE-11)."""

    code: ClassVar[Code] = Code.SCHEMA_UNKNOWN
    application_id: int
    version: int


@attrs.define(eq=False, kw_only=True)
class SchemaAlteredError(CrashworthyError):
    """Tables or indexes are not those that this version makes; nothing was written (STORE-11).

    Attributes:
        objects: The names of what is missing, foreign or different.
    """

    code: ClassVar[Code] = Code.SCHEMA_ALTERED
    objects: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class AcknowledgedFactsMissingError(CrashworthyError):
    """Facts that were acknowledged are gone: read-only until a person accepts the loss."""

    code: ClassVar[Code] = Code.ACKNOWLEDGED_FACTS_MISSING
    anchored_ordinal: int
    stored_ordinal: int


@attrs.define(eq=False, kw_only=True)
class BlobMissingError(CrashworthyError):
    """A named blob is not there: damage of the naming fact alone (OP-6a)."""

    code: ClassVar[Code] = Code.BLOB_MISSING
    digest: str


@attrs.define(eq=False, kw_only=True)
class BlobAlteredError(CrashworthyError):
    """A blob's bytes are not those of its name: damage of the naming fact alone (OP-6a)."""

    code: ClassVar[Code] = Code.BLOB_ALTERED
    digest: str
    found: str


_BY_PRIMARY_CODE: Final[dict[int, type[StorageError]]] = {
    sqlite3.SQLITE_FULL: StorageFullError,
    sqlite3.SQLITE_IOERR: StorageIoError,
    sqlite3.SQLITE_NOLFS: StorageIoError,
    sqlite3.SQLITE_BUSY: StorageBusyError,
    sqlite3.SQLITE_LOCKED: StorageBusyError,
    sqlite3.SQLITE_PROTOCOL: StorageBusyError,
    sqlite3.SQLITE_READONLY: StorageReadOnlyError,
    sqlite3.SQLITE_PERM: StorageReadOnlyError,
    sqlite3.SQLITE_CANTOPEN: StorageCannotOpenError,
    sqlite3.SQLITE_INTERRUPT: StorageInterruptedError,
    sqlite3.SQLITE_ABORT: StorageInterruptedError,
    sqlite3.SQLITE_NOMEM: StorageInterruptedError,
    sqlite3.SQLITE_CORRUPT: DatabaseDamagedError,
    sqlite3.SQLITE_NOTADB: DatabaseDamagedError,
}


def primary_code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code, or -1 for an error that SQLite did not make."""
    # The attributes are unset on errors of the Python layer (wrong thread, closed connection).
    return int(getattr(error, "sqlite_errorcode", -1)) & 0xFF if _is_sqlite(error) else -1


def cause_name(error: sqlite3.Error) -> str:
    """Return SQLite's own name of the error, or the Python class for one it did not make."""
    return str(getattr(error, "sqlite_errorname", type(error).__name__))


def classified(error: sqlite3.Error, stage: str) -> CrashworthyError | None:
    """Return the typed error for what SQLite raised at `stage`, or None for a mistake of ours.

    A wrong statement or a misused connection is a programmer's error and keeps its own type.
    """
    primary = primary_code(error)
    kind = _BY_PRIMARY_CODE.get(primary)
    if kind is not None:
        return kind(stage=stage, cause=cause_name(error))
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return ConstraintRefusedError(cause=cause_name(error), detail=str(error))
    return None


def _is_sqlite(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", None) is not None


_BY_ERRNO: Final[dict[str, type[StorageError]]] = {
    "ENOSPC": StorageFullError,
    "EDQUOT": StorageFullError,
    "EFBIG": StorageFullError,
    "EROFS": StorageReadOnlyError,
    "EACCES": StorageCannotOpenError,
    "EPERM": StorageCannotOpenError,
    "EMFILE": StorageCannotOpenError,
    "ENFILE": StorageCannotOpenError,
}


@contextlib.contextmanager
def file_step(stage: str) -> Generator[None]:
    """Give the system's errors in a step on a file of the root their type.

    Raises:
        StorageError: `storage_*`.
    """
    try:
        yield
    except OSError as error:
        name = errorcode.get(error.errno or 0, type(error).__name__)
        typed = _BY_ERRNO.get(name, StorageIoError)(stage=stage, cause=name)
        raise typed from error
