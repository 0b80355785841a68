"""A forked child owns nothing: whatever asks here is told so inside the child (OWN-1)."""

import os
import weakref
from typing import Final, Protocol


class ForkAware(Protocol):
    """Something that must let go in a forked child."""

    def forked_child(self) -> None:
        """Let go without touching what the parent still owns; called inside the child."""
        ...


# The one piece of module state here: the system offers one hook per process, for ever.
_WATCHED: Final[weakref.WeakSet[ForkAware]] = weakref.WeakSet()


def tell_when_forked(thing: ForkAware) -> None:
    """Call `thing.forked_child()` in every child forked from now on, while `thing` exists."""
    _WATCHED.add(thing)


def _tell_all() -> None:
    for thing in list(_WATCHED):
        thing.forked_child()


os.register_at_fork(after_in_child=_tell_all)
