"""Where each call stands, and what a person is told and can do about those that stopped (OP-4)."""

from collections.abc import Sequence

import attrs

from ..facts.model import RuntimeEvent
from ..facts.vocabulary import Observation, RecoveryMode, Verdict
from ..recovery.operations import Standing
from ..recovery.parks import EXPLANATIONS, Park
from .bound import up_to
from .reading import read
from .records import Operation, Run
from .standing import park_of, settleable, standing_of


@attrs.frozen(kw_only=True)
class Parking:
    """Why a call waits for a person: a code, what happened, what can be done now."""

    code: Park
    sentence: str
    action: str


@attrs.frozen(kw_only=True)
class VerdictView:
    """What a person stated last, and how often they corrected it."""

    verdict: Verdict
    generation: int
    note: str | None


@attrs.frozen(kw_only=True)
class OperationView:
    """One call as recovery sees it.

    Attributes:
        parking: Set while the call is unknown or parked; a verdict does not hide it.
        late: An outcome arrived after its run had ended: evidence for a verdict.
        retried_by: The operation that repeats this one under its key.
    """

    operation: str
    run: str
    step: int
    position: int
    tool: str
    standing: Standing
    mode: RecoveryMode | None
    key: str | None
    observation: Observation | None
    parking: Parking | None
    verdict: VerdictView | None
    late: bool
    retried_by: str | None


@attrs.frozen(kw_only=True)
class RecoveryView:
    """All calls, in order; `waiting` names those that need a person and have no verdict."""

    operations: tuple[OperationView, ...]
    waiting: tuple[str, ...]


def recovery(facts: Sequence[RuntimeEvent], *, live: bool, at: int | None = None) -> RecoveryView:
    """Return where each call stands. Pure and total; `live` and `at` as for `status`."""
    reading = read(up_to(facts, at))
    views = tuple(
        view
        for run in reading.runs.values()
        for one in run.operations.values()
        if (view := _view(run, one, live=live)) is not None
    )
    waiting = (one.operation for one in views if one.parking is not None and one.verdict is None)
    return RecoveryView(operations=views, waiting=tuple(waiting))


def parking_of(subject: Operation, *, open_run: bool) -> Parking | None:
    """Return why a call waits for a person, with its sentence and the next action."""
    park = park_of(subject, open_run=open_run)
    if park is None:
        return None
    told = EXPLANATIONS[park]
    return Parking(code=park, sentence=told.sentence, action=told.action)


def verdict_of(subject: Operation) -> VerdictView | None:
    """Return the newest verdict about a call."""
    if subject.verdict is None:
        return None
    says = subject.verdict.says
    return VerdictView(verdict=says.verdict, generation=says.generation, note=says.note)


def _view(run: Run, subject: Operation, *, live: bool) -> OperationView | None:
    call, sent, seen = subject.call, subject.dispatch, subject.observation
    if call is None:
        return None
    open_run = settleable(run, subject, live=live)
    return OperationView(
        operation=subject.id,
        run=subject.run,
        step=call.placed.step,
        position=call.placed.position,
        tool=call.says.name,
        standing=standing_of(subject, open_run=open_run),
        mode=None if sent is None else sent.says.recovery,
        key=None if sent is None else sent.says.key,
        observation=None if seen is None else seen.says.observation,
        parking=parking_of(subject, open_run=open_run),
        verdict=verdict_of(subject),
        late=subject.late is not None,
        retried_by=subject.retried_by,
    )
