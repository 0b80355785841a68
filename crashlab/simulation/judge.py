"""Holds a root, its views and the world outside against every promise, beside its living owner."""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Final

from ...actors.host import STOPPED_BY_HOST
from ...machines.facts.model import (
    AskAnswered,
    Dispatched,
    Outcome,
    RunEnded,
    RuntimeEvent,
    StopRequested,
)
from ...machines.facts.vocabulary import (
    AnswerDecision,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    RunFailure,
)
from ...store.audit.judge import Fact
from ..workload import Finding, Promise
from ..workloads.host_lives import NOTE, misconduct, unready_work
from ..workloads.looking import broken, unverified
from ..workloads.runtime_promised import NOTHING_RUNS
from ..workloads.runtime_views import unexplained
from ..workloads.world import Deed, happened
from .promised import NO_BUG_OF_OURS, ONE_DECISION, TOLD_AS_IT_WAS
from .tools import is_harmless, needs_approval

SHOWN: Final = "fact "
_READY: Final = f"{NOTE}ready "
_DRAINS: Final = f"{NOTE}drains "

MARK: Final = "mark"
MARKED: Final = f"{NOTE}{MARK} "
UNPROVEN: Final = f"{NOTE}unproven "
_FRESH_DIGITS: Final = 32
_AGE_DIGITS: Final = 16
"""Milliseconds and position of a time-ordered id (facts.ids.time_ordered)."""
_YOUNG: Final = "g"
"""Sorts behind every hexadecimal digit."""
SICK: Final = "z" * _FRESH_DIGITS
"""A mark that is younger than everything."""
_WENT_WELL: Final = frozenset((OutcomeResult.OK, OutcomeResult.RECONCILED))


def judge(
    root: Path,
    log: Sequence[Fact],
    acks: Sequence[str],
    alive: Collection[str],
    *,
    proven: bool,
    whole: bool,
) -> list[Finding]:
    """Return every promise that a recovered root breaks.

    Args:
        root: The root; its owner may live, as long as it does not work.
        log: Every fact of it.
        acks: What was acknowledged, by every owner so far.
        alive: Operations whose workers still live under nobody.
        proven: Whether the present owner proved that all former ones are gone; without it recovery
            closes nothing, and whatever was open stays so for the next one (OWN-2).
        whole: Whether to verify every row, which takes as long as all the rest.
    """
    facts = [fact.event for fact in log]
    told = list(dict.fromkeys(ack for ack in acks if not ack.startswith(NOTE)))
    shown = [ack.removeprefix(SHOWN) for ack in told if ack.startswith(SHOWN)]
    heads = [ack for ack in told if not ack.startswith(SHOWN)]
    effects = happened(root, Deed.EFFECT)
    found = [
        *misconduct(acks),
        *broken(root, heads),
        *(unverified(root) if whole else ()),
        *unexplained(facts, shown=shown, effects=effects, workspace=root.parent / "workspace"),
        *unready_work(log, drained(log, acks)),
        *_findings(TOLD_AS_IT_WAS, misrepresented(facts, effects, alive)),
        *_findings(ONE_DECISION, misused(facts)),
        *_findings(NO_BUG_OF_OURS, failed_inside(facts)),
    ]
    return [one for one in found if proven or one.promise != NOTHING_RUNS.id]


def drained(log: Sequence[Fact], acks: Sequence[str]) -> list[str]:
    """Return what hosts noted, with what each that drained still had in its queue.

    On a slow disk a unit that was handed in before is committed after the host began to drain: its
    ids are older than the mark of that moment. Behind the stops that draining hands in nothing may
    follow, not even what has derived ids, which tell no age.
    """
    marks = dict(ack.removeprefix(MARKED).split() for ack in acks if ack.startswith(MARKED))
    early: dict[int, int] = {}
    for fact in log:
        action, epoch = fact.event.actions, fact.place.epoch
        stops = isinstance(action, StopRequested) and action.source == STOPPED_BY_HOST
        if stops or _age(fact.event.id) < _age(marks.get(str(epoch), "")):
            early[epoch] = fact.place.ordinal
    unproven = {ack.removeprefix(UNPROVEN) for ack in acks if ack.startswith(UNPROVEN)}

    def seen_in_full(ack: str) -> str:
        if ack.startswith(_READY) and (epoch := ack.removeprefix(_READY).split()[0]) in unproven:
            # It was ready beside whatever it could not close, which is no moment to look at.
            return f"{_READY}{epoch} 0"
        if ack.startswith(_DRAINS):
            epoch, ordinal = ack.removeprefix(_DRAINS).split()
            return f"{_DRAINS}{epoch} {max(int(ordinal), early.get(int(epoch), 0))}"
        return ack

    return [seen_in_full(ack) for ack in acks]


def _age(name: str) -> str:
    """Return what orders the fresh ids of one owner; nothing is younger than a derived id."""
    told = name.rpartition("_")[2]
    return told[:_AGE_DIGITS] if len(told) == _FRESH_DIGITS else _YOUNG


def misrepresented(
    facts: Sequence[RuntimeEvent], effects: Collection[str], alive: Collection[str]
) -> list[str]:
    """Return the calls that are told otherwise than they went.

    Args:
        facts: The whole log.
        effects: The operations whose effect happened.
        alive: Operations whose workers still live under nobody.
    """
    tools = {
        fact.refs.operation: fact.actions.tool
        for fact in facts
        if isinstance(fact.actions, Dispatched)
    }
    found: list[str] = []
    for fact in facts:
        operation, action = fact.refs.operation, fact.actions
        if not isinstance(action, Outcome) or operation is None:
            continue
        name = tools.get(operation)
        lacks = operation not in effects and name is not None and not is_harmless(name)
        if action.state is OutcomeState.NOT_STARTED and operation in effects:
            found.append(f"{operation} is told as not started, and it happened")
        if action.state is OutcomeState.SETTLED and action.result in _WENT_WELL and lacks:
            found.append(f"{operation} ({name}) is told as {action.result}, and never happened")
        if action.by is OutcomeBy.RECOVERY and operation in alive:
            found.append(f"{operation} ({name}) was settled while its worker lives")
    return found


def misused(facts: Sequence[RuntimeEvent]) -> list[str]:
    """Return the decisions of people that were used twice, by what they did not allow, or not."""
    used = Counter(
        fact.refs.ask
        for fact in facts
        if fact.refs.ask is not None and isinstance(fact.actions, Dispatched)
    )
    allowed = {
        fact.refs.ask
        for fact in facts
        if isinstance(fact.actions, AskAnswered)
        and fact.actions.decision is not AnswerDecision.DENY
    }
    answers = Counter(fact.refs.ask for fact in facts if isinstance(fact.actions, AskAnswered))
    unasked = [
        fact.refs.operation
        for fact in facts
        if isinstance(fact.actions, Dispatched)
        and fact.refs.ask is None
        and needs_approval(fact.actions.tool)
    ]
    return [
        *(f"{operation} was started, and nobody was asked" for operation in unasked),
        *(f"{ask} was used {count} times" for ask, count in used.items() if count > 1),
        *(f"{ask} was used, and nobody allowed it" for ask in used if ask not in allowed),
        *(f"{ask} was answered {count} times" for ask, count in answers.items() if count > 1),
    ]


def failed_inside(facts: Sequence[RuntimeEvent]) -> list[str]:
    """Return the runs that ended because of the runtime itself."""
    return [
        f"{fact.spine.run} failed as {fact.actions.failure}"
        for fact in facts
        if isinstance(fact.actions, RunEnded) and fact.actions.failure is RunFailure.INTERNAL
    ]


def _findings(promise: Promise, details: Sequence[str]) -> list[Finding]:
    return [Finding(promise=promise.id, detail=detail) for detail in details]
