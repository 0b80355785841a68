"""A fact that the table of kinds does not allow is refused, by code and path (LOG-2, LOG-2a)."""

from collections.abc import Callable, Iterator
from itertools import product
from typing import cast

import attrs
import pytest
from hypothesis import given

from crashworthy.machines.facts import forms, rules
from crashworthy.machines.facts import model as m
from crashworthy.machines.facts import vocabulary as v
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.forms import FORMS
from crashworthy.machines.facts.illegal import IllegalFactError
from crashworthy.machines.facts.kinds import (
    KINDS,
    Ledger,
    Ref,
    model_visible,
    refuse_illegal,
)
from crashworthy.machines.facts.shapes import Sort, fields_of

from ...strategies import events
from .facts_by_hand import EVENTS, EVIDENCE, changed, hexed

EACH_KIND = pytest.mark.parametrize("kind", v.Kind)
Change = Callable[[m.RuntimeEvent], m.RuntimeEvent]
Path = tuple[str | int, ...]


def refusal(event: m.RuntimeEvent) -> IllegalFactError:
    with pytest.raises(IllegalFactError) as caught:
        refuse_illegal(event)
    return caught.value


def assert_illegal(event: m.RuntimeEvent, path: Path) -> None:
    error = refusal(event)
    assert (error.code, error.path) == (Code.FACT_ILLEGAL, path)


def does(**fields: object) -> Change:
    """Change the actions."""
    return lambda event: changed(event, actions=changed(event.actions, **fields))


def says(**fields: object) -> Change:
    """Change the content."""
    return lambda event: changed(event, content=changed(event.content, **fields))


def refers(**fields: str | None) -> Change:
    """Change the refs."""
    return lambda event: changed(event, refs=changed(event.refs, **fields))


def states(**fields: object) -> Change:
    """Change the envelope."""
    return lambda event: changed(event, **fields)


def both(*changes: Change) -> Change:
    def change(event: m.RuntimeEvent) -> m.RuntimeEvent:
        for each in changes:
            event = each(event)
        return event

    return change


# --- the table ------------------------------------------------------------------------------------


def test_table_has_every_kind() -> None:
    assert set(KINDS) == set(v.Kind)


def test_each_action_belongs_to_one_kind() -> None:
    """A fact's kind is explicit and its actions cannot say another (LOG-2a)."""
    actions = [spec.actions for spec in KINDS.values() if spec.actions is not None]

    assert len(actions) == len(set(actions))


def test_refs_of_the_table_are_the_fields_of_refs() -> None:
    assert {str(ref) for ref in Ref} == set(attrs.fields_dict(m.Refs))


def records() -> Iterator[type]:
    """Every record that can stand in a fact or stamp."""
    return (
        held
        for held in vars(m).values()
        if isinstance(held, type) and held.__module__ == m.__name__ and attrs.has(held)
    )


@pytest.mark.parametrize("record", tuple(records()), ids=lambda record: record.__name__)
def test_every_field_of_every_record_has_its_form(record: type) -> None:
    """A field that nobody judges would be a hole in the closed table."""
    judged = {f.name for f in fields_of(record) if f.sort not in {Sort.WORD, Sort.RECORD}}

    assert set(FORMS[record]) == judged


def test_person_alone_decides_what_only_a_person_may() -> None:
    """OP-4, ASK-3, CONT-8, CONT-11: no host and no runtime answers for a person."""
    for_persons = {kind for kind, s in KINDS.items() if {a for _, a in s.pairs} == {v.Author.USER}}

    assert for_persons == {
        v.Kind.ASK_ANSWERED,
        v.Kind.VERDICT_GIVEN,
        v.Kind.RUN_ABANDONED,
        v.Kind.BOUNDARY_ABANDONED,
        v.Kind.DRIFT_ACCEPTED,
    }


def test_agent_authors_nothing_but_what_a_model_says() -> None:
    """RUN-2: a backend cannot forge a kernel fact, not even by its author."""
    by_agent = {kind for kind, s in KINDS.items() if v.Author.AGENT in {a for _, a in s.pairs}}

    assert by_agent == {v.Kind.MODEL_TEXT, v.Kind.MODEL_THINKING, v.Kind.CALL}
    assert all(KINDS[kind].pairs == ((v.Role.MODEL, v.Author.AGENT),) for kind in by_agent)


def test_control_ledger_shows_nothing_to_a_model() -> None:
    control = [spec for spec in KINDS.values() if spec.ledger is Ledger.CONTROL]

    assert len(control) == 15
    assert all(spec.visibility is v.Visibility.HIDDEN and not spec.may_hide for spec in control)


# --- the envelope ---------------------------------------------------------------------------------


@EACH_KIND
def test_fact_by_hand_is_legal(kind: v.Kind) -> None:
    refuse_illegal(EVENTS[kind])


@given(events())
def test_drawn_fact_is_legal(event: m.RuntimeEvent) -> None:
    refuse_illegal(event)


@EACH_KIND
def test_role_and_author_outside_the_table_are_refused(kind: v.Kind) -> None:
    spec = KINDS[kind]
    for role, author in product(v.Role, v.Author):
        event = changed(EVENTS[kind], role=role, author=author)
        if (role, author) in spec.pairs:
            refuse_illegal(event)
        else:
            role_exists = role in {legal for legal, _ in spec.pairs}
            assert_illegal(event, ("author",) if role_exists else ("role",))


@EACH_KIND
def test_missing_and_foreign_refs_are_refused_by_name(kind: v.Kind) -> None:
    spec = KINDS[kind]
    for ref in Ref:
        without = refers(**{ref: None})(EVENTS[kind])
        if ref in spec.needs:
            assert_illegal(without, ("refs", ref))
        if ref not in spec.needs | spec.may:
            assert_illegal(refers(**{ref: "id_1"})(EVENTS[kind]), ("refs", ref))


@EACH_KIND
def test_content_and_actions_of_other_kinds_are_refused(kind: v.Kind) -> None:
    event = EVENTS[kind]
    for other in EVENTS.values():
        if type(other.content) is not type(event.content):
            assert_illegal(changed(event, content=other.content), ("content",))
        if type(other.actions) is not type(event.actions):
            assert_illegal(changed(event, actions=other.actions), ("actions",))


@EACH_KIND
def test_origin_and_hiding_are_stated_only_where_they_mean_something(kind: v.Kind) -> None:
    nests = kind in {v.Kind.CALL, v.Kind.OUTCOME}
    if not nests:
        assert_illegal(changed(EVENTS[kind], origin=v.Origin.PROVIDER), ("origin",))
    hidden = changed(EVENTS[kind], visibility=v.Visibility.HIDDEN)
    if nests or not KINDS[kind].may_hide:
        assert_illegal(hidden, ("visibility",))
    else:
        refuse_illegal(hidden)


@pytest.mark.parametrize("ts", [-1, 2**53])
def test_time_outside_the_safe_integers_is_refused(ts: int) -> None:
    assert_illegal(changed(EVENTS[v.Kind.USER_TEXT], ts=ts), ("ts",))


@pytest.mark.parametrize("bad", ["", "a b", "-a", "é", "a" * 129, "a\n"])
@pytest.mark.parametrize(
    "path", [("id",), ("spine", "session"), ("spine", "turn"), ("refs", "request")]
)
def test_id_outside_the_grammar_is_refused(bad: str, path: tuple[str, ...]) -> None:
    event = EVENTS[v.Kind.MODEL_TEXT]
    event = (
        changed(event, id=bad)
        if path == ("id",)
        else changed(event, **{path[0]: changed(getattr(event, path[0]), **{path[1]: bad})})
    )

    error = refusal(event)
    assert (error.code, error.path, error.found) == (Code.FACT_ILLEGAL, path, "string")


# --- each value by its form -----------------------------------------------------------------------

BAD: dict[forms.Form, tuple[object, ...]] = {
    forms.an_id: ("", "a b"),
    forms.a_digest: ("", "a" * 63, "A" * 64, f"{'a' * 64}\n"),
    forms.some_text: ("",),
    forms.a_key: ("", "k" * (forms.KEY_CHARS_MAX + 1)),
    forms.an_object: ([], "text", 1),
    forms.natural: (-1, 2**53),
    forms.positive: (0, 2**53),
}
JUDGED = [
    (record, name, bad)
    for record, held in FORMS.items()
    if record is not m.RuntimeEvent
    for name, form in held.items()
    if form is not forms.anything
    for bad in BAD[form]
]


def samples(value: object) -> Iterator[object]:
    """Every record inside the facts by hand."""
    if attrs.has(type(value)):
        yield value
        for field in fields_of(type(value)):
            yield from samples(getattr(value, field.name))
    if isinstance(value, tuple):
        for item in cast("tuple[object, ...]", value):
            yield from samples(item)


SAMPLES = {type(record): record for event in EVENTS.values() for record in samples(event)}
SAMPLES[m.Stamp] = m.Stamp(seq=1, root="root_1", epoch=1, rows=("RUN.T1",))


@pytest.mark.parametrize(("record", "name", "bad"), JUDGED)
def test_value_without_its_form_is_refused_by_path(record: type, name: str, bad: object) -> None:
    (field,) = (field for field in fields_of(record) if field.name == name)
    spoiled = changed(SAMPLES[record], **{name: (bad,) if field.many else bad})

    with pytest.raises(IllegalFactError) as caught:
        forms.refuse_ill_formed(spoiled)
    assert caught.value.path == ((name, 0) if field.many else (name,))


def test_form_is_asked_for_at_any_depth() -> None:
    evidence = changed(EVIDENCE, after=changed(EVIDENCE.after, digest="no digest"))

    assert_illegal(
        does(evidence=evidence)(EVENTS[v.Kind.DISPATCHED]),
        ("actions", "evidence", "after", "digest"),
    )


# --- what fields must say together ----------------------------------------------------------------

K = v.Kind
R = v.OutcomeResult
ILLEGAL: list[tuple[v.Kind, Change, Path]] = [
    (K.RUN_OPENED, does(continuation=None), ("actions", "continuation")),
    (K.RUN_OPENED, does(cause=v.Cause.TURN), ("actions", "continuation")),
    (K.RUN_OPENED, does(cause=v.Cause.FOLLOW_UP), ("actions", "continuation")),
    (K.RUN_OPENED, does(input=None), ("actions", "input")),
    (K.RUN_OPENED, does(cause=v.Cause.CLAIM_REPAIR), ("actions", "key")),
    (K.RUN_OPENED, does(cause=v.Cause.CLAIM_REPAIR, key=None), ("actions", "input")),
    (K.RUN_OPENED, does(budgets=m.Budgets()), ("actions", "budgets")),
    (K.USER_TEXT, says(text="", attachments=()), ("content", "text")),
    (K.STEERING_TEXT, says(text=""), ("content", "text")),
    (K.MESSAGE_QUEUED, says(text=""), ("content", "text")),
    (K.MESSAGE_QUEUED, does(input=None), ("actions", "input")),
    (K.MODEL_TEXT, says(attachments=(SAMPLES[m.Attachment],)), ("content", "attachments")),
    (K.MODEL_THINKING, says(text="", signature=None), ("content", "text")),
    (K.CHECKPOINT_MADE, says(text=""), ("content", "text")),
    (K.CHECKPOINT_MADE, says(attachments=(SAMPLES[m.Attachment],)), ("content", "attachments")),
    (K.REQUEST_DISPATCHED, does(parts=()), ("actions", "parts")),
    (K.REQUEST_DISPATCHED, does(retries=None), ("actions", "retries")),
    (K.REQUEST_DISPATCHED, does(attempt=1), ("actions", "retries")),
    (K.REQUEST_DISPATCHED, does(retries="req_1"), ("actions", "retries")),
    (K.REQUEST_SETTLED, does(finish=None), ("actions", "finish")),
    (K.REQUEST_SETTLED, does(failure=v.Failure.NETWORK), ("actions", "failure")),
    (K.REQUEST_SETTLED, does(result=v.RequestResult.ABORTED), ("actions", "finish")),
    (K.REQUEST_SETTLED, does(result=v.RequestResult.UNKNOWN, finish=None), ("actions", "usage")),
    (
        K.REQUEST_SETTLED,
        does(result=v.RequestResult.FAILED, finish=None, usage=None),
        ("actions", "failure"),
    ),
    (K.CALL, says(args=["a"]), ("content", "args")),
    (K.CALL, refers(parent_operation="op_0"), ("refs", "parent_operation")),
    (K.CALL, states(origin=v.Origin.NESTED), ("refs", "parent_operation")),
    (
        K.CALL,
        both(states(origin=v.Origin.NESTED), refers(parent_operation="op_1")),
        ("refs", "parent_operation"),
    ),
    (
        K.CALL,
        both(states(origin=v.Origin.NESTED), refers(parent_operation="op_0")),
        ("visibility",),
    ),
    (K.DISPATCHED, does(evidence=None), ("actions", "evidence")),
    (K.DISPATCHED, does(recovery=v.RecoveryMode.REPLAY_SAFE), ("actions", "evidence")),
    (K.DISPATCHED, does(key="k"), ("actions", "key")),
    (
        K.DISPATCHED,
        does(recovery=v.RecoveryMode.IDEMPOTENT, evidence=None),
        ("actions", "key"),
    ),
    (K.DISPATCHED, does(retry_of="op_0"), ("actions", "retry_of")),
    (
        K.DISPATCHED,
        does(recovery=v.RecoveryMode.IDEMPOTENT, evidence=None, key="k", retry_of="op_1"),
        ("actions", "retry_of"),
    ),
    (
        K.DISPATCHED,
        does(
            evidence=changed(
                EVIDENCE, before=EVIDENCE.after, after=m.FileIdentity(kind=v.FileKind.FILE)
            )
        ),
        ("actions", "evidence", "after", "digest"),
    ),
    (
        K.DISPATCHED,
        does(evidence=changed(EVIDENCE, before=m.FileIdentity(kind=v.FileKind.ABSENT, mode=1))),
        ("actions", "evidence", "before", "mode"),
    ),
    *(
        (
            K.DISPATCHED,
            does(evidence=changed(EVIDENCE, after=changed(EVIDENCE.after, **{name: None}))),
            ("actions", "evidence", "after", name),
        )
        for name in ("digest", "bytes", "mode")
    ),
    *(
        (
            K.DISPATCHED,
            does(evidence=changed(EVIDENCE, before=changed(EVIDENCE.before, **{name: value}))),
            ("actions", "evidence", "before", name),
        )
        for name, value in (("digest", hexed("a")), ("bytes", 0), ("mode", 0))
    ),
    (K.OUTCOME, does(by=v.OutcomeBy.REFUSAL), ("actions", "by")),
    (K.OUTCOME, does(state=v.OutcomeState.NOT_STARTED), ("actions", "by")),
    (K.OUTCOME, does(result=R.RECONCILED), ("actions", "result")),
    (K.OUTCOME, does(by=v.OutcomeBy.RECOVERY), ("actions", "result")),
    (K.OUTCOME, does(by=v.OutcomeBy.RECOVERY, result=R.RECONCILED), ("actions", "duration_ms")),
    (K.OUTCOME, does(result=R.ERROR), ("content", "is_error")),
    (K.OUTCOME, says(is_error=True), ("content", "is_error")),
    (K.OUTCOME, refers(ask="ask_1"), ("refs", "ask")),
    (K.OUTCOME, refers(parent_operation="op_0"), ("refs", "parent_operation")),
    (K.RECOVERY_DECISION, does(evidence=()), ("actions", "evidence")),
    (K.RECOVERY_DECISION, does(evidence=("a", "a")), ("actions", "evidence")),
    (K.RECOVERY_DECISION, does(disposition=v.Disposition.COMPLETED), ("actions", "reason")),
    (
        K.RECOVERY_DECISION,
        does(reason=v.DecisionReason.MATCHES_EXPECTED_STATE),
        ("actions", "reason"),
    ),
    (K.ASK_OPENED, does(questions=()), ("actions", "questions")),
    (K.ASK_OPENED, does(purpose=v.Purpose.PERMISSION), ("actions", "questions")),
    (K.ASK_OPENED, does(purpose=v.Purpose.BOUNDARY, questions=()), ("actions", "expansion")),
    (K.ASK_OPENED, does(expansion={}), ("actions", "expansion")),
    (
        K.ASK_OPENED,
        does(questions=(m.Question(text="?", options=("a", "a")),)),
        ("actions", "questions", 0, "options"),
    ),
    (K.ASK_ANSWERED, does(answers=()), ("actions", "answers")),
    (K.ASK_ANSWERED, does(decision=v.AnswerDecision.DENY), ("actions", "answers")),
    (K.RUN_ENDED, does(failure=None), ("actions", "failure")),
    (K.RUN_ENDED, does(source="user"), ("actions", "source")),
    (K.RUN_ENDED, does(status=v.RunStatus.COMPLETED), ("actions", "failure")),
    (K.RUN_ENDED, does(status=v.RunStatus.ABORTED, failure=None), ("actions", "source")),
    (
        K.RUN_ENDED,
        does(status=v.RunStatus.ABORTED, source="user"),
        ("actions", "failure"),
    ),
    (K.DRIFT_ACCEPTED, does(paths=()), ("actions", "paths")),
    (K.DRIFT_ACCEPTED, does(paths=("a", "a")), ("actions", "paths")),
]


@pytest.mark.parametrize(("kind", "change", "path"), ILLEGAL)
def test_fields_that_contradict_each_other_are_refused(
    kind: v.Kind, change: Change, path: Path
) -> None:
    assert_illegal(change(EVENTS[kind]), path)


@pytest.mark.parametrize("protocol", [0, 2, -1])
@pytest.mark.parametrize("kind", [K.RUN_OPENED, K.SESSION_OPENED])
def test_opening_of_another_protocol_is_refused_by_its_own_code(
    kind: v.Kind, protocol: int
) -> None:
    error = refusal(does(protocol=protocol)(EVENTS[kind]))

    assert (error.code, error.path) == (Code.UNKNOWN_PROTOCOL, ("actions", "protocol"))


@pytest.mark.parametrize("state", v.OutcomeState)
@pytest.mark.parametrize("by", v.OutcomeBy)
def test_outcome_states_before_and_after_dispatch_share_no_result(
    state: v.OutcomeState, by: v.OutcomeBy
) -> None:
    """OP-2: *not started* and *settled* can never be mistaken for each other."""
    other = {
        result
        for (their_state, _), results in rules.OUTCOMES.items()
        if their_state is not state
        for result in results
    }

    assert not other & set(rules.OUTCOMES.get((state, by), ()))


def test_every_result_of_an_outcome_is_someones() -> None:
    assert {result for results in rules.OUTCOMES.values() for result in results} == set(R)


def test_denial_may_name_the_request_that_it_consumes() -> None:
    denied = both(
        does(
            state=v.OutcomeState.NOT_STARTED,
            by=v.OutcomeBy.REFUSAL,
            result=R.DENIED,
            duration_ms=None,
        ),
        says(is_error=True),
        refers(ask="ask_1"),
    )

    refuse_illegal(denied(EVENTS[K.OUTCOME]))


def test_thought_may_be_a_signature_alone() -> None:
    refuse_illegal(says(text="", signature="c2ln")(EVENTS[K.MODEL_THINKING]))


def test_first_words_of_a_run_may_be_a_queued_message() -> None:
    """RUN-6: a follow-up is delivered as the user's text of the run that it starts."""
    refuse_illegal(refers(message="msg_1")(EVENTS[K.USER_TEXT]))


def test_user_may_send_attachments_without_words() -> None:
    refuse_illegal(says(text="")(EVENTS[K.USER_TEXT]))


def test_nested_call_and_result_are_legal_when_hidden() -> None:
    nested = both(
        states(origin=v.Origin.NESTED, visibility=v.Visibility.HIDDEN),
        refers(parent_operation="op_0"),
    )

    refuse_illegal(nested(EVENTS[K.CALL]))
    refuse_illegal(nested(EVENTS[K.OUTCOME]))


# --- what a model sees ----------------------------------------------------------------------------


def test_model_sees_words_calls_and_results_but_no_control_fact() -> None:
    assert {kind for kind in v.Kind if model_visible(EVENTS[kind])} == {
        K.USER_TEXT,
        K.STEERING_TEXT,
        K.MODEL_TEXT,
        K.MODEL_THINKING,
        K.CALL,
        K.OUTCOME,
    }


def test_model_does_not_see_what_is_hidden_or_empty() -> None:
    assert not model_visible(states(visibility=v.Visibility.HIDDEN)(EVENTS[K.USER_TEXT]))
    assert not model_visible(says(text="")(EVENTS[K.MODEL_TEXT]))
    assert model_visible(says(text="")(EVENTS[K.USER_TEXT]))  # it has an attachment


def test_hex_of_the_examples_is_a_digest() -> None:
    assert forms.a_digest(hexed("a"))
