"""The tools of the runtime's workloads: what each declares, and the effect it has in the lab."""

from collections.abc import Mapping, Sequence
from typing import Final, cast

import attrs

from ...actors.tools.builtin.files import edit, write
from ...actors.tools.contract import Idempotent, Permission, Place, ReplaySafe, Tool
from ...actors.tools.decorate import tool
from ...actors.tools.effects.files import execute
from ...actors.tools.runner import WorkOrder
from ...actors.tools.simulated import Script
from ...machines.facts.canonical import Json
from ..workload import Stage
from .world import Deed, note

FOR_EVER_MS: Final = 3_600_000
"""Longer than any process of the lab lives."""


@tool(local=True, permission=Permission.FREE)
def bump(line: str) -> str:
    """Do something that can be done only once."""
    return f"bumped {line}"


@tool(local=True, permission=Permission.FREE)
def linger(line: str) -> str:
    """Do something that can be done only once, and never answer."""
    return f"lingered over {line}"


@tool(recovery=Idempotent(), permission=Permission.FREE)
def pay(line: str) -> str:
    """Ask somebody elsewhere who knows a repeated call by its key."""
    return f"paid {line}"


@tool(local=True, permission=Permission.ASK)
def deploy(line: str) -> str:
    """Do what a person has to allow."""
    return f"deployed {line}"


@tool(local=True, recovery=ReplaySafe(), permission=Permission.FREE)
def look(path: str) -> str:
    """Look and change nothing."""
    return f"saw {path}"


@tool(local=True, recovery=ReplaySafe(), permission=Permission.FREE)
def stare(path: str) -> str:
    """Look, change nothing, and never answer."""
    return f"stared at {path}"


_HARMLESS: Final = (look, stare)
_SLOW: Final = (linger, stare)
_WRITING: Final = (write, edit)


@attrs.frozen(kw_only=True)
class Effects:
    """What each tool does, in the process that the lab kills.

    Attributes:
        lasting: Tools that do not answer although they could.
    """

    stage: Stage
    lasting: tuple[Tool, ...] = ()

    def scripts(self, tools: Sequence[Tool]) -> Mapping[str, Script]:
        """Return the script of every tool that is sent to a worker."""
        return {one.name: self._script(one) for one in tools if one.place is Place.WORKER}

    def _script(self, one: Tool) -> Script:
        hangs = one in (*_SLOW, *self.lasting)
        effect = self._written if one in _WRITING else self._done
        return Script(latency_ms=0, effect=effect, answer_ms=FOR_EVER_MS if hangs else 0)

    def _done(self, order: WorkOrder) -> Json:
        if order.tool not in _HARMLESS:
            self._note(order)
        return cast("Json", order.tool.function(**order.args))

    def _written(self, order: WorkOrder) -> Json:
        assert order.tool.effect is not None
        assert order.evidence is not None
        self._note(order)
        return execute(
            order.tool.effect,
            order.args,
            order.workspace,
            order.evidence,
            order.operation,
            self.stage.worker.probe,
        )

    def _note(self, order: WorkOrder) -> None:
        self.stage.worker.probe("effect.starts")
        note(self.stage.root, Deed.EFFECT, order.operation)
        self.stage.worker.probe("effect.done")
