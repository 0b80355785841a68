"""Acts for puppets that meet in one store: by real locks, or by a door that has none.

The door without a lock exists only here. It is put together from public pieces, shares one epoch
between two processes, and so lets the transaction itself be raced (CRASH-3). A side meets the other
once in each of many sessions, so that a round costs what it races and nothing else.
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path

import attrs

from crashworthy.crashlab.puppet import Scene
from crashworthy.crashlab.workload import Doors
from crashworthy.crashlab.workloads.first_owner import EVIDENCE
from crashworthy.crashlab.workloads.later_owners import claim_order
from crashworthy.crashlab.workloads.ownership import ROOT, abandon, own
from crashworthy.crashlab.workloads.teller import NO_DIGEST, Teller
from crashworthy.machines.facts.boundary import manifest_digest
from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.machines.facts.ids import ask_id, claim_id
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    Finish,
    Observation,
    RecoveryMode,
    Verdict,
)
from crashworthy.store import epochs
from crashworthy.store.connect import Connector
from crashworthy.store.journal import writers
from crashworthy.store.journal.append import Appended
from crashworthy.store.journal.claims import Claim, Claimed, RepairClaim
from crashworthy.store.journal.dicts import pages
from crashworthy.store.journal.ends import EndRun
from crashworthy.store.journal.evidence import SqlView
from crashworthy.store.journal.orders import Append, Order
from crashworthy.store.journal.records import Owner
from crashworthy.store.journal.recovery import RepairRun, Seen, SettleLeft
from crashworthy.store.ownership.lock import take_owner_lock
from crashworthy.store.ownership.root import StateRoot
from crashworthy.store.probe import no_probe
from crashworthy.store.reader import open_reader
from crashworthy.store.rebuild import refold
from crashworthy.store.runner import InlineRunner
from crashworthy.store.schema import NEWEST
from crashworthy.store.sqlite import Heads, SqliteStore, make_writer
from crashworthy.store.txn import WriteDoor
from crashworthy.store.verify import verify

DOORS = Doors(factory=Connector().factory, probe=no_probe)
LATER = 500
"""Facts of the sides are numbered from here, and from twice as far for the second side."""


# --- what they meet about: one session a round ---


def prepare(scene: Scene) -> str:
    """Tell so many sessions of a kind; for some kinds their owner is gone and another came."""
    kind, sessions = scene.argument.split()
    tell, left = TOLD[kind]
    scene.root.rmdir()
    store = own(scene.root, DOORS, "host-1")
    for number in range(int(sessions)):
        tell(store, Teller(session=f"s{number}"))
    if left:
        abandon(store)
        store = own(scene.root, DOORS, "host-2")
    store.writer.checkpointer.final()
    abandon(store)
    return "prepared"


def _opened(store: SqliteStore, teller: Teller) -> None:
    store.write(teller.open_session())
    store.write(teller.open_run())


def _asking(store: SqliteStore, teller: Teller) -> None:
    _opened(store, teller)
    store.write(writers.dispatch_request(teller.request(1)))


def _called(store: SqliteStore, teller: Teller, *modes: RecoveryMode) -> None:
    _asking(store, teller)
    calls = [teller.call(1, position) for position in range(1, len(modes) + 1)]
    store.write(writers.settle_step(*calls, teller.settled(Finish.TOOL_CALLS)))
    for call, mode in zip(calls, modes, strict=True):
        evidence = EVIDENCE if mode is RecoveryMode.RECONCILE else None
        store.write(writers.dispatch(teller.dispatch(call, mode, evidence=evidence)))


def _undecided(store: SqliteStore, teller: Teller) -> None:
    """Place two calls; a person is asked about the second."""
    _asking(store, teller)
    calls = [teller.call(1, 1), teller.call(1, 2)]
    store.write(writers.settle_step(*calls, teller.settled(Finish.TOOL_CALLS)))
    store.write(writers.ask(teller.ask(calls[1])[1]))


def _unknown(store: SqliteStore, teller: Teller) -> None:
    _called(store, teller, RecoveryMode.NEVER_AUTO_RETRY)
    store.write(EndRun(end=teller.failed()))


def _left(store: SqliteStore, teller: Teller) -> None:
    _called(store, teller, RecoveryMode.REPLAY_SAFE, RecoveryMode.RECONCILE)


def _claimed(store: SqliteStore, teller: Teller) -> None:
    _opened(store, teller)
    store.write(EndRun(end=teller.failed()))
    store.write(claim_order(store, teller))


TOLD: dict[str, tuple[Callable[[SqliteStore, Teller], None], bool]] = {
    "asking": (_asking, False),
    "undecided": (_undecided, False),
    "unknown": (_unknown, True),
    "left": (_left, True),
    "open": (_opened, True),
    "claimed": (_claimed, True),
}


# --- the door without a lock ---


@contextlib.contextmanager
def shared(path: Path) -> Generator[SqliteStore]:
    """Write as the present epoch, beside whoever else does."""
    database = StateRoot(path=path, root_id=ROOT).database
    door = WriteDoor(connection=Connector().open_owner(database, newest=NEWEST))
    reader = open_reader(Connector(), database, newest=NEWEST)
    view = SqlView(reader.fetch)
    owner = Owner(root=ROOT, epoch=view.lease().epoch)
    heads = Heads(view.last())
    writer = make_writer(
        door,
        owner,
        heads,
        database=database,
        anchor=None,
        runner=InlineRunner(),
        idle_s=None,
    )
    yield SqliteStore(owner=owner, writer=writer, heads=heads, reader=reader)
    door.close()
    reader.close()


# --- the sides ---


def side(scene: Scene) -> str:
    """Carry one order out in each session, each after its own start signal; return all results.

    A result is a word of a closed enum, or the code of a refusal.
    """
    name, rounds = scene.argument.split()
    results: list[str] = []
    with shared(scene.root) as store:
        for number in range(int(rounds)):
            do = SIDES[name](store, f"s{number}")
            scene.pause(str(number))
            try:
                results.append(do())
            except CrashworthyError as error:
                results.append(error.code.value)
    return " ".join(results)


Do = Callable[[], str]


def _claim(store: SqliteStore, session: str, target: int = 2) -> Do:
    order: Claim = claim_order(store, Teller(session=session, number=1))
    order = attrs.evolve(order, target=Teller(session=session, number=target).at.spine)

    def do() -> str:
        answer: Claimed = store.write(order)
        return answer.result.value

    return do


def _claim_elsewhere(store: SqliteStore, session: str) -> Do:
    return _claim(store, session, 3)


def _verdict(store: SqliteStore, session: str) -> Do:
    """Append to the control ledger that a claim pins: a claimed source accepts no more facts."""
    teller = Teller(session=session, number=1, told=LATER)
    return _written(
        store, writers.give_verdict(teller.verdict(teller.operation(1, 1), Verdict.HAPPENED))
    )


def _allow(store: SqliteStore, session: str) -> Do:
    return _answer(store, Teller(session=session, number=1, told=LATER), AnswerDecision.ALLOW)


def _deny(store: SqliteStore, session: str) -> Do:
    return _answer(store, Teller(session=session, number=1, told=2 * LATER), AnswerDecision.DENY)


def _answer(store: SqliteStore, teller: Teller, decision: AnswerDecision) -> Do:
    ask = ask_id(teller.operation(1, 2), 1)
    return _written(store, writers.answer(teller.answer(ask, decision)))


def _dispatch(store: SqliteStore, session: str) -> Do:
    teller = Teller(session=session, number=1, told=LATER, asked=f"{session}-run-1-req-1-1")
    return _written(store, writers.dispatch(teller.dispatch(teller.call(1, 1))))


def _append(store: SqliteStore, session: str) -> Do:
    """Append to one session, for a rebuild folds the whole root: the more in it, the fewer meet."""
    past = LATER + 10 * int(session.removeprefix("s"))
    teller = Teller(session="s0", number=1, told=past, asked="s0-run-1-req-1-1")
    return _written(store, writers.add_content(teller.text("meanwhile")))


def _written(store: SqliteStore, order: Append) -> Do:
    def do() -> str:
        appended: Appended = store.write(order)
        return "created" if appended.created else "found"

    return do


def _settle(store: SqliteStore, session: str) -> Do:
    return _said(store, SettleLeft(operation=Teller(session=session, number=1).operation(1, 1)))


def _finalise(store: SqliteStore, session: str) -> Do:
    return _observed(store, session, Observation.MATCHES_EXPECTED_STATE)


def _park(store: SqliteStore, session: str) -> Do:
    return _observed(store, session, Observation.DIVERGED)


def _observed(store: SqliteStore, session: str, observation: Observation) -> Do:
    seen = Seen(observation=observation, observed=NO_DIGEST)
    name = Teller(session=session, number=1).operation(1, 2)
    return _said(store, SettleLeft(operation=name, seen=seen))


def _repair(store: SqliteStore, session: str) -> Do:
    return _said(store, RepairRun(run=f"{session}-run-1", now_ts=0))


def _repair_claim(store: SqliteStore, session: str) -> Do:
    manifest = claim_order(store, Teller(session=session, number=1)).manifest
    return _said(store, RepairClaim(claim=claim_id(manifest_digest(manifest))))


def _said(store: SqliteStore, order: Order[str]) -> Do:
    return lambda: str(store.write(order))


def _rebuild(store: SqliteStore, _session: str) -> Do:
    return lambda: "damaged" if refold(store).findings else "whole"


SIDES: dict[str, Callable[[SqliteStore, str], Do]] = {
    "claim": _claim,
    "claim_elsewhere": _claim_elsewhere,
    "verdict": _verdict,
    "allow": _allow,
    "deny": _deny,
    "dispatch": _dispatch,
    "append": _append,
    "settle": _settle,
    "finalise": _finalise,
    "park": _park,
    "repair": _repair,
    "repair_claim": _repair_claim,
    "rebuild": _rebuild,
}


# --- what came of it ---


def look(scene: Scene) -> str:
    """Return what is wrong with the root, or how often each session has a fact of these kinds.

    The argument names the kinds; the counts of all sessions are one, so one is returned.
    """
    wrong = [str(finding) for finding in verify(scene.root).findings]
    if wrong:
        return "; ".join(wrong)
    kinds = set(scene.argument.split())
    counts: Counter[tuple[str, str]] = Counter()
    with shared(scene.root) as store:
        for fact in store.read(lambda view: list(pages(view))):
            counts[fact.place.spine.session, fact.place.kind.value] += 1
    sessions = {session for session, _kind in counts}
    found = {tuple((k, counts[session, k]) for k in sorted(kinds)) for session in sessions}
    return " ".join(f"{k}={n}" for one in sorted(found) for k, n in one)


# --- real locks ---


def own_in_turn(scene: Scene) -> str:
    """Try to own the root in each round, and hold it until both have tried."""
    results: list[str] = []
    for number in range(int(scene.argument)):
        scene.pause(f"try {number}")
        try:
            store = own(scene.root, DOORS, "host")
        except CrashworthyError as error:
            results.append(error.code.value)
            scene.pause(f"tried {number}")
        else:
            results.append("owned")
            scene.pause(f"tried {number}")
            abandon(store)
    return " ".join(results)


def be_zombie(scene: Scene) -> str:
    """Own the root in each round, hold still, and go on as if nothing had happened."""
    results: list[str] = []
    for number in range(int(scene.argument)):
        store = own(scene.root, DOORS, "zombie")
        teller = Teller(session=f"zombie{number}")
        _asking(store, teller)
        scene.pause(f"owning {number}")
        orders: tuple[Order[object], ...] = (
            writers.add_content(teller.text()),
            EndRun(end=teller.failed()),
            Teller(session=f"late{number}").open_session(),
        )
        results += [_refused(store, order) for order in orders]
        abandon(store)
    return " ".join(results)


def _refused(store: SqliteStore, order: Order[object]) -> str:
    try:
        store.write(order)
    except CrashworthyError as error:
        return error.code.value
    return "written"


def take_over(scene: Scene) -> str:
    """Own a root whose recorded owner lives, through a door that skips exactly that check."""
    root = StateRoot(path=scene.root, root_id=ROOT)
    root.owner_lock.unlink()
    lock = take_owner_lock(root.owner_lock)
    door = WriteDoor(connection=Connector().open_owner(root.database, newest=NEWEST))
    opener = epochs.Opener(host="successor", since="lab", held=lock.held)
    epoch = door.transact(lambda txn: epochs.open_epoch(txn, opener))
    door.close()
    lock.release()
    with shared(scene.root) as store:
        store.write(Teller(session=f"successor{epoch}").open_session())
    return "taken"
