"""The schema that a database has, beside the one that this build makes (STORE-11)."""

import contextlib
from typing import Final

from ..schema import MIGRATIONS
from ..sql import Row, fetch
from ..txn import Txn
from .tables import Run, open_scratch

_OBJECTS: Final = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"


def foreign_objects(run: Run) -> list[str]:
    """Return the tables and indexes that are not as our migrations make them."""
    with contextlib.closing(open_scratch()) as scratch:
        txn = Txn(scratch)
        for migration in MIGRATIONS:
            migration.apply(txn)
        ours = _named(fetch(scratch, _OBJECTS))
    found = _named(run(_OBJECTS, ()))
    differing = {name for name, _made in set(ours.items()) ^ set(found.items())}
    return sorted(differing)


def _named(objects: list[Row]) -> dict[str, Row]:
    return {str(row[1]).encode(errors="backslashreplace").decode(): row for row in objects}
