"""What requests cost, keyed by the request, so that reading a fact again adds nothing (LOG-7)."""

from collections.abc import Iterable, Sequence

import attrs

from ..facts.model import RuntimeEvent, Usage
from .bound import up_to
from .reading import read
from .records import Request, Run


@attrs.frozen(kw_only=True)
class Totals:
    """Sums over requests; counts are tokens, `cost_micros` is 1e-6 USD.

    A sum covers what providers stated and nothing else: the counts of requests say how much of the
    whole that is, and a cost that nobody stated is unknown, not zero.

    Attributes:
        requests: How many were sent.
        reported: How many stated their usage.
        priced: How many stated their cost.
        cost_micros: The sum of the stated costs, or None if nobody stated any.
    """

    requests: int
    reported: int
    priced: int
    input: int
    output: int
    cache_read: int
    cache_write: int
    reasoning: int
    cost_micros: int | None


@attrs.frozen(kw_only=True)
class RequestUsage:
    """What one request cost; None where its provider said nothing."""

    request: str
    run: str
    step: int | None
    attempt: int | None
    usage: Usage | None


@attrs.frozen(kw_only=True)
class RunUsage:
    """What one run cost."""

    run: str
    totals: Totals


@attrs.frozen(kw_only=True)
class UsageView:
    """What a session cost: by request in the order they were sent, by run, and in all."""

    requests: tuple[RequestUsage, ...]
    runs: tuple[RunUsage, ...]
    totals: Totals


def usage(facts: Sequence[RuntimeEvent], *, at: int | None = None) -> UsageView:
    """Return what requests cost. Pure and total; `at` as for every projector (PROJ-1)."""
    reading = read(up_to(facts, at))
    requests = [
        _request_usage(run, one) for run in reading.runs.values() for one in run.requests.values()
    ]
    return UsageView(
        requests=tuple(requests),
        runs=tuple(
            RunUsage(run=name, totals=_sum(one for one in requests if one.run == name))
            for name in reading.runs
        ),
        totals=_sum(requests),
    )


def _request_usage(run: Run, request: Request) -> RequestUsage:
    sent = None if request.sent is None else request.sent.says
    return RequestUsage(
        request=request.id,
        run=run.spine.run,
        step=None if sent is None else sent.step,
        attempt=None if sent is None else sent.attempt,
        usage=None if request.settled is None else request.settled.says.usage,
    )


def _sum(requests: Iterable[RequestUsage]) -> Totals:
    asked = list(requests)
    stated = [one.usage for one in asked if one.usage is not None]
    costs = [one.cost_micros for one in stated if one.cost_micros is not None]
    return Totals(
        requests=len(asked),
        reported=len(stated),
        priced=len(costs),
        input=sum(one.input for one in stated),
        output=sum(one.output for one in stated),
        cache_read=sum(one.cache_read or 0 for one in stated),
        cache_write=sum(one.cache_write or 0 for one in stated),
        reasoning=sum(one.reasoning or 0 for one in stated),
        cost_micros=sum(costs) if costs else None,
    )
