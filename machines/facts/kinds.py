"""The one closed table of fact kinds, and the one judge of a fact taken alone (LOG-2, LOG-2a)."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import product
from types import MappingProxyType
from typing import Final, NoReturn, cast

import attrs

from . import model as m
from . import rules
from .forms import refuse_ill_formed
from .illegal import ABSENT, FactIllegalError, UnknownFactError, kind_of
from .vocabulary import Author, Kind, Role, Visibility


class Ledger(StrEnum):
    """Which ledger a kind belongs to (LOG-2a)."""

    RUN = "run"
    CONTROL = "control"


class Machine(StrEnum):
    """The lifecycle that a kind is home to; a fact may move others beside it (MACH-5, MACH-5c)."""

    SESSION = "session"
    MESSAGE = "message"
    RUN = "run"
    REQUEST = "request"
    OPERATION = "operation"
    INTERACTION = "interaction"


class Ref(StrEnum):
    """The names of the correlation ids, which are the fields of `Refs`."""

    REQUEST = "request"
    OPERATION = "operation"
    ASK = "ask"
    MESSAGE = "message"
    STREAM = "stream"
    PARENT_OPERATION = "parent_operation"


Pair = tuple[Role, Author]
Rule = Callable[[m.RuntimeEvent], None]


@attrs.frozen(kw_only=True)
class KindSpec:
    """What a fact of one kind looks like.

    Attributes:
        pairs: The legal combinations of role and author.
        content: The class of its content, or None.
        actions: The class of its actions, or None.
        needs: The refs that it must have.
        may: The refs that it may have beside those.
        may_state_origin: Whether `origin` may be stated.
        may_hide: Whether `visibility` may be stated as hidden.
        home: The machine that it is home to.
        visibility: Whether its content may enter model history when nothing is stated.
        rule: What its fields must say together, beyond their forms.
    """

    ledger: Ledger
    home: Machine
    pairs: tuple[Pair, ...]
    content: type[m.Content] | None = None
    actions: type[m.Action] | None = None
    needs: frozenset[Ref] = frozenset()
    may: frozenset[Ref] = frozenset()
    may_state_origin: bool = False
    may_hide: bool = False
    visibility: Visibility = Visibility.HIDDEN
    rule: Rule | None = None


# Who may write. A role says whose turn of the conversation it is, an author who caused the fact.
_RUNTIME: Final[tuple[Pair, ...]] = ((Role.SYSTEM, Author.SYSTEM),)
_HOST: Final[tuple[Pair, ...]] = ((Role.SYSTEM, Author.SYSTEM), (Role.SYSTEM, Author.HOST))
_PERSON: Final[tuple[Pair, ...]] = ((Role.SYSTEM, Author.USER),)
_CLIENT: Final[tuple[Pair, ...]] = ((Role.SYSTEM, Author.USER), (Role.SYSTEM, Author.HOST))
_ANYONE: Final[tuple[Pair, ...]] = (*_CLIENT, (Role.SYSTEM, Author.SYSTEM))
_SPEAKER: Final[tuple[Pair, ...]] = ((Role.USER, Author.USER), (Role.USER, Author.HOST))
_MODEL: Final[tuple[Pair, ...]] = ((Role.MODEL, Author.AGENT),)
_TOOL: Final[tuple[Pair, ...]] = ((Role.TOOL, Author.TOOL),)

_Refs = tuple[Ref, ...]
_REQUEST: Final[_Refs] = (Ref.REQUEST,)
_CALL: Final[_Refs] = (Ref.REQUEST, Ref.OPERATION)
_OPERATION: Final[_Refs] = (Ref.OPERATION,)
_ASK: Final[_Refs] = (Ref.ASK,)
_STREAM: Final[_Refs] = (Ref.STREAM,)
_PARENT: Final[_Refs] = (Ref.PARENT_OPERATION,)
_MESSAGE: Final[_Refs] = (Ref.MESSAGE,)


def _in_run(
    home: Machine,
    pairs: tuple[Pair, ...],
    content: type[m.Content] | None,
    actions: type[m.Action] | None,
    needs: _Refs = (),
    may: _Refs = (),
    rule: Rule | None = None,
    *,
    shown: bool = False,
    nests: bool = False,
) -> KindSpec:
    return KindSpec(
        ledger=Ledger.RUN,
        home=home,
        pairs=pairs,
        content=content,
        actions=actions,
        needs=frozenset(needs),
        may=frozenset(may),
        may_state_origin=nests,
        may_hide=shown,
        visibility=Visibility.VISIBLE if shown else Visibility.HIDDEN,
        rule=rule,
    )


def _in_control(
    home: Machine,
    pairs: tuple[Pair, ...],
    content: type[m.Content] | None,
    actions: type[m.Action] | None,
    needs: _Refs = (),
    rule: Rule | None = None,
) -> KindSpec:
    return KindSpec(
        ledger=Ledger.CONTROL,
        home=home,
        pairs=pairs,
        content=content,
        actions=actions,
        needs=frozenset(needs),
        rule=rule,
    )


# Legend: home machine, who may write it, content, actions, refs it needs, refs it may have, rule.
# `shown`: its content enters model history unless stated hidden. `nests`: a tool may have made it.
KINDS: Final[Mapping[Kind, KindSpec]] = MappingProxyType(
    {
        Kind.RUN_OPENED: _in_run(Machine.RUN, _ANYONE, None, m.RunOpened, rule=rules.run_opened),
        Kind.USER_TEXT: _in_run(
            Machine.RUN, _SPEAKER, m.Text, None, may=_MESSAGE, rule=rules.said_by_user, shown=True
        ),
        Kind.STEERING_TEXT: _in_run(
            Machine.RUN, _SPEAKER, m.Text, None, _MESSAGE, rule=rules.said_by_user, shown=True
        ),
        Kind.REQUEST_DISPATCHED: _in_run(
            Machine.REQUEST,
            _RUNTIME,
            None,
            m.RequestDispatched,
            _REQUEST,
            rule=rules.request_dispatched,
        ),
        Kind.REQUEST_SETTLED: _in_run(
            Machine.REQUEST, _RUNTIME, None, m.RequestSettled, _REQUEST, rule=rules.request_settled
        ),
        Kind.MODEL_TEXT: _in_run(
            Machine.REQUEST,
            _MODEL,
            m.Text,
            None,
            _REQUEST,
            _STREAM,
            rules.said_by_model,
            shown=True,
        ),
        Kind.MODEL_THINKING: _in_run(
            Machine.REQUEST, _MODEL, m.Thinking, None, _REQUEST, _STREAM, rules.thought, shown=True
        ),
        Kind.CALL: _in_run(
            Machine.OPERATION,
            _MODEL,
            m.FunctionCall,
            m.CallPlaced,
            _CALL,
            _PARENT,
            rules.call,
            shown=True,
            nests=True,
        ),
        Kind.DISPATCHED: _in_run(
            Machine.OPERATION, _RUNTIME, None, m.Dispatched, _OPERATION, _ASK, rules.dispatched
        ),
        Kind.OUTCOME: _in_run(
            Machine.OPERATION,
            _TOOL,
            m.FunctionResponse,
            m.Outcome,
            _OPERATION,
            (*_ASK, *_PARENT),
            rules.outcome,
            shown=True,
            nests=True,
        ),
        Kind.RECONCILE_RESULT: _in_run(
            Machine.OPERATION, _RUNTIME, None, m.ReconcileResult, _OPERATION
        ),
        Kind.RECOVERY_DECISION: _in_run(
            Machine.OPERATION,
            _RUNTIME,
            None,
            m.RecoveryDecision,
            _OPERATION,
            rule=rules.recovery_decision,
        ),
        Kind.ASK_OPENED: _in_run(
            Machine.INTERACTION,
            _RUNTIME,
            None,
            m.AskOpened,
            (*_ASK, *_OPERATION),
            rule=rules.ask_opened,
        ),
        Kind.ASK_ANSWERED: _in_run(
            Machine.INTERACTION, _PERSON, None, m.AskAnswered, _ASK, rule=rules.ask_answered
        ),
        Kind.ASK_CLOSED: _in_run(Machine.INTERACTION, _RUNTIME, None, m.AskClosed, _ASK),
        Kind.ERROR_NOTED: _in_run(Machine.RUN, _RUNTIME, m.ErrorText, m.ErrorNoted, (), _CALL),
        Kind.ARTIFACT_ADDED: _in_run(Machine.RUN, _TOOL, None, m.ArtifactAdded, _OPERATION),
        Kind.CHECKPOINT_MADE: _in_run(
            Machine.RUN, _RUNTIME, m.Text, m.CheckpointMade, rule=rules.checkpoint_made
        ),
        Kind.STOP_REQUESTED: _in_run(Machine.RUN, _CLIENT, None, m.StopRequested),
        Kind.RUN_REATTACHED: _in_run(Machine.RUN, _RUNTIME, None, m.RunReattached),
        Kind.RUN_ENDED: _in_run(Machine.RUN, _RUNTIME, None, m.RunEnded, rule=rules.run_ended),
        Kind.SESSION_OPENED: _in_control(
            Machine.SESSION, _CLIENT, None, m.SessionOpened, rule=rules.session_opened
        ),
        Kind.SETTINGS_CHANGED: _in_control(Machine.SESSION, _CLIENT, None, m.SettingsChanged),
        Kind.WORKSPACE_ATTACHED: _in_control(Machine.SESSION, _HOST, None, m.WorkspaceAttached),
        Kind.BOUNDARY_CHANGED: _in_control(Machine.SESSION, _ANYONE, None, m.BoundaryChanged),
        Kind.MESSAGE_QUEUED: _in_control(
            Machine.MESSAGE, _SPEAKER, m.Text, m.MessageQueued, _MESSAGE, rules.message_queued
        ),
        Kind.MESSAGE_TAKEN: _in_control(Machine.MESSAGE, _RUNTIME, None, m.MessageTaken, _MESSAGE),
        Kind.MESSAGE_RETURNED: _in_control(
            Machine.MESSAGE, _RUNTIME, None, m.MessageReturned, _MESSAGE
        ),
        Kind.MESSAGE_RETRACTED: _in_control(
            Machine.MESSAGE, _CLIENT, None, m.MessageRetracted, _MESSAGE
        ),
        Kind.VERDICT_GIVEN: _in_control(Machine.SESSION, _PERSON, None, m.VerdictGiven, _OPERATION),
        Kind.RUN_ABANDONED: _in_control(Machine.SESSION, _PERSON, None, m.RunAbandoned),
        Kind.BOUNDARY_ABANDONED: _in_control(Machine.SESSION, _PERSON, None, m.BoundaryAbandoned),
        Kind.DRIFT_ACCEPTED: _in_control(
            Machine.SESSION, _PERSON, None, m.DriftAccepted, rule=rules.drift_accepted
        ),
        Kind.LATE_OUTCOME: _in_control(
            Machine.SESSION, _TOOL, m.FunctionResponse, m.LateOutcome, _OPERATION
        ),
        Kind.BRANCHED_FROM: _in_control(Machine.SESSION, _CLIENT, None, m.BranchedFrom),
        Kind.SESSION_ADOPTED: _in_control(Machine.SESSION, _CLIENT, None, m.SessionAdopted),
    }
)


def refuse_illegal(event: m.RuntimeEvent) -> None:
    """Refuse a fact that the table does not allow, whatever other facts there are (LOG-2).

    Raises:
        UnknownFactError: `unknown_fact`, a kind that this build does not know.
        IllegalFactError: `fact_illegal` or `unknown_protocol`, with the path of the offending field
            and the kind of value found there.
    """
    spec = KINDS.get(event.kind)
    if spec is None:
        raise UnknownFactError(path=("kind",), found=kind_of(event.kind))
    if (event.role, event.author) not in spec.pairs:
        _refuse_pair(event, spec)
    if type(event.content) is not (spec.content or type(None)):
        _refuse("content", event.content)
    if type(event.actions) is not (spec.actions or type(None)):
        _refuse("actions", event.actions)
    if event.origin is not None and not spec.may_state_origin:
        _refuse("origin", event.origin)
    if event.visibility is Visibility.HIDDEN and not spec.may_hide:
        _refuse("visibility", event.visibility)
    refuse_ill_formed(event)
    refs = event.refs
    absent = (
        refs.request is None,
        refs.operation is None,
        refs.ask is None,
        refs.message is None,
        refs.stream is None,
        refs.parent_operation is None,
    )
    if absent not in _ABSENT_REFS[event.kind]:
        _refuse_refs(refs, spec)
    if spec.rule is not None:
        spec.rule(event)


def _refuse_pair(event: m.RuntimeEvent, spec: KindSpec) -> NoReturn:
    """Blame the role if no author could make it right, else the author."""
    if event.role not in {role for role, _ in spec.pairs}:
        _refuse("role", event.role)
    _refuse("author", event.author)


def _refuse_refs(refs: m.Refs, spec: KindSpec) -> NoReturn:
    for name in Ref:
        value = cast("str | None", getattr(refs, name))
        if (value is None and name in spec.needs) or (
            value is not None and name not in spec.needs and name not in spec.may
        ):
            raise FactIllegalError(path=("refs", name), found=_found(value))
    raise AssertionError(refs)  # Whoever asks has seen an offence.


def _absent_refs(spec: KindSpec) -> frozenset[tuple[bool, ...]]:
    """Return which refs may be absent together, in the order of `Ref`: they are few."""
    choices = (
        (False,) if ref in spec.needs else (True, False) if ref in spec.may else (True,)
        for ref in Ref
    )
    return frozenset(product(*choices))


_ABSENT_REFS: Final = {kind: _absent_refs(spec) for kind, spec in KINDS.items()}


def _refuse(name: str, value: object) -> NoReturn:
    raise FactIllegalError(path=(name,), found=_found(value))


def _found(value: object) -> str:
    return ABSENT if value is None else kind_of(value)


def model_visible(event: m.RuntimeEvent) -> bool:
    """Tell whether the fact's content may enter model history: not hidden, not empty (PROJ-2)."""
    if event.visibility is Visibility.HIDDEN or KINDS[event.kind].visibility is Visibility.HIDDEN:
        return False
    said = event.content
    return not isinstance(said, m.Text) or bool(said.text or said.attachments)
