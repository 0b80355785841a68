"""What a simulated history must keep beside what every killed runtime promises."""

from typing import Final

from ..promises import DIES_THERE, FINISHES, REBUILDS, REPAIR_ONLY, SETTLES, SURVIVES
from ..workload import Promise
from ..workloads.runtime_promised import RUNTIME_PROMISES

TOLD_AS_IT_WAS: Final = Promise(
    id="SIM.I1",
    claim="What the log tells of a call is what happened: nothing started is told as not started,"
    " nothing settled lacks its effect, and what nobody can know is not settled.",
    why="A person or a model decides by it whether to do the thing once more (OP-2, OP-5).",
)
ONE_DECISION: Final = Promise(
    id="SIM.I2",
    claim="A person's decision is consumed once, and only by the call that it was about.",
    why="One approval would pay twice (ASK-2).",
)
NO_BUG_OF_OURS: Final = Promise(
    id="SIM.I3",
    claim="No run ends because the runtime itself failed, whatever the world does to it.",
    why="An error inside of the runtime costs a person their turn, and hides what went wrong.",
)

SIMULATION_PROMISES: Final = (
    *RUNTIME_PROMISES,
    DIES_THERE,
    REPAIR_ONLY,
    SETTLES,
    REBUILDS,
    FINISHES,
    SURVIVES,
    TOLD_AS_IT_WAS,
    ONE_DECISION,
    NO_BUG_OF_OURS,
)
