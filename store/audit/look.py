"""A reader that outlives its connection: where an owner appears, it opens anew and reads again."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import attrs

from ..connect import Connector
from ..errors import DatabaseDamagedError, StorageBusyError
from ..reader import Reader, open_reader, wal_of
from ..schema import NEWEST
from ..sql import Params, Row

T = TypeVar("T")

_TRIES: Final = 5


@attrs.define(eq=False, kw_only=True)
class Look:
    """Looks at one database, a short snapshot at a time (STORE-9a, STORE-10).

    Text is read whatever its bytes are, because damage must be told and not trip the reader: bytes
    that are no UTF-8 come back as lone surrogates, which no stored word ever holds.
    """

    path: Path
    connector: Connector
    _reader: Reader | None = attrs.field(default=None, init=False)
    _opens: int = attrs.field(default=0, init=False)

    def run(self, sql: str, params: Params = ()) -> list[Row]:
        """Execute one reading statement.

        Raises:
            StorageError: `storage_*` or `database_damaged`.
        """
        return self._opened().fetch(sql, params)

    def snapshot(self, work: Callable[[], T]) -> T:
        """Let all reads of `work` see one moment, and do it again if that moment was none.

        Raises:
            DatabaseDamagedError: `database_damaged`.
            StorageBusyError: `storage_busy`, when owners come and go faster than one can look.
        """
        tries = 0
        while True:
            tries += 1
            reader = self._opened()
            try:
                with reader.snapshot():
                    return work()
            except StorageBusyError:
                if tries == _TRIES:
                    raise
            except DatabaseDamagedError:
                # Read without locks while an owner appeared, nothing that was seen means anything.
                moved = reader.immutable and wal_of(self.path).exists()
                if not moved or tries == _TRIES:
                    raise
            self.close()

    def version(self) -> tuple[int, Row]:
        """Return what is another value whenever another connection may have committed since."""
        [version] = self.run("PRAGMA data_version")
        return self._opens, version

    def close(self) -> None:
        """Close the connection; the next read opens another."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _opened(self) -> Reader:
        if self._reader is None:
            self._reader = open_reader(self.connector, self.path, newest=NEWEST)
            self._opens += 1
            self._reader.connection.text_factory = any_text
        return self._reader


def any_text(data: bytes) -> str:
    """Read text whatever its bytes are."""
    return data.decode(errors="surrogateescape")
