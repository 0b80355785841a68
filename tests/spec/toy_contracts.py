"""Contracts of the toy machine in the house form: all of them are true."""

from crashworthy.machines.lifecycles.table import Refused

from . import toy_machine as job
from .toy_machine import (
    Absent,
    Add,
    By,
    Closing,
    End,
    Ended,
    Finish,
    JobSeen,
    JobState,
    Open,
    Result,
    Stop,
    Working,
)


def counted(state: JobState) -> bool:
    """Say whether the counter of a state is one."""
    return not isinstance(state, Working | Closing) or state.tasks >= 0


def counters_stay(state: JobState, seen: JobSeen) -> bool:
    """JOB.I1: no counter falls below zero.

    pre: counted(state)
    post: __return__
    """
    outcome = job.TABLE.step(state, seen)
    return isinstance(outcome, Refused) or counted(outcome[0])


def end_is_quiet(state: Working | Closing, seen: End) -> bool:
    """JOB.I2: a job ends exactly when nothing is left, and good only without trouble.

    post: __return__
    """
    outcome = job.TABLE.step(state, seen)
    if isinstance(state, Working):
        wanted = (state.tasks == 0) & (not state.troubled) & (seen.result is Result.GOOD)
    else:
        wanted = (state.tasks == 0) & (seen.result is Result.BAD)
    if isinstance(outcome, Refused):
        return not wanted
    return wanted and outcome[0] == Ended(result=seen.result)


def ended_is_sealed(state: Ended, seen: JobSeen) -> bool:
    """JOB.I3: nothing follows the end.

    post: __return__
    """
    return isinstance(job.TABLE.decide(state, seen), Refused)


def opening_is_fresh(state: Absent, seen: Open) -> bool:
    """JOB.I4: the owner, and nobody else, opens a job without tasks and trouble.

    post: __return__
    """
    outcome = job.TABLE.step(state, seen)
    if isinstance(outcome, Refused):
        return seen.by is not By.OWNER
    return seen.by is By.OWNER and outcome[0] == Working(tasks=0, troubled=False)


def tasks_are_counted(state: Working | Closing, seen: Add | Finish) -> bool:
    """JOB.I5: a task is added by the owner while working, and finishes once.

    pre: counted(state)
    post: __return__
    """
    outcome = job.TABLE.step(state, seen)
    if isinstance(outcome, Refused):
        if isinstance(seen, Finish):
            return state.tasks == 0
        return isinstance(state, Closing) or seen.by is By.OTHER
    after = outcome[0]
    if isinstance(seen, Add):
        return (
            isinstance(state, Working)
            and seen.by is By.OWNER
            and after == Working(tasks=state.tasks + 1, troubled=state.troubled)
        )
    if isinstance(state, Working):
        troubled = state.troubled or not seen.good
        return after == Working(tasks=state.tasks - 1, troubled=troubled)
    return after == Closing(tasks=state.tasks - 1)


def anybody_stops(state: JobState, seen: Stop) -> bool:
    """JOB.I10: anybody may stop a working job, and it keeps its tasks.

    post: __return__
    """
    outcome = job.TABLE.step(state, seen)
    if isinstance(outcome, Refused):
        return not isinstance(state, Working)
    return isinstance(state, Working) and outcome[0] == Closing(tasks=state.tasks)
