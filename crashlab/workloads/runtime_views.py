"""What people and models are shown of a root that was killed, held against what was promised."""

import contextlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ...actors.tools.effects.files import TEMP_PREFIX, observe
from ...actors.workspace import identity_near
from ...machines.facts.model import (
    Dispatched,
    FunctionCall,
    Outcome,
    RunEnded,
    RuntimeEvent,
    StopRequested,
)
from ...machines.facts.vocabulary import Observation, OutcomeResult, RunStatus
from ...machines.projections.checker import check_history
from ...machines.projections.history import history
from ...machines.projections.plain import to_json
from ...machines.projections.status import RunState, status
from ...machines.projections.target import Capabilities, ThinkingForm
from ...machines.projections.transcript import transcript
from ...machines.projections.transcript_parts import NoticePart, ToolPart, ToolStatus, Turn
from ...store.audit.judge import Fact
from ...store.audit.look import Look
from ...store.connect import Connector
from ...store.errors import StoreNotFoundError
from ...store.ownership.root import look_at_root
from ...store.read import Reading, Scope
from ..workload import Finding, Promise
from .host_lives import AT_REST
from .runtime_promised import (
    FILES_ARE_WHOLE,
    HISTORY_IS_STRICT,
    NOTHING_RUNS,
    NOTHING_TWICE,
    SHOWN_IS_DURABLE,
    STOPPED_IS_ABORTED,
)

TARGET: Final = Capabilities(thinking=ThinkingForm.SIGNED)

_LIVE_CALLS: Final = frozenset((ToolStatus.PENDING, ToolStatus.WAITING, ToolStatus.RUNNING))
_GOOD: Final = frozenset((OutcomeResult.OK, OutcomeResult.RECONCILED))
_WHOLE: Final = frozenset((Observation.MATCHES_EXPECTED_STATE, Observation.MATCHES_PRIOR_STATE))


def log_of(root: Path) -> list[Fact]:
    """Return every fact of a root in commit order, and its place; none where there is no log."""
    try:
        found, _problem = look_at_root(root)
        with contextlib.closing(Look(path=found.database, connector=Connector())) as look:
            return list(Reading(look=look, root_id=found.root_id, scope=Scope()))
    except StoreNotFoundError:
        return []


def facts_of(root: Path) -> list[RuntimeEvent]:
    """Return every fact of a root in commit order; none where there is no log yet."""
    return [fact.event for fact in log_of(root)]


def unexplained(
    facts: Sequence[RuntimeEvent], *, shown: Sequence[str], effects: Sequence[str], workspace: Path
) -> list[Finding]:
    """Return every promise of the runtime that a recovered root breaks.

    Args:
        facts: The whole log.
        shown: The ids of the facts that observers were shown.
        effects: The operation of each effect that happened.
        workspace: Where files were written.
    """
    sessions = {fact.spine.session for fact in facts}
    parts = [[fact for fact in facts if fact.spine.session == name] for name in sorted(sessions)]
    return [
        *_findings(SHOWN_IS_DURABLE, sorted(set(shown) - {fact.id for fact in facts})),
        *_findings(NOTHING_TWICE, repeated(facts, effects)),
        *_findings(FILES_ARE_WHOLE, torn_files(facts, workspace)),
        *(finding for part in parts for finding in unexplained_session(part)),
    ]


def unexplained_session(facts: Sequence[RuntimeEvent]) -> list[Finding]:
    """Return what the views of one session say that cannot be after a recovery."""
    told = history(facts, TARGET).bodies()
    return [
        *_findings(HISTORY_IS_STRICT, [str(fault) for fault in check_history(told, TARGET)]),
        *_findings(NOTHING_RUNS, _unfinished(facts)),
        *_findings(STOPPED_IS_ABORTED, _unheeded_stops(facts)),
    ]


def repeated(facts: Sequence[RuntimeEvent], effects: Sequence[str]) -> list[str]:
    """Return the calls whose effect happened more often than it was called for.

    Workloads never ask for the same thing twice, so equal words under another operation are a
    repetition too.
    """
    calls = {
        fact.refs.operation: f"{fact.content.name} {fact.content.args}"
        for fact in facts
        if isinstance(fact.content, FunctionCall)
    }
    happened = Counter(calls.get(operation, operation) for operation in effects)
    return [f"{words} happened {count} times" for words, count in happened.items() if count > 1]


def torn_files(facts: Sequence[RuntimeEvent], workspace: Path) -> list[str]:
    """Return the files that are not what the newest write to them says, and what is left over."""
    settled = {
        fact.refs.operation: fact.actions.result
        for fact in facts
        if isinstance(fact.actions, Outcome)
    }
    newest = {
        fact.actions.evidence.target: (fact.refs.operation, fact.actions.evidence)
        for fact in facts
        if isinstance(fact.actions, Dispatched) and fact.actions.evidence is not None
    }
    found = [
        f"{path.name} is left over" for path in workspace.rglob(f"{TEMP_PREFIX}*") if path.is_file()
    ]
    for target, (operation, evidence) in newest.items():
        seen = observe(evidence, identity_near(target)).observation
        said = settled.get(operation)
        wanted = {Observation.MATCHES_EXPECTED_STATE} if said in _GOOD else _WHOLE
        if seen not in wanted:
            found.append(f"{Path(target).name} {seen}, and its write is told as {said}")
    return found


def _findings(promise: Promise, details: Sequence[str]) -> list[Finding]:
    return [Finding(promise=promise.id, detail=detail) for detail in details]


def _unfinished(facts: Sequence[RuntimeEvent]) -> list[str]:
    view = status(facts, live=False)
    found = [f"{run.run} is {run.state}" for run in view.runs if run.state not in AT_REST]
    for turn in transcript(facts, live=False).turns:
        found += _unfinished_turn(turn)
    to_json(view)  # What cannot be told as JSON cannot be shown.
    return found


def _unfinished_turn(turn: Turn) -> list[str]:
    if turn.state is RunState.WAITING:
        return []
    found = [
        f"call {part.operation} is {part.status} in a run that is over"
        for part in turn.parts
        if isinstance(part, ToolPart) and part.status in _LIVE_CALLS
    ]
    told = any(isinstance(part, NoticePart) for part in turn.parts)
    if turn.state is not RunState.COMPLETED and not told:
        found.append(f"{turn.run} is {turn.state} and no notice says why")
    return found


def _unheeded_stops(facts: Sequence[RuntimeEvent]) -> list[str]:
    stops = {
        fact.spine.run: fact.actions.source
        for fact in facts
        if isinstance(fact.actions, StopRequested)
    }
    ends = {fact.spine.run: fact.actions for fact in facts if isinstance(fact.actions, RunEnded)}
    wanted = {run: RunEnded(status=RunStatus.ABORTED, source=who) for run, who in stops.items()}
    return [
        f"{run} was stopped by {stops[run]} and ended as {ends.get(run)}"
        for run in stops
        if ends.get(run) != wanted[run]
    ]
