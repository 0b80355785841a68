"""What an operation and the request to a person about it see of each fact."""

from typing import Final

from ...facts.model import (
    AskAnswered,
    AskClosed,
    AskOpened,
    CallPlaced,
    Dispatched,
    FunctionCall,
    Outcome,
    ReconcileResult,
    RecoveryDecision,
)
from ...facts.vocabulary import (
    AnswerDecision,
    CloseReason,
    DecisionReason,
    Kind,
    Observation,
    OutcomeBy,
    OutcomeState,
    Purpose,
    RecoveryMode,
)
from .. import interaction, operation
from ..cells import Cell, Machine, Memo
from .scene import Sight

_MODES: Final = {
    RecoveryMode.REPLAY_SAFE: operation.Mode.REPLAY_SAFE,
    RecoveryMode.IDEMPOTENT: operation.Mode.IDEMPOTENT,
    RecoveryMode.RECONCILE: operation.Mode.RECONCILE,
    RecoveryMode.OUTCOME_UNKNOWN: operation.Mode.NEVER,
    RecoveryMode.NEVER_AUTO_RETRY: operation.Mode.NEVER,
}
_SIGHTS: Final = {
    Observation.MATCHES_EXPECTED_STATE: operation.Sight.EXPECTED,
    Observation.MATCHES_PRIOR_STATE: operation.Sight.PRIOR,
    Observation.DIVERGED: operation.Sight.DIVERGED,
    Observation.UNREADABLE: operation.Sight.UNREADABLE,
}
_VERDICTS: Final = {
    DecisionReason.MATCHES_EXPECTED_STATE: operation.Verdict.COMPLETED,
    DecisionReason.INTERRUPTED_NO_EFFECT: operation.Verdict.COMPLETED,
    DecisionReason.MATCHES_PRIOR_STATE: operation.Verdict.PRIOR,
    DecisionReason.DIVERGED: operation.Verdict.DIVERGED,
    DecisionReason.UNREADABLE: operation.Verdict.UNREADABLE,
    DecisionReason.RETRY_BY_KEY: operation.Verdict.BY_KEY,
}
_DECISIONS: Final = {
    AnswerDecision.ALLOW: interaction.Decision.ALLOW,
    AnswerDecision.DENY: interaction.Decision.DENY,
    AnswerDecision.ANSWER: interaction.Decision.ANSWER,
}


def _same(left: object, right: object) -> bool:
    return left is not None and left == right


def _action(action: AskOpened | Dispatched, cell: Cell) -> operation.Match:
    """Compare tool and arguments with the call's; both digests frame the tool's name (BYTE-6)."""
    fits = _same(action.tool, cell.memo.get("tool")) and _same(
        action.args_digest, cell.memo.get("args")
    )
    return operation.Match.SAME if fits else operation.Match.OTHER


def _grant(sight: Sight, cell: Cell) -> operation.Grant:
    """Say what the request to a person is that this fact names, and that the call was asked with."""
    name = sight.event.refs.ask
    if name is None:
        return operation.Grant.NONE
    if name != cell.memo.get("ask"):
        return operation.Grant.OTHER
    state = sight.scene.cell(Machine.INTERACTION, name).state
    if isinstance(state, interaction.Granted):
        return operation.Grant.GRANTED
    if isinstance(state, interaction.Denied):
        return operation.Grant.DENIED
    return operation.Grant.OTHER


def _retry(sight: Sight, action: Dispatched) -> operation.Retry:
    """Say whether the operation a T1 repeats is parked for exactly this key and action (OP-5)."""
    if action.retry_of is None:
        return operation.Retry.NONE
    old = sight.scene.cell(Machine.OPERATION, action.retry_of)
    parked = isinstance(old.state, operation.Parked) and old.state.by_key
    fits = (
        parked
        and _same(action.key, old.memo.get("key"))
        and _same(action.args_digest, old.memo.get("args"))
        and old.memo.get("session") == sight.event.spine.session
    )
    return operation.Retry.PARKED if fits else operation.Retry.OTHER


def _gone(sight: Sight, cell: Cell) -> bool:
    state = cell.state
    if isinstance(state, operation.Dispatched):
        return state.epoch <= sight.scene.around.gone()
    return True


def _outcome(sight: Sight, action: Outcome, cell: Cell) -> operation.OperationSeen:
    if action.state is OutcomeState.NOT_STARTED:
        return operation.NotStarted(grant=_grant(sight, cell))
    via = operation.Via.TOOL
    if action.by is OutcomeBy.RECOVERY:
        observed = isinstance(cell.state, operation.Observed)
        via = operation.Via.RECONCILED if observed else operation.Via.INTERRUPTED
    return operation.Outcome(epoch=sight.epoch, via=via, gone=_gone(sight, cell))


def _evidence(action: RecoveryDecision, cell: Cell) -> operation.Match:
    """Compare the named evidence with what this operation has on record, in causal order (OP-4)."""
    wanted = tuple(
        cell.memo[name]
        for name in ("call", "dispatch", "reconcile", "outcome")
        if name in cell.memo
    )
    return operation.Match.SAME if action.evidence == wanted else operation.Match.OTHER


def see_operation(sight: Sight, cell: Cell) -> operation.OperationSeen:
    """Return what an operation's machine sees."""
    action = sight.event.actions
    if isinstance(action, CallPlaced):
        return operation.Call()
    if isinstance(action, AskOpened):
        return operation.Ask(action=_action(action, cell))
    if isinstance(action, AskClosed):
        return operation.Withdrawn()
    if isinstance(action, Dispatched):
        return operation.Dispatch(
            epoch=sight.epoch,
            mode=_MODES[action.recovery],
            local=action.local,
            action=_action(action, cell),
            grant=_grant(sight, cell),
            retry=_retry(sight, action),
        )
    if isinstance(action, Outcome):
        return _outcome(sight, action, cell)
    if isinstance(action, ReconcileResult):
        return operation.Observation(sight=_SIGHTS[action.observation], gone=_gone(sight, cell))
    assert isinstance(action, RecoveryDecision)
    return operation.Decision(
        verdict=_VERDICTS[action.reason],
        gone=_gone(sight, cell),
        evidence=_evidence(action, cell),
    )


def remember_operation(sight: Sight, cell: Cell) -> Memo:
    """Return what an operation remembers: its call, its facts, its key."""
    event, action, content = sight.event, sight.event.actions, sight.event.content
    match event.kind:
        case Kind.CALL:
            assert isinstance(action, CallPlaced)
            assert isinstance(content, FunctionCall)
            return {
                "session": event.spine.session,
                "run": event.spine.run,
                "call": event.id,
                "label": content.label,
                "tool": content.name,
                "args": action.args_digest,
                "ts": event.ts,
            }
        case Kind.ASK_OPENED:
            return {**cell.memo, "ask": event.refs.ask}
        case Kind.DISPATCHED:
            assert isinstance(action, Dispatched)
            memo = {**cell.memo, "dispatch": event.id, "ts": event.ts}
            return memo if action.key is None else {**memo, "key": action.key}
        case Kind.OUTCOME:
            return {**cell.memo, "outcome": event.id}
        case Kind.RECONCILE_RESULT:
            return {**cell.memo, "reconcile": event.id}
        case _:
            return cell.memo


def see_interaction(sight: Sight, cell: Cell) -> interaction.InteractionSeen:
    """Return what the machine of a request to a person sees."""
    action = sight.event.actions
    if isinstance(action, AskOpened):
        question = action.purpose is Purpose.QUESTION
        return interaction.Ask(
            purpose=interaction.Purpose.QUESTION if question else interaction.Purpose.APPROVAL
        )
    if isinstance(action, AskAnswered):
        return interaction.Answer(
            decision=_DECISIONS[action.decision], overdue=_overdue(sight, cell)
        )
    if isinstance(action, AskClosed):
        if action.reason is CloseReason.EXPIRED:
            return interaction.Expiry(overdue=_overdue(sight, cell))
        return interaction.Closing()
    fits = sight.event.refs.operation == cell.memo.get("operation")
    if isinstance(action, Dispatched):
        fits = fits and _same(action.args_digest, cell.memo.get("args"))
        return interaction.Use(action=interaction.Match.SAME if fits else interaction.Match.OTHER)
    return interaction.Told(action=interaction.Match.SAME if fits else interaction.Match.OTHER)


def _overdue(sight: Sight, cell: Cell) -> bool:
    """Compare a durable deadline with the fact's own time: the one place where `ts` decides (ASK-3)."""
    deadline = cell.memo.get("deadline")
    return isinstance(deadline, int) and sight.event.ts >= deadline


def remember_interaction(sight: Sight, cell: Cell) -> Memo:
    """Return what a request to a person remembers: the exact action it is about, and until when."""
    event, action = sight.event, sight.event.actions
    if not isinstance(action, AskOpened):
        return cell.memo
    memo: Memo = {
        "session": event.spine.session,
        "run": event.spine.run,
        "operation": event.refs.operation,
        "purpose": str(action.purpose),
        "args": action.args_digest,
    }
    return memo if action.deadline_ts is None else {**memo, "deadline": action.deadline_ts}
