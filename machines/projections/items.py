"""Model history in no provider's words: texts, and steps whose calls carry answers (PROJ-2).

A call and its answer are one value here, so no later cut can part them. A step is told only when
its request stated a finish (LOG-7a) and each of its calls has an answer: the step of an open run
that still waits for one is left out whole.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs

from ..facts.canonical import Json
from ..facts.kinds import KINDS, Ledger
from ..facts.model import Attachment, RuntimeEvent, Text, Thinking
from ..facts.vocabulary import Cause, Kind, Visibility
from .answers import Answer, answer_to
from .losses import Loss, LossReason, omitted
from .records import Fact, Operation, Reading, Run, Step, Trouble


@attrs.frozen(kw_only=True)
class UserItem:
    """What a user said, at the start of a turn or between two steps."""

    event: str
    text: str
    attachments: tuple[Attachment, ...]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the facts behind this item."""
        return (self.event,)

    @property
    def stable(self) -> bool:
        """Return that a continuation may rest on it (CONT-2)."""
        return True


@attrs.frozen(kw_only=True)
class ThoughtItem:
    """One block of reasoning; `signature` is whole or absent."""

    event: str
    text: str
    signature: str | None


@attrs.frozen(kw_only=True)
class TextItem:
    """One block of a model's words."""

    event: str
    text: str


@attrs.frozen(kw_only=True)
class CallItem:
    """A call with its one answer; `label` is the provider's, and no identity (ID-2)."""

    event: str
    operation: str
    label: str
    name: str
    args: Json
    answer: Answer


@attrs.frozen(kw_only=True)
class StepItem:
    """What one request brought; `signer` is the backend that would have signed its thinking."""

    request: str
    signer: str | None
    thoughts: tuple[ThoughtItem, ...]
    texts: tuple[TextItem, ...]
    calls: tuple[CallItem, ...]

    @property
    def events(self) -> tuple[str, ...]:
        """Return the facts behind this item."""
        thoughts = [one.event for one in self.thoughts]
        texts = [one.event for one in self.texts]
        calls = [event for one in self.calls for event in (one.event, *one.answer.events)]
        return (*thoughts, *texts, *calls)

    @property
    def stable(self) -> bool:
        """Tell whether a continuation may rest on it: it holds a result (CONT-2)."""
        return any(call.answer.stable for call in self.calls)


Item: TypeAlias = UserItem | StepItem


@attrs.frozen(kw_only=True)
class Told:
    """The items of a history, and one entry for each fact that is in none of them."""

    items: tuple[Item, ...]
    losses: tuple[Loss, ...]


def tell(reading: Reading) -> Told:
    """Return what the facts tell a model, in order, whole runs as they stand.

    A run that a later admitted continuation rests on ends at its last stable anchor, as it did for
    that continuation: what was trimmed then never reappears (CONT-2).
    """
    trimmed = _continued(reading)
    items: list[Item] = []
    reasons: dict[str, LossReason] = {}
    for name, run in reading.runs.items():
        told: Sequence[Item] = _tell_run(run, reasons)
        if name in trimmed:
            told, dropped = trim(told)
            reasons |= {e: LossReason.TRIMMED for item in dropped for e in item.events}
        items.extend(told)
    present = {event for item in items for event in item.events}
    losses = [
        omitted(event.id, reasons.get(event.id) or _reason(event))
        for event in reading.facts
        if event.id not in present
    ]
    return Told(items=tuple(items), losses=tuple(losses))


def trim(items: Sequence[Item]) -> tuple[Sequence[Item], Sequence[Item]]:
    """Part one segment after its last stable anchor: a user's text or a result (CONT-2)."""
    end = max((place for place, item in enumerate(items, start=1) if item.stable), default=0)
    return items[:end], items[end:]


def _continued(reading: Reading) -> set[str]:
    """Return the runs that an admitted continuation rests on, the whole lineage of each."""
    sources: dict[str, str] = {}
    admitted: list[str] = []
    for name, run in reading.runs.items():
        if run.opening is not None and run.opening.says.continuation is not None:
            sources[name] = run.opening.says.continuation.source.run
            if run.opening.says.cause is Cause.RUNTIME_ADMISSION:
                admitted.append(name)
    rests_on: set[str] = set()
    for name in admitted:
        source = sources.get(name)
        while source is not None and source not in rests_on:
            rests_on.add(source)
            source = sources.get(source)
    return rests_on


def _tell_run(run: Run, reasons: dict[str, LossReason]) -> list[Item]:
    items: list[Item] = []
    for said in run.said:
        match said:
            case Fact():
                items.extend(_tell_words(said))
            case Step():
                items.extend(_tell_step(run, said, reasons))
            case Trouble():
                pass  # Errors are no content (LOG-6).
    return items


def _shown(event: RuntimeEvent) -> bool:
    return event.visibility is Visibility.VISIBLE


def _tell_words(said: Fact[Text]) -> Sequence[UserItem]:
    text, attachments = said.says.text, said.says.attachments
    if not _shown(said.event) or not (text.strip() or attachments):
        return ()
    return (UserItem(event=said.id, text=text, attachments=attachments),)


def _tell_step(run: Run, step: Step, reasons: dict[str, LossReason]) -> Sequence[StepItem]:
    if not step.request.finished:
        reasons |= dict.fromkeys(_events_of(step), LossReason.NOT_FINISHED)
        return ()
    calls = [_tell_call(one, open_run=run.end is None) for one in step.calls if _is_shown(one)]
    if None in calls:
        reasons |= dict.fromkeys(_events_of(step), LossReason.PENDING)
        return ()
    item = StepItem(
        request=step.request.id,
        signer=None if run.opening is None else run.opening.says.profile.backend,
        thoughts=tuple(_tell_thought(one) for one in step.thoughts if _shown(one.event)),
        texts=tuple(
            TextItem(event=one.id, text=one.says.text)
            for one in step.texts
            if _shown(one.event) and one.says.text.strip()
        ),
        calls=tuple(call for call in calls if call is not None),
    )
    return (item,) if item.thoughts or item.texts or item.calls else ()


def _tell_thought(said: Fact[Thinking]) -> ThoughtItem:
    return ThoughtItem(event=said.id, text=said.says.text, signature=said.says.signature)


def _is_shown(subject: Operation) -> bool:
    return subject.call is not None and _shown(subject.call.event)


def _tell_call(subject: Operation, *, open_run: bool) -> CallItem | None:
    call, answer = subject.call, answer_to(subject, open_run=open_run)
    if call is None or answer is None:
        return None
    return CallItem(
        event=call.id,
        operation=subject.id,
        label=call.says.label,
        name=call.says.name,
        args=call.says.args,
        answer=answer,
    )


def _events_of(step: Step) -> list[str]:
    """Return the facts of a step that is left out, the outcomes of its calls among them."""
    said = [one.id for one in step.thoughts] + [one.id for one in step.texts]
    calls = [one.call.id for one in step.calls if one.call is not None]
    return said + calls + [one.outcome.id for one in step.calls if one.outcome is not None]


_REASONS: Final[Mapping[Kind, LossReason]] = MappingProxyType(
    {
        Kind.ERROR_NOTED: LossReason.ERROR,
        Kind.LATE_OUTCOME: LossReason.EVIDENCE,
        Kind.MESSAGE_QUEUED: LossReason.QUEUED,
        Kind.OUTCOME: LossReason.ORPHAN,
    }
)


def _reason(event: RuntimeEvent) -> LossReason:
    """Return why a fact is in no item, where the step around it did not say so."""
    if not _shown(event):
        return LossReason.HIDDEN
    if isinstance(event.content, Text) and KINDS[event.kind].ledger is Ledger.RUN:
        return LossReason.EMPTY if not event.content.text.strip() else LossReason.CONTROL
    return _REASONS.get(event.kind, LossReason.CONTROL)
