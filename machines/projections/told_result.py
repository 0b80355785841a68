"""How a recorded result reaches a model: whole, or saying what of it is missing (OP-7)."""

from collections.abc import Callable
from functools import reduce
from typing import Final

from ..facts import canonical
from ..facts.canonical import DepthExceededError, Json
from ..facts.model import OutputCut
from .losses import LossReason

EMPTY_OUTPUT: Final = "(this call gave no output)"
"""Said in place of an empty text: no target is sent a result of nothing (BR-03)."""

_REQUEST_DEPTH: Final = 8
"""How deep messages, content and blocks of a request nest around a value."""


def tell_result(result: Json, cut: OutputCut | None) -> tuple[Json, tuple[LossReason, ...]]:
    """Return a result as it is told, and in what it differs from the one that was recorded."""
    told, reasons = _shallow(result, _as_text)
    if told == "":
        told, reasons = EMPTY_OUTPUT, (*reasons, LossReason.RESULT_EMPTY)
    if cut is None:
        return told, reasons
    note = _say_cut(result, cut)
    told = f"{told}\n{note}" if isinstance(told, str) else {"value": told, "cut": note}
    return told, (*reasons, LossReason.RESULT_CUT)


def tell_arguments(args: Json) -> tuple[Json, tuple[LossReason, ...]]:
    """Return a call's arguments, an object always, and in what they differ from the recorded."""
    return _shallow(args, lambda value: {"$json": _as_text(value)})


def as_text(value: Json) -> str:
    """Return a value in words: a text as it is, anything else as its JSON."""
    return value if isinstance(value, str) else _as_text(value)


def _as_text(value: Json) -> str:
    return canonical.encode(value).decode()


def _shallow(value: Json, flatten: Callable[[Json], Json]) -> tuple[Json, tuple[LossReason, ...]]:
    """Flatten what a fact could hold but a request, which nests it deeper, could not (BYTE-1)."""
    try:
        canonical.encode_trusted(reduce(lambda inner, _: [inner], range(_REQUEST_DEPTH), value))
    except DepthExceededError:
        return flatten(value), (LossReason.TOO_DEEP,)
    return value, ()


def _say_cut(result: Json, cut: OutputCut) -> str:
    shown = len(as_text(result).encode())
    kept = "the whole is kept" if cut.blob is not None else "the rest was not kept"
    return (
        f"[output cut: {shown} bytes of {cut.bytes_total} are told here, {kept}; the call is done]"
    )
