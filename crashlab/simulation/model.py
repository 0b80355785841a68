"""The model of a simulated history: a script made of the plot, behind a line that may fail."""

import random
from collections.abc import Callable, Mapping
from typing import Final

from ...actors.backends.contract import Backend, BackendFailedError, ModelRequest
from ...actors.backends.script import Script, parse_script
from ...actors.backends.scripted import ScriptedBackend
from ...actors.backends.wrapped import WrappedBackend
from ...machines.facts.vocabulary import Failure
from .plot import CallPlan, Plot, StepPlan, TurnPlan

_FAILURES: Final = (Failure.NETWORK, Failure.UNAVAILABLE, Failure.RATE_LIMIT)
_TRIES: Final = (*(0,) * 14, 1, 3)
"""How many attempts of a step fail before one gets through; the runtime makes four (means)."""


def model_of(plot: Plot, leaves: Callable[[ModelRequest], None]) -> Callable[[], Backend]:
    """Return what makes the backend of each run.

    Args:
        plot: Says what is answered.
        leaves: Is told of every request that leaves, whatever becomes of it.
    """
    script = script_of(plot)

    def before(request: ModelRequest) -> None:
        leaves(request)
        told = f"{plot.seed} {request.step} {len(request.messages)}"
        rng = random.Random(told)  # noqa: S311  # a sample, no secret
        if request.attempt <= rng.choice(_TRIES):
            raise BackendFailedError(failure=rng.choice(_FAILURES), message="the line is down")

    return lambda: WrappedBackend(inner=ScriptedBackend(script=script), before=before)


def script_of(plot: Plot) -> Script:
    """Return the script of a plot; what else is said gets the script's own last word."""
    turns = [_turn(turn) for turn in plot.turns]
    other = {"step": [{"event": [{"text": "Well."}, {"finish": "stop"}]}]}
    return parse_script({"turn": [*turns, other]})


def old_files(plot: Plot) -> Mapping[str, str]:
    """Return the files that a model finds there and edits: name and content."""
    calls = [call for turn in plot.turns for step in turn.steps for call in step.calls]
    return {_path(call): _old(call) for call in calls if call.tool == "edit"}


def _turn(turn: TurnPlan) -> Mapping[str, object]:
    return {"user": turn.text, "step": [_step(step) for step in turn.steps]}


def _step(step: StepPlan) -> Mapping[str, object]:
    events: list[Mapping[str, object]] = []
    if step.delay_ms:
        events.append({"delay_ms": step.delay_ms})
    if step.pieces:
        events.append({"text": "So be it.", "pieces": step.pieces, "piece_delay_ms": 10})
    if step.breaks:
        events.append({"eof": True} if step.breaks == "eof" else {"error": step.breaks})
    else:
        events += [_call(call, number) for number, call in enumerate(step.calls)]
        events.append({"finish": "tool_calls" if step.calls else "stop"})
    return {"event": events}


def _call(call: CallPlan, number: int) -> Mapping[str, object]:
    args: Mapping[str, object]
    match call.tool:
        case "look" | "peek":
            args = {"path": call.words}
        case "write":
            args = {"path": _path(call), "content": f"new {call.words}\n"}
        case "edit":
            args = {"path": _path(call), "old": _old(call), "new": f"new {call.words}\n"}
        case "ask_user":
            args = {"questions": [{"text": f"What about {call.words}?"}]}
        case _:
            args = {"line": call.words}
    return {"call": call.tool, "label": f"c{number}", "args": args}


def _path(call: CallPlan) -> str:
    return f"{call.tool}-{call.words}.txt"


def _old(call: CallPlan) -> str:
    return f"old {call.words}\n"
