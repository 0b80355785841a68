"""The closed words that facts are written in: kinds, roles, statuses, reasons."""

from enum import StrEnum


class Kind(StrEnum):
    """What a fact is; explicit in its body (LOG-2a). Append-only within a protocol version."""

    # The ledger of a run.
    RUN_OPENED = "run_opened"
    USER_TEXT = "user_text"
    STEERING_TEXT = "steering_text"
    REQUEST_DISPATCHED = "request_dispatched"
    REQUEST_SETTLED = "request_settled"
    MODEL_TEXT = "model_text"
    MODEL_THINKING = "model_thinking"
    CALL = "call"
    DISPATCHED = "dispatched"
    OUTCOME = "outcome"
    RECONCILE_RESULT = "reconcile_result"
    RECOVERY_DECISION = "recovery_decision"
    ASK_OPENED = "ask_opened"
    ASK_ANSWERED = "ask_answered"
    ASK_CLOSED = "ask_closed"
    ERROR_NOTED = "error_noted"
    ARTIFACT_ADDED = "artifact_added"
    CHECKPOINT_MADE = "checkpoint_made"
    STOP_REQUESTED = "stop_requested"
    RUN_REATTACHED = "run_reattached"
    RUN_ENDED = "run_ended"
    # The control ledger of a session (LOG-8).
    SESSION_OPENED = "session_opened"
    SETTINGS_CHANGED = "settings_changed"
    WORKSPACE_ATTACHED = "workspace_attached"
    BOUNDARY_CHANGED = "boundary_changed"
    MESSAGE_QUEUED = "message_queued"
    MESSAGE_TAKEN = "message_taken"
    MESSAGE_RETURNED = "message_returned"
    MESSAGE_RETRACTED = "message_retracted"
    VERDICT_GIVEN = "verdict_given"
    RUN_ABANDONED = "run_abandoned"
    BOUNDARY_ABANDONED = "boundary_abandoned"
    DRIFT_ACCEPTED = "drift_accepted"
    LATE_OUTCOME = "late_outcome"
    BRANCHED_FROM = "branched_from"
    SESSION_ADOPTED = "session_adopted"


class Role(StrEnum):
    """Whose turn of the conversation a fact belongs to."""

    USER = "user"
    MODEL = "model"
    TOOL = "tool"
    SYSTEM = "system"


class Author(StrEnum):
    """Who caused a fact; `host` acts on a person's behalf (a schedule, an embedder)."""

    USER = "user"
    HOST = "host"
    AGENT = "agent"
    TOOL = "tool"
    SYSTEM = "system"


class Origin(StrEnum):
    """Where a call was made: by the model itself or inside a tool that calls tools."""

    PROVIDER = "provider"
    NESTED = "nested"


class Visibility(StrEnum):
    """Whether content may enter model history."""

    VISIBLE = "visible"
    HIDDEN = "hidden"


class Cause(StrEnum):
    """What started a run (LOG-3)."""

    TURN = "turn"
    FOLLOW_UP = "follow_up"
    RUNTIME_ADMISSION = "runtime_admission"  # a continuation that may reach a provider (CONT-4)
    CLAIM_REPAIR = "claim_repair"  # a continuation start that never may (CONT-7)


class RequestResult(StrEnum):
    """How a model request settled (LOG-7)."""

    FINISHED = "finished"
    FAILED = "failed"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


class Finish(StrEnum):
    """The finish that a model stream stated; only a stated finish completes a run (RUN-3)."""

    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    OTHER = "other"


class Failure(StrEnum):
    """The closed failure kinds of model and host (BACK-1, LOG-6)."""

    ABORT = "abort"
    AUTH = "auth"
    CONTEXT_OVERFLOW = "context_overflow"
    NETWORK = "network"
    BILLING = "billing"
    UNAVAILABLE = "unavailable"
    RATE_LIMIT = "rate_limit"
    TIMEOUT = "timeout"
    PROTOCOL = "protocol"
    UNKNOWN = "unknown"


class RecoveryMode(StrEnum):
    """The recovery contract a tool declares (OP-5)."""

    REPLAY_SAFE = "replay_safe"
    IDEMPOTENT = "idempotent"
    RECONCILE = "reconcile"
    OUTCOME_UNKNOWN = "outcome_unknown"
    NEVER_AUTO_RETRY = "never_auto_retry"


class OutcomeState(StrEnum):
    """Whether the effect was attempted: two recorded values; *unknown* is derived (OP-2)."""

    SETTLED = "settled"
    NOT_STARTED = "not_started"


class OutcomeResult(StrEnum):
    """How a call ended, in the words of the tool plane."""

    OK = "ok"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    NOT_REPRESENTABLE = "result_not_representable"
    INTERRUPTED_NO_EFFECT = "interrupted_no_effect"
    RECONCILED = "reconciled"
    DENIED = "denied"
    INVALID_ARGUMENTS = "invalid_arguments"
    UNCLEAN_TEXT = "unclean_text"
    UNAVAILABLE = "unavailable"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"


class OutcomeBy(StrEnum):
    """Who wrote an outcome: the tool's T2, a refusal before T1, or recovery."""

    TOOL = "tool"
    REFUSAL = "refusal"
    RECOVERY = "recovery"


class Observation(StrEnum):
    """What recovery saw of a file effect (OP-6)."""

    MATCHES_EXPECTED_STATE = "matches_expected_state"
    MATCHES_PRIOR_STATE = "matches_prior_state"
    DIVERGED = "diverged"
    UNREADABLE = "unreadable"


class Disposition(StrEnum):
    """How recovery left an operation (OP-4)."""

    COMPLETED = "completed"
    PARKED = "parked"


class DecisionReason(StrEnum):
    """Why recovery completed or parked an operation; each park reason has a sentence (recovery)."""

    MATCHES_EXPECTED_STATE = "reconcile_matches_expected_state"
    INTERRUPTED_NO_EFFECT = "interrupted_no_effect"
    MATCHES_PRIOR_STATE = "reconcile_matches_prior_state"
    DIVERGED = "reconcile_diverged"
    UNREADABLE = "reconcile_unreadable"
    RETRY_BY_KEY = "retry_by_key"


class Purpose(StrEnum):
    """What a person is asked (ASK-1)."""

    PERMISSION = "permission"
    BOUNDARY = "boundary"
    QUESTION = "question"


class AnswerDecision(StrEnum):
    """What a person decided."""

    ALLOW = "allow"
    DENY = "deny"
    ANSWER = "answer"


class CloseReason(StrEnum):
    """Why a request to a person was closed without an answer (ASK-1)."""

    STOPPED = "stopped"
    RUN_ENDED = "run_ended"
    EXPIRED = "expired"
    POLICY = "policy"


class RunStatus(StrEnum):
    """The end of a run; the fact `run_ended` is its only statement (LOG-4)."""

    COMPLETED = "completed"
    FAILED = "failed"
    ABORTED = "aborted"


class RunFailure(StrEnum):
    """The class of a failed run (RUN-3, CONT-7, LOG-4a)."""

    MISSING_TERMINAL_EVENT = "missing_terminal_event"
    BACKEND_FAILED = "backend_failed"
    STEP_LIMIT = "step_limit"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    CONTEXT_BUDGET_EXHAUSTED = "context_budget_exhausted"
    BUDGET_EXHAUSTED = "budget_exhausted"
    DEADLINE = "deadline"
    STORAGE = "storage"
    OUTCOME_UNKNOWN = "outcome_unknown"
    OWNER_LOST = "owner_lost"
    OWNER_LOST_AFTER_DISPATCH = "owner_lost_after_dispatch"
    ABANDONED_BEFORE_DISPATCH = "abandoned_before_provider_dispatch"
    CONTINUATION_ABANDONED = "continuation_abandoned_before_provider_dispatch"
    ABANDONED_BY_PERSON = "abandoned_by_person"
    ACKNOWLEDGED_FACTS_MISSING = "acknowledged_facts_missing"
    ADOPTED = "adopted"
    INTERNAL = "internal"


class Intent(StrEnum):
    """What a queued message is for (RUN-6)."""

    STEER = "steer"
    FOLLOW_UP = "follow_up"


class ReturnReason(StrEnum):
    """Why a queued message went back to its sender."""

    STOPPED = "stopped"
    RUN_ENDED = "run_ended"


class Verdict(StrEnum):
    """What a person states about an unknown or parked operation (OP-4)."""

    HAPPENED = "effect_happened"
    DID_NOT_HAPPEN = "effect_did_not_happen"


class AttachmentKind(StrEnum):
    """What an attachment is, for capability checks (LOG-1)."""

    IMAGE = "image"
    DOCUMENT = "document"
    AUDIO = "audio"
    OTHER = "other"


class FileKind(StrEnum):
    """What a path held when a file tool looked (OP-6)."""

    ABSENT = "absent"
    FILE = "file"
