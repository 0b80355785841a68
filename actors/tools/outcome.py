"""From how a call ended to what its outcome may say: settled, or unknown (OP-2, OP-5)."""

from typing import TypeAlias, assert_never

import attrs

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code
from ...machines.facts.model import Loss, OutputCut
from ...machines.facts.vocabulary import OutcomeResult
from .contract import Tool
from .runner import (
    Ending,
    NotRepresentable,
    NotStarted,
    Raised,
    Refused,
    Returned,
    TimedOut,
    Uncertain,
    WorkerDied,
)


@attrs.frozen(kw_only=True)
class Settled:
    """T2: what the outcome fact says and what the model is told."""

    result: OutcomeResult
    content: Json
    is_error: bool
    cut: OutputCut | None = None
    losses: tuple[Loss, ...] = ()


@attrs.frozen(kw_only=True)
class Unknown:
    """No T2: whether the effect happened is not known; `code` says why."""

    code: Code
    detail: str


Settlement: TypeAlias = Settled | Unknown


def settle(tool: Tool, ending: Ending) -> Settlement:
    """Return what may be recorded of `ending`; total, and decided by the tool's own contract.

    An ended worker settles only what is free of effects. A refusal, an error and a lost result are
    settled: the tool itself answered.
    """
    finish = ending.finish
    match finish:
        case Returned():
            return _returned(finish, ending)
        case Refused():
            return _error(finish.facts, ending)
        case Raised():
            facts: dict[str, Json] = {
                "code": str(Code.TOOL_FAILED),
                "error": finish.error,
                "message": finish.message,
            }
            return _error(facts, ending)
        case NotRepresentable():
            facts = {"code": str(Code.RESULT_NOT_REPRESENTABLE), "reason": finish.reason}
            return _error(facts, ending, OutcomeResult.NOT_REPRESENTABLE)
        case NotStarted():
            facts = {"code": str(Code.WORKER_UNAVAILABLE), "reason": finish.reason}
            return _error(facts, ending)
        case Uncertain():
            return Unknown(code=Code.OUTCOME_UNCERTAIN, detail=finish.reason)
        case TimedOut():
            if not tool.free_of_effects:
                return Unknown(code=Code.TOOL_TIMED_OUT, detail=f"{finish.timeout_ms} ms")
            facts = {"code": str(Code.TOOL_TIMED_OUT), "timeout_ms": finish.timeout_ms}
            return _error(facts, ending, OutcomeResult.TIMED_OUT)
        case WorkerDied():
            if not tool.free_of_effects:
                return Unknown(code=Code.WORKER_DIED, detail=f"exit code {finish.exit_code}")
            facts = {"code": str(Code.WORKER_DIED), "exit_code": finish.exit_code}
            return _error(facts, ending)
        case _:
            assert_never(finish)


def _returned(finish: Returned, ending: Ending) -> Settled:
    value = finish.value if finish.whole is None else finish.whole.inline
    whole_cut = None if finish.whole is None else finish.whole.cut
    whole_losses = () if finish.whole is None else finish.whole.losses
    content, cut, losses = _with_output(value, ending)
    if whole_cut is not None and cut is not None:
        # A fact has one cut and it is the result's own; that of the output is told beside it.
        assert isinstance(content, dict)
        content["output_cut"] = {"bytes_total": cut.bytes_total, "blob": cut.blob}
    return Settled(
        result=OutcomeResult.ERROR if finish.failed else OutcomeResult.OK,
        content=content,
        is_error=finish.failed,
        cut=whole_cut or cut,
        losses=finish.losses + whole_losses + losses,
    )


def _error(
    facts: dict[str, Json], ending: Ending, result: OutcomeResult = OutcomeResult.ERROR
) -> Settled:
    content, cut, losses = _with_output(facts, ending)
    return Settled(result=result, content=content, is_error=True, cut=cut, losses=losses)


def _with_output(value: Json, ending: Ending) -> tuple[Json, OutputCut | None, tuple[Loss, ...]]:
    """Return the value with what was printed beside it: a field of an object, or a frame."""
    output = ending.output
    if output is None:
        return value, None, ()
    if isinstance(value, dict) and not value.keys() & {"output", "output_cut"}:
        content: Json = {**value, "output": output.inline}
    else:
        content = {"value": value, "output": output.inline}
    return content, output.cut, output.losses
