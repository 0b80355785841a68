"""Facts as they are stored, a short page at a time, by their place in commit order (STORE-9a)."""

# ruff: noqa: S608 - statements are put together from constant names of columns

from typing import Final

from ..sql import Row
from .rows import COLUMNS
from .tables import Run

FACTS_PAGE: Final = 256
"""Facts that one short snapshot reads; a body may be large."""

_ALL: Final = ", ".join(COLUMNS)
_PAGE: Final = f"SELECT {_ALL} FROM facts WHERE ordinal > ? ORDER BY ordinal LIMIT ?"
_ONE: Final = f"SELECT {_ALL} FROM facts WHERE ordinal = ?"
_LAST: Final = "SELECT ordinal FROM facts ORDER BY ordinal DESC LIMIT 1"


def facts_page(run: Run, after: int) -> list[Row]:
    """Return the rows behind an ordinal, at most `FACTS_PAGE`."""
    return run(_PAGE, (after, FACTS_PAGE))


def fact_row(run: Run, ordinal: int) -> Row | None:
    """Return the row at an ordinal."""
    return next(iter(run(_ONE, (ordinal,))), None)


def last_ordinal(run: Run) -> int:
    """Return the ordinal of the last fact; 0 where there is none."""
    return next((last for (last,) in run(_LAST, ()) if isinstance(last, int)), 0)
