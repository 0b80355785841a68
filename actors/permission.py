"""Whether a call may start: refused, asked about, or free to go (OP-1, ASK-2, ASK-4)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..machines.facts.canonical import Json, encode
from ..machines.facts.codes import Code
from ..machines.facts.digests import Domain, digest_json
from ..machines.facts.model import AskOpened, Question
from ..machines.facts.vocabulary import OutcomeResult, Purpose
from .progress import CallProgress
from .tools.boundary import (
    BoundaryRequiredError,
    Denied,
    FileScope,
    Inside,
    Reach,
    assess,
    expansion_json,
    parse_expansion,
)
from .tools.builtin.asking import escaped, read_questions
from .tools.contract import Permission, Place, Tool
from .tools.errors import ToolRefusedError
from .tools.gate import Attempt, blocks
from .tools.paths import Workspace
from .tools.registry import Registry

REVIEW_CHARS_MAX = 2000


class Approvals(StrEnum):
    """Who decides about calls that need approval; part of the execution profile (CONT-5)."""

    ASK = "ask"  # a person, through a durable request
    ALLOW = "allow"  # everything that is not denied
    REFUSE = "refuse"  # nobody: such calls are refused


@attrs.frozen(kw_only=True)
class Policy:
    """The permission policy of a run.

    Attributes:
        ask_ms_max: How long a request to a person stays open; None for as long as it takes.
    """

    approvals: Approvals = Approvals.ASK
    ask_ms_max: int | None = None

    @property
    def digest(self) -> str:
        """Return the policy's identity in an execution profile (CONT-5)."""
        told: Json = {"approvals": str(self.approvals), "ask_ms_max": self.ask_ms_max}
        return digest_json(Domain.POLICY, told)


@attrs.frozen(kw_only=True)
class Refuse:
    """The call is not started; the model is told why."""

    result: OutcomeResult
    content: Json


@attrs.frozen(kw_only=True)
class AskPerson:
    """A person decides first."""

    action: AskOpened


@attrs.frozen(kw_only=True)
class Go:
    """The call may start."""

    tool: Tool
    args: dict[str, Json]


Verdict: TypeAlias = Refuse | AskPerson | Go


@attrs.frozen(kw_only=True)
class Examiner:
    """Looks at one call before its T1, in the order of OP-1."""

    registry: Registry
    policy: Policy

    def examine(
        self,
        call: CallProgress,
        attempts: Sequence[Attempt],
        workspace: Workspace,
        now_ms: int,
    ) -> Verdict:
        """Return what happens to a call that has neither T1 nor outcome nor grant.

        Args:
            call: The call.
            attempts: The calls of this turn that have an outcome, oldest first.
            workspace: The workspace under the boundary as it is now.
            now_ms: The time, for the deadline of a request to a person.
        """
        name, digest = call.content.name, call.placed.args_digest
        if call.content.args == unclean_args():
            return _refused(OutcomeResult.UNCLEAN_TEXT, Code.TEXT_UNCLEAN, tool=name)
        try:
            tool = self.registry.find(name)
        except ToolRefusedError as error:
            return Refuse(result=OutcomeResult.UNAVAILABLE, content=error.facts())
        if blocks(attempts, name, digest):
            return _refused(OutcomeResult.BLOCKED, Code.REPEATED_FAILURE, tool=name)
        try:
            return self._permit(tool, tool.check(call.content.args), digest, workspace, now_ms)
        except ToolRefusedError as error:
            return Refuse(result=OutcomeResult.INVALID_ARGUMENTS, content=error.facts())

    def _permit(
        self,
        tool: Tool,
        args: dict[str, Json],
        digest: str,
        workspace: Workspace,
        now_ms: int,
    ) -> Verdict:
        if tool.place is Place.KERNEL:
            questions = read_questions(args)
            return self._ask(tool, digest, Purpose.QUESTION, "", now_ms, questions=questions)
        needed = tool.needed(args, workspace)
        found = assess(workspace.boundary, needed)
        if isinstance(found, Denied):
            return _refused(OutcomeResult.DENIED, Code.PATH_DENIED, path=found.scope.path)
        if not isinstance(found, Inside):
            if self.policy.approvals is not Approvals.ASK:
                crossing = BoundaryRequiredError(expansion=found.expansion)
                return Refuse(result=OutcomeResult.DENIED, content=crossing.facts())
            told = expansion_json(found.expansion)
            wants = (f"wants to {line}" for line in wanted(told))
            review = "\n".join((f"{tool.name}: {shown(args)}", *wants))
            return self._ask(tool, digest, Purpose.BOUNDARY, review, now_ms, expansion=told)
        if tool.permission is not Permission.ASK or self.policy.approvals is Approvals.ALLOW:
            return Go(tool=tool, args=args)
        if self.policy.approvals is Approvals.REFUSE:
            return _refused(OutcomeResult.DENIED, Code.APPROVAL_REFUSED, tool=tool.name)
        review = f"{tool.name}: {shown(args)}"
        return self._ask(tool, digest, Purpose.PERMISSION, review, now_ms)

    def _ask(
        self,
        tool: Tool,
        digest: str,
        purpose: Purpose,
        review: str,
        now_ms: int,
        *,
        questions: tuple[Question, ...] = (),
        expansion: Json = None,
    ) -> AskPerson:
        wait = self.policy.ask_ms_max
        return AskPerson(
            action=AskOpened(
                purpose=purpose,
                tool=tool.name,
                args_digest=digest,
                review=review or tool.name,
                questions=questions,
                expansion=expansion,
                deadline_ts=None if wait is None else now_ms + wait,
            )
        )


def _refused(result: OutcomeResult, code: Code, **facts: str) -> Refuse:
    return Refuse(result=result, content={"code": str(code), **facts})


_UNCLEAN: Final = "$unclean"


def unclean_args() -> dict[str, Json]:
    """Return what stands in a call whose arguments were unclean: they are refused (BYTE-3)."""
    return {_UNCLEAN: True}


def wanted(expansion: Json) -> tuple[str, ...]:
    """Return what an expansion would allow, each file and the network as one line for people.

    The paths are those that would really be touched, not as a model spelled them (ASK-4).
    """
    if expansion is None:
        return ()
    try:
        told = parse_expansion(expansion)
    except ToolRefusedError:
        return (escaped(encode(expansion).decode()),)  # From a log that none of ours wrote.
    network = ("use the network",) if told.network else ()
    return (*map(_scope, told.files), *network)


def _scope(scope: FileScope) -> str:
    below = " and everything below it" if scope.reach is Reach.SUBTREE else ""
    return f"{scope.access.value} {escaped(scope.path)}{below}"


def shown(args: dict[str, Json]) -> str:
    """Return arguments as a person reviews them: bounded, nothing hidden or re-ordered."""
    lines = [f"{name} = {value!r}" for name, value in args.items()]
    text = escaped(", ".join(lines))
    if len(text) <= REVIEW_CHARS_MAX:
        return text
    return f"{text[:REVIEW_CHARS_MAX]} … ({len(text) - REVIEW_CHARS_MAX} more characters)"
