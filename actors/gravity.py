"""Which of several simultaneous failures a run acts on: what says most about the store."""

from collections.abc import Sequence
from typing import Final, cast

from ..store.errors import (
    CommitOutcomeUnknownError,
    StorageError,
    StoreClosedError,
    StorePoisonedError,
)
from ..store.journal.errors import UnitRefusedError

_ORDER: Final[tuple[type[BaseException], ...]] = (
    StorePoisonedError,
    CommitOutcomeUnknownError,
    StoreClosedError,
    StorageError,
    UnitRefusedError,
)


def gravest(found: Sequence[BaseException]) -> BaseException:
    """Return the one failure that decides, out of those of tasks that ran side by side.

    Whatever is none of the store's is a bug of ours and comes first of all but a lost store.
    """
    for kind in _ORDER[:3]:
        for error in found:
            if isinstance(error, kind):
                return error
    for error in found:
        if not isinstance(error, _ORDER):
            return error
    for kind in _ORDER[3:]:
        for error in found:
            if isinstance(error, kind):
                return error
    return found[0]


def leaves_of(group: BaseExceptionGroup[BaseException]) -> list[BaseException]:
    """Return the failures in a group, however deep."""
    leaves: list[BaseException] = []
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            leaves.extend(leaves_of(cast("BaseExceptionGroup[BaseException]", error)))
        else:
            leaves.append(error)
    return leaves
