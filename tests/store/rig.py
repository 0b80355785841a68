"""A small store over real files, a connection that can fail, and a child that talks in lines."""

import hashlib
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, cast

import attrs

from crashworthy.store.anchor import Anchor, Head, open_anchor
from crashworthy.store.batch import Batcher
from crashworthy.store.checkpoint import Checkpointer
from crashworthy.store.connect import Connector
from crashworthy.store.migrate import Migration, migrate
from crashworthy.store.reader import wal_of
from crashworthy.store.runner import InlineRunner, Runner
from crashworthy.store.sql import SqlValue
from crashworthy.store.txn import Txn, WriteDoor
from crashworthy.store.writer import Writer


def sqlite_error(name: str) -> sqlite3.OperationalError:
    """Make the error that SQLite would raise under that name."""
    error = sqlite3.OperationalError(name.lower())
    error.sqlite_errorname = name
    error.sqlite_errorcode = {"SQLITE_IOERR_FSYNC": 1034}.get(name) or int(getattr(sqlite3, name))
    return error


@attrs.define(eq=False)
class Faults:
    """Errors that wait for their statement; `hits` counts those that were raised."""

    hits: int = 0
    waiting: list[tuple[str, str, BaseException]] = attrs.field(
        factory=list[tuple[str, str, BaseException]]
    )

    def plan(self, when: str, sql_start: str, error: BaseException | str) -> None:
        made = sqlite_error(error) if isinstance(error, str) else error
        self.waiting.append((when, sql_start, made))

    def meet(self, when: str, sql: str) -> None:
        for planned in self.waiting:
            if planned[0] == when and sql.startswith(planned[1]):
                self.waiting.remove(planned)
                self.hits += 1
                raise planned[2]


class FaultyConnection(sqlite3.Connection):
    """Meets its faults before and after every statement."""

    faults: ClassVar[Faults]

    def execute(self, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
        self.faults.meet("before", sql)
        cursor = super().execute(sql, cast("Sequence[SqlValue]", parameters))
        self.faults.meet("after", sql)
        return cursor


@attrs.define(eq=False)
class Heads:
    """The next position in memory, which must always say what the last COMMIT says."""

    position: int = 0
    at_commit: int = 0
    at_unit: int = 0

    def unit_begun(self) -> None:
        self.at_unit = self.position

    def unit_undone(self) -> None:
        self.position = self.at_unit

    def committed(self) -> None:
        self.at_commit = self.position

    def reverted(self) -> None:
        self.position = self.at_commit

    def head(self) -> Head:
        return Head(ordinal=self.at_commit, chain=chain_of(self.at_commit))


def chain_of(position: int) -> str:
    return hashlib.sha256(str(position).encode()).hexdigest()


def _create_rows(txn: Txn) -> None:
    txn.run("CREATE TABLE rows (position INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT")


MIGRATIONS = (Migration(version=1, apply=_create_rows),)


@attrs.define(eq=False, kw_only=True)
class Rig:
    """One store with one table of rows, its faults and what it remembers."""

    path: Path
    connection: sqlite3.Connection
    faults: Faults
    heads: Heads
    door: WriteDoor
    anchor: Anchor
    batcher: Batcher
    writer: Writer

    def append(self, text: str) -> Callable[[Txn], int]:
        """Make a unit that appends `text` at the next position and returns the position."""

        def unit(txn: Txn) -> int:
            self.heads.position += 1
            txn.run("INSERT INTO rows VALUES (?, ?)", (self.heads.position, text))
            return self.heads.position

        return unit

    def shut(self) -> None:
        """Close what is open, as the end of a process would, without a checkpoint of ours."""
        self.connection.close()
        self.anchor.close()

    def rows(self) -> list[tuple[int, str]]:
        """Read what a process that opens the file now would find."""
        other = sqlite3.connect(self.path, isolation_level=None)
        try:
            return other.execute("SELECT position, text FROM rows ORDER BY position").fetchall()
        finally:
            other.close()


@attrs.define(eq=False)
class Child:
    """A Python process that talks in lines."""

    process: subprocess.Popen[str]

    def hear(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self) -> int:
        return self.process.wait(timeout=20)


OPEN_RIGS: list[Rig] = []
"""What `make_rig` opened and nobody has shut yet; a fixture does."""


def make_rig(place: Path, *, runner: Runner | None = None, idle_s: float | None = None) -> Rig:
    """Open a small store in `place`; a second one there opens what the first one left."""

    class ThisFaultyConnection(FaultyConnection):
        faults = Faults()

    path = place / "ledger.sqlite3"
    connection = Connector(factory=ThisFaultyConnection, busy_ms=50).open_owner(path, newest=1)
    door = WriteDoor(connection=connection)
    migrate(door, MIGRATIONS)
    anchor = open_anchor(place / "anchor")
    heads = Heads()
    batcher = Batcher(door=door, memories=(heads,), anchor=anchor, head=heads.head)
    writer = Writer(
        batcher=batcher,
        runner=runner or InlineRunner(),
        checkpointer=Checkpointer(door=door, wal=wal_of(path), anchor=anchor),
        idle_s=idle_s,
    )
    rig = Rig(
        path=path,
        connection=connection,
        faults=ThisFaultyConnection.faults,
        heads=heads,
        door=door,
        anchor=anchor,
        batcher=batcher,
        writer=writer,
    )
    OPEN_RIGS.append(rig)
    return rig
