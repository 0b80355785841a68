"""The one place where a write transaction begins and ends (STORE-2, STORE-9)."""

import sqlite3
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

import attrs

from .errors import (
    CommitOutcomeUnknownError,
    ForkedError,
    StorageBusyError,
    StorageError,
    StorageFullError,
    StoreClosedError,
    StorePoisonedError,
    TransactionLostError,
    cause_name,
    classified,
)
from .forks import tell_when_forked
from .probe import Probe, no_probe
from .sql import Params, Row, fetch

T = TypeVar("T")


class Health(StrEnum):
    """What the write door may be used for."""

    CLEAN = "clean"  # for everything
    PROBATION = "probation"  # a commit failed and did not commit; no dispatch, no request
    POISONED = "poisoned"  # a commit may have committed; for nothing, until a new process reads
    FORKED = "forked"  # this is a forked child, which owns nothing
    CLOSED = "closed"


@attrs.define(eq=False)
class Txn:
    """The statement door inside the one open write transaction.

    It ends at its first error: SQLite may have rolled back by itself, and with autocommit on the
    next statement would then be a transaction of its own.

    Attributes:
        error: The error that ended it.
    """

    _connection: sqlite3.Connection
    _ended: bool = False
    error: Exception | None = None

    def run(self, sql: str, params: Params = ()) -> list[Row]:
        """Execute one statement and return all its rows.

        Raises:
            StorageError: `storage_*`, `database_damaged` or `transaction_lost`; ends the batch.
            ConstraintRefusedError: `constraint_refused`; ends this unit.
        """
        self.check()
        try:
            return fetch(self._connection, sql, params)
        except Exception as error:
            self.error = error
            raise

    def unit(self, work: "Callable[[Txn], T]") -> T:
        """Run `work` under a savepoint: refused, it leaves nothing and costs nobody else.

        Raises:
            StorageError: The environment failed, and with it the whole transaction.
        """
        self.run("SAVEPOINT unit")
        inner = Txn(self._connection)
        try:
            result = work(inner)
            inner.check()
        except Exception as error:
            # What SQLite said first counts, also when the unit swallowed it and raised another.
            first = inner.error or error
            if isinstance(first, StorageError):
                self.error = first
            self.check()
            self.run("ROLLBACK TO unit")
            self.run("RELEASE unit")
            raise
        finally:
            inner.end()
        self.run("RELEASE unit")
        return result

    def check(self) -> None:
        """Refuse to go on after an error, even one that the caller swallowed.

        Raises:
            TransactionLostError: `transaction_lost`, when SQLite has already rolled back.
        """
        assert not self._ended, "a Txn was kept beyond its transaction"
        if self.error is not None:
            raise self.error
        if not self._connection.in_transaction:
            raise TransactionLostError(stage="statement", cause="not in a transaction")

    def end(self) -> None:
        """Refuse every later use; whoever began the transaction calls this."""
        self._ended = True


@attrs.define(eq=False, kw_only=True)
class WriteDoor:
    """The owner's connection, its health, and the one function that writes through it.

    Attributes:
        health: Moves to `probation` or `poisoned` by what COMMIT says (STORE-9).
    """

    connection: sqlite3.Connection
    probe: Probe = no_probe
    health: Health = Health.CLEAN

    def __attrs_post_init__(self) -> None:
        """Learn of forks: a child inherits the connection but not the right to use it."""
        tell_when_forked(self)

    def transact(self, body: Callable[[Txn], T]) -> T:
        """Run `body` in one write transaction: all of it is durable, or none of it.

        BEGIN IMMEDIATE takes the write lock first, so that a body which has started can fail only
        on the environment, never on a lock that it meets half-way.

        Raises:
            StorageError: `storage_*`; nothing was committed. All but a busy BEGIN put the door on
                probation.
            CommitOutcomeUnknownError: `commit_outcome_unknown`; the door is poisoned.
        """
        self.check()
        self._begin()
        txn = Txn(self.connection)
        try:
            self.probe("txn.begun")
            result = body(txn)
            txn.check()
            self.probe("txn.written")
            txn.check()
        except BaseException as error:
            self._undo(error)
            raise
        finally:
            txn.end()
        self._commit()
        return result

    def probe_commit(self) -> None:
        """Leave probation by one commit that surely writes and syncs a page.

        An ordinary success does not count: a transaction whose units were all refused commits
        nothing. Writing the schema version over itself always dirties the first page.

        Raises:
            StorageError: `storage_*`; the door stays on probation.
        """
        self.transact(_touch_first_page)
        self.health = Health.CLEAN

    def poison(self) -> None:
        """Refuse every later use: what is durable is no longer known here."""
        self.health = Health.POISONED

    def check(self) -> None:
        """Refuse a door that may not be used.

        Raises:
            StorePoisonedError: `store_poisoned`.
            ForkedError: `forked`.
            StoreClosedError: `store_closed`.
        """
        match self.health:
            case Health.CLEAN | Health.PROBATION:
                return
            case Health.POISONED:
                raise StorePoisonedError
            case Health.FORKED:
                raise ForkedError
            case Health.CLOSED:
                raise StoreClosedError

    def close(self) -> None:
        """Close the connection; again, or in a forked child, it does nothing."""
        if self.health in {Health.CLOSED, Health.FORKED}:
            # Closing in a child could checkpoint and unlink files that the parent is using.
            return
        self.health = Health.CLOSED
        self.connection.close()

    def forked_child(self) -> None:
        """Become unusable in a forked child (OWN-1)."""
        self.health = Health.FORKED

    def _begin(self) -> None:
        try:
            fetch(self.connection, "BEGIN IMMEDIATE", stage="begin")
        except StorageBusyError:
            raise  # Somebody else is writing; that says nothing about the storage.
        except StorageError as error:
            self._undo(error)
            raise

    def _commit(self) -> None:
        try:
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            typed = classified(error, "commit")
            if isinstance(typed, StorageBusyError | StorageFullError):
                self._undo(typed)
                raise typed from error
            self.poison()
            raise CommitOutcomeUnknownError(cause=cause_name(error)) from error
        except BaseException:
            # For instance a signal handler that raises between COMMIT and its return.
            self.poison()
            raise
        self.probe("txn.committed")

    def _undo(self, error: BaseException) -> None:
        """Leave no transaction open after `error`; poison the door if that fails too."""
        if isinstance(error, StorageError):
            self.health = Health.PROBATION
        if not self.connection.in_transaction:
            return
        try:
            self.connection.execute("ROLLBACK")
        except sqlite3.Error:
            # Nothing was committed, so the caller gets the first error; the door is of no use.
            self.poison()
        except BaseException:
            self.poison()
            raise


def _touch_first_page(txn: Txn) -> None:
    [(version,)] = txn.run("PRAGMA user_version")
    txn.run(f"PRAGMA user_version = {version!r}")
