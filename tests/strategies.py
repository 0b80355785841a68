"""The shared vocabulary of random facts: ids, spines, stamps, and a legal event of every kind.

What a field may hold by itself is drawn by its form; what fields must say together is written out
below, one strategy for each kind that has a rule.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, TypeVar, cast

import attrs
from hypothesis import strategies as st

from crashworthy.machines.facts import forms, rules
from crashworthy.machines.facts import model as m
from crashworthy.machines.facts import vocabulary as v
from crashworthy.machines.facts.canonical import SAFE_INT_MAX, Json
from crashworthy.machines.facts.kinds import KINDS, Ref
from crashworthy.machines.facts.shapes import Field, Sort, fields_of

from .machines.facts.json_strategies import TEXTS, json_values

T = TypeVar("T")
Drawn = st.SearchStrategy[object]


def ids() -> st.SearchStrategy[str]:
    """Ids of the grammar, mostly short."""
    return st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,11}", fullmatch=True)


def digests() -> st.SearchStrategy[str]:
    """Texts in the form of a digest."""
    return st.binary(min_size=32, max_size=32).map(bytes.hex)


def spines() -> st.SearchStrategy[m.Spine]:
    """The four identities of a fact, which may coincide."""
    return st.builds(m.Spine, session=ids(), invocation=ids(), run=ids(), turn=ids())


def stamps() -> st.SearchStrategy[m.Stamp]:
    """Legal stamps."""
    rows = st.lists(ids(), min_size=1, max_size=3, unique=True).map(tuple)
    return _records(m.Stamp, rows=rows)


def events(kind: v.Kind | None = None) -> st.SearchStrategy[m.RuntimeEvent]:
    """Legal events of one kind, or of any."""
    return st.sampled_from(v.Kind).flatmap(_of_kind) if kind is None else _of_kind(kind)


def _of_kind(kind: v.Kind) -> st.SearchStrategy[m.RuntimeEvent]:
    spec = KINDS[kind]
    content = _SAID[kind] if kind in _SAID else _part(spec.content)
    actions = _DONE[kind] if kind in _DONE else _part(spec.actions)
    shown = st.sampled_from(v.Visibility) if spec.may_hide else st.just(v.Visibility.VISIBLE)
    drawn = st.sampled_from(spec.pairs).flatmap(
        lambda pair: st.builds(
            m.RuntimeEvent,
            kind=st.just(kind),
            role=st.just(pair[0]),
            author=st.just(pair[1]),
            id=ids(),
            spine=spines(),
            ts=_naturals(),
            visibility=shown,
            content=content,
            actions=actions,
            refs=_refs(spec.needs, spec.may),
        )
    )
    return drawn.flatmap(_settled) if kind in _SETTLED_TOGETHER else drawn


def _part(record: type[m.Content | m.Action] | None) -> Drawn:
    return st.none() if record is None else _records(record)


def _refs(needs: frozenset[Ref], may: frozenset[Ref]) -> st.SearchStrategy[m.Refs]:
    needed = {str(name): ids() for name in needs}
    return st.fixed_dictionaries(needed, optional={str(name): ids() for name in may}).map(
        lambda held: m.Refs(**held)
    )


_NESTING: Final = frozenset({v.Kind.CALL, v.Kind.OUTCOME})
_SETTLED_TOGETHER: Final = _NESTING | {v.Kind.REQUEST_DISPATCHED, v.Kind.DISPATCHED}


def _settled(event: m.RuntimeEvent) -> st.SearchStrategy[m.RuntimeEvent]:
    """Bring into line what a rule compares across content, actions, refs and envelope."""
    refs, done = event.refs, event.actions
    if isinstance(done, m.RequestDispatched) and done.retries == refs.request:
        return st.just(attrs.evolve(event, refs=attrs.evolve(refs, request=f"{refs.request}x")))
    if isinstance(done, m.Dispatched) and done.retry_of == refs.operation:
        return st.just(attrs.evolve(event, refs=attrs.evolve(refs, operation=f"{refs.operation}x")))
    if isinstance(done, m.Outcome):
        assert isinstance(event.content, m.FunctionResponse)
        told = attrs.evolve(event.content, is_error=done.result not in rules.SUCCESSES)
        denied = done.state is v.OutcomeState.NOT_STARTED
        refs = attrs.evolve(refs, ask=refs.ask if denied else None)
        event = attrs.evolve(event, content=told, refs=refs)
    if event.kind not in _NESTING:
        return st.just(event)
    if refs.parent_operation is None:
        return st.sampled_from((None, v.Origin.PROVIDER)).map(
            lambda origin: attrs.evolve(event, origin=origin, visibility=v.Visibility.VISIBLE)
        )
    return st.just(
        attrs.evolve(
            event,
            origin=v.Origin.NESTED,
            visibility=v.Visibility.HIDDEN,
            refs=attrs.evolve(event.refs, parent_operation=f"{refs.operation}x"),
        )
    )


# --- fields by their forms ------------------------------------------------------------------------


def _records(record: type[T], **stated: Drawn) -> st.SearchStrategy[T]:
    drawn = {f.name: _field(record, f) for f in fields_of(record) if f.name not in stated}
    return st.builds(record, **drawn, **stated)


def _field(record: type, field: Field) -> Drawn:
    item = _item(record, field)
    if field.many:
        return st.lists(st.none() | item if field.nullable else item, max_size=3).map(tuple)
    return st.none() | item if field.default is None else item


def _just(*words: object) -> Drawn:
    return st.sampled_from(words)


def _item(record: type, field: Field) -> Drawn:
    if field.sort is Sort.WORD:
        return _just(*cast("type[StrEnum]", field.type))
    if field.sort is Sort.RECORD:
        known = _SOUND.get(field.type)
        return cast("Drawn", _records(field.type)) if known is None else known
    form = forms.FORMS[record][field.name]
    if field.sort is Sort.FREE:
        return json_objects() if form is forms.an_object else json_values()
    if form is forms.anything:
        return {str: TEXTS, bool: st.booleans(), int: st.just(m.PROTOCOL)}[field.type]
    return _BY_FORM[form]


def json_objects() -> st.SearchStrategy[dict[str, Json]]:
    """JSON objects of the accepted domain."""
    return st.dictionaries(TEXTS, json_values(), max_size=3)


def _naturals() -> st.SearchStrategy[int]:
    return st.integers(0, 3) | st.integers(0, SAFE_INT_MAX)


def _some_text() -> st.SearchStrategy[str]:
    return TEXTS.filter(bool)


_BY_FORM: Final[Mapping[forms.Form, Drawn]] = {
    forms.an_id: ids(),
    forms.a_digest: digests(),
    forms.some_text: _some_text(),
    forms.a_key: _some_text(),
    forms.natural: _naturals(),
    forms.positive: _naturals().map(lambda number: max(number, 1)),
}
_ABSENT_FILE: Final = st.just(m.FileIdentity(kind=v.FileKind.ABSENT))
_FILE: Final = st.builds(
    m.FileIdentity,
    kind=st.just(v.FileKind.FILE),
    digest=digests(),
    bytes=_naturals(),
    mode=_naturals(),
)
_SOUND: Final[Mapping[type, Drawn]] = {
    m.FileIdentity: _ABSENT_FILE | _FILE,
    m.Budgets: _records(m.Budgets).filter(lambda budgets: budgets != m.Budgets()),
    m.Question: _records(
        m.Question, options=st.lists(_some_text(), max_size=3, unique=True).map(tuple)
    ),
}

# --- fields that must agree, by kind --------------------------------------------------------------

_PLAIN_TEXT: Final = _records(m.Text, attachments=st.just(()))
_USER_TEXT: Final = _records(m.Text, text=_some_text()) | _records(
    m.Text, attachments=st.lists(_records(m.Attachment), min_size=1, max_size=2).map(tuple)
)
_SAID: Final[Mapping[v.Kind, Drawn]] = {
    v.Kind.USER_TEXT: _USER_TEXT,
    v.Kind.STEERING_TEXT: _USER_TEXT,
    v.Kind.MESSAGE_QUEUED: _USER_TEXT,
    v.Kind.MODEL_TEXT: _PLAIN_TEXT,
    v.Kind.CHECKPOINT_MADE: _records(m.Text, text=_some_text(), attachments=st.just(())),
    v.Kind.MODEL_THINKING: _records(m.Thinking, text=_some_text())
    | _records(m.Thinking, text=st.just(""), signature=_some_text()),
}

_NONE: Final = st.none()
_KEYLESS: Final[dict[str, Drawn]] = {"key": _NONE}
_KEYED: Final[dict[str, Drawn]] = {"key": _some_text(), "input": digests()}


def _distinct(drawn: st.SearchStrategy[str]) -> Drawn:
    return st.lists(drawn, min_size=1, max_size=3, unique=True).map(tuple)


def _opened(cause: v.Cause, keys: Mapping[str, Drawn]) -> Drawn:
    continues = cause in rules.CONTINUATIONS
    return _records(
        m.RunOpened,
        cause=st.just(cause),
        continuation=_records(m.ContinuationStart) if continues else _NONE,
        **keys,
    )


def _outcomes() -> Drawn:
    return st.one_of(
        *(
            _records(
                m.Outcome,
                state=_just(state),
                by=_just(by),
                result=_just(*results),
                **({} if by is v.OutcomeBy.TOOL else {"duration_ms": _NONE}),
            )
            for (state, by), results in rules.OUTCOMES.items()
        )
    )


def _decisions() -> Drawn:
    parking = [reason for reason in v.DecisionReason if reason not in rules.COMPLETING]
    evidence = _distinct(ids())
    return _records(
        m.RecoveryDecision,
        disposition=_just(v.Disposition.COMPLETED),
        reason=_just(*rules.COMPLETING),
        evidence=evidence,
    ) | _records(
        m.RecoveryDecision,
        disposition=_just(v.Disposition.PARKED),
        reason=_just(*parking),
        evidence=evidence,
    )


def _dispatches() -> Drawn:
    bare = [mode for mode in v.RecoveryMode if mode.value not in {"reconcile", "idempotent"}]
    return st.one_of(
        _records(m.Dispatched, recovery=_just(*bare), evidence=_NONE, key=_NONE, retry_of=_NONE),
        _records(
            m.Dispatched,
            recovery=_just(v.RecoveryMode.RECONCILE),
            evidence=_records(m.FileEvidence),
            key=_NONE,
            retry_of=_NONE,
        ),
        _records(
            m.Dispatched,
            recovery=_just(v.RecoveryMode.IDEMPOTENT),
            evidence=_NONE,
            key=_some_text(),
        ),
    )


def _settlements() -> Drawn:
    result = v.RequestResult
    return st.one_of(
        _records(
            m.RequestSettled,
            result=_just(result.FINISHED),
            finish=_just(*v.Finish),
            failure=_NONE,
        ),
        _records(
            m.RequestSettled,
            result=_just(result.FAILED),
            finish=_NONE,
            usage=_NONE,
            failure=_just(*v.Failure),
        ),
        _records(
            m.RequestSettled,
            result=_just(result.ABORTED, result.UNKNOWN),
            finish=_NONE,
            usage=_NONE,
            failure=_NONE,
        ),
    )


def _dispatched_requests() -> Drawn:
    parts = st.lists(digests(), min_size=1, max_size=3).map(tuple)
    return _records(m.RequestDispatched, attempt=st.just(1), parts=parts, retries=_NONE) | _records(
        m.RequestDispatched, attempt=st.integers(2, 9), parts=parts, retries=ids()
    )


def _asks() -> Drawn:
    questions = st.lists(_SOUND[m.Question], min_size=1, max_size=3).map(tuple)
    none = st.just(())
    return st.one_of(
        _records(m.AskOpened, purpose=_just(v.Purpose.PERMISSION), questions=none, expansion=_NONE),
        _records(
            m.AskOpened, purpose=_just(v.Purpose.BOUNDARY), questions=none, expansion=json_objects()
        ),
        _records(
            m.AskOpened, purpose=_just(v.Purpose.QUESTION), questions=questions, expansion=_NONE
        ),
    )


def _answers() -> Drawn:
    decision = v.AnswerDecision
    answers = st.lists(st.none() | _some_text(), min_size=1, max_size=3).map(tuple)
    return _records(
        m.AskAnswered, decision=_just(decision.ALLOW, decision.DENY), answers=st.just(())
    ) | _records(m.AskAnswered, decision=_just(decision.ANSWER), answers=answers)


def _ends() -> Drawn:
    status = v.RunStatus
    return st.one_of(
        _records(m.RunEnded, status=_just(status.COMPLETED), failure=_NONE, source=_NONE),
        _records(
            m.RunEnded, status=_just(status.FAILED), failure=_just(*v.RunFailure), source=_NONE
        ),
        _records(m.RunEnded, status=_just(status.ABORTED), failure=_NONE, source=_some_text()),
    )


_DONE: Final[Mapping[v.Kind, Drawn]] = {
    v.Kind.RUN_OPENED: st.one_of(
        *(
            _opened(cause, keys)
            for cause in v.Cause
            if cause is not v.Cause.CLAIM_REPAIR
            for keys in (_KEYLESS, _KEYED)
        ),
        _opened(v.Cause.CLAIM_REPAIR, {"key": _NONE, "input": _NONE}),
    ),
    v.Kind.REQUEST_DISPATCHED: _dispatched_requests(),
    v.Kind.REQUEST_SETTLED: _settlements(),
    v.Kind.DISPATCHED: _dispatches(),
    v.Kind.OUTCOME: _outcomes(),
    v.Kind.RECOVERY_DECISION: _decisions(),
    v.Kind.ASK_OPENED: _asks(),
    v.Kind.ASK_ANSWERED: _answers(),
    v.Kind.RUN_ENDED: _ends(),
    v.Kind.MESSAGE_QUEUED: _records(m.MessageQueued, **_KEYLESS)
    | _records(m.MessageQueued, **_KEYED),
    v.Kind.DRIFT_ACCEPTED: _records(m.DriftAccepted, paths=_distinct(_some_text())),
}
