"""Prove contracts one by one in a process of its own, as told on standard input.

Each line in is `module function seconds`; each line out is the JSON of one `Verdict`. A process of
its own, because CrossHair patches the interpreter that it runs in, and because it may die.
"""

import importlib
import json
import sys
import time
from typing import TYPE_CHECKING

from crosshair.core_and_libs import (
    MessageType,
    analyze_function,  # pyright: ignore[reportUnknownVariableType]  # a bare Callable there
    run_checkables,
)
from crosshair.options import AnalysisKind, AnalysisOptionSet

if TYPE_CHECKING:
    from collections.abc import Iterable


def verdict(module: str, function: str, seconds: float) -> dict[str, object]:
    """Return what CrossHair says of one contract.

    Args:
        module: Full name.
        function: Name of a top-level function.
        seconds: CPU seconds for each condition.
    """
    begun = time.process_time()
    body = getattr(importlib.import_module(module), function)
    options = AnalysisOptionSet(
        per_condition_timeout=seconds, report_all=True, analysis_kind=(AnalysisKind.PEP316,)
    )
    messages = list(run_checkables(analyze_function(body, options)))
    confirmed = [m for m in messages if m.state is MessageType.CONFIRMED]
    others = [m for m in messages if m.state is not MessageType.CONFIRMED]
    return {
        "confirmed": len(confirmed),
        "others": [f"{m.state.name.lower()}: {m.message}" for m in others],
        "cpu_s": time.process_time() - begun,
    }


def serve(orders: "Iterable[str]") -> None:
    """Answer each order with one line."""
    for order in orders:
        module, function, seconds = order.split()
        answer = json.dumps(verdict(module, function, float(seconds)))
        sys.stdout.write(f"{answer}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(sys.stdin)
