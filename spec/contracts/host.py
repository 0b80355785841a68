"""The contracts of the host: work only when ready, and the lock let go last (OWN-3)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import host as machine
from ...machines.lifecycles.host import (
    Admit,
    Anchor,
    Broke,
    Closed,
    Drain,
    Draining,
    Failed,
    HostSeen,
    HostState,
    Hung,
    Opening,
    Owned,
    Ready,
    Recovered,
    Recovering,
    Released,
)
from .reached import reached, refusal


def recovery_waits_for_the_anchor(state: HostState, seen: Owned) -> bool:
    """HST.C1: Recovery begins exactly when the root is owned and its head is not behind the anchor.

    post: __return__
    """
    begins = isinstance(state, Opening) and seen.anchor is not Anchor.BEHIND
    return reached(machine.TABLE.step(state, seen)) == (Recovering() if begins else None)


def ready_means_recovered(state: HostState, seen: Recovered) -> bool:
    """HST.C2: A host is ready exactly after a recovery whose every step was recorded.

    post: __return__
    """
    ready = isinstance(state, Recovering) and seen.trace
    return reached(machine.TABLE.step(state, seen)) == (Ready() if ready else None)


def only_ready_admits(state: HostState, seen: Admit) -> bool:
    """HST.C3: Work is admitted exactly while the host is ready.

    post: __return__
    """
    admitted = isinstance(state, Ready)
    return reached(machine.TABLE.step(state, seen)) == (state if admitted else None)


def drains_from_every_living_phase(state: HostState, seen: Drain) -> bool:
    """HST.C4: Draining begins once, from opening, recovery or work.

    post: __return__
    """
    drains = isinstance(state, Opening | Recovering | Ready)
    return reached(machine.TABLE.step(state, seen)) == (Draining() if drains else None)


def closes_only_after_release(state: HostState, seen: Released) -> bool:
    """HST.C5: A host is closed exactly when it was draining and everything was released.

    post: __return__
    """
    closes = isinstance(state, Draining)
    return reached(machine.TABLE.step(state, seen)) == (Closed() if closes else None)


def failed_opening_says_what_it_kept(state: HostState, seen: Broke) -> bool:
    """HST.C6: An opening or recovery that broke fails, and says whether the lock is still held.

    post: __return__
    """
    fails = isinstance(state, Opening | Recovering)
    expected = Failed(lock_kept=not seen.released) if fails else None
    return reached(machine.TABLE.step(state, seen)) == expected


def hung_shutdown_keeps_the_lock(state: HostState, seen: Hung) -> bool:
    """HST.C7: A shutdown that hangs never lets go of the lock early.

    post: __return__
    """
    expected = Failed(lock_kept=True) if isinstance(state, Draining) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def over_is_over(state: Closed | Failed, seen: HostSeen) -> bool:
    """HST.C8: A host that closed or failed does nothing more, and the refusal says so.

    post: __return__
    """
    return refusal(machine.TABLE.step(state, seen)) is Code.HOST_CLOSED
