"""What the runtime promises at every death, beside what the store under it promises."""

from typing import Final

from ..workload import Promise
from .promised import (
    ACKED_IS_DURABLE,
    DURABLE_BEFORE,
    NEVER_UNSTARTED,
    ONE_END,
    REPAIR_REACHES_NOBODY,
    TABLES_ADMIT,
    VERIFIES,
)

SHOWN_IS_DURABLE: Final = Promise(
    id="RUNTIME.I1",
    claim="Every fact that an observer was shown is in the log.",
    why="A person saw something happen that never happened (STORE-2).",
)
HISTORY_IS_STRICT: Final = Promise(
    id="RUNTIME.I2",
    claim="The history of every session passes the strict checker after any death.",
    why="A provider refuses the next request, and the conversation is lost (PROJ-2).",
)
NOTHING_RUNS: Final = Promise(
    id="RUNTIME.I3",
    claim="After recovery every run is over or waits for a person, and no view says otherwise.",
    why="A run that nobody works on would block its session for ever (CONT-7, OWN-6).",
)
STOPPED_IS_ABORTED: Final = Promise(
    id="RUNTIME.I4",
    claim="A run whose stop is durable ends as aborted, with the source of the stop.",
    why="A person stopped it and is told that it completed, or is waited for (RUN-4).",
)
NOTHING_TWICE: Final = Promise(
    id="RUNTIME.I5",
    claim="No effect that was called for once happens twice, under whatever operation.",
    why="Money is sent twice (section 2 of the design).",
)
FILES_ARE_WHOLE: Final = Promise(
    id="RUNTIME.I6",
    claim="A file holds a whole old or new content that agrees with the log, and no leftovers.",
    why="Half a file is worse than none, and a view that lies about it is worse still (OP-6).",
    outlives_power=False,
)
NEXT_TURN_WORKS: Final = Promise(
    id="RUNTIME.I7",
    claim="After any death waiting runs can be taken up and every session takes a new turn.",
    why="A log that is explained but stuck helps nobody.",
)

WORKS_ONLY_READY: Final = Promise(
    id="RUNTIME.I8",
    claim="A host takes on work only after it recovered the root, and none once it drains.",
    why="A client is served from a root that is not recovered, or by a host that goes (HST.I1).",
)
LETS_GO_LAST: Final = Promise(
    id="RUNTIME.I9",
    claim="A host holds the root at each boundary that it or a worker of it passes.",
    why="Another process owns the root beside what still writes to it or acts for it (HST.I2).",
)
HOSTS_END: Final = Promise(
    id="RUNTIME.I10",
    claim="A host that is told to end, fails or is cancelled in any phase ends and frees the root.",
    why="A host hangs for ever, and nobody else can own the root (HST.I3).",
)

RUNTIME_PROMISES: Final = (
    ACKED_IS_DURABLE,
    VERIFIES,
    TABLES_ADMIT,
    ONE_END,
    NEVER_UNSTARTED,
    DURABLE_BEFORE,
    REPAIR_REACHES_NOBODY,
    SHOWN_IS_DURABLE,
    HISTORY_IS_STRICT,
    NOTHING_RUNS,
    STOPPED_IS_ABORTED,
    NOTHING_TWICE,
    FILES_ARE_WHOLE,
    NEXT_TURN_WORKS,
    WORKS_ONLY_READY,
    LETS_GO_LAST,
    HOSTS_END,
)
