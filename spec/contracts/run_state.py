"""What a run's state means, for its contracts: well-formed counts, idleness, and waiting."""

from typing import TypeAlias, TypeGuard

import attrs

from ...machines.lifecycles.run import Active, Last, Placing, RunState, Stopping
from ...machines.lifecycles.table import Refused
from .reached import reached

Live: TypeAlias = Active | Stopping


def live(state: RunState) -> TypeGuard[Live]:
    """Say whether the run is open and past its first text."""
    return isinstance(state, Active | Stopping)


def valid(state: RunState) -> bool:
    """Say whether the counts can belong to one step: asks to calls, T1 to finished calls."""
    if isinstance(state, Placing):
        return state.calls >= 1
    if not live(state):
        return True
    # `&` and `|`, because every `and` is a fork in the search for a counterexample.
    asked = state.asks + state.grants
    counted = (state.asks >= 0) & (state.grants >= 0) & (asked <= state.calls)
    if state.last is Last.CALLS:
        return counted & (state.operations >= 0)
    none = (asked == 0) & (state.operations == 0)
    return counted & none & ((state.last is Last.CUT) | (state.calls == 0))


def idle(state: Live) -> bool:
    """Say whether no request, no call and no operation of the run is open."""
    return state.last is not Last.OPEN and state.calls == 0 and state.operations == 0


def waiting(state: Live) -> bool:
    """Say whether only a person can move the run on, asked or just answered (ASK-3)."""
    return state.operations == 0 and state.asks + state.grants > 0


def fresh(epoch: int) -> Active:
    """Return a run that has asked nothing yet."""
    return Active(
        epoch=epoch,
        last=Last.NEVER,
        calls=0,
        operations=0,
        asks=0,
        grants=0,
        troubled=False,
    )


def changed(
    state: Live,
    *,
    epoch: int | None = None,
    last: Last | None = None,
    calls: int | None = None,
    operations: int | None = None,
    asks: int | None = None,
    grants: int | None = None,
    troubled: bool | None = None,
) -> Live:
    """Return the same run with the named fields changed and all others kept."""
    return attrs.evolve(
        state,
        epoch=state.epoch if epoch is None else epoch,
        last=state.last if last is None else last,
        calls=state.calls if calls is None else calls,
        operations=state.operations if operations is None else operations,
        asks=state.asks if asks is None else asks,
        grants=state.grants if grants is None else grants,
        troubled=state.troubled if troubled is None else troubled,
    )


def leads(done: tuple[RunState, str] | Refused, expected: RunState | None) -> bool:
    """Say whether a step led to exactly `expected` (None: was refused), with well-formed counts."""
    return reached(done) == expected and (expected is None or valid(expected))
