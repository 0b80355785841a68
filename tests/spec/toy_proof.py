"""What is to be proven about the toy machine; sizes are true, so that any change shows."""

from typing import Final

from crashworthy.spec.invariant import Step, always, attainable, each_step, sometimes
from crashworthy.spec.obligation import MachineProof

from .places import TOY_CONTRACTS, TOY_MACHINE
from .toy_machine import Absent, Closing, Ended, JobState, Working


def _counts(state: JobState) -> bool:
    return not isinstance(state, Working | Closing) or state.tasks >= 0


def _never_reopens(step: Step[JobState]) -> bool:
    return not isinstance(step.before, Closing) or not isinstance(step.after, Working)


COUNTS: Final = always("JOB.I1", "Tasks are counted from zero.", "Work would be lost.", _counts)
ONE_WAY: Final = each_step(
    "JOB.I6", "A closing job stays closing.", "It would hang.", _never_reopens
)
DRAINS: Final = sometimes(
    "JOB.I7",
    "A closing job may have tasks.",
    "Draining would be untested.",
    lambda state: isinstance(state, Closing) and state.tasks > 0,
)
ENDS: Final = attainable(
    "JOB.I8", "A job can end.", "It would hang.", lambda state: isinstance(state, Ended)
)
OPENS: Final = sometimes("JOB.I9", "A job opens.", "Empty.", lambda s: not isinstance(s, Absent))

# tasks 0..2: 1 absent, 3 * 2 working, 3 closing, 2 ended
JOB: Final = MachineProof(
    name="job",
    module=TOY_MACHINE,
    states=12,
    invariants=(COUNTS, ONE_WAY, DRAINS, ENDS, OPENS),
    contracts=(TOY_CONTRACTS,),
)
