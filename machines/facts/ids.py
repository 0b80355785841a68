"""The form of every id, and the derivations by which a retry lands on the same one (ID-3)."""

import re
from enum import StrEnum
from typing import ClassVar, Final, NewType, Protocol

import attrs

from .codes import Code, CrashworthyError
from .digests import Domain, digest, u64be

RootId = NewType("RootId", str)
SessionId = NewType("SessionId", str)
TurnId = NewType("TurnId", str)
RunId = NewType("RunId", str)
InvocationId = NewType("InvocationId", str)
OperationId = NewType("OperationId", str)
FactId = NewType("FactId", str)
AskId = NewType("AskId", str)
RequestId = NewType("RequestId", str)
ClaimId = NewType("ClaimId", str)
MessageId = NewType("MessageId", str)
StreamId = NewType("StreamId", str)
BlobId = NewType("BlobId", str)
"""A digest in the domain BLOB; the only id without a prefix."""

ID_PATTERN: Final = "[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}"
"""The grammar of ids as a regular expression."""
_ID: Final = re.compile(ID_PATTERN)
_DERIVED_HEX: Final = 40
"""Hex digits of a derived id: 160 bits keep it collision free and half as long as a digest."""
_SHOWN_MAX: Final = 40


@attrs.define(eq=False, kw_only=True)
class IdError(CrashworthyError):
    """A text that should be an id does not follow the grammar.

    Attributes:
        what: Which id it should be.
        found: Its beginning, printable.
    """

    code: ClassVar[Code] = Code.ID_MALFORMED
    what: str
    found: str


def is_id(text: str) -> bool:
    """Tell whether `text` follows the grammar of ids."""
    return _ID.fullmatch(text) is not None


def checked_id(text: str, what: str) -> str:
    """Return `text` if it is a letter or digit and up to 127 more of those or of `_.:-`.

    Raises:
        IdError: `id_malformed`, naming `what`.
    """
    if not is_id(text):
        raise IdError(what=what, found=ascii(text[:_SHOWN_MAX]))
    return text


# --- derived ids: pure functions of their inputs, each under its own domain (ID-3) ---


def operation_id(invocation: InvocationId | str, step: int, position: int) -> OperationId:
    """Return the operation of the call at `position` in `step`, whatever its provider id (ID-2)."""
    parts = (invocation.encode(), u64be(step), u64be(position))
    return OperationId(_derived("op", Domain.OPERATION_ID, *parts))


def call_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `call`."""
    return _fact(Domain.CALL_FACT_ID, operation)


def dispatch_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `dispatched` (T1)."""
    return _fact(Domain.DISPATCH_FACT_ID, operation)


def outcome_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `outcome`: T2 and *not started* exclude each other."""
    return _fact(Domain.OUTCOME_FACT_ID, operation)


def reconcile_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `reconcile_result`."""
    return _fact(Domain.RECONCILE_FACT_ID, operation)


def decision_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `recovery_decision`."""
    return _fact(Domain.DECISION_FACT_ID, operation)


def late_outcome_fact_id(operation: OperationId | str) -> FactId:
    """Return the id of the operation's `late_outcome` in the control ledger (LOG-8)."""
    return _fact(Domain.LATE_OUTCOME_FACT_ID, operation)


def repair_start_fact_id(claim: ClaimId | str) -> FactId:
    """Return the id of the start that claim repair writes (CONT-7)."""
    return _fact(Domain.REPAIR_START_FACT_ID, claim)


def repair_terminal_fact_id(claim: ClaimId | str) -> FactId:
    """Return the id of the terminal that claim repair writes (CONT-7)."""
    return _fact(Domain.REPAIR_TERMINAL_FACT_ID, claim)


def recovery_terminal_fact_id(run: RunId | str) -> FactId:
    """Return the id of the terminal that run repair writes."""
    return _fact(Domain.RECOVERY_TERMINAL_FACT_ID, run)


def recovery_fact_id(kind: str, subject: str) -> FactId:
    """Return the id of a closing fact of `kind` that recovery writes about `subject` (LOG-4a)."""
    return FactId(_derived("fact", Domain.RECOVERY_FACT_ID, kind.encode(), subject.encode()))


def control_invocation(session: SessionId | str) -> InvocationId:
    """Return the reserved invocation of the session's control ledger (LOG-8)."""
    return InvocationId(_derived("ctl", Domain.CONTROL_INVOCATION_ID, session.encode()))


def control_run(session: SessionId | str) -> RunId:
    """Return the run id in the spine of the session's control ledger (LOG-8)."""
    return RunId(_derived("ctlrun", Domain.CONTROL_RUN_ID, session.encode()))


def control_turn(session: SessionId | str) -> TurnId:
    """Return the turn id in the spine of the session's control ledger (LOG-8)."""
    return TurnId(_derived("ctlturn", Domain.CONTROL_TURN_ID, session.encode()))


def claim_id(boundary_digest: str) -> ClaimId:
    """Return the claim of a boundary: one boundary can be claimed once (CONT-3)."""
    return ClaimId(_derived("claim", Domain.CLAIM_ID, boundary_digest.encode()))


def ask_id(operation: OperationId | str, ordinal: int) -> AskId:
    """Return the request to a person that is the operation's `ordinal`-th."""
    return AskId(_derived("ask", Domain.ASK_ID, operation.encode(), u64be(ordinal)))


def _fact(domain: Domain, subject: str) -> FactId:
    return FactId(_derived("fact", domain, subject.encode()))


def _derived(prefix: str, domain: Domain, *parts: bytes) -> str:
    return f"{prefix}_{digest(domain, *parts)[:_DERIVED_HEX]}"


# --- fresh ids: from an injected, time-ordered source (LOG-9) ---


class Prefix(StrEnum):
    """What a fresh id names; the prefix is for readers, no code decides by it."""

    ROOT = "root"
    SESSION = "ses"
    TURN = "turn"
    RUN = "run"
    INVOCATION = "inv"
    FACT = "fact"
    REQUEST = "req"
    MESSAGE = "msg"
    STREAM = "stream"
    ASK = "ask"
    HOST = "host"


class IdSource(Protocol):
    """Gives out ids that nobody else does, each greater than the one before under one prefix."""

    def next_id(self, prefix: str) -> str:
        """Return a fresh id that begins with `prefix` and an underscore."""
        ...


@attrs.define(eq=False, kw_only=True)
class SequentialIds:
    """An `IdSource` whose ids depend on nothing but `lane` and how many were given out before.

    Attributes:
        lane: Letters and digits that keep the sources of one simulation apart.
        given: How many ids were given out.
    """

    lane: str = "a"
    given: int = 0

    def next_id(self, prefix: str) -> str:
        """Return the next id of this lane, such as `run_a00000001`."""
        self.given += 1
        return checked_id(f"{prefix}_{self.lane}{self.given:08d}", prefix)


_MS_BITS: Final = 48
_COUNTER_BITS: Final = 16
_ENTROPY_BYTES: Final = 8


def time_ordered(prefix: str, ms: int, counter: int, entropy: bytes) -> str:
    """Return a fresh id whose text sorts by time and then by counter, under one prefix.

    Args:
        prefix: What it names.
        ms: Milliseconds since 1970, below 2^48.
        counter: Position among the ids of one millisecond, below 2^16.
        entropy: Eight random bytes, so that two processes cannot meet.
    """
    assert 0 <= ms < 1 << _MS_BITS
    assert 0 <= counter < 1 << _COUNTER_BITS
    assert len(entropy) == _ENTROPY_BYTES
    return checked_id(f"{prefix}_{ms:012x}{counter:04x}{entropy.hex()}", prefix)
