"""After any death: end what is open in every session, and tell each one more whole run."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import attrs

from ...machines.facts import compose
from ...machines.facts.model import AskAnswered, RunEnded
from ...machines.facts.vocabulary import AnswerDecision, Finish, RunStatus
from ...store.journal import writers
from ...store.journal.ends import EndRun, Stop
from ...store.journal.ledger import View
from ...store.journal.pending import Pending
from ...store.journal.recovery import startless_claims, unfinished_runs
from ..workload import Finding
from .later_owners import recovered
from .promised import NOTHING_STAYS
from .stagehand import SESSIONS, WIRE_PART, Stagehand
from .teller import NO_DIGEST, Teller

LATER: Final = 1_000
"""Runs and facts of a finish are numbered from a multiple of this, beside those of any half-told
script, and of a finish that died."""


def finish_all(hand: Stagehand) -> Sequence[Finding]:
    """Bring every session to rest and use it again; say what could not be done.

    Sessions that the script did not reach need no finish; the first one is made if need be.
    """
    recovered(hand)
    hand.blob(WIRE_PART)
    past = LATER * (hand.store.heads.now.ordinal + 1)
    for session in SESSIONS:
        if not hand.store.read(partial(_is_known, session=session)) and session != SESSIONS[0]:
            break
        teller = hand.teller(session, past)
        started = hand.unit("open_session", teller.open_session(key=session))
        assert started.session == session
        _end_open_run(hand, teller)
        hand.unit("open_run", teller.open_run())
        hand.request(teller.request(1))
        hand.unit("settle_step", writers.settle_step(teller.text(), teller.settled(Finish.STOP)))
        hand.unit("end_run", EndRun(end=teller.completed()))
    left = [*hand.store.read(unfinished_runs), *hand.store.read(startless_claims)]
    hand.close()
    return [Finding(promise=NOTHING_STAYS.id, detail=f"{name} is open") for name in left]


def _is_known(view: View, *, session: str) -> bool:
    return view.session(session) is not None


def _end_open_run(hand: Stagehand, teller: Teller) -> None:
    """Take a waiting run up, deny what it asks, and stop it."""
    name = hand.store.read(lambda view: view.open_run(teller.session))
    if name is None:
        return
    opening = hand.store.read(lambda view: view.opening(name))
    assert opening is not None
    at = attrs.evolve(teller.at, spine=opening.spine)
    hand.unit("reattach", writers.reattach(compose.run_reattached(at, teller.fresh(), NO_DIGEST)))
    for ask in hand.store.read(lambda view: view.pending(Pending.ASK_OPEN, name)):
        denied = AskAnswered(decision=AnswerDecision.DENY)
        hand.unit("answer", writers.answer(compose.ask_answered(at, teller.fresh(), ask, denied)))
    hand.unit("stop", Stop(fact=compose.stop_requested(at, teller.fresh(), "lab")))
    end = RunEnded(status=RunStatus.ABORTED, source="lab")
    hand.unit("end_run", EndRun(end=compose.run_ended(at, teller.fresh(), end)))
