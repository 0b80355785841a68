"""Every refusal and failure has one stable machine code, listed here, append-only."""

from enum import StrEnum
from typing import ClassVar

import attrs


class Code(StrEnum):
    """The machine codes of crashworthy.

    A code is never renamed, reused or removed; `tests/tidy/codes.txt` lists all that were ever
    published and a test demands that this enum is a superset of it.
    """

    # --- bytes (BYTE-1 .. BYTE-6) ---
    NUMBER_UNSAFE = "number_unsafe"  # an integer or float that JSON readers would change
    NUMBER_NOT_FINITE = "number_not_finite"  # NaN or an infinity
    TEXT_UNCLEAN = "unclean_text"  # lone surrogates or invalid UTF-8
    VALUE_KIND = "value_kind_refused"  # not one of the exact JSON types
    KEY_KIND = "key_kind_refused"  # an object key that is not exactly a str
    DEPTH_EXCEEDED = "depth_exceeded"  # nested deeper than the stated limit
    JSON_MALFORMED = "json_malformed"  # the bytes are not one JSON value
    KEY_DUPLICATE = "key_duplicate"  # an object names a key twice
    BYTES_NOT_CANONICAL = "bytes_not_canonical"  # decode then encode gives other bytes
    ID_MALFORMED = "id_malformed"  # not an id: a letter or digit, then up to 127 of those or _.:-

    # --- facts (LOG-1 .. LOG-10, ID-1 .. ID-3) ---
    FACT_MALFORMED = (
        "fact_malformed"  # a declared key is absent, or holds another type than declared
    )
    FACT_ILLEGAL = "fact_illegal"  # the table of kinds forbids this field, value or combination
    UNKNOWN_FACT = "unknown_fact"  # a kind, key or word that this build does not know
    UNKNOWN_PROTOCOL = "unknown_protocol"  # an opening of a protocol that this build does not speak
    BRANCH_RESERVED = "branch_reserved"  # the key `branch` is reserved in protocol version 1
    MANIFEST_MALFORMED = "manifest_malformed"  # not the closed shape of a boundary manifest
    MANIFEST_EMPTY = "manifest_empty"  # a boundary without a segment
    LINEAGE_DEPTH_EXCEEDED = "lineage_depth_exceeded"  # more segments than a boundary may have
    SEGMENT_SESSION_DIFFERS = "segment_session_differs"  # segments of two sessions in one boundary
    SEGMENT_ID_REUSED = "segment_id_reused"  # a run, invocation or turn stands in two segments
    MANIFEST_DIGEST_DIFFERS = (
        "manifest_digest_differs"  # the stated boundary digest is not this one
    )
    TARGET_SESSION_DIFFERS = "target_session_differs"  # a continuation into another session
    TARGET_ID_REUSED = "target_id_reused"  # a continuation that reuses an id of its own lineage

    # --- lifecycles (MACH-1 .. MACH-6) ---
    TABLE_MALFORMED = "table_malformed"  # a transition table contradicts itself
    CELL_MALFORMED = "cell_malformed"  # a stored fold state that this build does not write
    ID_NOT_DERIVED = "id_not_derived"  # the id of this fact follows from others and is not chosen
    NOT_OPENED = "not_opened"  # nothing but an opening may be first in a ledger
    ALREADY_OPENED = "already_opened"  # the ledger or instance has its opening
    UNIT_INCOMPLETE = "unit_incomplete"  # the unit stops half-way through what it began
    RUN_SEALED = "run_sealed"  # the run has its terminal; nothing follows it
    RUN_STOPPING = "run_stopping"  # a durable stop intent admits only what ends the run
    RUN_NOT_STOPPING = "run_not_stopping"  # aborted ends only a run with a stop intent
    RUN_NOT_QUIET = "run_not_quiet"  # something in the run is still open
    RUN_NOT_ATTACHED = "run_not_attached"  # the run belongs to another owner epoch
    RUN_NOT_WAITING = "run_not_waiting"  # only a run that waits for a person can be re-attached
    RUN_NOT_FINISHED = "run_not_finished"  # completed needs a stated finish and no open error
    RUN_NEEDS_USER_TEXT = "run_needs_user_text"  # opening and first user text are one unit
    STOP_SOURCE_DIFFERS = "stop_source_differs"  # the end names another source than the stop
    FINISH_CONTRADICTS_CALLS = "finish_contradicts_calls"  # the stated finish and the calls differ
    REPAIR_ONLY_FAILS = "repair_only_fails"  # a repair start may only be closed as failed
    SESSION_BUSY = "session_busy"  # the session has an open inline run
    TARGET_RESERVED = "target_reserved"  # the ids belong to a claim; only its start writer may open
    CLAIM_MISSING = "claim_missing"  # a continuation start without its claim
    REQUEST_OPEN = "request_open"  # a model request is still unsettled
    REQUEST_NOT_OPEN = "request_not_open"  # there is no such open request
    REQUEST_MUST_NAME_RETRIED = "request_must_name_retried"  # a retry names the failed request
    REQUEST_SETTLED_ALREADY = "request_settled_already"  # a request settles once
    OPERATION_DUPLICATE = "operation_duplicate"  # the call exists
    OPERATION_NOT_CALLED = "operation_not_called"  # no call stands behind this fact
    OPERATION_DISPATCHED = "operation_dispatched"  # T1 exists; the call is no longer unstarted
    OPERATION_NOT_DISPATCHED = "operation_not_dispatched"  # there is no T1 to settle
    OPERATION_SETTLED = "operation_settled"  # the operation has its outcome
    OPERATION_PARKED = "operation_parked"  # parked is terminal for automation
    ARGUMENTS_DIFFER = "arguments_differ"  # tool or arguments are not those of the call
    GRANT_MISSING = "grant_missing"  # the call was asked about and has no unconsumed approval
    GRANT_UNASKED = "grant_unasked"  # a grant is named for a call nobody was asked about
    RECOVERY_MODE_FORBIDS = "recovery_mode_forbids"  # the tool's contract does not allow this
    EPOCH_NOT_GONE = "epoch_not_gone"  # the owner epoch of the operation is not proven gone
    EFFECT_NOT_LOCAL = "effect_not_local"  # a remote effect is never judged from here
    DECISION_CONTRADICTS = "decision_contradicts"  # decision and observation differ
    RETRY_NOT_PARKED = "retry_not_parked"  # the retried operation is not parked for its key
    ASK_UNKNOWN = "ask_unknown"  # there is no such request to a person
    ASK_DECIDED = "already_decided"  # the request has its one decision
    ASK_CLOSED = "ask_closed"  # the request was closed without an answer
    ASK_CONSUMED = "grant_consumed"  # the approval was used
    ASK_EXPIRED = "ask_expired"  # the deadline of the request has passed
    ASK_NOT_DUE = "ask_not_due"  # the deadline of the request has not passed
    ANSWER_MISFITS = "answer_misfits"  # the decision is none that this request takes
    MESSAGE_UNKNOWN = "message_unknown"  # there is no such message
    NO_OPEN_RUN = "no_open_run"  # nothing to steer, stop or take up: no run is open
    MESSAGE_NOT_QUEUED = "message_not_queued"  # taken, returned or retracted already
    MESSAGE_NOT_TAKEN = "message_not_taken"  # a delivered text without its message_taken
    MESSAGE_WRONG_RUN = "message_wrong_run"  # the message cannot go to that run
    NOT_AT_BOUNDARY = "not_at_step_boundary"  # messages are delivered between steps only
    REVISION_DIFFERS = "revision_differs"  # not the next revision
    SESSION_FOREIGN = "session_foreign"  # an imported session; adopt it first
    SESSION_NOT_FOREIGN = "session_not_foreign"  # only an imported session can be adopted
    SESSION_NOT_FRESH = "session_not_fresh"  # provenance is stated before anything else
    VERDICT_NOT_WANTED = "verdict_not_wanted"  # the operation is settled or was never started
    RUN_NOT_ENDED = "run_not_ended"  # the run is still open
    SEALED_BY_CLAIM = "sealed_by_claim"  # a continuation rests on this run
    GENERATION_DIFFERS = "generation_differs"  # not the next generation of the verdict
    CLAIM_EXISTING = "claim_existing"  # the boundary has its one claim
    CLAIM_CONFLICT = "claim_conflict"  # another claim holds the source or the target
    CLAIM_STARTED = "claim_started"  # the claim has its one start
    SOURCE_CHANGED = "source_changed"  # the source is not what was verified
    SOURCE_NOT_ENDED = "source_not_ended"  # only a run with its terminal at the tail can be claimed
    TARGET_NOT_EMPTY = "target_not_empty"  # the target has facts
    BOUNDARY_ABANDONED = "boundary_abandoned"  # a person gave this boundary up
    SUPERSEDED_BY_LATER_TURN = "superseded_by_later_turn"  # not the session's last inline run
    REPAIR_STARTED = "repair_started"  # the repair has its start
    REPAIR_NOT_STARTED = "repair_not_started"  # the repair has no start yet
    REPAIR_DONE = "repair_done"  # the repair is finished
    OWNER_FENCED = "owner_fenced"  # a later owner holds the root; this one must stop writing
    LEASE_HELD = "lease_held"  # the current owner has not let go
    LEASE_NOT_HELD = "lease_not_held"  # nobody holds the lease
    EPOCH_NOT_NEXT = "epoch_not_next"  # not the next owner epoch
    WORKERS_ALIVE = "worker_alive"  # a worker of an earlier epoch may still act
    HOST_NOT_READY = "host_not_ready"  # the host is still opening or recovering
    HOST_DRAINING = "host_draining"  # the host admits nothing more
    HOST_CLOSED = "host_closed"  # the host has ended
    HOST_HUNG = "host_hung"  # the shutdown did not end; the lock is kept until the process does

    # --- recovery and continuation ---

    # --- store and ownership (STORE-*, OWN-*) ---

    SQLITE_TOO_OLD = "sqlite_too_old"  # the linked SQLite is older than the minimum
    UNSUPPORTED_FILESYSTEM = "unsupported_filesystem"  # locks and shared memory are not kept there
    STORAGE_FULL = "storage_full"  # the environment had no room
    STORAGE_IO = "storage_io"  # the environment failed to read, write or sync
    STORAGE_BUSY = "storage_busy"  # another connection held the lock for too long
    STORAGE_READ_ONLY = "storage_read_only"  # the place cannot be written
    STORAGE_CANNOT_OPEN = "storage_cannot_open"  # a file could not be opened or created
    STORAGE_INTERRUPTED = "storage_interrupted"  # a statement was stopped, or had no memory
    DATABASE_DAMAGED = "database_damaged"  # SQLite itself says that the file is malformed
    CONSTRAINT_REFUSED = "constraint_refused"  # the schema's last guard refused a row
    TRANSACTION_LOST = "transaction_lost"  # SQLite ended the transaction behind a unit's back
    COMMIT_OUTCOME_UNKNOWN = "commit_outcome_unknown"  # COMMIT raised and may have committed
    STORE_POISONED = "store_poisoned"  # used after a COMMIT of unknown outcome
    STORE_ON_PROBATION = (
        "store_on_probation"  # no dispatch or request before a probe commit succeeds
    )
    STORE_CLOSED = "store_closed"  # used after close, or withdrawn by it before it was taken
    FORKED = "forked"  # used in a forked child, which owns nothing
    ACKNOWLEDGED_FACTS_MISSING = "acknowledged_facts_missing"  # the head is behind the anchor
    BLOB_MISSING = "blob_missing"  # a named blob is not there
    BLOB_ALTERED = "blob_altered"  # a blob's bytes are not those of its name
    NOT_FOUND = "not_found"  # there is no store at this place, and a reader makes none
    NEEDS_UPGRADE = "needs_upgrade"  # an older schema, which only an owner may migrate
    SCHEMA_NEWER = "schema_newer"  # written by a newer build; left unchanged
    SCHEMA_UNKNOWN = "schema_unknown"  # not a database of ours; left unchanged
    SCHEMA_ALTERED = "schema_altered"  # a table or index is not what this version makes
    ROOT_PERMISSIONS = "root_permissions"  # others may reach the root or a file in it
    ROOT_MARKER_INVALID = "root_marker_invalid"  # the marker is absent or is not one of ours
    ROOT_COPIED = "root_copied"  # the directory is not the one that the marker names
    ROOT_REPLACED = "root_replaced"  # the marker file is not the one that it names
    ROOT_OWNED = "root_owned"  # another process holds the owner lock
    LOCK_REPLACED = "lock_replaced"  # the lock file's path names another file than the locked one
    DATABASE_OF_OTHER_ROOT = "database_of_other_root"  # the database names another root id
    FACT_CONFLICT = (
        "fact_conflict"  # the id of a stored fact with other bytes, or half a stored unit
    )
    SPINE_CONFLICT = "spine_conflict"  # an invocation or run is stored with another spine
    CONTEXT_DIFFERS = "context_differs"  # the opening carries another session digest than the store
    UNIT_MISFITS_WRITER = "unit_misfits_writer"  # the kinds are not those that this writer writes
    RESERVED_FACT = "reserved_fact"  # a kind that only its dedicated writer may write
    SESSION_QUARANTINED = (
        "session_quarantined"  # its stored facts are damaged; only its end is written
    )
    START_CONFLICT = "start_conflict"  # the key is known with other input
    IMPORTED_AUTHORITY = "imported_authority"  # nothing continues from another root's facts
    FOLD_REFUSED = "fold_refused"  # the tables refuse a stored fact: damage of its session
    ROW_MALFORMED = "row_malformed"  # a column holds another type than the schema's, or no row
    ORDINAL_MISSING = "ordinal_missing"  # commit order has a gap: rows are gone
    ORDINAL_DIFFERS = "ordinal_differs"  # a row stands at another place than it says
    CHAIN_DIFFERS = "chain_differs"  # body, stamp or chain value of a row are not what was written
    ROOT_CHAIN_DIFFERS = (
        "root_chain_differs"  # the root chain value of a row is not what was written
    )
    COLUMN_DIFFERS = "column_differs"  # a column says something else than body and stamp
    SEQUENCE_DIFFERS = "sequence_differs"  # not the next position of its ledger
    ROOT_DIFFERS = "root_differs"  # a stamp names another root
    EPOCH_DIFFERS = "epoch_differs"  # a stamp names an epoch that did not hold the root then
    ROWS_DIFFER = "rows_differ"  # the tables admit a fact by other rows than its stamp says
    PROJECTION_DIFFERS = "projection_differs"  # a row kept beside the facts is not their fold
    AUTHORITY_DIFFERS = "authority_differs"  # an authority row contradicts another or has no form
    PARTIAL_MALFORMED = "partial_malformed"  # the snapshot of a stream has not its form
    RUNS_OPEN = "runs_open"  # a rebuild waits until no run is open

    # --- tools, people, runs (OP-*, ASK-*, RUN-*) ---
    TOOL_DEFINITION_INVALID = "tool_definition_invalid"  # a function that cannot become a tool
    TOOL_NAME_TAKEN = "tool_name_taken"  # two tools of one registry share a name
    TOOL_UNKNOWN = "tool_unknown"  # a call names no tool of this run
    ARGUMENTS_INVALID = "arguments_invalid"  # arguments outside the schema; names fields, no values
    REPEATED_FAILURE = "repeated_failure"  # the same call failed twice in a row: not run again
    TOOL_FAILED = "tool_failed"  # the tool raised
    TOOL_TIMED_OUT = "tool_timed_out"  # its declared time-out ended the process group
    RESULT_NOT_REPRESENTABLE = "result_not_representable"  # the effect happened, its result is lost
    WORKER_DIED = "worker_died"  # the worker process ended before it answered
    WORKER_UNAVAILABLE = "worker_unavailable"  # no worker got ready: the tool was not started
    FRAME_INVALID = "frame_invalid"  # a message between host and worker breaks the protocol
    EXPANSION_INVALID = "expansion_invalid"  # a boundary expansion outside the closed shape
    BOUNDARY_INVALID = "boundary_invalid"  # not one complete boundary snapshot
    SANDBOX_BOUNDARY_REQUIRED = "sandbox_boundary_required"  # names the exact expansion needed
    PATH_DENIED = "path_denied"  # an explicit deny or a protected path
    PATH_INVALID = "path_invalid"  # a path no file can have, or not clean text
    TARGET_SYMLINK = "target_symlink"  # a write would go through a symbolic link
    TARGET_HARD_LINKED = "target_hard_linked"  # a rename would split a file of several names
    TARGET_NOT_REGULAR = "target_not_regular"  # a directory, socket, device or pipe
    TARGET_CHANGED = "target_changed"  # the file is not what the plan saw: nothing was written
    TARGET_MISSING = "target_missing"  # the file to read or edit does not exist
    PARENT_MISSING = "parent_missing"  # the directory does not exist and may not be made
    OWNER_NOT_KEPT = "owner_not_kept"  # the file's owner cannot be kept: nothing was written
    FILE_TOO_LARGE = "file_too_large"  # over the stated limit of the file tools
    FILE_NOT_TEXT = "file_not_text"  # not UTF-8 text, where a tool needs text
    FILE_UNREADABLE = "file_unreadable"  # the system refused an access; nothing was written
    TRANSFORM_UNSTABLE = "transform_unstable"  # plan and execution computed different contents
    EDIT_TEXT_MISSING = "edit_text_missing"  # the text to replace is not in the file
    EDIT_TEXT_AMBIGUOUS = "edit_text_ambiguous"  # the text to replace is there more than once
    PATTERN_INVALID = "pattern_invalid"  # not a pattern that glob or grep accepts
    QUESTION_INVALID = "question_invalid"  # a question to a person over its bounds
    ARTIFACT_REFUSED = "artifact_refused"  # more or larger artifacts than the tool declared
    OUTCOME_UNCERTAIN = "outcome_uncertain"  # the tool cannot say whether its effect happened

    APPROVAL_DENIED = "approval_denied"  # a person said no to this call
    APPROVAL_REFUSED = "approval_refused"  # the policy lets nobody approve this call
    ROOT_UNUSABLE = "root_unusable"  # no directory, or nothing above it to make it in
    ROOT_NOT_APART = "root_not_apart"  # state root and workspace lie one inside the other
    WORKSPACE_UNUSABLE = "workspace_unusable"  # the directory cannot be marked or read
    NO_SESSION = "no_session"  # nothing was said in this log yet
    SESSION_UNKNOWN = "session_unknown"  # no such session in this root
    RUN_UNKNOWN = "run_unknown"  # no such run in this root
    PROFILE_DRIFT = "profile_drift"  # the run was opened with another execution profile
    NOT_OFFERED = "not_offered"  # a feature that this version does not have
    BACKEND_FAILED = "backend_failed"  # a model request failed in a way its backend can name
    SCRIPT_MALFORMED = "script_malformed"  # a scripted model's file is not in the documented form

    # --- crash lab, proofs, command line ---
    ASSERTS_DISABLED = "asserts_disabled"  # started with -O: invariants would not be checked
    COMMAND_UNAVAILABLE = "command_unavailable"  # this build has no such command
    TOOLS_UNAVAILABLE = "tools_unavailable"  # --tools names no tool that can be imported
    NOT_CONFIRMED = "not_confirmed"  # only a person may say so, and none did
    NAME_AMBIGUOUS = "name_ambiguous"  # the beginning of an id that fits several
    ORDINAL_UNKNOWN = "ordinal_unknown"  # the log does not go that far
    EXAMPLE_UNUSABLE = "example_unusable"  # the example cannot be made or run here
    INVARIANT_DISPUTED = "invariant_disputed"  # one invariant id is declared with two claims
    SPACE_UNBOUNDED = "space_unbounded"  # a field of a state or event has no small finite range
    CONTRACT_MALFORMED = "contract_malformed"  # a contract does not keep to the house form
    WORKLOAD_UNKNOWN = "workload_unknown"  # no such workload, module or factory
    ZYGOTE_NOT_CLEAN = "zygote_not_clean"  # threads or a connection would be carried over a fork
    LAB_PROCESS_LOST = "lab_process_lost"  # a process of the lab itself ended
    DEATH_UNKNOWN = "death_unknown"  # the rehearsal passes no such point
    PUPPET_FAILED = "puppet_failed"  # an act of a race raised, hung, ended or paused elsewhere
    REHEARSAL_FAILED = "rehearsal_failed"  # the example did not come to its end undisturbed
    RECORDER_UNAVAILABLE = "recorder_unavailable"  # no recorder below SQLite can be made here
    RECORDING_FAILED = "recording_failed"  # a workload did not come to its end being recorded
    IMAGE_UNKNOWN = "image_unknown"  # no crash image has such a key


@attrs.define(eq=False, kw_only=True)
class CrashworthyError(Exception):
    """The root of all errors that cross a layer; the text is derived from code and fields."""

    code: ClassVar[Code]

    def __str__(self) -> str:
        """Return `[code] field=value, ...`."""
        names = (field.name for field in attrs.fields(type(self)) if field.name != "code")
        facts = ((name, getattr(self, name)) for name in names)
        # A word of ours is told as a reader may type it, not as Python spells it.
        told = (f"{n}={(str(v) if isinstance(v, StrEnum) else v)!r}" for n, v in facts)
        return f"[{self.code}] {', '.join(told)}"
