"""One legal fact of every kind, by hand, with as many optional fields as may stand together."""

from collections.abc import Mapping
from typing import Final, Protocol, TypeVar, cast

import attrs

from crashworthy.machines.facts import model as m
from crashworthy.machines.facts import vocabulary as v

SPINE: Final = m.Spine(session="ses_1", invocation="inv_1", run="run_1", turn="turn_1")
STAMP: Final = m.Stamp(seq=1, root="root_1", epoch=1, rows=("RUN.T1", "SESSION.T2"))
TS: Final = 1_764_500_000_000


T = TypeVar("T")


class _Evolve(Protocol):
    """What `attrs.evolve` does, without its knowledge of the fields' types."""

    def __call__(self, record: T, /, **fields: object) -> T: ...


def changed(record: T, **fields: object) -> T:
    """`record` with other fields, of other types too: what a test must see refused."""
    return cast("_Evolve", attrs.evolve)(record, **fields)


def hexed(letter: str) -> str:
    """A text in the form of a digest."""
    return letter * 64


def _fact(
    kind: v.Kind,
    role: v.Role,
    author: v.Author,
    content: m.Content | None = None,
    actions: m.Action | None = None,
    **refs: str,
) -> m.RuntimeEvent:
    return m.RuntimeEvent(
        id=f"fact_{kind}",
        spine=SPINE,
        kind=kind,
        ts=TS,
        role=role,
        author=author,
        content=content,
        actions=actions,
        refs=m.Refs(**refs),
    )


def _system(kind: v.Kind, actions: m.Action, **refs: str) -> m.RuntimeEvent:
    return _fact(kind, v.Role.SYSTEM, v.Author.SYSTEM, None, actions, **refs)


def _person(kind: v.Kind, actions: m.Action, **refs: str) -> m.RuntimeEvent:
    return _fact(kind, v.Role.SYSTEM, v.Author.USER, None, actions, **refs)


LOSS: Final = m.Loss(path="$.text", reason="lone surrogate", count=2)
PROFILE: Final = m.ExecutionProfile(
    backend="scripted",
    model="script-1",
    prompt=(m.PromptPart(name="runtime", digest=hexed("1")),),
    tools=(m.ToolProfile(name="write", schema=hexed("2"), contract=hexed("3")),),
    tool_protocol=1,
    projection=1,
    policy=hexed("4"),
)
SOURCE: Final = m.SegmentRef(
    session="ses_1",
    invocation="inv_0",
    run="run_0",
    turn="turn_0",
    last_seq=9,
    last_id="fact_last",
    chain=hexed("5"),
)
EVIDENCE: Final = m.FileEvidence(
    workspace="ws_1",
    target="notes/à faire.txt",
    before=m.FileIdentity(kind=v.FileKind.ABSENT),
    after=m.FileIdentity(kind=v.FileKind.FILE, digest=hexed("6"), bytes=12, mode=0o644),
    transform=1,
    result={"written": 12},
    limit_bytes=1_000_000,
)

_TOOL: Final = (v.Role.TOOL, v.Author.TOOL)
_MODEL: Final = (v.Role.MODEL, v.Author.AGENT)
_USER: Final = (v.Role.USER, v.Author.USER)

_RUN: Final = (
    _system(
        v.Kind.RUN_OPENED,
        m.RunOpened(
            protocol=1,
            cause=v.Cause.RUNTIME_ADMISSION,
            profile=PROFILE,
            context=hexed("7"),
            key="key-1",
            input=hexed("8"),
            continuation=m.ContinuationStart(
                claim="claim_1", boundary=hexed("9"), source=SOURCE, projection=1, replay=hexed("a")
            ),
            budgets=m.Budgets(deadline_ts=TS, steps_max=40),
        ),
    ),
    _fact(
        v.Kind.USER_TEXT,
        *_USER,
        m.Text(
            text="Grüße, 世界 🌍\n\0",
            attachments=(
                m.Attachment(
                    kind=v.AttachmentKind.IMAGE,
                    media_type="image/png",
                    bytes=3,
                    digest=hexed("b"),
                    name="dot.png",
                ),
            ),
        ),
    ),
    _fact(v.Kind.STEERING_TEXT, *_USER, m.Text(text="rather left"), message="msg_1"),
    _system(
        v.Kind.REQUEST_DISPATCHED,
        m.RequestDispatched(
            step=1,
            attempt=2,
            profile=hexed("c"),
            wire=hexed("d"),
            parts=(hexed("e"), hexed("f")),
            retries="req_0",
        ),
        request="req_1",
    ),
    _system(
        v.Kind.REQUEST_SETTLED,
        m.RequestSettled(
            result=v.RequestResult.FINISHED,
            finish=v.Finish.TOOL_CALLS,
            usage=m.Usage(input=10, output=20, cache_read=0, cost_micros=31),
        ),
        request="req_1",
    ),
    _fact(
        v.Kind.MODEL_TEXT,
        *_MODEL,
        m.Text(text="I write.", losses=(LOSS,)),
        request="req_1",
        stream="s_1",
    ),
    _fact(v.Kind.MODEL_THINKING, *_MODEL, m.Thinking(text="", signature="c2ln"), request="req_1"),
    _fact(
        v.Kind.CALL,
        *_MODEL,
        m.FunctionCall(label="call_1", name="write", args={"n": [1, 2.5, None, True], "path": "a"}),
        m.CallPlaced(step=1, position=1, args_digest=hexed("0")),
        request="req_1",
        operation="op_1",
    ),
    _system(
        v.Kind.DISPATCHED,
        m.Dispatched(
            tool="write",
            args_digest=hexed("0"),
            recovery=v.RecoveryMode.RECONCILE,
            local=True,
            evidence=EVIDENCE,
            timeout_ms=30_000,
        ),
        operation="op_1",
        ask="ask_1",
    ),
    _fact(
        v.Kind.OUTCOME,
        *_TOOL,
        m.FunctionResponse(
            label="call_1",
            name="write",
            result={"written": 12},
            is_error=False,
            cut=m.OutputCut(bytes_total=12, digest=hexed("1"), blob=hexed("2")),
            losses=(LOSS,),
        ),
        m.Outcome(
            state=v.OutcomeState.SETTLED,
            result=v.OutcomeResult.OK,
            by=v.OutcomeBy.TOOL,
            duration_ms=7,
        ),
        operation="op_1",
    ),
    _system(
        v.Kind.RECONCILE_RESULT,
        m.ReconcileResult(observation=v.Observation.DIVERGED, observed="file:12"),
        operation="op_1",
    ),
    _system(
        v.Kind.RECOVERY_DECISION,
        m.RecoveryDecision(
            disposition=v.Disposition.PARKED,
            reason=v.DecisionReason.DIVERGED,
            evidence=("fact_dispatched", "fact_reconcile_result"),
        ),
        operation="op_1",
    ),
    _system(
        v.Kind.ASK_OPENED,
        m.AskOpened(
            purpose=v.Purpose.QUESTION,
            tool="ask_user",
            args_digest=hexed("3"),
            review="Which?",
            questions=(
                m.Question(text="Which?", options=("a", "b")),
                m.Question(text="Why?", options=()),
            ),
            deadline_ts=TS,
        ),
        ask="ask_1",
        operation="op_1",
    ),
    _person(
        v.Kind.ASK_ANSWERED,
        m.AskAnswered(decision=v.AnswerDecision.ANSWER, answers=("a", None)),
        ask="ask_1",
    ),
    _system(v.Kind.ASK_CLOSED, m.AskClosed(reason=v.CloseReason.EXPIRED), ask="ask_1"),
    _fact(
        v.Kind.ERROR_NOTED,
        v.Role.SYSTEM,
        v.Author.SYSTEM,
        m.ErrorText(message="slow down", losses=(LOSS,)),
        m.ErrorNoted(failure=v.Failure.RATE_LIMIT),
        request="req_1",
        operation="op_1",
    ),
    _fact(
        v.Kind.ARTIFACT_ADDED,
        *_TOOL,
        None,
        m.ArtifactAdded(name="plot", media_type="image/png", blob=hexed("4"), bytes=3),
        operation="op_1",
    ),
    _fact(
        v.Kind.CHECKPOINT_MADE,
        v.Role.SYSTEM,
        v.Author.SYSTEM,
        m.Text(text="So far: one file."),
        m.CheckpointMade(covers_seq=8, covers_chain=hexed("5"), projection=1),
    ),
    _person(v.Kind.STOP_REQUESTED, m.StopRequested(source="user")),
    _system(v.Kind.RUN_REATTACHED, m.RunReattached(profile=hexed("6"))),
    _system(
        v.Kind.RUN_ENDED,
        m.RunEnded(status=v.RunStatus.FAILED, failure=v.RunFailure.STEP_LIMIT),
    ),
)

_CONTROL: Final = (
    _person(v.Kind.SESSION_OPENED, m.SessionOpened(protocol=1, key="new-1", title="Notes")),
    _person(v.Kind.SETTINGS_CHANGED, m.SettingsChanged(revision=1, settings={"model": "m"})),
    _system(v.Kind.WORKSPACE_ATTACHED, m.WorkspaceAttached(workspace="ws_1", path="C:/notes")),
    _system(
        v.Kind.BOUNDARY_CHANGED,
        m.BoundaryChanged(revision=2, boundary={"network": False}, ask="ask_1"),
    ),
    _fact(
        v.Kind.MESSAGE_QUEUED,
        *_USER,
        m.Text(text="rather left"),
        m.MessageQueued(intent=v.Intent.STEER, key="key-2", input=hexed("7")),
        message="msg_1",
    ),
    _system(v.Kind.MESSAGE_TAKEN, m.MessageTaken(run="run_1"), message="msg_1"),
    _system(
        v.Kind.MESSAGE_RETURNED,
        m.MessageReturned(reason=v.ReturnReason.STOPPED),
        message="msg_1",
    ),
    _person(v.Kind.MESSAGE_RETRACTED, m.MessageRetracted(), message="msg_1"),
    _person(
        v.Kind.VERDICT_GIVEN,
        m.VerdictGiven(run="run_1", generation=1, verdict=v.Verdict.HAPPENED, note="I looked."),
        operation="op_1",
    ),
    _person(v.Kind.RUN_ABANDONED, m.RunAbandoned(run="run_1")),
    _person(v.Kind.BOUNDARY_ABANDONED, m.BoundaryAbandoned(run="run_1", boundary=hexed("8"))),
    _person(v.Kind.DRIFT_ACCEPTED, m.DriftAccepted(boundary=hexed("8"), paths=("a.txt", "b.txt"))),
    _fact(
        v.Kind.LATE_OUTCOME,
        *_TOOL,
        m.FunctionResponse(label="", name="shell", result="done", is_error=False),
        m.LateOutcome(run="run_1"),
        operation="op_2",
    ),
    _person(v.Kind.BRANCHED_FROM, m.BranchedFrom(session="ses_0", boundary=hexed("9"))),
    _person(v.Kind.SESSION_ADOPTED, m.SessionAdopted(root="root_0", chain=hexed("a"))),
)

EVENTS: Final[Mapping[v.Kind, m.RuntimeEvent]] = {event.kind: event for event in (*_RUN, *_CONTROL)}
OUTCOME: Final = EVENTS[v.Kind.OUTCOME]
