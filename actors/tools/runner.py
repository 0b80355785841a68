"""The port behind which a tool runs: a worker process, the host itself, or a simulation (OP-8a)."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.model import FileEvidence, Loss
from .contract import Tool
from .output import OutputRecord, Spools
from .paths import Workspace


@attrs.frozen(kw_only=True)
class WorkOrder:
    """One call whose T1 is durable.

    Attributes:
        key: What an idempotent remote side is given (OP-5).
        evidence: What the plan saw, for a tool with a file effect (OP-6).
    """

    tool: Tool
    operation: str
    args: dict[str, Json]
    workspace: Workspace
    key: str | None = None
    evidence: FileEvidence | None = None


@attrs.frozen(kw_only=True)
class Returned:
    """The tool returned; `failed` is its own word that it did not succeed.

    Attributes:
        value: The result in the accepted domain.
        whole: Set instead of `value` where the result was too large to stay inline.
        losses: What the outcome door changed (BYTE-1a).
    """

    value: Json
    failed: bool = False
    whole: OutputRecord | None = None
    losses: tuple[Loss, ...] = ()


@attrs.frozen(kw_only=True)
class Refused:
    """The tool refused in structured terms; `facts` has the code (never an unknown effect)."""

    facts: dict[str, Json]


@attrs.frozen(kw_only=True)
class Raised:
    """The tool raised: the type's name and its message, clean and bounded."""

    error: str
    message: str


@attrs.frozen(kw_only=True)
class Uncertain:
    """The tool says that it cannot know whether its effect happened."""

    reason: str


@attrs.frozen(kw_only=True)
class NotRepresentable:
    """The effect happened, its result could not be read (BYTE-1a)."""

    reason: str


@attrs.frozen(kw_only=True)
class TimedOut:
    """The declared time-out passed and the process group was ended."""

    timeout_ms: int


@attrs.frozen(kw_only=True)
class WorkerDied:
    """The worker ended, by its exit code (negative: a signal), before it answered."""

    exit_code: int
    detail: str


@attrs.frozen(kw_only=True)
class NotStarted:
    """No worker got ready, so the tool provably did not start."""

    reason: str


Answer: TypeAlias = Returned | Refused | Raised | Uncertain | NotRepresentable
"""What whoever ran the tool can say of it."""
Finish: TypeAlias = Answer | TimedOut | WorkerDied | NotStarted
"""That, or what only the host can see."""


@attrs.frozen(kw_only=True)
class ArtifactRecord:
    """An artifact whose bytes are durable in the blob store (OP-7)."""

    name: str
    media_type: str
    bytes_total: int
    blob: str


@attrs.frozen(kw_only=True)
class Ending:
    """How one call ended, with everything it left.

    Attributes:
        output: What it printed; None if nothing.
        artifacts: What it added.
        left_behind: Whether processes of the call outlived it and had to be ended.
        escaped: Whether one of them left its group, cannot be ended and may still act (OWN-2).
    """

    finish: Finish
    output: OutputRecord | None = None
    artifacts: tuple[ArtifactRecord, ...] = ()
    left_behind: bool = False
    escaped: bool = False


@attrs.frozen(kw_only=True)
class Audience:
    """Where a call's output goes while it runs.

    Attributes:
        show: Told each piece of text at once; must not block (LOG-5).
        spools: Where large outputs and artifacts are kept; None keeps none.
    """

    show: Callable[[str], None]
    spools: Spools | None


class Runner(Protocol):
    """Runs a call whose T1 is durable, exactly once.

    Cancelling `run` ends the call: the process group is gone when Cancelled is raised, except for
    processes that left it, which keep `workers.lock` (OWN-2).
    """

    async def run(self, order: WorkOrder, audience: Audience) -> Ending:
        """Return how the call ended; never raises for what a tool does."""
        ...
