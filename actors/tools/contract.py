"""What a tool declares: its arguments, what a crash means for it, its bounds (OP-1, OP-5, OP-7)."""

import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Protocol, TypeAlias

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.digests import Domain, digest_json
from ...machines.facts.model import ToolProfile
from ...machines.facts.vocabulary import RecoveryMode
from .boundary import Expansion
from .effects.files import FileEffect
from .errors import ArgumentsInvalidError, ToolDefinitionInvalidError
from .paths import Workspace
from .schema import offending_fields, schema_fault

DESCRIPTION_CHARS_MAX: Final = 8000
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")

Needs: TypeAlias = Callable[[Mapping[str, Json], Workspace], Expansion]
"""What a call will touch, told before it runs; pure but for resolving paths."""


class ToolFunction(Protocol):
    """What a tool runs, sync or async; the tool's schema stands for its signature."""

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Do it, and return the result or an awaitable of it."""
        ...


@attrs.frozen(kw_only=True)
class ReplaySafe:
    """Free of effects: running it again changes nothing, and an interrupted call did nothing."""


@attrs.frozen(kw_only=True)
class Idempotent:
    """The other side recognises a repeated call by a key.

    Attributes:
        argument: The argument that is the key; None takes the operation's id.
    """

    argument: str | None = None


@attrs.frozen(kw_only=True)
class Reconcile:
    """Evidence taken before the effect tells afterwards whether it happened (OP-6)."""

    effect: FileEffect


@attrs.frozen(kw_only=True)
class OutcomeUnknown:
    """Nothing can be known after a crash; a person gives the verdict."""


@attrs.frozen(kw_only=True)
class NeverAutoRetry:
    """The author makes no promise; treated like OutcomeUnknown, and never run twice by us."""


Recovery: TypeAlias = ReplaySafe | Idempotent | Reconcile | OutcomeUnknown | NeverAutoRetry


class Permission(StrEnum):
    """Who decides whether a valid call may run."""

    FREE = "free"  # nobody is asked
    ASK = "ask"  # a person approves each exact call (ASK-2)
    SCOPES = "scopes"  # the session's boundary decides (ASK-4)


class Place(StrEnum):
    """Where a tool runs."""

    WORKER = "worker"  # a process of its own, which may die without hurting the host (OP-8)
    HOST = "host"  # the host's process, for functions that no other process can load
    KERNEL = "kernel"  # the run kernel itself answers (ask_user)


@attrs.frozen(kw_only=True)
class OutputRule:
    """How much of an output stays inline; the rest is cut and, with `keep_whole`, kept as a blob.

    Attributes:
        head_bytes: Kept from the start.
        tail_bytes: Kept from the end.
        keep_whole: Whether a cut output is kept whole in the blob store.
    """

    head_bytes: int = 16 * 1024
    tail_bytes: int = 16 * 1024
    keep_whole: bool = True


@attrs.frozen(kw_only=True)
class ArtifactRule:
    """How many artifacts one call may add, and how large each may be."""

    count_max: int = 0
    size_bytes_max: int = 64 * 1024 * 1024


@attrs.frozen(kw_only=True)
class Tool:
    """A tool as registry, model, kernel, recovery and worker see it.

    Attributes:
        entry: `module:name`, where a worker finds this very object.
        local: Whether the effect stays on this machine; only then a gone epoch proves "not done".
        timeout_ms: After so long the process group is ended; None waits as long as the run.
    """

    name: str
    description: str
    schema: Json
    recovery: Recovery = NeverAutoRetry()
    local: bool = False
    permission: Permission = Permission.ASK
    place: Place = Place.WORKER
    timeout_ms: int | None = None
    output: OutputRule = OutputRule()
    artifacts: ArtifactRule = ArtifactRule()
    entry: str
    function: ToolFunction = attrs.field(eq=False, repr=False)
    needs: Needs | None = attrs.field(default=None, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        """Refuse what could not be kept.

        Raises:
            ToolDefinitionInvalidError: `tool_definition_invalid`, with the reason.
        """
        reason = self._fault()
        if reason is not None:
            raise ToolDefinitionInvalidError(tool=self.name[:80], reason=reason)

    @property
    def mode(self) -> RecoveryMode:
        """Return the recovery contract in the word that the dispatch fact records."""
        return _MODES[type(self.recovery)]

    @property
    def free_of_effects(self) -> bool:
        """Return whether an ended call can have changed nothing."""
        return isinstance(self.recovery, ReplaySafe)

    @property
    def effect(self) -> FileEffect | None:
        """Return the effect that must be planned before T1, if there is one."""
        return self.recovery.effect if isinstance(self.recovery, Reconcile) else None

    @property
    def schema_digest(self) -> str:
        """Return the digest of the schema that the model is shown (CONT-5)."""
        return digest_json(Domain.SCHEMA, {"description": self.description, "schema": self.schema})

    @property
    def contract_digest(self) -> str:
        """Return the digest of everything declared but words and schema (CONT-5)."""
        return digest_json(Domain.RECOVERY_CONTRACT, self._contract())

    @property
    def profile(self) -> ToolProfile:
        """Return the tool's line in an execution profile (CONT-5)."""
        return ToolProfile(name=self.name, schema=self.schema_digest, contract=self.contract_digest)

    def check(self, args: Json) -> dict[str, Json]:
        """Return `args` unchanged if the schema accepts them.

        Raises:
            ArgumentsInvalidError: `arguments_invalid`, with the names of the fields.
        """
        fields = offending_fields(self.schema, args)
        if fields or not isinstance(args, dict):
            raise ArgumentsInvalidError(tool=self.name, fields=fields)
        return args

    def key_of(self, args: Mapping[str, Json], operation: str) -> str | None:
        """Return the key by which the other side recognises a repeat, or None if it does not."""
        if not isinstance(self.recovery, Idempotent):
            return None
        if self.recovery.argument is None:
            return operation
        key = args[self.recovery.argument]
        assert isinstance(key, str)  # The definition demands a required text argument.
        return key

    def needed(self, args: Mapping[str, Json], workspace: Workspace) -> Expansion:
        """Return what a call of these arguments will touch, for the boundary to judge.

        Raises:
            PathInvalidError: `path_invalid`, a path no file can have.
        """
        return Expansion() if self.needs is None else self.needs(args, workspace)

    def _contract(self) -> dict[str, Json]:
        detail: Json = None
        if isinstance(self.recovery, Idempotent):
            detail = self.recovery.argument
        elif isinstance(self.recovery, Reconcile):
            effect = self.recovery.effect
            detail = {
                "target": effect.target,
                "version": effect.version,
                "size_bytes_max": effect.policy.size_bytes_max,
                "parents": str(effect.policy.parents),
                "new_mode": effect.policy.new_mode,
            }
        return {
            "recovery": str(self.mode),
            "detail": detail,
            "local": self.local,
            "permission": str(self.permission),
            "place": str(self.place),
            "timeout_ms": self.timeout_ms,
            "output": {
                "head_bytes": self.output.head_bytes,
                "tail_bytes": self.output.tail_bytes,
                "keep_whole": self.output.keep_whole,
            },
            "artifacts": {
                "count_max": self.artifacts.count_max,
                "size_bytes_max": self.artifacts.size_bytes_max,
            },
        }

    def _fault(self) -> str | None:
        if not _NAME.fullmatch(self.name):
            return "a name is a letter and at most 63 letters, digits, _ or -"
        if not 0 < len(self.description) <= DESCRIPTION_CHARS_MAX:
            return f"a docstring of 1 to {DESCRIPTION_CHARS_MAX} characters describes it"
        if self.timeout_ms is not None and self.timeout_ms <= 0:
            return "timeout_ms must be positive"
        if self.permission is Permission.SCOPES and self.needs is None:
            return "permission by scopes must say what a call needs"
        fault = schema_fault(self.schema)
        if fault is not None:
            return fault
        if isinstance(self.recovery, Idempotent) and self.recovery.argument is not None:
            return self._required_text(self.recovery.argument)
        if isinstance(self.recovery, Reconcile):
            return self._required_text(self.recovery.effect.target)
        return None

    def _required_text(self, argument: str) -> str | None:
        assert isinstance(self.schema, dict)
        properties, required = self.schema.get("properties", {}), self.schema.get("required", [])
        assert isinstance(properties, dict)
        assert isinstance(required, list)
        declared = properties.get(argument)
        text = isinstance(declared, dict) and declared.get("type") == "string"
        if text and argument in required:
            return None
        return f"{argument} must be a required text argument"


_MODES: Final[Mapping[type, RecoveryMode]] = {
    ReplaySafe: RecoveryMode.REPLAY_SAFE,
    Idempotent: RecoveryMode.IDEMPOTENT,
    Reconcile: RecoveryMode.RECONCILE,
    OutcomeUnknown: RecoveryMode.OUTCOME_UNKNOWN,
    NeverAutoRetry: RecoveryMode.NEVER_AUTO_RETRY,
}
