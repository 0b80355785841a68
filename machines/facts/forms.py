"""Which values each field may hold by itself: one table of forms, complete by test (LOG-2)."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, cast

import attrs

from . import model as m
from .digests import is_digest
from .ids import is_id
from .illegal import FactIllegalError, IllegalFactError, kind_of
from .json_values import SAFE_INT_MAX, Path
from .shapes import Sort, fields_of

Form = Callable[[object], bool]


def anything(_value: object) -> bool:
    """Accept every value of the declared type."""
    return True


@lru_cache(maxsize=4096)
def an_id(value: object) -> bool:
    """Accept what follows the grammar of ids (ID-3).

    Remembered, because the facts of a ledger share most of their ids.
    """
    return isinstance(value, str) and is_id(value)


def a_digest(value: object) -> bool:
    """Accept what has the form of a digest (BYTE-4)."""
    return isinstance(value, str) and is_digest(value)


def some_text(value: object) -> bool:
    """Accept text that is not empty."""
    return isinstance(value, str) and value != ""


def a_key(value: object) -> bool:
    """Accept a caller's idempotency key: 1 to 256 characters (RUN-5)."""
    return isinstance(value, str) and 1 <= len(value) <= KEY_CHARS_MAX


def an_object(value: object) -> bool:
    """Accept a JSON object."""
    return isinstance(value, dict)


def natural(value: object) -> bool:
    """Accept an integer from 0 that every JSON reader keeps (BYTE-1)."""
    return isinstance(value, int) and 0 <= value <= SAFE_INT_MAX


def positive(value: object) -> bool:
    """Accept an integer from 1 that every JSON reader keeps (BYTE-1)."""
    return isinstance(value, int) and 1 <= value <= SAFE_INT_MAX


KEY_CHARS_MAX: Final = 256

FORMS: Final[Mapping[type, Mapping[str, Form]]] = MappingProxyType(
    {
        # --- values ---
        m.Spine: {"session": an_id, "invocation": an_id, "run": an_id, "turn": an_id},
        m.Refs: {
            "request": an_id,
            "operation": an_id,
            "ask": an_id,
            "message": an_id,
            "stream": an_id,
            "parent_operation": an_id,
        },
        m.RuntimeEvent: {"id": an_id, "ts": natural},
        m.Stamp: {"seq": positive, "root": an_id, "epoch": positive, "rows": some_text},
        m.Loss: {"path": anything, "reason": some_text, "count": positive},
        m.Attachment: {
            "media_type": some_text,
            "bytes": natural,
            "digest": a_digest,
            "name": some_text,
        },
        m.OutputCut: {"bytes_total": natural, "digest": a_digest, "blob": a_digest},
        m.Usage: {
            "input": natural,
            "output": natural,
            "cache_read": natural,
            "cache_write": natural,
            "reasoning": natural,
            "cost_micros": natural,
        },
        m.ToolProfile: {"name": some_text, "schema": a_digest, "contract": a_digest},
        m.PromptPart: {"name": some_text, "digest": a_digest},
        m.ExecutionProfile: {
            "backend": some_text,
            "model": some_text,
            "tool_protocol": positive,
            "projection": positive,
            "policy": a_digest,
        },
        m.SegmentRef: {
            "session": an_id,
            "invocation": an_id,
            "run": an_id,
            "turn": an_id,
            "last_seq": positive,
            "last_id": an_id,
            "chain": a_digest,
        },
        m.ContinuationStart: {
            "claim": an_id,
            "boundary": a_digest,
            "projection": positive,
            "replay": a_digest,
        },
        m.Budgets: {
            "deadline_ts": natural,
            "steps_max": positive,
            "tokens_max": positive,
            "cost_micros_max": positive,
        },
        m.FileIdentity: {"digest": a_digest, "bytes": natural, "mode": natural},
        m.FileEvidence: {
            "workspace": some_text,
            "target": some_text,
            "transform": positive,
            "result": anything,
            "limit_bytes": positive,
        },
        m.Question: {"text": some_text, "options": some_text},
        # --- contents ---
        m.Text: {"text": anything},
        m.Thinking: {"text": anything, "signature": some_text},
        # A model may name no tool at all, and its label may be empty or repeat (ID-2).
        m.FunctionCall: {"label": anything, "name": anything, "args": an_object},
        m.FunctionResponse: {
            "label": anything,
            "name": anything,
            "result": anything,
            "is_error": anything,
        },
        m.ErrorText: {"message": anything},
        # --- actions ---
        m.RunOpened: {"protocol": anything, "context": a_digest, "key": a_key, "input": a_digest},
        m.RequestDispatched: {
            "step": positive,
            "attempt": positive,
            "profile": a_digest,
            "wire": a_digest,
            "parts": a_digest,
            "retries": an_id,
        },
        m.RequestSettled: {},
        m.CallPlaced: {"step": positive, "position": positive, "args_digest": a_digest},
        m.Dispatched: {
            "tool": some_text,
            "args_digest": a_digest,
            "local": anything,
            "key": a_key,
            "retry_of": an_id,
            "timeout_ms": positive,
        },
        m.Outcome: {"duration_ms": natural},
        m.ReconcileResult: {"observed": some_text},
        m.RecoveryDecision: {"evidence": an_id},
        m.AskOpened: {
            "tool": some_text,
            "args_digest": a_digest,
            "review": anything,
            "expansion": an_object,
            "deadline_ts": natural,
        },
        m.AskAnswered: {"answers": some_text},
        m.AskClosed: {},
        m.ErrorNoted: {},
        m.ArtifactAdded: {
            "name": some_text,
            "media_type": some_text,
            "blob": a_digest,
            "bytes": natural,
        },
        m.CheckpointMade: {
            "covers_seq": positive,
            "covers_chain": a_digest,
            "projection": positive,
        },
        m.StopRequested: {"source": some_text},
        m.RunReattached: {"profile": a_digest},
        m.RunEnded: {"source": some_text},
        m.SessionOpened: {"protocol": anything, "key": a_key, "title": some_text},
        m.SettingsChanged: {"revision": positive, "settings": an_object},
        m.WorkspaceAttached: {"workspace": some_text, "path": some_text},
        m.BoundaryChanged: {"revision": positive, "boundary": an_object, "ask": an_id},
        m.MessageQueued: {"key": a_key, "input": a_digest},
        m.MessageTaken: {"run": an_id},
        m.MessageReturned: {},
        m.MessageRetracted: {},
        m.VerdictGiven: {"run": an_id, "generation": positive, "note": some_text},
        m.RunAbandoned: {"run": an_id},
        m.BoundaryAbandoned: {"run": an_id, "boundary": a_digest},
        m.DriftAccepted: {"boundary": a_digest, "paths": some_text},
        m.LateOutcome: {"run": an_id},
        m.BranchedFrom: {"session": an_id, "boundary": a_digest},
        m.SessionAdopted: {"root": an_id, "chain": a_digest},
    }
)
"""Words and nested records judge themselves; every other field stands here, `anything` included."""


def refuse_ill_formed(record: object) -> None:
    """Refuse a record in which some field, at any depth, has not its form.

    An absent optional value has any form; whether it may be absent is for the rules of its kind.

    Raises:
        FactIllegalError: `fact_illegal`, with the path from the record down (LOG-2).
    """
    plan = _PLANS[type(record)]
    for name, form in plan.single:
        value: object = getattr(record, name)
        if value is not None and not form(value):
            raise FactIllegalError(path=(name,), found=kind_of(value))
    for name, form in plan.many:
        for position, item in enumerate(cast("tuple[object, ...]", getattr(record, name))):
            if item is not None and not form(item):
                raise FactIllegalError(path=(name, position), found=kind_of(item))
    for name in plan.record:
        value = getattr(record, name)
        if value is not None:
            _refuse_inside(value, (name,))
    for name in plan.records:
        for position, item in enumerate(cast("tuple[object, ...]", getattr(record, name))):
            _refuse_inside(item, (name, position))


def _refuse_inside(record: object, where: Path) -> None:
    try:
        refuse_ill_formed(record)
    except IllegalFactError as error:
        error.path = (*where, *error.path)
        raise


@attrs.frozen(kw_only=True)
class _Plan:
    """The fields of one record that need looking at, by how their items are reached."""

    single: tuple[tuple[str, Form], ...]
    many: tuple[tuple[str, Form], ...]
    record: tuple[str, ...]
    records: tuple[str, ...]


def _plan(record: type, forms: Mapping[str, Form]) -> _Plan:
    fields = fields_of(record)
    judged = [(f, forms[f.name]) for f in fields if forms.get(f.name, anything) is not anything]
    nested = [field for field in fields if field.sort is Sort.RECORD]
    return _Plan(
        single=tuple((field.name, form) for field, form in judged if not field.many),
        many=tuple((field.name, form) for field, form in judged if field.many),
        record=tuple(field.name for field in nested if not field.many),
        records=tuple(field.name for field in nested if field.many),
    )


_PLANS: Final = {record: _plan(record, forms) for record, forms in FORMS.items()}
