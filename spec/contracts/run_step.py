"""The contracts of the run, part two: calls, operations and asks within a step."""

from ...machines.lifecycles import run as machine
from ...machines.lifecycles.run import (
    Active,
    Answer,
    Ask,
    Closing,
    Dispatch,
    Expiry,
    Last,
    NotStarted,
    Recovery,
    RunState,
    Settled,
    Via,
)
from . import run_state


def _free(state: Active) -> bool:
    """Say whether a call of the finished step was neither started nor asked about."""
    return state.last is Last.CALLS and state.calls > state.asks + state.grants


def starts_a_call_once(state: RunState, seen: Dispatch) -> bool:
    """RUN.C17: T1 turns one call into one operation, and uses the grant it names.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch == state.epoch:
        calls, operations = state.calls - 1, state.operations + 1
        if seen.granted and state.grants > 0:
            grants = state.grants - 1
            expected = run_state.changed(state, calls=calls, operations=operations, grants=grants)
        if not seen.granted and _free(state):
            expected = run_state.changed(state, calls=calls, operations=operations)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def counts_an_outcome_once(state: RunState, seen: Settled) -> bool:
    """RUN.C18: An outcome closes one operation: by the tool, or by a later owner's recovery.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if run_state.live(state) and state.operations > 0:
        by_tool = seen.via is Via.TOOL and seen.epoch == state.epoch
        by_recovery = seen.via is Via.RECOVERY and seen.epoch > state.epoch
        if by_tool or by_recovery:
            expected = run_state.changed(state, operations=state.operations - 1)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def answers_a_call_that_never_started(state: RunState, seen: NotStarted) -> bool:
    """RUN.C19: Not started answers one call: an unasked one, or the one whose denial it delivers.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch == state.epoch:
        if seen.denial and state.grants > 0:
            expected = run_state.changed(state, calls=state.calls - 1, grants=state.grants - 1)
        if not seen.denial and _free(state):
            expected = run_state.changed(state, calls=state.calls - 1)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def recovery_is_a_successors(state: RunState, seen: Recovery) -> bool:
    """RUN.C20: Only a later owner observes and decides, and that changes no count of the run.

    pre: run_state.valid(state)
    post: __return__
    """
    later = run_state.live(state) and seen.epoch > state.epoch
    return run_state.leads(machine.TABLE.step(state, seen), state if later else None)


def asks_about_free_calls(state: RunState, seen: Ask) -> bool:
    """RUN.C21: The owner asks a person about one call that is neither started nor asked about.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch == state.epoch and _free(state):
        expected = run_state.changed(state, asks=state.asks + 1)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def decisions_outlive_owners(state: RunState, seen: Answer | Expiry) -> bool:
    """RUN.C22: An answer or a deadline turns one open ask into one decision, under any later owner.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if isinstance(state, Active) and seen.epoch >= state.epoch and state.asks > 0:
        expected = run_state.changed(state, asks=state.asks - 1, grants=state.grants + 1)
    return run_state.leads(machine.TABLE.step(state, seen), expected)


def asks_close_by_right(state: RunState, seen: Closing) -> bool:
    """RUN.C23: An ask closes by its owner; later for a stop, a release, or no wait.

    pre: run_state.valid(state)
    post: __return__
    """
    expected: RunState | None = None
    if run_state.live(state) and state.asks > 0:
        mine = seen.epoch == state.epoch
        kept = isinstance(state, Active) and run_state.waiting(state) and not seen.released
        later = seen.epoch > state.epoch and not kept
        expected = run_state.changed(state, asks=state.asks - 1) if mine or later else None
    return run_state.leads(machine.TABLE.step(state, seen), expected)
