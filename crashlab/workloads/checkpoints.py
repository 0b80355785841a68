"""The workload `checkpoints`: few facts, and everything that moves them from file to file.

What a power loss can do to a store depends on which of its files holds what, not on how many kinds
of facts there are. So here are commits behind a checkpoint, which overwrite the WAL; blobs of
several sectors; an owner that is cut off and one that ends; and roots opened behind either.
"""

from typing import Final

from ...machines.facts import compose
from ...machines.facts.model import ArtifactAdded, RuntimeEvent
from ...machines.facts.vocabulary import Finish
from ...store.blobs import BlobRef
from ...store.journal import writers
from ...store.journal.ends import EndRun
from .later_owners import recovered
from .ownership import abandon
from .stagehand import SESSIONS, WIRE_PART, Stagehand
from .store import StoreWorkload
from .teller import Teller

_BLOB: Final = bytes(range(256)) * 10
"""What a tool made: five sectors."""


def tell_through_checkpoints(hand: Stagehand) -> None:
    """Tell runs of one session, each in another state of the files, under three owners."""
    teller = hand.teller(SESSIONS[0])
    hand.begin("host-1")
    hand.unit("open_session", teller.open_session(key=teller.session))
    _run(hand, teller, "in a new WAL")
    hand.checkpoint()
    _run(hand, teller, "over an emptied WAL")
    _run(hand, teller, "and once more")
    hand.checkpoint()
    _begin(hand, teller)
    with hand.stage.writer("abandon"):
        abandon(hand.store)
    hand.begin("host-2")
    recovered(hand)
    _run(hand, teller, "behind an owner that was cut off")
    hand.close()
    hand.begin("host-3")
    _run(hand, teller, "behind an owner that closed")
    hand.checkpoint()
    _run(hand, teller, "for the last time")
    hand.close()


def _begin(hand: Stagehand, teller: Teller) -> None:
    hand.blob(WIRE_PART)
    hand.unit("open_run", teller.open_run())
    hand.request(teller.request(1))


def _run(hand: Stagehand, teller: Teller, words: str) -> None:
    """Tell a run with one call and what it made."""
    _begin(hand, teller)
    call = teller.call(1, 1)
    hand.unit("settle_step", writers.settle_step(call, teller.settled(Finish.TOOL_CALLS)))
    hand.effect(teller.dispatch(call))
    ref = hand.blob(words.encode() + _BLOB)
    hand.unit("settle", writers.settle(teller.outcome(call), _artifact(teller, call, ref)))
    hand.stage.ack(f"blob {ref.blob} {ref.size_bytes}")
    hand.unit("end_run", EndRun(end=teller.failed()))


def _artifact(teller: Teller, call: RuntimeEvent, ref: BlobRef) -> RuntimeEvent:
    """Return the fact that names what a call made."""
    assert call.refs.operation is not None
    action = ArtifactAdded(
        name="made", media_type="text/plain", blob=ref.blob, bytes=ref.size_bytes
    )
    return compose.artifact_added(teller.at, teller.fresh(), call.refs.operation, action)


def checkpoints_workload() -> StoreWorkload:
    """Return the workload as it is registered."""
    return StoreWorkload(name="checkpoints", tell=tell_through_checkpoints)
