"""The repeat-failure gate: a third identical failure in a row is not run (OP-1)."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

import attrs

FAILURES_MAX: Final = 2
"""Identical consecutive failures after which the same call is blocked."""


class AttemptResult(StrEnum):
    """What became of one call, as far as the gate cares."""

    SUCCESS = "success"
    FAILURE = "failure"
    BLOCKED = "blocked"


@attrs.frozen(kw_only=True)
class Attempt:
    """One earlier call of this turn; `args_digest` is the identity of its arguments (BYTE-6)."""

    tool: str
    args_digest: str
    result: AttemptResult


def failures_in_row(attempts: Iterable[Attempt], tool: str, args_digest: str) -> int:
    """Return how often exactly this call has failed since anything else happened.

    A block is neither a failure nor anything else: the count stays where it was.

    Args:
        attempts: The calls of this turn with an outcome, oldest first.
        tool: The tool now called.
        args_digest: The identity of its arguments.
    """
    count = 0
    for attempt in attempts:
        if attempt.result is AttemptResult.BLOCKED:
            continue
        same = (attempt.tool, attempt.args_digest) == (tool, args_digest)
        count = count + 1 if same and attempt.result is AttemptResult.FAILURE else 0
    return count


def blocks(attempts: Iterable[Attempt], tool: str, args_digest: str) -> bool:
    """Return whether this call must not run again in this turn."""
    return failures_in_row(attempts, tool, args_digest) >= FAILURES_MAX
