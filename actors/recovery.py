"""The recovery sequence of a new owner: declared, recorded, with no request or effect (OWN-4)."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

import attrs
import trio

from ..machines.facts.codes import CrashworthyError
from ..machines.facts.digests import Domain, digest_json
from ..machines.lifecycles.cells import Machine
from ..machines.recovery.operations import Settlement
from ..machines.recovery.runs import Repair
from ..store.errors import StorageError
from ..store.journal.claims import RepairClaim
from ..store.journal.errors import UnitRefusedError
from ..store.journal.pending import Pending
from ..store.journal.quarantine import QuarantineSession
from ..store.journal.recovery import (
    LeftOperation,
    RepairRun,
    Seen,
    SettleLeft,
    left_operations,
    startless_claims,
    unfinished_runs,
)
from ..store.port import Store
from .clock import Clock
from .tools.effects.files import leftovers, observe
from .tools.errors import ToolRefusedError
from .workspace import identity_near

T = TypeVar("T")


class RecoveryStep(StrEnum):
    """The steps, in their one order (OWN-4)."""

    AUTHORITY = "authority"  # the log was opened and its head compared with the anchor
    GONE = "gone"  # former owners and their workers, proven gone or not
    CLAIMS = "claims"  # claims without start
    OPERATIONS = "operations"  # operations of every run without terminal
    RUNS = "runs"  # runs without terminal
    INTERACTIONS = "interactions"  # open requests to people, published again
    CONTINUATIONS = "continuations"  # planned last; not offered yet


@attrs.frozen(kw_only=True)
class Done:
    """One recorded step: what it looked at, and what it decided about each."""

    step: RecoveryStep
    decided: tuple[tuple[str, str], ...]


@attrs.frozen(kw_only=True)
class Recovery:
    """What recovery did; a second recovery of the same log decides the same and adds no fact."""

    trace: tuple[Done, ...]

    def of(self, step: RecoveryStep) -> dict[str, str]:
        """Return what a step decided, by subject."""
        return {
            name: word for done in self.trace if done.step is step for name, word in done.decided
        }


Contain = Callable[[str, CrashworthyError], Awaitable[bool]]
"""Quarantines a session if its facts are why something failed; says whether they are (STORE-8)."""


async def recover(store: Store, clock: Clock, contain: Contain, *, gone: bool) -> Recovery:
    """Run the sequence once and return its trace (OWN-4).

    A session whose facts cannot be read is quarantined, and every other one goes on (STORE-8).

    Args:
        store: The owned store.
        clock: Tells which deadlines have passed.
        contain: Quarantines a damaged session.
        gone: Whether all former epochs are proven gone; without it nothing of theirs is settled.

    Raises:
        CrashworthyError: The environment failed, or something that damage does not explain.
    """
    guard = _Guard(store=store, contain=contain)
    trace = [
        Done(step=RecoveryStep.AUTHORITY, decided=(("head", str(_head(store))),)),
        Done(step=RecoveryStep.GONE, decided=(("former_epochs", "gone" if gone else "alive"),)),
    ]
    claims = [(name, await _repair_claim(store, name)) for name in store.read(startless_claims)]
    trace.append(Done(step=RecoveryStep.CLAIMS, decided=tuple(claims)))
    operations, closed = list[tuple[str, str]](), list[tuple[str, str]]()
    runs = store.read(unfinished_runs)
    for name in runs:
        operations.extend(await guard.run(name, partial(_settle_all, store, name), []))
    trace.append(Done(step=RecoveryStep.OPERATIONS, decided=tuple(operations)))
    for name in runs:
        word = await guard.run(name, partial(_repair, store, clock, name), None)
        closed.append((name, QUARANTINED if word is None else str(word)))
    trace.append(Done(step=RecoveryStep.RUNS, decided=tuple(closed)))
    asks = [(ask, name) for name in store.read(unfinished_runs) for ask in _open_asks(store, name)]
    trace.append(Done(step=RecoveryStep.INTERACTIONS, decided=tuple(asks)))
    trace.append(Done(step=RecoveryStep.CONTINUATIONS, decided=()))
    return Recovery(trace=tuple(trace))


QUARANTINED: Final = "quarantined"
"""What the trace says of a run whose session cannot be read."""


@attrs.frozen(kw_only=True)
class _Guard:
    """Keeps the damage of one session to that session."""

    store: Store
    contain: Contain

    async def run(self, name: str, work: Callable[[], Awaitable[T]], otherwise: T) -> T:
        """Do one run's work; where damage explains why it failed, quarantine and go on.

        Raises:
            StorageError: `storage_*`, the environment failed.
            CrashworthyError: Damage does not explain it.
        """
        try:
            return await work()
        except StorageError:
            raise
        except CrashworthyError as error:
            place = self.store.read(lambda view: view.opening(name))
            if place is None or not await self.contain(place.spine.session, error):
                raise
            return otherwise


async def _repair_claim(store: Store, name: str) -> str:
    """Close a claim nobody started; one that cannot be read quarantines its session (STORE-8).

    Raises:
        StorageError: `storage_*`.
        UnitRefusedError: The refusals of the tables.
        CrashworthyError: The claim is not there any more.
    """
    try:
        return str(await store.submit(RepairClaim(claim=name)))
    except (StorageError, UnitRefusedError):
        raise
    except CrashworthyError as error:
        row = store.read(lambda view: view.cell_row(Machine.CLAIM, name))
        if row is None:
            raise
        order = QuarantineSession(
            session=row.session, cause=str(error.code), first_bad=max(1, row.made), invocation=""
        )
        await store.submit(order)
        return QUARANTINED


async def _settle_all(store: Store, name: str) -> list[tuple[str, str]]:
    return [(left.operation, str(await _settle(store, left))) for left in _left(store, name)]


def _head(store: Store) -> int:
    return store.read(lambda view: view.last().ordinal)


def _left(store: Store, run: str) -> tuple[LeftOperation, ...]:
    return store.read(lambda view: left_operations(view, run))


def _open_asks(store: Store, run: str) -> tuple[str, ...]:
    return store.read(lambda view: view.pending(Pending.ASK_OPEN, run))


async def _settle(store: Store, left: LeftOperation) -> Settlement:
    """Settle one operation by its contract; only its effect is looked at, nothing is changed."""
    seen = None
    if left.settlement is Settlement.OBSERVE:
        seen = await trio.to_thread.run_sync(lambda: _look(left))
    return await store.submit(SettleLeft(operation=left.operation, seen=seen))


def _look(left: LeftOperation) -> Seen:
    """Observe a file effect, and remove exactly the temporary file of this operation (OP-6)."""
    evidence = left.evidence
    assert evidence is not None
    found = observe(evidence, identity_near(evidence.target))
    with suppress(ToolRefusedError):  # What stays changes nothing about what was observed.
        leftovers(evidence.target, left.operation)
    told = {"observation": found.observation.value, "seen": found.seen}
    return Seen(observation=found.observation, observed=digest_json(Domain.EVIDENCE, told))


async def _repair(store: Store, clock: Clock, run: str) -> Repair:
    while True:
        decided = await store.submit(RepairRun(run=run, now_ts=clock.now_ms()))
        if decided is not Repair.EXPIRE:
            return decided
