"""Contracts that must not be confirmed, each for its own reason."""

from crashworthy.machines.lifecycles.table import Refused

from . import toy_machine as job
from .toy_machine import Closing, End, JobSeen, JobState, Working


def needle(state: Working, seen: JobSeen) -> bool:
    """Be wrong for one value of a counter only.

    post: __return__
    """
    refused = isinstance(job.TABLE.decide(state, seen), Refused)
    return refused or state.tasks != 7_777


def stop_has_no_end(state: JobState, seen: End) -> bool:
    """Be wrong about one row.

    post: __return__
    """
    return not isinstance(state, Closing) or isinstance(job.TABLE.decide(state, seen), Refused)


def endless(count: int) -> bool:
    """Be true, but only after a search without end.

    post: __return__
    """
    total = 0
    for number in range(count):
        total += number
    return total >= 0


def dies(state: Working) -> bool:
    """Take the prover's process down.

    post: __return__
    """
    import os  # noqa: PLC0415 - a contract module has no business with it elsewhere

    os._exit(state.tasks)
