"""A sick environment on demand: failing statements, lost answers, slow syncs, damaged files."""

import random
import resource
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from .boundary import Kind
from .counting import (
    AnyConnection,
    ConnectionType,
    Site,
    driver_error,
    roll_back_unseen,
    watched_by,
)


class Illness(StrEnum):
    """What the driver reports; the values are its `sqlite_errorname`."""

    FULL = "SQLITE_FULL"
    IOERR_READ = "SQLITE_IOERR_READ"
    IOERR_WRITE = "SQLITE_IOERR_WRITE"
    IOERR_FSYNC = "SQLITE_IOERR_FSYNC"
    BUSY = "SQLITE_BUSY"
    READONLY = "SQLITE_READONLY"
    INTERRUPT = "SQLITE_INTERRUPT"


class Truth(StrEnum):
    """What really became of the statement whose caller gets an error (STORE-9)."""

    NOT_DONE = "not_done"
    """It did not run; the transaction is as it was before."""
    ROLLED_BACK = "rolled_back"
    """It did not run, and SQLite ended the whole transaction by itself."""
    DONE = "done"
    """It ran: after a COMMIT the facts are durable although the caller was told otherwise."""


@attrs.frozen(kw_only=True)
class Fault:
    """An error at chosen statements.

    Attributes:
        kind: Which statements count; `None` counts all.
        occurrence: 1 for the first of them.
        times: How many in a row fail from there on; `None` for all.
    """

    illness: Illness
    truth: Truth = Truth.NOT_DONE
    kind: Kind | None = None
    occurrence: int = 1
    times: int | None = 1


@attrs.define(eq=False, kw_only=True)
class Injector:
    """A watcher that makes the statements of its connections fail or drag.

    Attributes:
        fault: What fails; `None` for nothing.
        sync_seconds: How much longer each COMMIT takes before its caller hears of it.
        visits: How many statements counted so far.
        fired: How many of them failed: a test that never meets its fault proves nothing.
    """

    fault: Fault | None = None
    sync_seconds: float = 0.0
    visits: int = 0
    fired: int = 0

    @property
    def tracing(self) -> bool:
        """Leave SQLite's trace alone: an injector need not see everything."""
        return False

    @property
    def factory(self) -> ConnectionType:
        """Return the `factory=` of connections that this injector watches."""
        return watched_by(self)

    def crossing(self, site: Site) -> AbstractContextManager[None]:
        """Let the site pass, slowly or not at all."""
        return self._cross(site)

    def note_bypass(self, what: str) -> None:
        """Take no note; nothing is traced."""

    @contextmanager
    def _cross(self, site: Site) -> Generator[None]:
        fault = self._due(site)
        if fault is not None and fault.truth is not Truth.DONE:
            if fault.truth is Truth.ROLLED_BACK and site.connection is not None:
                roll_back_unseen(site.connection)
            raise driver_error(fault.illness, _MESSAGE)
        yield
        if site.kind is Kind.COMMIT and self.sync_seconds:
            time.sleep(self.sync_seconds)
        if fault is not None:
            raise driver_error(fault.illness, _MESSAGE)

    def _due(self, site: Site) -> Fault | None:
        fault = self.fault
        if fault is None or fault.kind not in {None, site.kind}:
            return None
        self.visits += 1
        late = self.visits - fault.occurrence
        if late < 0 or (fault.times is not None and late >= fault.times):
            return None
        self.fired += 1
        return fault


def cap_pages(connection: AnyConnection, spare_pages: int) -> None:
    """Let the database grow by `spare_pages` and then be full, for real and on this connection.

    In WAL mode SQLite meets the limit when it allocates a page, not when it syncs.
    """
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages + spare_pages}").fetchall()


@contextmanager
def file_size_limited(bytes_max: int) -> Generator[None]:
    """Let no file of this process grow beyond `bytes_max`: a real write error, on any platform.

    Python ignores SIGXFSZ, so that the write fails instead of ending the process. The limit is the
    whole process's: use it in a process of its own.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def flip_bit(path: Path, position: int) -> None:
    """Flip one bit of a file, counted from its start.

    Never in a process that has the database open: closing this descriptor would drop SQLite's own
    locks (STORE-1a).
    """
    byte, bit = divmod(position, 8)
    with path.open("r+b") as file:
        file.seek(byte)
        (value,) = file.read(1)
        file.seek(byte)
        file.write(bytes([value ^ (1 << bit)]))


def bit_positions(path: Path, count: int, seed: int) -> tuple[int, ...]:
    """Return `count` different positions for `flip_bit`, drawn over the whole file."""
    bits = path.stat().st_size * 8
    return tuple(random.Random(seed).sample(range(bits), min(count, bits)))  # noqa: S311


_MESSAGE: Final = "planted by the crash lab"
