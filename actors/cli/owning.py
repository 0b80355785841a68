"""Owns a root for one decision of a person, and executes nothing (ASK-3)."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import trio

from ...machines.recovery.parks import EXPLANATIONS, Park
from ...store.ownership.workers import WorkersProof
from ..host import Host, HostSettings, open_host
from ..runtime import tell_history
from .place import Place
from .terminal import tell

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
            tell_workers(host)
            return await work(host)

    return trio.run(owned)


def tell_workers(host: Host) -> None:
    """Say so when workers of an earlier owner are not proven gone: what they left stays open."""
    if host.store.proof is WorkersProof.WORKER_ALIVE:
        why = EXPLANATIONS[Park.WORKER_ALIVE]
        tell(f"[{Park.WORKER_ALIVE.value}] {why.sentence}\n  {why.action}")
