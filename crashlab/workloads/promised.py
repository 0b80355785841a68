"""What the store promises at every death, each an invariant with an id that findings quote."""

from typing import Final

from ..workload import Promise

ACKED_IS_DURABLE: Final = Promise(
    id="STORE.I1",
    claim="What was acknowledged is durable: facts, claims, quarantines, epochs and blobs.",
    why="A caller acted on it, and the next owner would act as if it had not happened (STORE-2).",
)
VERIFIES: Final = Promise(
    id="STORE.I2",
    claim="Whatever the death, the root verifies: bytes, chains, projections, authority, blobs.",
    why="A torn unit is a history that nobody wrote (STORE-2, STORE-8).",
)
TABLES_ADMIT: Final = Promise(
    id="STORE.I3",
    claim="The tables admit every log that a death leaves behind, by exactly the stamped rows.",
    why="A log outside the tables was written by a second, unproven validator (PROOF-5).",
)
ONE_END: Final = Promise(
    id="STORE.I4",
    claim="A run ends at most once, and its end is the last fact of its ledger.",
    why="Two ends are two answers to what became of it (LOG-4).",
)
NEVER_UNSTARTED: Final = Promise(
    id="STORE.I5",
    claim="No call that was dispatched is ever called not started.",
    why="Somebody would start it again, and its effect would happen twice (OP-2).",
)
DURABLE_BEFORE: Final = Promise(
    id="STORE.I6",
    claim="Every request and effect that happened was durable before it, and happened once.",
    why="Recovery cannot know of what was never written (LOG-7, OP-1).",
)
FENCED: Final = Promise(
    id="STORE.I7",
    claim="An owner that was succeeded writes nothing more.",
    why="Two owners decide one question twice (OWN-1).",
)
ANCHORED: Final = Promise(
    id="STORE.I8",
    claim="What was acknowledged is anchored outside the database before its caller is answered.",
    why="Commits that a damaged WAL drops would go unnoticed (STORE-9a).",
    outlives_power=False,
)
REPAIR_REACHES_NOBODY: Final = Promise(
    id="STORE.I9",
    claim="A repaired claim never reached a provider.",
    why="A repair closes what nobody started; a request from it would be nobody's (CONT-7).",
)
NOTHING_STAYS: Final = Promise(
    id="STORE.I10",
    claim="After any death every session can be brought to rest and used again.",
    why="A root that is whole but stuck helps nobody.",
)
ANCHOR_SYNCED: Final = Promise(
    id="STORE.I11",
    claim="What a checkpoint or a close left behind is anchored for good.",
    why="The WAL that held it is overwritten; nothing else would tell that it was lost (STORE-9a).",
)

PROMISES: Final = (
    ACKED_IS_DURABLE,
    VERIFIES,
    TABLES_ADMIT,
    ONE_END,
    NEVER_UNSTARTED,
    DURABLE_BEFORE,
    FENCED,
    ANCHORED,
    REPAIR_REACHES_NOBODY,
    NOTHING_STAYS,
    ANCHOR_SYNCED,
)
