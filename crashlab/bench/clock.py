"""The stopwatch of the bench, and what is told of many measured times."""

import math
import statistics
from collections.abc import Sequence

import attrs


@attrs.frozen(kw_only=True)
class Spread:
    """Many times of one thing, in milliseconds."""

    p50: float
    p95: float


def spread_ms(seconds: Sequence[float]) -> Spread:
    """Return the median and the 95th percentile of at least one time."""
    ordered = sorted(seconds)
    at = min(len(ordered) - 1, math.ceil(0.95 * len(ordered)) - 1)
    return Spread(p50=1_000 * statistics.median(ordered), p95=1_000 * ordered[at])
