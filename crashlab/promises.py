"""What the lab itself demands of every death, whatever the workload promises beside it."""

from typing import Final

from .workload import Promise

DIES_THERE: Final = Promise(
    id="CRASH.I1",
    claim="The victim dies exactly at the chosen point, by SIGKILL.",
    why="A victim that ended elsewhere would pass every check without having been tested.",
)
REPAIR_ONLY: Final = Promise(
    id="CRASH.I2",
    claim="Recovery makes no request and causes no effect.",
    why="What touched the world would happen twice.",
)
SETTLES: Final = Promise(
    id="CRASH.I3",
    claim="A second recovery adds no fact.",
    why="A host that restarts often would write its history full, or decide a question twice.",
)
REBUILDS: Final = Promise(
    id="CRASH.I4",
    claim="Rebuilt projections are identical to those that the crash left behind.",
    why="A projection that is not a function of the facts is a second, unproven truth.",
)
FINISHES: Final = Promise(
    id="CRASH.I5",
    claim="The work can be brought to its end after any death.",
    why="A store that is whole but stuck helps nobody.",
)
SURVIVES: Final = Promise(
    id="CRASH.I6",
    claim="Recovery, checks and rebuild end by themselves and without an error.",
    why="Whoever reopens after a crash gets an answer, not a second crash.",
)
REPEATS: Final = Promise(
    id="CRASH.I7",
    claim="A rehearsal passes the same boundaries each time.",
    why="Occurrence numbers that move name other places in the victim than in the rehearsal.",
)
SEES_ALL: Final = Promise(
    id="CRASH.I8",
    claim="No statement and no connection bypasses the lab.",
    why="A boundary that is not seen is a boundary at which nobody dies.",
)
LOOKS_ONLY: Final = Promise(
    id="CRASH.I9",
    claim="Looking at a root changes nothing in it.",
    why="A tool that inspects a crashed root would destroy the evidence (STORE-10).",
)

LAB_PROMISES: Final = (
    DIES_THERE,
    REPAIR_ONLY,
    SETTLES,
    REBUILDS,
    FINISHES,
    SURVIVES,
    REPEATS,
    SEES_ALL,
    LOOKS_ONLY,
)
