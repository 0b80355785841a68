"""What a tool's return or exception means, in the same words wherever the tool ran (OP-8a)."""

import inspect
from typing import Final

from ...machines.facts.canonical import CanonicalError, check
from ...machines.facts.represent import ResultNotRepresentableError, represent
from ...machines.facts.text import preview, repair_text
from .context import CallContext, Failed
from .contract import Tool
from .errors import OutcomeUncertainError, ToolRefusedError
from .runner import Answer, NotRepresentable, Raised, Refused, Returned, Uncertain

MESSAGE_BYTES_MAX: Final = 4000


def conclude(returned: object) -> Returned | NotRepresentable:
    """Return what a tool's return value means; never raises (BYTE-1a)."""
    # By `type`, not `isinstance`: what came back is foreign, and `__class__` may raise.
    failed = type(returned) is Failed
    try:
        value, losses = represent(returned.value if type(returned) is Failed else returned)
        check(value)
    except (ResultNotRepresentableError, CanonicalError) as error:
        return NotRepresentable(reason=words(error))
    return Returned(value=value, failed=failed, losses=losses)


def explain(error: BaseException) -> Answer:
    """Return what an exception of a tool means."""
    if isinstance(error, ToolRefusedError):
        return Refused(facts=error.facts())
    if isinstance(error, OutcomeUncertainError):
        return Uncertain(reason=_clean(error.reason))
    return Raised(error=_clean(type(error).__qualname__), message=words(error))


def given(tool: Tool, context: CallContext) -> dict[str, object]:
    """Return the context under the name of the parameter that asks for it, if one does."""
    wanted = inspect.get_annotations(tool.function, eval_str=True)
    return {name: context for name, hint in wanted.items() if hint is CallContext}


def words(error: BaseException) -> str:
    """Return the message of a foreign exception, clean and bounded; one without words is empty."""
    try:
        return _clean(str(error))
    except Exception:  # noqa: BLE001 - `__str__` is foreign code
        return ""


def _clean(text: str) -> str:
    return preview(repair_text(text)[0], MESSAGE_BYTES_MAX)[0]
