"""A connection that tells a watcher of every statement, before it starts and after it ended.

The only module of the lab that knows the driver.
"""

import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import PurePath
from sqlite3 import Connection, Cursor
from types import TracebackType
from typing import ClassVar, Literal, Protocol, TypeAlias, TypeVar, cast, overload

import attrs

from .boundary import Kind, statement_kind, statement_name

AnyConnection: TypeAlias = Connection
"""A connection, watched or not."""
ConnectionType: TypeAlias = type[Connection]
"""What `sqlite3.connect(factory=...)` takes; production is given it by whoever opens the store."""

# The driver's own types for what a statement may be given (`typeshed` keeps them private).
_Parameters: TypeAlias = "tuple[object, ...] | list[object] | dict[str, object]"


_C = TypeVar("_C", bound=Cursor)


class _Forwarded(Protocol):
    """A method of the driver to which we pass on whatever we were given."""

    def __call__(self, *args: object, **options: object) -> None: ...


@attrs.frozen(kw_only=True, eq=False)
class Site:
    """A place that a connection is about to pass.

    Attributes:
        kind: What happens there.
        name: The normalised statement, or what is opened.
        connection: Who passes; `None` while it is being opened.
    """

    kind: Kind
    name: str
    connection: Connection | None


class Watcher(Protocol):
    """Whoever counts, kills or injects at the sites of a connection."""

    @property
    def tracing(self) -> bool:
        """Say whether SQLite's own trace is compared with what the wrapper saw."""
        ...

    def crossing(self, site: Site) -> AbstractContextManager[None]:
        """Return the frame in which the site is passed."""
        ...

    def note_bypass(self, what: str) -> None:
        """Take note of a statement or connection that the wrapper did not see."""
        ...


class WatchedCursor(Cursor):
    """A cursor that passes each statement through its connection's watcher."""

    def execute(self, sql: str, parameters: object = (), /) -> "WatchedCursor":
        """Run one statement in a crossing."""
        with _watched(self.connection).crossing(statement_kind(sql), statement_name(sql)):
            super().execute(sql, cast("_Parameters", parameters))
        return self

    def executemany(self, sql: str, parameters: Iterable[object], /) -> "WatchedCursor":
        """Run one statement with many rows in one crossing: they are one step of one unit."""
        with _watched(self.connection).crossing(statement_kind(sql), statement_name(sql)):
            super().executemany(sql, cast("Iterable[_Parameters]", parameters))
        return self

    def executescript(self, sql_script: str, /) -> "WatchedCursor":
        """Run a script in one crossing; SQLite commits first, so scripts are no units."""
        with _watched(self.connection).crossing(Kind.SCRIPT, statement_name(sql_script)):
            super().executescript(sql_script)
        return self


class WatchedConnection(Connection):
    """A connection whose every statement, open and close is a crossing; see `watched_by`.

    Attributes:
        depth: How many crossings are open; a statement that SQLite starts in none is a bypass.
    """

    watcher: ClassVar[Watcher]

    def __init__(self, database: object, *args: object, **options: object) -> None:
        """Open in a crossing; the arguments are the driver's."""
        self.depth = 0
        # The directory is another one in each run; the file's name is the same.
        name = PurePath(str(database).removeprefix("file:").partition("?")[0]).name
        with self.crossing(Kind.OPEN, name):
            opened = cast("_Forwarded", super().__init__)
            opened(database, *args, **options)
            if self.watcher.tracing:
                super().set_trace_callback(self._compare)

    def crossing(self, kind: Kind, name: str) -> AbstractContextManager[None]:
        """Return the frame for one step, in which SQLite may start statements."""
        opening = kind is Kind.OPEN
        site = Site(kind=kind, name=name, connection=None if opening else self)
        return _Crossing(self, self.watcher.crossing(site))

    @overload
    def cursor(self, factory: None = None) -> WatchedCursor: ...
    @overload
    def cursor(self, factory: Callable[[Connection], _C]) -> _C: ...
    def cursor(self, factory: Callable[[Connection], Cursor] | None = None) -> Cursor:
        """Return a watched cursor; one of a foreign `factory` shows as a bypass when it is used."""
        return super().cursor(WatchedCursor if factory is None else factory)

    # The C methods find `cursor` and `commit` by ways that differ between Python versions
    # (`__exit__` calls the C commit directly), so each door is spelled out here.

    def execute(self, sql: str, parameters: object = (), /) -> WatchedCursor:
        """Run one statement on a new cursor."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[object], /) -> WatchedCursor:
        """Run one statement with many rows on a new cursor."""
        return self.cursor().executemany(sql, parameters)

    def executescript(self, sql_script: str, /) -> WatchedCursor:
        """Run a script on a new cursor."""
        return self.cursor().executescript(sql_script)

    def commit(self) -> None:
        """Commit in a crossing."""
        with self.crossing(Kind.COMMIT, "commit()"):
            super().commit()

    def rollback(self) -> None:
        """Roll back in a crossing."""
        with self.crossing(Kind.ROLLBACK, "rollback()"):
            super().rollback()

    def backup(self, target: Connection, *args: object, **options: object) -> None:
        """Copy the database in one crossing."""
        with self.crossing(Kind.BACKUP, "backup()"):
            copied = cast("_Forwarded", super().backup)
            copied(target, *args, **options)

    def close(self) -> None:
        """Close in a crossing: the last connection checkpoints and removes the side files."""
        with self.crossing(Kind.CLOSE, "close()"):
            super().close()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> Literal[False]:
        if kind is None:
            self.commit()
        else:
            self.rollback()
        return False

    def _compare(self, sql: str) -> None:
        if self.depth == 0:
            self.watcher.note_bypass(statement_name(sql))


@attrs.define(eq=False)
class _Crossing(AbstractContextManager[None]):
    """Marks the connection as inside a seen step, so that the trace can tell a bypass."""

    connection: WatchedConnection
    frame: AbstractContextManager[None]

    def __enter__(self) -> None:
        self.frame.__enter__()
        self.connection.depth += 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> bool | None:
        self.connection.depth -= 1
        return self.frame.__exit__(kind, error, trace)


def watched_by(watcher: Watcher) -> ConnectionType:
    """Return the `factory=` whose connections tell `watcher`: a new class, no module state."""
    return type("BoundConnection", (WatchedConnection,), {"watcher": watcher})


def watch_foreign_connections(report: Callable[[str], None]) -> None:
    """Report every SQLite connection that this process opens from now on outside the wrapper.

    A database without a file is let pass: it holds nothing that a death could leave behind. A hook
    cannot be removed again: call it only in a process that is about to end.
    """
    fileless = False

    def hook(event: str, args: tuple[object, ...]) -> None:
        nonlocal fileless
        if event == "sqlite3.connect":
            fileless = args[0] in {"", ":memory:"}
        elif event == "sqlite3.connect/handle" and not (
            fileless or isinstance(args[0], WatchedConnection)
        ):
            report("a connection that was not opened with the factory of the lab")

    sys.addaudithook(hook)


def driver_error(errorname: str, message: str) -> sqlite3.OperationalError:
    """Return the error that the driver raises for this `sqlite_errorname`, code and all."""
    error = sqlite3.OperationalError(message)
    error.sqlite_errorname = errorname
    error.sqlite_errorcode = cast("int", getattr(sqlite3, errorname))
    return error


def roll_back_unseen(connection: Connection) -> None:
    """End the transaction as SQLite does by itself: nobody who watches the connection sees it."""
    Connection.rollback(connection)


def _watched(connection: Connection) -> WatchedConnection:
    assert isinstance(connection, WatchedConnection)
    return connection
