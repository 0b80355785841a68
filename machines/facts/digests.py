"""The one way to digest: SHA-256 over a framed stream under a registered domain (BYTE-4)."""

import hashlib
import re
import struct
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from .canonical import encode
from .json_values import Json


class Domain(StrEnum):
    """What a digest speaks about; append-only, and another meaning or framing is a new version."""

    # --- the log (BYTE-5, BYTE-5a) ---
    CHAIN_START = "crashworthy.chain-start.v1"  # a spine, before the first fact
    CHAIN = "crashworthy.chain.v1"  # previous chain value, canonical body, canonical stamp
    ROOT_CHAIN_START = "crashworthy.root-chain-start.v1"  # a root id, before the first ordinal
    ROOT_CHAIN = "crashworthy.root-chain.v1"  # previous root value, ordinal, chain value

    # --- content ---
    ARGS = "crashworthy.args.v1"  # canonical bytes of {tool, args} (BYTE-6)
    INPUT = "crashworthy.input.v1"  # text, attachments and options of a start (RUN-5)
    BLOB = "crashworthy.blob.v1"  # the bytes of a blob (OP-6a)
    OUTPUT = "crashworthy.output.v1"  # a streamed output, in parts of 64 KiB (OP-7)
    PROMPT = "crashworthy.prompt.v1"  # a system prompt part or the list of parts (CONT-5)
    SCHEMA = "crashworthy.schema.v1"  # a tool's schema
    RECOVERY_CONTRACT = "crashworthy.recovery-contract.v1"  # what a tool declares (OP-5)
    POLICY = "crashworthy.policy.v1"  # a permission policy
    PROFILE = "crashworthy.profile.v1"  # an execution profile (CONT-5)
    WIRE = "crashworthy.wire.v1"  # the assembled bytes of a model request (LOG-7)
    EVIDENCE = "crashworthy.evidence.v1"  # what reconcile compares (OP-6)
    FILE = "crashworthy.file.v1"  # the bytes of a workspace file
    REQUEST_KEY = "crashworthy.request-key.v1"  # a caller's key with what it stands for

    # --- continuation (CONT-1, CONT-2) ---
    BOUNDARY = "crashworthy.boundary.v1"  # an ordered manifest of segments
    REPLAY = "crashworthy.replay.v1"  # the projected history of a boundary
    SESSION_CONTEXT_START = "crashworthy.session-context-start.v1"  # a session without closed runs
    SESSION_CONTEXT = "crashworthy.session-context.v1"  # chain heads of closed inline runs
    CHECKPOINT = "crashworthy.checkpoint.v1"  # the prefix that a compaction covers (PROJ-4)
    STATE = "crashworthy.state.v1"  # a stored fold state (STORE-4)

    # --- derived ids (ID-3) ---
    OPERATION_ID = "crashworthy.operation-id.v1"
    CALL_FACT_ID = "crashworthy.call-fact-id.v1"
    DISPATCH_FACT_ID = "crashworthy.dispatch-fact-id.v1"
    OUTCOME_FACT_ID = "crashworthy.outcome-fact-id.v1"
    RECONCILE_FACT_ID = "crashworthy.reconcile-fact-id.v1"
    DECISION_FACT_ID = "crashworthy.decision-fact-id.v1"
    LATE_OUTCOME_FACT_ID = "crashworthy.late-outcome-fact-id.v1"
    REPAIR_START_FACT_ID = "crashworthy.repair-start-fact-id.v1"
    REPAIR_TERMINAL_FACT_ID = "crashworthy.repair-terminal-fact-id.v1"
    RECOVERY_TERMINAL_FACT_ID = "crashworthy.recovery-terminal-fact-id.v1"
    RECOVERY_FACT_ID = "crashworthy.recovery-fact-id.v1"
    CONTROL_INVOCATION_ID = "crashworthy.control-invocation-id.v1"
    CONTROL_RUN_ID = "crashworthy.control-run-id.v1"
    CONTROL_TURN_ID = "crashworthy.control-turn-id.v1"
    CLAIM_ID = "crashworthy.claim-id.v1"
    ASK_ID = "crashworthy.ask-id.v1"


_DIGEST: Final = re.compile("[0-9a-f]{64}")
_length = struct.Struct(">Q").pack
_FRAMED: Final = {domain: _length(len(domain)) + domain.encode() for domain in Domain}
"""The opening frame of each domain; domains are ASCII, so characters are bytes."""


def digest(domain: Domain, *parts: bytes) -> str:
    """Return 64 lower-case hex digits over u64be-length-prefixed `domain` and `parts` (BYTE-4)."""
    framed = [_FRAMED[domain]]
    for part in parts:
        framed.append(_length(len(part)))
        framed.append(part)
    return hashlib.sha256(b"".join(framed)).hexdigest()


def digest_chunks(domain: Domain, size: int, chunks: Iterable[bytes]) -> str:
    """Return `digest(domain, part)` for one part of `size` bytes that comes in chunks."""
    assert size >= 0
    stream = hashlib.sha256(_FRAMED[domain] + _length(size))
    for chunk in chunks:
        size -= len(chunk)
        stream.update(chunk)
    # Another length under the same frame would be the digest of nothing that exists.
    assert size == 0
    return stream.hexdigest()


def digest_json(domain: Domain, value: object) -> str:
    """Return the digest of one part, the canonical bytes of `value`.

    Raises:
        CanonicalError: As `canonical.encode`.
    """
    return digest(domain, encode(value))


def args_digest(tool: str, args: Json) -> str:
    """Return the identity of a call's arguments: no key dropped, no array re-ordered (BYTE-6).

    Raises:
        CanonicalError: As `canonical.encode`.
    """
    return digest(Domain.ARGS, encode({"args": args, "tool": tool}))


def u64be(number: int) -> bytes:
    """Return `number` as the eight bytes that stand for a number in a framed stream."""
    return _length(number)


def is_digest(text: str) -> bool:
    """Tell whether `text` has the form of a digest."""
    return _DIGEST.fullmatch(text) is not None
