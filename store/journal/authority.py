"""Authority rows in memory, asked as of an ordinal: what a replay may know (MACH-5c, STORE-7)."""

import attrs

from ...machines.facts.boundary import Manifest, decode_manifest
from ...machines.facts.model import Spine
from ...machines.lifecycles import claim, lease
from ...machines.lifecycles.cells import Cell, Machine
from .records import CellRow, ClaimRecord, Quarantine


@attrs.frozen(kw_only=True)
class LeaseMark:
    """The lease after one of its records; `ordinal` is the root's last one at that time."""

    ordinal: int
    state: lease.LeaseState


@attrs.define(eq=False, kw_only=True)
class AuthorityRows:
    """The rows of a root or of one session.

    A row made at ordinal n was seen by the facts from n + 1 on, and by no earlier one.

    Attributes:
        losses: The ordinals up to which a person accepted a loss.
        imports: The ordinals at which foreign sessions came in.
        quarantines: Sessions whose tools are refused.
    """

    leases: list[LeaseMark] = attrs.field(factory=list[LeaseMark])
    losses: list[int] = attrs.field(factory=list[int])
    imports: dict[str, int] = attrs.field(factory=dict[str, int])
    claims: dict[str, ClaimRecord] = attrs.field(factory=dict[str, ClaimRecord])
    quarantines: dict[str, Quarantine] = attrs.field(factory=dict[str, Quarantine])
    _sources: dict[str, str] = attrs.field(factory=dict[str, str])
    _seals: dict[str, int] = attrs.field(factory=dict[str, int])
    _reserved: dict[tuple[str, str], ClaimRecord] = attrs.field(
        factory=dict[tuple[str, str], ClaimRecord]
    )

    def add_claim(self, record: ClaimRecord) -> None:
        """Add a claim with the seals and the reservation that came with it."""
        self.claims[record.claim] = record
        self._sources[record.source_run] = record.claim
        for run in sealed_runs(manifest_of(record)):
            self._seals.setdefault(run, record.ordinal)
        for key in _ids(record.target):
            self._reserved[key] = record

    def remove_claim(self, record: ClaimRecord) -> None:
        """Undo `add_claim` of the claim that was added last."""
        del self.claims[record.claim]
        del self._sources[record.source_run]
        for run in sealed_runs(manifest_of(record)):
            if not any(run in sealed_runs(manifest_of(other)) for other in self.claims.values()):
                del self._seals[run]
        for key in _ids(record.target):
            del self._reserved[key]

    def claim_on(self, source_run: str) -> str | None:
        """Return the claim whose immediate source is this run."""
        return self._sources.get(source_run)

    def lease_at(self, ordinal: int) -> lease.LeaseState:
        """Return the lease as a fact at `ordinal` saw it."""
        for mark in reversed(self.leases):
            if mark.ordinal < ordinal:
                return mark.state
        return lease.Free(epoch=0, gone=0)

    def sealed_at(self, run: str, ordinal: int) -> bool:
        """Say whether a fact at `ordinal` saw the run sealed."""
        made = self._seals.get(run)
        return made is not None and made < ordinal

    def reservation_at(self, spine: Spine, ordinal: int) -> str | None:
        """Return the claim that a fact at `ordinal` saw on any id of this spine."""
        for key in _ids(spine):
            record = self._reserved.get(key)
            if record is not None and record.ordinal < ordinal:
                return record.claim
        return None

    def loss_at(self, ordinal: int) -> int:
        """Return up to which ordinal a loss was accepted, as a fact at `ordinal` saw it."""
        return max((loss for loss in self.losses if loss < ordinal), default=0)


def manifest_of(record: ClaimRecord) -> Manifest:
    """Return the boundary that a claim is about.

    Raises:
        CrashworthyError: The stored manifest is not the one its digest names: damage.
    """
    return decode_manifest(record.manifest, record.boundary)


def sealed_runs(manifest: Manifest) -> tuple[str, ...]:
    """Return the runs that a claim of this boundary seals: all of its lineage."""
    return tuple(segment.run for segment in manifest.segments)


def claim_cell(record: ClaimRecord) -> CellRow:
    """Return the instance that a claim record makes; its start moves it from here (CONT-4)."""
    manifest, target = manifest_of(record), record.target
    return CellRow(
        machine=Machine.CLAIM,
        instance=record.claim,
        session=target.session,
        scope=target.session,
        cell=Cell(
            state=claim.Claimed(epoch=record.epoch),
            memo={
                "session": target.session,
                "boundary": record.boundary,
                "replay": record.replay,
                "projection": record.projection,
                "source": record.source_run,
                "source_chain": manifest.source.chain,
                "context": manifest.context,
                "target_invocation": target.invocation,
                "target_run": target.run,
                "target_turn": target.turn,
            },
        ),
        made=record.ordinal,
        moved=record.ordinal,
    )


def _ids(spine: Spine) -> tuple[tuple[str, str], ...]:
    return (("invocation", spine.invocation), ("run", spine.run), ("turn", spine.turn))
