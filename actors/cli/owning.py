"""Owns a root for one decision of a person, and executes nothing (ASK-3)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from ..host import Host, HostSettings, open_host
from ..runtime import tell_history
from .place import Place

T = TypeVar("T")


def decide(place: Place, work: Callable[[Host], Awaitable[T]]) -> T:
    """Own the root, recover it, do one thing, and let go.

    Raises:
        StoreNotFoundError: `not_found`; nothing is made.
        RootOwnedError: `root_owned`, another process owns the root.
        CrashworthyError: What was decided is refused.
    """

    async def owned() -> T:
        async with open_host(HostSettings(root=place.root, make=False), tell_history) as host:
            return await work(host)

    return trio.run(owned)
