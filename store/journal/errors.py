"""What the journal refuses, each as a type with its facts (STORE-5, STORE-6)."""

from typing import ClassVar

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.vocabulary import Kind
from ...machines.lifecycles.table import Refused


@attrs.define(eq=False, kw_only=True)
class UnitRefusedError(CrashworthyError):
    """It does not fit where the run or the session stands; nothing of it was written.

    A lifecycle table refused it.

    Attributes:
        code: The table's own refusal, such as `run_sealed`.
        index: Which fact of the unit was refused, from 0.
        machine: The machine that refused it.
        phase: The state that machine is in.
        event: What the fact was to it.
    """

    # The one error whose code is known only when it happens: it passes on a table's answer.
    code: Code  # type: ignore[misc]  # pyright: ignore[reportIncompatibleVariableOverride]
    index: int
    machine: str
    phase: str
    event: str

    @classmethod
    def of(cls, index: int, refusal: Refused) -> "UnitRefusedError":
        """Make the error of a refusal."""
        return cls(
            code=refusal.code,
            index=index,
            machine=refusal.machine,
            phase=refusal.phase,
            event=refusal.event,
        )


@attrs.define(eq=False, kw_only=True)
class OwnerFencedError(CrashworthyError):
    """A later owner holds the root: this process must stop writing (OWN-1)."""

    code: ClassVar[Code] = Code.OWNER_FENCED
    epoch: int
    current: int


@attrs.define(eq=False, kw_only=True)
class FactConflictError(CrashworthyError):
    """The unit is neither new nor an exact retry of a stored one (STORE-6).

    Attributes:
        fact: The first id that is stored already.
        reason: `other_bytes`, `half_stored` or `other_unit`.
    """

    code: ClassVar[Code] = Code.FACT_CONFLICT
    fact: str
    reason: str


@attrs.define(eq=False, kw_only=True)
class SpineConflictError(CrashworthyError):
    """One of the four identities is stored beside others (ID-1).

    Attributes:
        field: Which one.
        found: Its text.
    """

    code: ClassVar[Code] = Code.SPINE_CONFLICT
    field: str
    found: str


@attrs.define(eq=False, kw_only=True)
class ContextDiffersError(CrashworthyError):
    """An opening carries another session digest than the session has now (CONT-1)."""

    code: ClassVar[Code] = Code.CONTEXT_DIFFERS
    stated: str
    stored: str


@attrs.define(eq=False, kw_only=True)
class UnitMisfitsWriterError(CrashworthyError):
    """The kinds of the unit are not the ones that this writer writes, in its order (STORE-5)."""

    code: ClassVar[Code] = Code.UNIT_MISFITS_WRITER
    writer: str
    kinds: tuple[Kind, ...]


@attrs.define(eq=False, kw_only=True)
class ReservedFactError(CrashworthyError):
    """The generic writer was given a kind that has a writer of its own (STORE-5)."""

    code: ClassVar[Code] = Code.RESERVED_FACT
    kind: Kind


@attrs.define(eq=False, kw_only=True)
class SessionQuarantinedError(CrashworthyError):
    """The session's stored facts are damaged: only what ends its runs is written (STORE-8)."""

    code: ClassVar[Code] = Code.SESSION_QUARANTINED
    session: str
    cause: str


@attrs.define(eq=False, kw_only=True)
class SessionForeignError(CrashworthyError):
    """The session was imported: adopt it before anything is written to it (STORE-12)."""

    code: ClassVar[Code] = Code.SESSION_FOREIGN
    session: str


@attrs.define(eq=False, kw_only=True)
class StartConflictError(CrashworthyError):
    """The caller's key is known with other input, or stands for something else (RUN-5)."""

    code: ClassVar[Code] = Code.START_CONFLICT
    scope: str
    key: str


@attrs.define(eq=False, kw_only=True)
class FoldRefusedError(CrashworthyError):
    """The tables do not admit a stored fact: the session is damaged (STORE-8).

    Attributes:
        ordinal: Where the refused fact stands.
        reason: The table's refusal.
    """

    code: ClassVar[Code] = Code.FOLD_REFUSED
    session: str
    ordinal: int
    reason: Code


@attrs.define(eq=False, kw_only=True)
class ClaimMissingError(CrashworthyError):
    """There is no such claim."""

    code: ClassVar[Code] = Code.CLAIM_MISSING
    claim: str


@attrs.define(eq=False, kw_only=True)
class ImportedAuthorityError(CrashworthyError):
    """A run of the boundary was written in another root: nothing continues from it (STORE-12)."""

    code: ClassVar[Code] = Code.IMPORTED_AUTHORITY
    run: str
