"""What claims and recovery bundles cost, and what claims cost everybody else (CONT-3, OP-4)."""

import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Final

from ...machines.facts.vocabulary import Finish, Observation, RecoveryMode
from ...store.journal import writers
from ...store.journal.claims import ClaimResult
from ...store.journal.ends import EndRun
from ...store.journal.orders import Order
from ...store.journal.recovery import Seen, SettleLeft
from ...store.sqlite import SqliteStore
from ..workloads.first_owner import EVIDENCE
from ..workloads.later_owners import claim_order
from ..workloads.ownership import abandon
from ..workloads.teller import NO_DIGEST, Teller
from .clock import spread_ms
from .figure import Figure, at_most
from .ground import WORDS, Sizes, Together, metered, opened

_MEASURED: Final = 40


def measure_claims(place: Path, sizes: Sizes) -> list[Figure]:
    """Compare appends and claims in a root without claims and beside many."""
    measured = min(_MEASURED, sizes.rounds)
    with opened(place, name="none") as none, opened(place, name="many") as many:
        _claim_all(many, [Teller(session=f"old-{number}") for number in range(sizes.claims)])
        appends = [_append_steps(store, measured) for store in (none, many)]
        claims = [_claim_costs(store, measured) for store in (none, many)]
    seconds, steps = claims[1]
    wall = spread_ms(seconds)
    return [
        _growth("claim.growth_steps.append", appends[0], appends[1]),
        _growth("claim.growth_steps.claim", claims[0][1], steps),
        Figure(
            name="claim.commit_ms",
            value=wall.p50,
            unit="ms",
            parts={"p95_ms": wall.p95, "without_claims_p50_ms": spread_ms(claims[0][0]).p50},
        ),
    ]


def measure_bundles(place: Path, sizes: Sizes) -> Figure:
    """Measure the unit that settles one interrupted operation, under a later owner."""
    teller = Teller(session="left")
    with opened(place) as store:
        _leave(store, teller, sizes.bundles)
        abandon(store)
    with opened(place) as store:
        seen = Seen(observation=Observation.MATCHES_EXPECTED_STATE, observed=NO_DIGEST)
        seconds = [
            _timed(store, SettleLeft(operation=teller.operation(1, position), seen=seen))
            for position in range(1, sizes.bundles + 1)
        ]
    wall = spread_ms(seconds)
    return Figure(
        name="recovery.bundle_commit_ms", value=wall.p50, unit="ms", parts={"p95_ms": wall.p95}
    )


def _growth(name: str, none: Sequence[float], many: Sequence[float]) -> Figure:
    before, after = fmean(none), fmean(many)
    return Figure(
        name=name,
        value=after / before,
        unit="ratio",
        target=at_most(1.15, "d"),
        parts={"none_steps": before, "many_steps": after},
    )


def _claim_all(store: SqliteStore, tellers: Sequence[Teller]) -> None:
    _fail_all(store, tellers)
    store.write(Together(orders=tuple(claim_order(store, teller) for teller in tellers)))


def _fail_all(store: SqliteStore, tellers: Sequence[Teller]) -> None:
    """Tell a session with a failed run for each teller, as one unit."""
    orders: list[Order[object]] = []
    for teller in tellers:
        orders += [teller.open_session(), teller.open_run(), EndRun(end=teller.failed())]
    store.write(Together(orders=tuple(orders)))


def _append_steps(store: SqliteStore, count: int) -> list[float]:
    teller = Teller(session="speaks")
    opening = (teller.open_session(), teller.open_run())
    store.write(Together(orders=(*opening, writers.dispatch_request(teller.request(1)))))
    return [_steps(store, writers.add_content(teller.text(WORDS))) for _ in range(count)]


def _claim_costs(store: SqliteStore, count: int) -> tuple[list[float], list[float]]:
    """Return the seconds of so many claims, and the steps of as many others."""
    tellers = [Teller(session=f"new-{number}") for number in range(2 * count)]
    _fail_all(store, tellers)
    orders = [claim_order(store, teller) for teller in tellers]
    seconds = [_timed(store, order) for order in orders[:count]]
    steps = [_steps(store, order) for order in orders[count:]]
    assert all(store.write(order).result is ClaimResult.EXISTING for order in orders)
    return seconds, steps


def _leave(store: SqliteStore, teller: Teller, count: int) -> None:
    """Dispatch so many operations of one step, and settle none."""
    store.write(teller.open_session())
    store.write(teller.open_run())
    store.write(writers.dispatch_request(teller.request(1)))
    calls = [teller.call(1, position) for position in range(1, count + 1)]
    store.write(writers.settle_step(*calls, teller.settled(Finish.TOOL_CALLS)))
    mode = RecoveryMode.RECONCILE
    dispatches = [teller.dispatch(call, mode, evidence=EVIDENCE) for call in calls]
    store.write(Together(orders=tuple(writers.dispatch(fact) for fact in dispatches)))


def _timed(store: SqliteStore, order: Order[object]) -> float:
    began = time.perf_counter()
    store.write(order)
    return time.perf_counter() - began


def _steps(store: SqliteStore, order: Order[object]) -> float:
    with metered(store) as meter:
        store.write(order)
    return meter.steps
