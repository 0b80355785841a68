"""How every history ends: the last owner lets the work finish, and asks every session once more."""

from typing import Final

import trio

from ...actors.runtime import Runtime
from ...machines.facts.vocabulary import RunStatus
from ...store.journal.dicts import pages
from ..workloads.runtime_acts import NEXT_TURN, take_up

_ROUNDS_MAX: Final = 20
_SETTLED_S: Final = 1.0
_SESSION: Final = "s0"


async def finish(runtime: Runtime) -> list[str]:
    """Let whatever waits be taken up, take one more turn in every session, and say what failed."""
    await runtime.create_session(key=_SESSION)
    found = await _come_to_rest(runtime)
    log = runtime.host.store.read(lambda view: list(pages(view)))
    for name in sorted({stored.place.spine.session for stored in log}):
        handle = await runtime.session(name).send(NEXT_TURN)
        end = await handle.wait()
        if end is None or end.status is not RunStatus.COMPLETED:
            found.append(f"the next turn of {name} came to {end}")
        # What was queued behind a death is taken up by the turn that ends first after it.
        found += await _come_to_rest(runtime)
    return found


async def _come_to_rest(runtime: Runtime) -> list[str]:
    """Answer and resume until nothing runs and nothing waits; say what never came to rest."""
    for _ in range(_ROUNDS_MAX):
        await take_up(runtime)
        await trio.sleep(_SETTLED_S)  # The end of a turn may open another one, and a disk is slow.
        if not (runtime.host.kernel.active or runtime.waiting_runs()):
            return []
    found = [f"{ask.ask} stays open" for ask in runtime.pending()]
    return [*found, *(f"{name} stays waiting" for name in runtime.waiting_runs())]
