"""Every read of SQLite returns its whole result, typed (STORE-9)."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from ..machines.facts.json_values import TextUncleanError
from .errors import classified

SqlValue: TypeAlias = int | float | str | bytes | None
Row: TypeAlias = tuple[SqlValue, ...]
Params: TypeAlias = Sequence[SqlValue] | Mapping[str, SqlValue]


def fetch(
    connection: sqlite3.Connection, sql: str, params: Params = (), *, stage: str = "statement"
) -> list[Row]:
    """Execute one statement and return all its rows; an unread result would block COMMIT.

    Raises:
        StorageError: `storage_*` or `database_damaged`, when the environment or the file failed.
        ConstraintRefusedError: `constraint_refused`, when the schema refused a row.
        TextUncleanError: `unclean_text`, for a parameter that has no UTF-8 form (BYTE-3).
        sqlite3.Error: When the statement itself is wrong, which is a mistake of ours.
    """
    try:
        return connection.execute(sql, params).fetchall()
    except UnicodeEncodeError as error:
        # A key or a name as a person typed it; facts are refused before they come here.
        raise TextUncleanError(found=f"lone surrogate at offset {error.start}") from error
    except sqlite3.Error as error:
        typed = classified(error, stage)
        if typed is None:
            raise
        raise typed from error
