"""Claims: who may continue an immutable boundary, decided once, and its two starts (CONT-3)."""

from enum import StrEnum
from typing import Final, cast

import attrs

from ...machines.facts import canonical, compose, ids
from ...machines.facts.boundary import (
    Manifest,
    Segment,
    encode_manifest,
    manifest_digest,
    refuse_target,
)
from ...machines.facts.codes import Code
from ...machines.facts.model import (
    PROTOCOL,
    Budgets,
    ContinuationStart,
    ExecutionProfile,
    RunEnded,
    RunOpened,
    RuntimeEvent,
    Spine,
)
from ...machines.facts.packing import packer, unpacker
from ...machines.facts.vocabulary import Author, Cause, Kind, RunFailure, RunStatus
from ...machines.lifecycles import claim
from ...machines.lifecycles.cells import Machine
from ...machines.lifecycles.table import Refused
from ...machines.recovery.runs import CLAIM_REPAIR, ClaimRepair
from ...machines.recovery.runs import Claim as FoundClaim
from .append import Appended
from .authority import claim_cell, manifest_of, sealed_runs
from .errors import (
    ClaimMissingError,
    ImportedAuthorityError,
    SessionForeignError,
    SessionQuarantinedError,
)
from .ledger import Ledger, View
from .orders import Order, write_unit
from .records import ClaimRecord, Owner
from .shapes import Writer

_PACK_PROFILE: Final = packer(ExecutionProfile)
_UNPACK_PROFILE: Final = unpacker(ExecutionProfile)


class ClaimResult(StrEnum):
    """What a claim came to; only `acquired` may go on (CONT-3)."""

    ACQUIRED = "acquired"
    EXISTING = "existing"  # this very claim stands; whoever made it goes on, or its owner died
    CONFLICT = "conflict"


@attrs.frozen(kw_only=True)
class Claimed:
    """The answer to a claim.

    Attributes:
        claim: The id of the boundary's one claim.
        code: Why it is a conflict, in the words of the claim's table.
    """

    result: ClaimResult
    claim: str
    code: Code | None = None


@attrs.frozen(kw_only=True)
class Claim(Order[Claimed]):
    """Claim a boundary that was verified in a read snapshot: compare and set (CONT-3).

    Attributes:
        target: The new run that will continue it.
        replay: Digest of the projected history that the model will see.
        evidence: Ids of the control facts that the plan rests on.
    """

    manifest: Manifest
    target: Spine
    projection: int
    replay: str
    profile: ExecutionProfile
    evidence: tuple[str, ...] = ()

    def write(self, ledger: Ledger, owner: Owner) -> Claimed:
        """Compare what was verified with what is stored, and take or refuse the claim.

        Raises:
            CrashworthyError: The manifest is unsound, or the target reuses one of its ids.
            SessionQuarantinedError: `session_quarantined`.
            SessionForeignError: `session_foreign`.
            ImportedAuthorityError: `imported_authority`.
        """
        boundary = manifest_digest(self.manifest)
        refuse_target(self.manifest, self.target)
        name = ids.claim_id(boundary)
        _refuse_unclaimable(ledger, owner, self.manifest)
        known = ledger.claim(name)
        if known is not None:
            same = attrs.evolve(self._record(name, boundary, owner), epoch=known.epoch)
            same = attrs.evolve(same, ordinal=known.ordinal, row=known.row)
            if same == known:
                return Claimed(result=ClaimResult.EXISTING, claim=name)
        cell = ledger.cell(Machine.CLAIM, name)
        state = claim.Absent() if cell is None else cast("claim.ClaimState", cell.state)
        stepped = claim.TABLE.step(state, self._seen(ledger, owner))
        if isinstance(stepped, Refused):
            return Claimed(result=ClaimResult.CONFLICT, claim=name, code=stepped.code)
        record = attrs.evolve(
            self._record(name, boundary, owner), ordinal=ledger.last().ordinal, row=stepped[1]
        )
        ledger.add_claim(record, sealed_runs(self.manifest))
        ledger.put_cell(claim_cell(record))
        return Claimed(result=ClaimResult.ACQUIRED, claim=name)

    def _record(self, name: str, boundary: str, owner: Owner) -> ClaimRecord:
        return ClaimRecord(
            claim=name,
            boundary=boundary,
            manifest=encode_manifest(self.manifest),
            source_run=self.manifest.source.run,
            target=self.target,
            projection=self.projection,
            replay=self.replay,
            profile=encode_profile(self.profile),
            evidence=self.evidence,
            epoch=owner.epoch,
            ordinal=0,
            row="",
        )

    def _seen(self, view: View, owner: Owner) -> claim.Make:
        standing = _standing(view, self.manifest, self.target)
        source = _source(view, self.manifest)
        # Whatever else stands in the way says more than that the control ledger went on.
        if source is claim.Source.EXACT and standing is claim.Standing.CLEAR:
            stands = _plan_stands(view, self.manifest, self.evidence)
            source = claim.Source.EXACT if stands else claim.Source.CHANGED
        return claim.Make(epoch=owner.epoch, source=source, standing=standing)


@attrs.frozen(kw_only=True)
class StartContinuation(Order[Appended]):
    """Write the live start of a claim; only where `created` is true is there a proof (CONT-4).

    Attributes:
        start: The id of the fact `run_opened`.
    """

    claim: str
    start: str
    ts: int
    key: str | None = None
    input: str | None = None
    budgets: Budgets | None = None

    def write(self, ledger: Ledger, owner: Owner) -> Appended:
        """Write the start, which repeats its claim in everything.

        Raises:
            ClaimMissingError: `claim_missing`.
            UnitRefusedError: `run_not_attached` when another epoch claimed, `claim_started`, and
                the other refusals of the tables.
            ContextDiffersError: `context_differs`, a run closed since the claim.
        """
        record = _claim(ledger, self.claim)
        action = RunOpened(
            protocol=PROTOCOL,
            cause=Cause.RUNTIME_ADMISSION,
            profile=decode_profile(record.profile),
            context=manifest_of(record).context,
            key=self.key,
            input=self.input,
            continuation=_continuation(record),
            budgets=self.budgets,
        )
        at = compose.At(spine=record.target, ts=self.ts)
        start = compose.run_opened(at, self.start, action)
        return write_unit(ledger, owner, Writer.START_CONTINUATION, (start,))


@attrs.frozen(kw_only=True)
class RepairClaim(Order[ClaimRepair]):
    """Close a claim that nobody started: a repair start and its failed end (CONT-7)."""

    claim: str

    def write(self, ledger: Ledger, owner: Owner) -> ClaimRepair:
        """Write what the decision table says of the claim as it is now, and return that.

        In a quarantined session it is left alone: nothing repairs it by itself (STORE-8).

        Raises:
            ClaimMissingError: `claim_missing`.
        """
        record = _claim(ledger, self.claim)
        if ledger.quarantine(record.target.session) is not None:
            return ClaimRepair.LEAVE
        cell = ledger.cell(Machine.CLAIM, self.claim)
        assert cell is not None
        state = cast("claim.ClaimState", cell.state)
        found = FoundClaim(state=state, gone=record.epoch <= ledger.gone())
        decided = CLAIM_REPAIR.answer(found)
        if decided is ClaimRepair.CLOSE:
            write_unit(ledger, owner, Writer.REPAIR_CLAIM, _repair_unit(ledger, record))
        return decided


def encode_profile(profile: ExecutionProfile) -> bytes:
    """Return the canonical bytes of an execution profile (CONT-5)."""
    return canonical.encode_trusted(_PACK_PROFILE(profile))


def decode_profile(data: bytes) -> ExecutionProfile:
    """Return the execution profile of these canonical bytes.

    Raises:
        CrashworthyError: They are none: damage.
    """
    return cast("ExecutionProfile", _UNPACK_PROFILE(canonical.decode(data)))


# --- what is compared ---


def _refuse_unclaimable(view: View, owner: Owner, manifest: Manifest) -> None:
    """Refuse a boundary in a session that is damaged, or that rests on another root's facts.

    Raises:
        SessionQuarantinedError: `session_quarantined`.
        SessionForeignError: `session_foreign`.
        ImportedAuthorityError: `imported_authority`.
    """
    session = manifest.source.session
    held = view.quarantine(session)
    if held is not None:
        raise SessionQuarantinedError(session=session, cause=held.code)
    if view.foreign(session):
        raise SessionForeignError(session=session)
    for segment in manifest.segments:
        pinned = view.at(segment.invocation, segment.last_seq)
        if pinned is not None and pinned.stamped().root != owner.root:
            raise ImportedAuthorityError(run=segment.run)


def _source(view: View, manifest: Manifest) -> claim.Source:
    """Compare the source and one pinned row per ancestor with what was verified (CONT-3)."""
    head = view.head(manifest.source.invocation)
    if head is not None and head.kind is not Kind.RUN_ENDED:
        return claim.Source.OPEN
    exact = (
        head is not None
        and head.seq == manifest.source.last_seq
        and all(_pinned(view, segment) for segment in manifest.segments)
    )
    return claim.Source.EXACT if exact else claim.Source.CHANGED


def _pinned(view: View, segment: Segment) -> bool:
    """Say whether the last row of a segment is the terminal that was verified."""
    stored = view.at(segment.invocation, segment.last_seq)
    if stored is None:
        return False
    place = stored.place
    spine = Spine(
        session=segment.session,
        invocation=segment.invocation,
        run=segment.run,
        turn=segment.turn,
    )
    return (place.id, place.chain, place.spine, place.kind) == (
        segment.last_id,
        segment.chain,
        spine,
        Kind.RUN_ENDED,
    )


def _plan_stands(view: View, manifest: Manifest, evidence: tuple[str, ...]) -> bool:
    """Say whether session digest and control ledger are those that the plan was made on."""
    session = manifest.source.session
    row = view.session(session)
    control = view.head(ids.control_invocation(session))
    if row is None or control is None:
        return False
    named = [view.fact(fact) for fact in evidence]
    return (
        row.context == manifest.context
        and (control.seq, control.chain) == (manifest.control.seq, manifest.control.chain)
        and all(
            fact is not None and fact.place.spine.invocation == control.spine.invocation
            for fact in named
        )
    )


def _standing(view: View, manifest: Manifest, target: Spine) -> claim.Standing:
    """Say what else stands in the way; the first of these counts."""
    source = manifest.source
    row = view.session(source.session)
    if view.claim_on(source.run) is not None or view.reservation(target) is not None:
        return claim.Standing.CLAIMED
    used = (
        view.head(target.invocation) is not None
        or view.opening(target.run) is not None
        or view.turn_used(target.turn)
    )
    if used:
        return claim.Standing.TARGET_USED
    if row is not None and row.last_run == source.run and row.abandoned:
        return claim.Standing.ABANDONED
    if row is None or row.last_run != source.run or view.open_run(source.session) is not None:
        return claim.Standing.SUPERSEDED
    return claim.Standing.CLEAR


# --- what is written ---


def _claim(view: View, name: str) -> ClaimRecord:
    record = view.claim(name)
    if record is None:
        raise ClaimMissingError(claim=name)
    return record


def _continuation(record: ClaimRecord) -> ContinuationStart:
    return ContinuationStart(
        claim=record.claim,
        boundary=record.boundary,
        source=manifest_of(record).source,
        projection=record.projection,
        replay=record.replay,
    )


def _repair_unit(view: View, record: ClaimRecord) -> tuple[RuntimeEvent, RuntimeEvent]:
    """Return start and end with derived ids, at the time of the terminal they follow (BYTE-5a)."""
    manifest = manifest_of(record)
    source = view.at(manifest.source.invocation, manifest.source.last_seq)
    assert source is not None
    at = compose.At(spine=record.target, ts=source.event().ts)
    action = RunOpened(
        protocol=PROTOCOL,
        cause=Cause.CLAIM_REPAIR,
        profile=decode_profile(record.profile),
        context=manifest.context,
        continuation=_continuation(record),
    )
    end = RunEnded(status=RunStatus.FAILED, failure=RunFailure.CONTINUATION_ABANDONED)
    return (
        compose.run_opened(at, ids.repair_start_fact_id(record.claim), action, Author.SYSTEM),
        compose.run_ended(at, ids.repair_terminal_fact_id(record.claim), end),
    )
