"""The store's workloads: every writer of a real root, killed at every statement.

`store` tells of three owners; `accepted_loss` of a root whose acknowledged facts are gone.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs

from ...store.anchor import Head, open_anchor, read_anchor
from ...store.connect import Connector
from ...store.errors import AcknowledgedFactsMissingError
from ...store.ownership.root import StateRoot
from ...store.probe import no_probe
from ...store.rebuild import refold
from ..workload import Doors, Finding, Observation, Promise, Stage, read_acks
from .finishing import finish_all
from .first_owner import (
    follow_up,
    left_operations,
    left_runs,
    left_waiting,
    opened,
    whole_run,
    workers_recorded,
)
from .later_owners import (
    claimed,
    continued,
    fenced,
    given_up,
    judged,
    quarantined,
    reattached,
    recovered,
)
from .looking import broken, is_made, seen, unverified
from .ownership import ROOT, Open, abandon, own, own_accepting
from .promised import ANCHOR_SYNCED, ANCHORED, PROMISES
from .stagehand import DAMAGED, SESSIONS, Do, Stagehand, acknowledged

_VERIFIED: Final = "verified"
_FORGOTTEN: Final = "f" * 64


def _three_owners(hand: Stagehand) -> None:
    """Tell of three owners in a row; two are abandoned, the second one writes once too often."""
    rich, left, *rest = map(hand.teller, SESSIONS)
    others = {teller.session: teller for teller in rest}
    hand.begin("host-1")
    whole_run(hand, rich)
    follow_up(hand, rich)
    call = left_waiting(hand, rich)
    left_operations(hand, left)
    left_runs(hand, others)
    workers_recorded(hand)
    with hand.stage.writer("abandon"):
        abandon(hand.store)
    hand.begin("host-2")
    recovered(hand)
    reattached(hand, rich, call)
    judged(hand, left)
    continued(hand, left)
    claimed(hand, rich)
    given_up(hand, others)
    quarantined(hand, hand.teller(DAMAGED))
    zombie = hand.store
    assert zombie.tenure is not None
    # As if another file lay where its lock was: a successor opens while it still lives.
    zombie.tenure.release()
    hand.begin("host-3")
    fenced(hand, zombie, others["stopped"])
    with hand.stage.writer("abandon"):
        abandon(zombie)
    recovered(hand)
    hand.close()


def _loses_and_accepts(hand: Stagehand) -> None:
    """Leave calls under way, lose what was acknowledged last, and let a person accept that.

    Raises:
        AssertionError: The root was owned although nobody had accepted anything.
    """
    hand.begin("host-1")
    left_waiting(hand, opened(hand, hand.teller(SESSIONS[0])))
    left_operations(hand, hand.teller(SESSIONS[1]))
    head = hand.store.heads.now
    hand.close()
    # Nobody passes a boundary here: it is the disk that forgets, not a process that writes.
    anchor = open_anchor(StateRoot(path=hand.stage.root, root_id=ROOT).anchor)
    anchor.write(Head(ordinal=head.ordinal + 1, chain=_FORGOTTEN))
    anchor.close()
    with hand.stage.writer("refused"), suppress(AcknowledgedFactsMissingError):
        own(hand.stage.root, hand.stage.host, "host-refused")
        raise AssertionError
    hand.begin("host-2")
    recovered(hand)
    hand.close()


@attrs.frozen(kw_only=True)
class StoreWorkload:
    """A story on a root, told unit by unit.

    Attributes:
        name: What reports show.
        tell: The whole story.
        open: How each owner opens the root; tests plant faults here.
        do: How each order is carried out and acknowledged; tests plant faults here.
    """

    name: str = "store"
    tell: Callable[[Stagehand], None] = attrs.field(default=_three_owners)
    open: Open = own
    do: Do = acknowledged

    @property
    def promises(self) -> tuple[Promise, ...]:
        """Return all invariants that `check` and `finish` may report."""
        return PROMISES

    def script(self, stage: Stage) -> None:
        """Tell everything, from the making of the root to the clean end of its last owner."""
        self.tell(Stagehand(stage=stage, open=self.open, do=self.do))

    def recover(self, stage: Stage) -> None:
        """Note how far the anchor is, then reopen as the next owner and recover."""
        _note_anchor(stage.root)
        hand = Stagehand(stage=stage, open=self.open, do=self.do)
        hand.begin("host-recovery")
        recovered(hand)
        hand.close()

    def observe(self, root: Path) -> Observation:
        """Look at the root and the outside world; change nothing."""
        return seen(root)

    def check(self, root: Path, acks: Sequence[str]) -> Sequence[Finding]:
        """Return every promise that the recovered root breaks.

        The whole root is verified once, right after the recovery: what follows is written by the
        same writers as the script, and matrices are long.
        """
        findings = broken(root, acks)
        findings += [
            Finding(promise=promise.id, detail=note.read_text("ascii"))
            for promise in (ANCHORED, ANCHOR_SYNCED)
            if (note := _note_of(root, promise)).exists()
        ]
        verified = root.parent / _VERIFIED
        if not verified.exists():
            findings += unverified(root)
            verified.touch()
        return findings

    def rebuild(self, root: Path) -> None:
        """Make all projections anew, as the next owner; runs that wait stay open beside it."""
        plain = Doors(factory=Connector().factory, probe=no_probe)
        if is_made(root):
            store = own(root, plain, "host-rebuild")
            refold(store)
            store.close()

    def finish(self, stage: Stage) -> Sequence[Finding]:
        """End what is open in every session, and tell each one more whole run."""
        hand = Stagehand(stage=stage, open=self.open, do=self.do)
        hand.begin("host-finish")
        return finish_all(hand)


def store_workload() -> StoreWorkload:
    """Return the story of three owners."""
    return StoreWorkload()


def accepted_loss() -> StoreWorkload:
    """Return the story of a loss that a person accepts, as often as it has to be."""
    return StoreWorkload(name="accepted_loss", tell=_loses_and_accepts, open=own_accepting)


def _note_anchor(root: Path) -> None:
    """Compare, before anybody writes again, what was acknowledged with what is anchored."""
    acks = [ack.split() for ack in read_acks(root.parent)]
    anchored = read_anchor(StateRoot(path=root, root_id=ROOT).anchor)
    reached = 0 if anchored is None else anchored.ordinal
    for promise, word in ((ANCHORED, "head"), (ANCHOR_SYNCED, "anchored")):
        head = max((int(ack[1]) for ack in acks if ack[0] == word), default=0)
        if head > reached:
            _note_of(root, promise).write_text(f"{reached} < {head}", encoding="ascii")


def _note_of(root: Path, promise: Promise) -> Path:
    return root.parent / f"behind.{promise.id}"
