"""The tools of a simulated history: what each does to the world, and how long that takes."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Final, cast

import attrs

from ...actors.tools.builtin.asking import ask_user
from ...actors.tools.builtin.files import edit, write
from ...actors.tools.contract import Permission, ReplaySafe, Tool
from ...actors.tools.decorate import tool
from ...actors.tools.effects.files import execute
from ...actors.tools.runner import WorkOrder
from ...machines.facts.canonical import Json
from ...store.probe import Probe
from ..workloads.runtime_tools import bump, deploy, look, pay
from ..workloads.world import Deed, note

_PATIENT_MS: Final = 1_000
_DIES: Final = 0.08
"""How often a worker dies in a call of its own."""


@tool(local=True, permission=Permission.FREE, timeout_ms=_PATIENT_MS)
def brew(line: str) -> str:
    """Do something that can be done only once, and take too long for it now and then."""
    return f"brewed {line}"


@tool(local=True, recovery=ReplaySafe(), permission=Permission.FREE, timeout_ms=_PATIENT_MS)
def peek(path: str) -> str:
    """Look and change nothing, and take too long for it now and then."""
    return f"peeked at {path}"


OFFERED: Final = (bump, pay, look, peek, brew, write, edit, deploy, ask_user)
"""What every model of a history may call."""

_BY_NAME: Final[Mapping[str, Tool]] = {one.name: one for one in OFFERED}
_HARMLESS: Final = frozenset((look.name, peek.name, ask_user.name))


def tool_named(name: str) -> Tool:
    """Return an offered tool."""
    return _BY_NAME[name]


def is_harmless(name: str) -> bool:
    """Say whether calls of this tool leave no trace in the world."""
    return name in _HARMLESS


def needs_approval(name: str) -> bool:
    """Say whether a person has to allow each call of this tool (ASK-2)."""
    return _BY_NAME[name].permission is Permission.ASK


@attrs.frozen(kw_only=True)
class Course:
    """How one call goes, in virtual milliseconds.

    Attributes:
        effect_ms: From the order to the effect.
        answer_ms: From the effect to the answer.
        dies_ms: From the order to the worker's own death; None for none.
        lingers_ms: How long the worker lives on behind a host that was killed.
    """

    effect_ms: int
    answer_ms: int
    dies_ms: int | None
    lingers_ms: int


def course_of(seed: int, order: WorkOrder) -> Course:
    """Return how this call goes: drawn from its words, so the same whoever orders it and when."""
    rng = random.Random(f"{seed} {order.tool.name} {order.args}")  # noqa: S311  # no secret
    return Course(
        effect_ms=rng.choice((0, 5, 80, 700, 3_000, 8_000)),
        answer_ms=rng.choice((0, 5, 80, 700, 8_000)),
        dies_ms=rng.choice((0, 3, 60, 500)) if rng.random() < _DIES else None,
        lingers_ms=rng.choice((0, 100, 2_000, 5_000, 90_000)),
    )


def happen(root: Path, order: WorkOrder, probe: Probe) -> Json:
    """Let the effect of a call happen, and return its result."""
    if is_harmless(order.tool.name):
        return cast("Json", order.tool.function(**order.args))
    probe("effect.starts")
    note(root, Deed.EFFECT, order.operation)
    probe("effect.done")
    if order.tool.effect is None:
        return cast("Json", order.tool.function(**order.args))
    assert order.evidence is not None
    return execute(
        order.tool.effect, order.args, order.workspace, order.evidence, order.operation, probe
    )
