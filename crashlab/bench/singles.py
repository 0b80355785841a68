"""Units of one fact each, as a run writes them: texts, and tool calls as T1 and T2."""

from collections.abc import Iterator
from typing import Final

from ...machines.facts.vocabulary import Finish
from ...store.journal import writers
from ...store.journal.ends import EndRun
from ...store.journal.orders import Order
from ..workloads.teller import Teller
from .ground import WORDS

CALLS_A_STEP: Final = 50

KINDS: Final = ("text", "dispatch", "outcome")
"""The measured units: one text, T1, T2."""

Told = tuple[str, Order[object]]
"""A unit with its name; one without a name is needed and not measured."""


def singles(teller: Teller, rounds: int) -> Iterator[Told]:
    """Yield `rounds` of each kind in the teller's next run, from its opening to its end."""
    yield "", teller.open_run()
    yield "", writers.dispatch_request(teller.request(1))
    for _ in range(rounds):
        yield "text", writers.add_content(teller.text(WORDS))
    step = 1
    while rounds > 0:
        several = range(1, min(rounds, CALLS_A_STEP) + 1)
        calls = [teller.call(step, position, path=f"dir/{position}") for position in several]
        yield "", writers.settle_step(*calls, teller.settled(Finish.TOOL_CALLS))
        for call in calls:
            yield "dispatch", writers.dispatch(teller.dispatch(call))
            yield "outcome", writers.settle(teller.outcome(call))
        rounds -= len(calls)
        step += 1
        yield "", writers.dispatch_request(teller.request(step))
    yield "", EndRun(end=teller.failed())
