"""The recovery of a root at the level of the journal: everything a successor may write, once."""

from collections.abc import Mapping
from functools import partial

from ...machines.facts.vocabulary import Observation
from ...machines.recovery.operations import Settlement
from ...machines.recovery.runs import Repair
from ...store.journal.claims import RepairClaim
from ...store.journal.recovery import (
    RepairRun,
    Seen,
    SettleLeft,
    left_operations,
    startless_claims,
    unfinished_runs,
)
from ...store.sqlite import SqliteStore
from .teller import NO_DIGEST


def recover_all(store: SqliteStore, sights: Mapping[str, Observation], now_ts: int) -> None:
    """Repair claims, then settle operations, then repair runs (OWN-4).

    Args:
        store: Freshly opened; what of it is proven gone decides what is written.
        sights: What would be seen of each operation that recovery asks to look at.
        now_ts: Milliseconds since 1970.
    """
    for claim in store.read(startless_claims):
        store.write(RepairClaim(claim=claim))
    runs = store.read(unfinished_runs)
    for run in runs:
        for left in store.read(partial(left_operations, run=run)):
            seen = None
            if left.settlement is Settlement.OBSERVE:
                seen = Seen(observation=sights[left.operation], observed=NO_DIGEST)
            store.write(SettleLeft(operation=left.operation, seen=seen))
    for run in runs:
        while store.write(RepairRun(run=run, now_ts=now_ts)) is Repair.EXPIRE:
            pass
