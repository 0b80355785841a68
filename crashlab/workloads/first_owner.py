"""The first owner's scenes: a whole run with everything in it, and one ruin of each kind."""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

import attrs

from ...machines.facts import compose
from ...machines.facts.digests import Domain, digest
from ...machines.facts.model import (
    ArtifactAdded,
    FileEvidence,
    FileIdentity,
    MessageRetracted,
    MessageReturned,
    Refs,
    RuntimeEvent,
    SettingsChanged,
)
from ...machines.facts.vocabulary import (
    AnswerDecision,
    Author,
    CloseReason,
    Failure,
    FileKind,
    Finish,
    Intent,
    Kind,
    Observation,
    OutcomeResult,
    RecoveryMode,
    ReturnReason,
)
from ...store import epochs
from ...store.journal import writers
from ...store.journal.ends import EndRun, Stop
from ...store.journal.partials import Lane, UpsertPartial
from ...store.journal.starts import QueueMessage
from ...store.ownership.workers import LeftWorker
from ...store.platform import ProcessIdentity
from ...store.txn import Txn
from .stagehand import WIRE_PART, Stagehand
from .teller import Teller

DEADLINE: Final = 1_800_000_000_500
"""Milliseconds since 1970: later than the facts before it, and past when a successor looks."""

_IMAGE: Final = b"abc"
EVIDENCE: Final = FileEvidence(
    workspace="ws-lab",
    target="notes.txt",
    before=FileIdentity(kind=FileKind.ABSENT),
    after=FileIdentity(
        kind=FileKind.FILE, digest=digest(Domain.BLOB, _IMAGE), bytes=len(_IMAGE), mode=0o644
    ),
    transform=1,
    result={"written": len(_IMAGE)},
    limit_bytes=1_000,
)

# By position in the step: one operation for each form of a recovery bundle (the three parks after
# an observation are one form), and one that stays unknown.
_MODES: Final = (
    RecoveryMode.REPLAY_SAFE,
    RecoveryMode.IDEMPOTENT,
    RecoveryMode.RECONCILE,
    RecoveryMode.RECONCILE,
    RecoveryMode.NEVER_AUTO_RETRY,
)
UNKNOWN: Final = len(_MODES)
"""The position of the operation that nobody can settle but a person."""

_OBSERVATIONS: Final = {
    3: Observation.MATCHES_EXPECTED_STATE,
    4: Observation.DIVERGED,
}
_LEFT: Final = Teller(session="left", number=1)
_WORKERS: Final = ("worker-1", "worker-2")
SIGHTS: Final[Mapping[str, Observation]] = MappingProxyType(
    {_LEFT.operation(1, position): seen for position, seen in _OBSERVATIONS.items()}
)
"""What would be seen of each operation that is to be reconciled."""


def whole_run(hand: Stagehand, rich: Teller) -> None:
    """Open a session and tell a run that completes, through every writer of a living run."""
    hand.unit("open_session", rich.open_session(key="rich"))
    hand.unit("change_session", writers.change_session(settings(rich, rich.fresh())))
    hand.unit("open_run", rich.open_run(key="first"))
    _asked_twice(hand, rich)
    calls = [rich.call(1, position, path=str(position)) for position in range(1, 6)]
    hand.unit(
        "settle_step",
        writers.settle_step(rich.text(stream="s1"), *calls, rich.settled(Finish.TOOL_CALLS)),
    )
    _parallel(hand, rich, calls[0], calls[1])
    _decided(hand, rich, calls[2], calls[3], calls[4])
    _messages(hand, rich)
    hand.request(rich.request(2))
    hand.unit("settle_step", writers.settle_step(rich.text(), rich.settled(Finish.STOP)))
    hand.unit("end_run", EndRun(end=rich.completed()))


def _asked_twice(hand: Stagehand, rich: Teller) -> None:
    hand.blob(WIRE_PART)
    hand.request(rich.request(1))
    hand.unit("settle_request", writers.settle_request(*rich.request_failed(Failure.NETWORK)))
    hand.request(rich.request(1, attempt=2))
    hand.unit("partial", _partial(rich, rich.asked, Lane.TEXT, "hel"))
    hand.unit("content", writers.add_content(rich.text("first", stream="s0")))


def _partial(teller: Teller, owner: str, lane: Lane, words: str) -> UpsertPartial:
    return UpsertPartial(
        spine=teller.at.spine,
        owner=owner,
        stream="s1",
        lane=lane,
        text=words,
        bytes_total=len(words),
    )


def _parallel(hand: Stagehand, rich: Teller, one: RuntimeEvent, two: RuntimeEvent) -> None:
    """Run two calls side by side; the second settles first (OP-3)."""
    hand.effect(rich.dispatch(one))
    hand.effect(rich.dispatch(two))
    assert two.refs.operation is not None
    hand.unit("partial", _partial(rich, two.refs.operation, Lane.OUTPUT, "half"))
    ref = hand.blob(b"what the tool made")
    made = compose.artifact_added(
        rich.at,
        rich.fresh(),
        two.refs.operation,
        ArtifactAdded(name="made", media_type="text/plain", blob=ref.blob, bytes=ref.size_bytes),
    )
    hand.unit("settle", writers.settle(rich.outcome(two), made))
    hand.stage.ack(f"blob {ref.blob} {ref.size_bytes}")
    hand.unit("settle", writers.settle(rich.outcome(one)))


def _decided(
    hand: Stagehand, rich: Teller, first: RuntimeEvent, second: RuntimeEvent, third: RuntimeEvent
) -> None:
    """Ask a person about three calls: one is allowed, one denied, one closed by policy."""
    asks = [rich.ask(call) for call in (first, second, third)]
    allowed, denied, closed = (name for name, _opened in asks)
    hand.unit("ask", writers.ask(*(opened for _name, opened in asks)))
    hand.unit("answer", writers.answer(rich.answer(allowed, AnswerDecision.ALLOW)))
    hand.unit("answer", writers.answer(rich.answer(denied, AnswerDecision.DENY)))
    hand.unit("close_ask", writers.close_asks(rich.close(closed, CloseReason.POLICY)))
    hand.effect(rich.dispatch(first, ask=allowed))
    hand.unit("settle", writers.settle(rich.outcome(first)))
    refusal = rich.refusal(second, OutcomeResult.DENIED, denied)
    hand.unit("refuse_call", writers.refuse_call(refusal))
    hand.unit("refuse_call", writers.refuse_call(rich.refusal(third, OutcomeResult.BLOCKED)))


def _messages(hand: Stagehand, rich: Teller) -> None:
    """Queue four messages: one steers, one goes back, one is retracted, one starts the next run."""
    for message, intent in (
        ("steers", Intent.STEER),
        ("returns", Intent.STEER),
        ("retracted", Intent.FOLLOW_UP),
        ("follows", Intent.FOLLOW_UP),
    ):
        hand.unit("queue_message", QueueMessage(fact=rich.queued(message, intent)))
    hand.unit("steer", writers.steer(*rich.steering("steers")))
    back = MessageReturned(reason=ReturnReason.RUN_ENDED)
    returned = compose.message_returned(rich.control, rich.fresh(), "returns", back)
    hand.unit("return_message", writers.return_messages(returned))
    retracted = attrs.evolve(
        compose.control(
            rich.control, rich.fresh(), Kind.MESSAGE_RETRACTED, MessageRetracted(), Author.USER
        ),
        refs=Refs(message="retracted"),
    )
    hand.unit("retract_message", writers.retract_message(retracted))


def follow_up(hand: Stagehand, rich: Teller) -> None:
    """Start a run with a queued message, and stop it."""
    hand.unit("open_run", rich.open_run(taken="follows"))
    hand.unit("stop", Stop(fact=rich.stop()))
    hand.unit("end_run", EndRun(end=rich.aborted()))


def opened(hand: Stagehand, teller: Teller) -> Teller:
    """Open a teller's session, and return the teller."""
    hand.unit("open_session", teller.open_session(key=teller.session))
    hand.blob(WIRE_PART)
    return teller


def left_waiting(hand: Stagehand, rich: Teller) -> RuntimeEvent:
    """Leave a run that waits for a person, and return the call that it asked about."""
    hand.unit("open_run", rich.open_run())
    call = _called(hand, rich)
    hand.unit("ask", writers.ask(rich.ask(call)[1]))
    return call


def left_operations(hand: Stagehand, left: Teller) -> None:
    """Leave operations of every recovery contract dispatched and without an outcome."""
    hand.unit("open_session", left.open_session(key="left"))
    hand.unit("open_run", left.open_run())
    hand.request(left.request(1))
    calls = [left.call(1, at, path=str(at)) for at in range(1, len(_MODES) + 1)]
    hand.unit("settle_step", writers.settle_step(*calls, left.settled(Finish.TOOL_CALLS)))
    hand.blob(_IMAGE)
    for call, mode in zip(calls, _MODES, strict=True):
        key = "key" if mode is RecoveryMode.IDEMPOTENT else None
        evidence = EVIDENCE if mode is RecoveryMode.RECONCILE else None
        hand.effect(left.dispatch(call, mode, key=key, evidence=evidence))


def left_runs(hand: Stagehand, others: Mapping[str, Teller]) -> None:
    """Leave a run that was stopped and one whose request to a person is overdue (CONT-7)."""
    for name, teller in others.items():
        hand.unit("open_session", teller.open_session(key=name))
        hand.unit("open_run", teller.open_run())
    hand.unit("stop", Stop(fact=others["stopped"].stop()))
    overdue = others["overdue"]
    call = _called(hand, overdue)
    hand.unit("ask", writers.ask(overdue.ask(call, deadline=DEADLINE)[1]))


def workers_recorded(hand: Stagehand) -> None:
    """Record two workers before they could act, and that one of them ended (OWN-2)."""
    epoch = hand.store.owner.epoch
    with hand.stage.writer("record_worker"):
        for name in _WORKERS:
            hand.store.transact(partial(_record, name=name, epoch=epoch))
    with hand.stage.writer("record_worker_ended"):
        hand.store.transact(partial(epochs.record_worker_ended, worker=_WORKERS[0]))


def _record(txn: Txn, *, name: str, epoch: int) -> None:
    # Of another boot and in no group of its own: whatever this pid is now, nobody ends it.
    process = ProcessIdentity(pid=1, boot_id="lab", started="lab")
    epochs.record_worker(txn, name, epoch, LeftWorker(process=process, group=1))


def settings(teller: Teller, fact: str) -> RuntimeEvent:
    """Return new settings of a session."""
    action = SettingsChanged(revision=1, settings={"tone": "plain"})
    return compose.control(teller.control, fact, Kind.SETTINGS_CHANGED, action)


def _called(hand: Stagehand, teller: Teller) -> RuntimeEvent:
    """Ask the model once; it answers with one call."""
    hand.request(teller.request(1))
    call = teller.call(1, 1)
    hand.unit("settle_step", writers.settle_step(call, teller.settled(Finish.TOOL_CALLS)))
    return call
