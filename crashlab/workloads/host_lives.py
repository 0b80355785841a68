"""What each host of a root did with its life: noted while it lives, and judged after a death.

A victim leaves no trace of what it held, so the lab notes it as it happens, outside of the root:
when a host is ready, when it begins to drain, whether it still has the root at each boundary that
it passes, and what is left of it when it is over. Together with the log this shows whether the
promises of the host's table (HST.I1 to HST.I3) hold of the host that really ran.
"""

import fcntl
import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from ...actors.lifecycle import HostLife
from ...actors.runtime import Runtime
from ...actors.tools.simulated import World
from ...machines.facts.model import RunOpened
from ...machines.facts.vocabulary import Cause, Kind
from ...machines.projections.status import RunState, status
from ...store.audit.judge import Fact
from ...store.ownership.root import StateRoot
from ..workload import Finding, Promise, Stage
from .ownership import ROOT
from .runtime_promised import HOSTS_END, LETS_GO_LAST, WORKS_ONLY_READY

NOTE: Final = "host "
"""What the acknowledgements begin with that this module writes."""

AT_REST: Final = frozenset(
    (RunState.COMPLETED, RunState.FAILED, RunState.ABORTED, RunState.WAITING)
)
"""Where a run may stand that nobody works on."""

_ADMITTED: Final = frozenset(
    (
        Kind.SESSION_OPENED,
        Kind.RUN_OPENED,
        Kind.RUN_REATTACHED,
        Kind.REQUEST_DISPATCHED,
        Kind.DISPATCHED,
    )
)


# --- noting ---


@attrs.define(eq=False, kw_only=True)
class HostWatch:
    """Notes one life of a host, from before it is opened until after it let go.

    Attributes:
        world: Where its workers live.
    """

    stage: Stage
    world: World
    _life: HostLife | None = attrs.field(default=None, init=False)
    _owns: bool = attrs.field(default=False, init=False)

    @contextmanager
    def living(self) -> Generator[None]:
        """Watch every boundary of the block, and say at its end, however it ends, what is left."""
        self._note("opens")
        try:
            with self.stage.seeing(self._pass):
                yield
        finally:
            phase = "-" if self._life is None else type(self._life.state).__name__
            lock = "held" if is_owned(self.stage.root) else "free"
            self._note(f"over {phase} {lock} {self.world.alive}")

    @contextmanager
    def serving(self, runtime: Runtime) -> Generator[None]:
        """Note that the host is ready, and at the end of the block that it drains from now on."""
        self._life = runtime.host.life
        self._note(f"ready {_where(runtime)}")
        try:
            yield
        finally:
            self._note(f"drains {_where(runtime)}")

    def _pass(self, name: str) -> None:
        if name == "lock.taken":
            self._owns = True
        elif self._owns and not is_owned(self.stage.root):
            self._owns = False  # Said once; whatever follows is as wrong.
            self._note(f"loose {name}")

    def _note(self, words: str) -> None:
        self.stage.ack(f"{NOTE}{words}")


def is_owned(root: Path) -> bool:
    """Say whether anybody holds the owner lock, this process included.

    `flock` belongs to the open file: trying it through another one disturbs nobody.
    """
    try:
        fd = os.open(StateRoot(path=root, root_id=ROOT).owner_lock, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _where(runtime: Runtime) -> str:
    store = runtime.host.store
    return f"{store.owner.epoch} {store.heads.now.ordinal}"


# --- judging ---


def misconduct(notes: Sequence[str]) -> list[Finding]:
    """Return what hosts did in opening and closing that none may do.

    Args:
        notes: Acknowledgements that begin with `NOTE`; others are passed over.
    """
    found: list[Finding] = []
    for word, told in _said(notes):
        if word == "loose":
            place = " ".join(told)
            found.append(_finding(LETS_GO_LAST, f"the root was let go of before {place}"))
        elif word == "over":
            phase, lock, alive = told
            if lock == "free" and alive != "0":
                found.append(_finding(LETS_GO_LAST, f"{alive} workers outlived the lock"))
            if lock != "free":
                found.append(_finding(HOSTS_END, f"a host that is {phase} keeps the root"))
            elif phase not in {"Closed", "Failed", "-"}:
                found.append(_finding(HOSTS_END, f"a host let go of the root and is {phase}"))
    return found


def unready_work(log: Sequence[Fact], notes: Sequence[str]) -> list[Finding]:
    """Return the work that a host took on before it was ready or while it drained.

    Args:
        log: Every fact, in commit order.
        notes: As for `misconduct`.
    """
    said = _said(notes)
    ready = {int(told[0]): int(told[1]) for word, told in said if word == "ready"}
    drains = {int(told[0]): int(told[1]) for word, told in said if word == "drains"}
    found = [
        f"{fact.place.kind} at {fact.place.ordinal} before its host was ready"
        for fact in log
        if _is_work(fact) and fact.place.ordinal <= ready.get(fact.place.epoch, fact.place.ordinal)
    ]
    found += [
        f"{fact.place.kind} at {fact.place.ordinal} while its host drained"
        for fact in log
        if _is_work(fact) and fact.place.ordinal > drains.get(fact.place.epoch, fact.place.ordinal)
    ]
    for ordinal in sorted(set(ready.values())):
        found += [f"ready at {ordinal} beside {left}" for left in _unrecovered(log, ordinal)]
    return [_finding(WORKS_ONLY_READY, detail) for detail in found]


def _is_work(fact: Fact) -> bool:
    action = fact.event.actions
    if isinstance(action, RunOpened) and action.cause is Cause.CLAIM_REPAIR:
        return False
    return fact.place.kind in _ADMITTED


def _unrecovered(log: Sequence[Fact], ordinal: int) -> list[str]:
    """Return the runs that nobody worked on, and that were not at rest, at that moment."""
    events = [fact.event for fact in log if fact.place.ordinal <= ordinal]
    return [
        f"{run.run}, which is {run.state}"
        for session in sorted({event.spine.session for event in events})
        for run in status([e for e in events if e.spine.session == session], live=False).runs
        if run.state not in AT_REST
    ]


def _said(notes: Sequence[str]) -> list[tuple[str, list[str]]]:
    words = [note.removeprefix(NOTE).split() for note in notes if note.startswith(NOTE)]
    return [(word, told) for word, *told in words]


def _finding(promise: Promise, detail: str) -> Finding:
    return Finding(promise=promise.id, detail=detail)
