"""The later owners' scenes: what was left is recovered, judged, continued, or given up."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from ...machines.facts import compose, ids
from ...machines.facts.boundary import ControlHead, Manifest, manifest_digest
from ...machines.facts.codes import Code
from ...machines.facts.model import (
    BoundaryAbandoned,
    DriftAccepted,
    FunctionResponse,
    LateOutcome,
    Refs,
    RuntimeEvent,
    SegmentRef,
)
from ...machines.facts.vocabulary import (
    AnswerDecision,
    Author,
    Finish,
    Kind,
    Role,
    RunFailure,
    Verdict,
)
from ...store.journal import writers
from ...store.journal.claims import Claim, StartContinuation
from ...store.journal.ends import AbandonRun, EndRun
from ...store.journal.errors import OwnerFencedError, SessionQuarantinedError
from ...store.journal.ledger import View
from ...store.journal.quarantine import QuarantineSession
from ...store.sqlite import SqliteStore
from .first_owner import SIGHTS, UNKNOWN, settings
from .recovery import recover_all
from .stagehand import Stagehand
from .teller import NO_DIGEST, PROFILE, Teller

NOW_TS: Final = 1_900_000_000_000
"""When every recovery of the lab happens: after all deadlines."""

ZOMBIE_FACT: Final = "zombie-fact"
"""What a fenced owner tries to write."""


def recovered(hand: Stagehand) -> None:
    """Write what a successor may write about what was left."""
    with hand.stage.writer("recovery"):
        recover_all(hand.store, SIGHTS, NOW_TS)
    head = hand.store.heads.now
    hand.stage.ack(f"head {head.ordinal} {head.chain}")


def reattached(hand: Stagehand, rich: Teller, call: RuntimeEvent) -> None:
    """Answer the waiting run, take it up under this owner, and bring it to its end (ASK-3)."""
    ask = ids.ask_id(rich.operation(1, 1), 1)
    hand.unit("answer", writers.answer(rich.answer(ask, AnswerDecision.ALLOW)))
    taken_up = compose.run_reattached(rich.at, rich.fresh(), NO_DIGEST)
    hand.unit("reattach", writers.reattach(taken_up))
    hand.effect(rich.dispatch(call, ask=ask))
    hand.unit("settle", writers.settle(rich.outcome(call)))
    hand.unit("end_run", EndRun(end=rich.failed()))


def judged(hand: Stagehand, left: Teller) -> None:
    """State what is known about the operation that stayed unknown (OP-4, LOG-8)."""
    operation = left.operation(1, UNKNOWN)
    hand.unit("late_outcome", writers.record_late_outcome(_late_outcome(left, operation)))
    hand.unit("verdict", writers.give_verdict(left.verdict(operation, Verdict.HAPPENED)))


def continued(hand: Stagehand, left: Teller) -> None:
    """Claim a failed run, start its continuation, and bring that to its end (CONT-3, CONT-4)."""
    claim = claimed(hand, left)
    left.number += 1
    start = StartContinuation(claim=claim, start=left.fresh(), ts=left.at.ts)
    hand.unit("start_continuation", start)
    hand.request(left.request(1))
    hand.unit("end_run", EndRun(end=left.failed()))


def claimed(hand: Stagehand, teller: Teller) -> str:
    """Claim the teller's run for its next one; a claim without a start is left to be repaired."""
    order = claim_order(hand.store, teller)
    answer = hand.unit("claim", order)
    hand.stage.ack(f"claim {answer.claim}")
    return answer.claim


def given_up(hand: Stagehand, others: Mapping[str, Teller]) -> None:
    """Accept drift, give up a boundary, and give up a run that waits (CONT-8, CONT-11, ASK-3)."""
    stopped, overdue = others["stopped"], others["overdue"]
    boundary = manifest_digest(claim_order(hand.store, stopped).manifest)
    drift = DriftAccepted(boundary=boundary, paths=("notes.txt",))
    told = compose.control(stopped.control, stopped.fresh(), Kind.DRIFT_ACCEPTED, drift)
    hand.unit("accept_drift", writers.accept_drift(told))
    gone = BoundaryAbandoned(run=stopped.run, boundary=boundary)
    told = compose.control(stopped.control, stopped.fresh(), Kind.BOUNDARY_ABANDONED, gone)
    hand.unit("abandon_boundary", writers.abandon_boundary(told))
    abandoned = compose.run_abandoned(overdue.control, overdue.fresh(), overdue.run)
    end = overdue.failed(RunFailure.ABANDONED_BY_PERSON)
    hand.unit("abandon_run", AbandonRun(abandoned=abandoned, end=end))


def quarantined(hand: Stagehand, damaged: Teller) -> None:
    """Contain a session found damaged in the middle of a call; only its end passes (STORE-8).

    Raises:
        AssertionError: It took an outcome all the same.
    """
    hand.unit("open_session", damaged.open_session(key="damaged"))
    hand.unit("open_run", damaged.open_run())
    hand.request(damaged.request(1))
    call = damaged.call(1, 1)
    hand.unit("settle_step", writers.settle_step(call, damaged.settled(Finish.TOOL_CALLS)))
    hand.effect(damaged.dispatch(call))
    order = QuarantineSession(
        session=damaged.session,
        cause=Code.BYTES_NOT_CANONICAL.value,
        first_bad=hand.store.heads.now.ordinal,
        invocation=damaged.at.spine.invocation,
    )
    hand.unit("quarantine", order)
    hand.stage.ack(f"quarantine {damaged.session}")
    with hand.stage.writer("refused"), suppress(SessionQuarantinedError):
        hand.store.write(writers.settle(damaged.outcome(call)))
        raise AssertionError
    hand.unit("end_run", EndRun(end=damaged.failed()))


def fenced(hand: Stagehand, zombie: SqliteStore, teller: Teller) -> None:
    """Let the former owner write, which it must not be able to (OWN-1)."""
    with hand.stage.writer("fenced"):
        try:
            zombie.write(writers.change_session(settings(teller, ZOMBIE_FACT)))
        except OwnerFencedError:
            return


def claim_order(store: SqliteStore, teller: Teller) -> Claim:
    """Return the claim of the teller's present run for its next one, as a planner draws it."""
    after = Teller(session=teller.session, number=teller.number + 1)
    return Claim(
        manifest=store.read(lambda view: _boundary(view, teller)),
        target=after.at.spine,
        projection=1,
        replay=NO_DIGEST,
        profile=PROFILE,
    )


def _late_outcome(left: Teller, operation: str) -> RuntimeEvent:
    at = left.control
    return RuntimeEvent(
        id=ids.late_outcome_fact_id(operation),
        spine=at.spine,
        kind=Kind.LATE_OUTCOME,
        ts=at.ts,
        role=Role.TOOL,
        author=Author.TOOL,
        content=FunctionResponse(label="c", name="bump", result="late", is_error=False),
        actions=LateOutcome(run=left.run),
        refs=Refs(operation=operation),
    )


def _boundary(view: View, teller: Teller) -> Manifest:
    row = view.session(teller.session)
    control = view.head(ids.control_invocation(teller.session))
    source = view.head(teller.at.spine.invocation)
    assert row is not None
    assert control is not None
    assert source is not None
    segment = SegmentRef(
        session=source.spine.session,
        invocation=source.spine.invocation,
        run=source.spine.run,
        turn=source.spine.turn,
        last_seq=source.seq,
        last_id=source.id,
        chain=source.chain,
    )
    return Manifest(
        segments=(segment,),
        context=row.context,
        control=ControlHead(seq=control.seq, chain=control.chain),
    )
