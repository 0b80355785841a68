"""How startup closes a run that a gone owner left, and which it leaves alone (CONT-7, ASK-3)."""

from enum import StrEnum
from typing import Final

import attrs

from ..lifecycles import claim, run
from .decision import DecisionTable, Rule, anything


class Repair(StrEnum):
    """What run repair does, as one unit."""

    NOTHING = "nothing"  # the run has its terminal, or never opened
    ALIVE = "alive"  # its owner epoch is not proven gone
    RELEASE = "release"  # a person accepted a loss or adopted the session: close it, calls unknown
    ABORT = "abort"  # a durable stop intent: aborted with its source
    EXPIRE = "expire"  # close the requests whose deadline passed, then ask again
    KEEP_WAITING = "keep_waiting"  # a person is being asked: write nothing else
    ABANDON = "abandon"  # no request ever left
    ABANDON_CONTINUATION = "abandon_continuation"
    LOST_AFTER_DISPATCH = "lost_after_dispatch"  # a request may have reached the provider
    LOST = "lost"


@attrs.frozen(kw_only=True)
class Orphan:
    """A run without terminal as startup finds it, after its operations were settled.

    Attributes:
        gone: The epoch the run is attached to is proven gone (OWN-2).
        due: The deadline of an open request to a person has passed.
        released: A person released the run from waiting (accepted loss, adoption).
        continuation: The run was opened by a claim.
    """

    state: run.RunState
    gone: bool
    due: bool
    released: bool
    continuation: bool


def _closed(orphan: Orphan) -> bool:
    return not isinstance(orphan.state, run.Active | run.Stopping)


def _alive(orphan: Orphan) -> bool:
    return not orphan.gone


def _stopping(orphan: Orphan) -> bool:
    return isinstance(orphan.state, run.Stopping)


def _released(orphan: Orphan) -> bool:
    return orphan.released


def _due(orphan: Orphan) -> bool:
    state = orphan.state
    return isinstance(state, run.Active) and state.asks > 0 and orphan.due


def _waits(orphan: Orphan) -> bool:
    return isinstance(orphan.state, run.Active) and run.waits(orphan.state)


def _never_requested(orphan: Orphan) -> bool:
    return isinstance(orphan.state, run.Active) and orphan.state.last is run.Last.NEVER


def _continuation_never_requested(orphan: Orphan) -> bool:
    return orphan.continuation and _never_requested(orphan)


def _request_open(orphan: Orphan) -> bool:
    return isinstance(orphan.state, run.Active) and orphan.state.last is run.Last.OPEN


# The order is CONT-7: a stop comes before waiting (a stopped run never waits), an expiry before the
# question whether the run waits, and nothing is ever re-sent.
# fmt: off
RUN_REPAIR: Final[DecisionTable[Orphan, Repair]] = DecisionTable(
    name="run_repair", prefix="FIX", rules=(
        Rule(id="FIX.D1",  when=_closed,                       then=Repair.NOTHING),
        Rule(id="FIX.D2",  when=_alive,                        then=Repair.ALIVE),
        Rule(id="FIX.D3",  when=_stopping,                     then=Repair.ABORT),
        Rule(id="FIX.D4",  when=_released,                     then=Repair.RELEASE),
        Rule(id="FIX.D5",  when=_due,                          then=Repair.EXPIRE),
        Rule(id="FIX.D6",  when=_waits,                        then=Repair.KEEP_WAITING),
        Rule(id="FIX.D7",  when=_continuation_never_requested, then=Repair.ABANDON_CONTINUATION),
        Rule(id="FIX.D8",  when=_never_requested,              then=Repair.ABANDON),
        Rule(id="FIX.D9",  when=_request_open,                 then=Repair.LOST_AFTER_DISPATCH),
        Rule(id="FIX.D10", when=anything,                      then=Repair.LOST),
    ),
)
# fmt: on


class ClaimRepair(StrEnum):
    """What claim repair does with one claim (CONT-7)."""

    NOTHING = "nothing"  # started by either writer: the run's own repair owns it
    LEAVE = "leave"  # the claimer may still go on
    CLOSE = "close"  # write the repair start and its failed end


@attrs.frozen(kw_only=True)
class Claim:
    """A claim as startup finds it; `gone`: the epoch that made it is proven gone."""

    state: claim.ClaimState
    gone: bool


def _startless(found: Claim) -> bool:
    return isinstance(found.state, claim.Claimed)


def _startless_gone(found: Claim) -> bool:
    return _startless(found) and found.gone


# fmt: off
CLAIM_REPAIR: Final[DecisionTable[Claim, ClaimRepair]] = DecisionTable(
    name="claim_repair", prefix="CRP", rules=(
        Rule(id="CRP.D1", when=_startless_gone, then=ClaimRepair.CLOSE),
        Rule(id="CRP.D2", when=_startless,      then=ClaimRepair.LEAVE),
        Rule(id="CRP.D3", when=anything,        then=ClaimRepair.NOTHING),
    ),
)
# fmt: on
