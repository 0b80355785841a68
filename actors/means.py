"""What a run executes with: everything it is given, nothing it finds by itself (H8)."""

from collections.abc import Callable
from typing import Protocol, cast

import attrs

from ..machines.facts.digests import Domain, digest_json
from ..machines.facts.model import ExecutionProfile
from .backends.contract import Backend
from .clock import Clock
from .permission import Policy
from .tools.boundary import Boundary
from .tools.output import Spools
from .tools.paths import Workspace
from .tools.registry import Registry
from .tools.runner import Runner

TOOL_PROTOCOL = 1
"""T1 before any effect, T2 before anything is shown (OP-1)."""

PROJECTION = 1
"""The version of the history projector that requests are built with (CONT-5)."""


@attrs.frozen(kw_only=True)
class Patience:
    """How long the runtime waits and how often it tries; all milliseconds.

    Attributes:
        idle_ms: Without a backend event for so long, a request has timed out; it never runs while
            tools run or a person is asked (OP-8, ASK-3). None waits.
        attempts_max: Requests per step, retries included.
        retry_ms: Before the first retry; doubled for each further one.
        partial_ms: Between two snapshots of one stream (LOG-5).
    """

    idle_ms: int | None = 120_000
    attempts_max: int = 4
    retry_ms: int = 1_000
    retry_ms_max: int = 32_000
    partial_ms: int = 250


class Keep(Protocol):
    """Makes bytes durable in the blob store, without blocking the scheduler."""

    async def __call__(self, data: bytes) -> str:
        """Return the blob's id once it is durable.

        Raises:
            StorageError: `storage_*`.
        """
        ...


@attrs.define(eq=False, kw_only=True)
class Scope:
    """The workspace of a session under its newest boundary; every call reads it anew (ASK-4)."""

    root: str
    identity: str
    boundary: Boundary

    def workspace(self) -> Workspace:
        """Return the workspace as it is for a call that starts now."""
        return Workspace(root=self.root, identity=self.identity, boundary=self.boundary)


@attrs.frozen(kw_only=True)
class Means:
    """The dependencies of one run.

    Attributes:
        system: The system prompt's parts, by name, in order (CONT-5).
        steps_max: Requests after which the run ends as `step_limit`; None is unlimited (RUN-3).
    """

    backend: Callable[[], Backend]
    registry: Registry
    policy: Policy
    runner: Runner
    spools: Spools
    keep: Keep
    scope: Scope
    clock: Clock
    profile: ExecutionProfile
    system: tuple[tuple[str, str], ...] = ()
    patience: Patience = attrs.field(factory=Patience)
    steps_max: int | None = None

    @property
    def profile_digest(self) -> str:
        """Return the identity of the profile that the run executes with (CONT-5)."""
        return digest_json(Domain.PROFILE, attrs.asdict(self.profile, value_serializer=_listed))


def _listed(_owner: type, _field: object, value: object) -> object:
    return list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
