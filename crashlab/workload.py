"""What the lab asks of a workload, and how a workload is found by name."""

import importlib
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, Protocol, cast, runtime_checkable

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..store.probe import Probe
from .boundary import Role
from .counting import ConnectionType, watched_by
from .turnstile import Door, Turnstile


@attrs.frozen(kw_only=True)
class Promise:
    """One invariant: an id that findings quote, what holds, and the harm if it does not.

    Attributes:
        outlives_power: Whether it is demanded after a power loss, too. Not what is about bytes that
            are written without a sync and outlive a killed process alone; nor what is about files
            outside of the root, which come to lie in another place with each crash image.
    """

    id: str
    claim: str
    why: str
    outlives_power: bool = True


@attrs.frozen(kw_only=True)
class Finding:
    """A promise that is broken in the state under check."""

    promise: str
    detail: str


@attrs.frozen(kw_only=True)
class Observation:
    """What can be seen of a root without touching it.

    Attributes:
        facts: How many facts the log holds.
        facts_digest: Identifies all facts in order.
        projections_digest: Identifies everything that a rebuild makes anew.
        requests: How many requests ever left, counted outside the store.
        effects: How many side effects ever happened, counted outside the store.
    """

    facts: int
    facts_digest: str
    projections_digest: str
    requests: int
    effects: int


@attrs.frozen(kw_only=True, eq=False)
class Doors:
    """What production is given instead of its defaults, for one role."""

    factory: ConnectionType
    probe: Probe


@attrs.frozen(kw_only=True, eq=False)
class Stage:
    """Where a workload acts: its root, its seed and the doors through which the lab watches.

    Attributes:
        root: A directory for the workload alone; missing at the first visit.
        seed: The same in every process of one death.
        host: The doors of the process that owns the store.
        worker: The doors of tool workers.
    """

    root: Path
    seed: int
    host: Doors
    worker: Doors
    _acks: str = attrs.field(alias="acks")
    _turnstile: Turnstile = attrs.field(alias="turnstile")

    def ack(self, text: str) -> None:
        """Record that `text` was acknowledged to a caller; call it only when it is durable."""
        assert "\n" not in text
        line = os.open(self._acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(line, f"{text}\n".encode())
        finally:
            os.close(line)

    @contextmanager
    def writer(self, label: str) -> Generator[None]:
        """Name the unit under way in the report; labels identify nothing."""
        before, self._turnstile.writer = self._turnstile.writer, label
        try:
            yield
        finally:
            self._turnstile.writer = before

    @contextmanager
    def seeing(self, look: Callable[[str], None]) -> Generator[None]:
        """Call `look` with the name of each boundary in the block, right before it is passed."""
        before, self._turnstile.look = self._turnstile.look, look
        try:
            yield
        finally:
            self._turnstile.look = before


@runtime_checkable
class Workload(Protocol):
    """Some work on a root that the lab may kill anywhere; every method runs in a fresh process."""

    @property
    def name(self) -> str:
        """Return the name that reports show."""
        ...

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Return all invariants that `check` and `finish` may report."""
        ...

    def script(self, stage: Stage) -> None:
        """Do the whole work on a new root: the process that the lab kills."""
        ...

    def recover(self, stage: Stage) -> None:
        """Reopen the root as its next owner and do all that recovery does, then close."""
        ...

    def observe(self, root: Path) -> Observation:
        """Look at the root and the outside world; change nothing."""
        ...

    def check(self, root: Path, acks: Sequence[str]) -> Sequence[Finding]:
        """Return every promise that the recovered root breaks, given what was acknowledged."""
        ...

    def rebuild(self, root: Path) -> None:
        """Drop all projections of the recovered root and make them anew."""
        ...

    def finish(self, stage: Stage) -> Sequence[Finding]:
        """Take the work up where it stands, bring it to its end, and say what is missing."""
        ...


BUILT_IN: Final[Mapping[str, str]] = MappingProxyType(
    {
        "store": "crashworthy.crashlab.workloads.store:store_workload",
        "accepted_loss": "crashworthy.crashlab.workloads.store:accepted_loss",
        "checkpoints": "crashworthy.crashlab.workloads.checkpoints:checkpoints_workload",
        "text_turn": "crashworthy.crashlab.workloads.runtime:text_turn",
        "parallel_tools": "crashworthy.crashlab.workloads.runtime:parallel_tools",
        "approval": "crashworthy.crashlab.workloads.runtime:approval",
        "stop": "crashworthy.crashlab.workloads.runtime:stop",
        "file_edit": "crashworthy.crashlab.workloads.runtime:file_edit",
        "shutdown": "crashworthy.crashlab.workloads.runtime:shutdown",
        "startup_repair": "crashworthy.crashlab.workloads.runtime:startup_repair",
    }
)
"""The name and `module:factory` of each workload that comes with the lab."""


@attrs.define(eq=False, kw_only=True)
class WorkloadUnknownError(CrashworthyError):
    """Nothing can be loaded under this reference; the caller names another one."""

    code: ClassVar[Code] = Code.WORKLOAD_UNKNOWN
    reference: str
    reason: str


def load_workload(reference: str) -> Workload:
    """Return the workload of a built-in name or of `module:factory` (CRASH-7).

    Raises:
        WorkloadUnknownError: `workload_unknown`, when there is no such name, module or factory,
            or when what the factory makes is not a workload.
    """
    target = BUILT_IN.get(reference, reference)
    here = str(Path.cwd())
    if reference not in BUILT_IN and here not in sys.path:
        sys.path.insert(0, here)  # As `run --tools` does; new interpreters get this path, too.
    module_name, colon, factory_name = target.partition(":")
    if not colon:
        raise WorkloadUnknownError(reference=reference, reason="neither a name nor module:factory")
    try:
        factory = cast("object", getattr(importlib.import_module(module_name), factory_name))
    except (ImportError, AttributeError) as error:
        raise WorkloadUnknownError(reference=reference, reason=str(error)) from error
    made = factory() if callable(factory) else factory
    if not isinstance(made, Workload):
        raise WorkloadUnknownError(reference=reference, reason="not a workload")
    return made


def import_path() -> str:
    """Return a PYTHONPATH with which a new process finds whatever this one can import."""
    return os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)


def open_stage(*, home: Path, seed: int, turnstile: Turnstile) -> Stage:
    """Return the stage of one process; `home` holds the root and what the lab writes beside it."""

    def doors(door: Door) -> Doors:
        return Doors(factory=watched_by(door), probe=door.probe)

    return Stage(
        root=home / "root",
        seed=seed,
        host=doors(turnstile.door(Role.HOST)),
        worker=doors(turnstile.door(Role.WORKER)),
        acks=str(home / "acks"),
        turnstile=turnstile,
    )


def read_acks(home: Path) -> tuple[str, ...]:
    """Return what was acknowledged so far, in order."""
    path = home / "acks"
    return tuple(path.read_text().splitlines()) if path.exists() else ()
