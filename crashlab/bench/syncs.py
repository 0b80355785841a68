"""How often the disk is asked to sync for one tool call, counted at the doors that ask for it."""

from pathlib import Path

from ..workloads.teller import Teller
from .figure import Figure, at_most
from .ground import metered, opened
from .singles import singles


def measure_syncs(place: Path, rounds: int) -> Figure:
    """Count commits (each syncs the WAL once, synchronous=FULL) and probes that say `synced`.

    Checkpoints and the start of a new WAL sync, too, but belong to no single call.
    """
    probed: list[str] = []
    with opened(place, probe=probed.append) as store:
        teller = Teller(session="syncs")
        store.write(teller.open_session())
        commits = beside = calls = 0
        for name, order in singles(teller, rounds):
            probed.clear()
            with metered(store) as meter:
                store.write(order)
            if name in {"dispatch", "outcome"}:
                commits += meter.commits
                beside += sum(probe.endswith("synced") for probe in probed)
                calls += name == "outcome"
    return Figure(
        name="syncs.per_tool_call",
        value=(commits + beside) / calls,
        unit="syncs",
        target=at_most(2.0, "b"),
        parts={"commits": commits / calls, "file_syncs": beside / calls},
    )
