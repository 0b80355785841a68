"""The judge of rows in commit order, anchored anew on each bad one (BYTE-2, STORE-8)."""

import attrs

from ...machines.facts.chain import chain_next, root_next, root_start
from ...machines.facts.codes import Code
from ...machines.facts.compose import control_spine
from ...machines.facts.model import RuntimeEvent, Spine, Stamp
from ...machines.lifecycles.lease import Held
from ..journal.records import Place
from ..sql import Row
from .findings import Check, Finding
from .heads import LedgerHead, belongs, is_control, next_of
from .hindsight import Hindsight
from .rows import COLUMNS, KINDS_OF, STATED, Raw, RowReader, finding_at, hex_of, stated
from .shelf import Shelf


@attrs.frozen(kw_only=True)
class Fact:
    """A fact that a chain vouches for, so that it may be folded."""

    event: RuntimeEvent
    stamp: Stamp
    place: Place


@attrs.frozen(kw_only=True)
class Trouble:
    """What is wrong with a row.

    Attributes:
        fact: The fact, where a chain vouches for body and stamp all the same.
        findings: Rows that are missing before it, and the first check that the row itself fails.
        doubtful: Sessions whose fold cannot go on behind this row.
    """

    findings: tuple[Finding, ...]
    fact: Fact | None = None
    doubtful: tuple[str, ...] = ()


@attrs.define(eq=False, kw_only=True)
class RowJudge:
    """Judges rows in commit order and anchors itself anew on each bad one.

    Attributes:
        root: The id of the root.
        heads: The last row of each ledger, by invocation.
        next: The ordinal that the next row must have.
    """

    root: str
    hindsight: Hindsight
    heads: Shelf[str, LedgerHead]
    next: int = 1
    _reader: RowReader = attrs.field(factory=RowReader, init=False)
    _roots: tuple[str, ...] = attrs.field(init=False)
    _missing: int = attrs.field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        """Begin where the root chain begins."""
        self._roots = (root_start(self.root),)

    def judge(self, row: Row) -> Fact | Trouble:
        """Judge the row that follows in commit order."""
        raw = self._reader.read(row)
        if isinstance(raw, Finding):
            return self._unreadable(row, raw)
        event, stamp = raw.event, raw.stamp
        head = self.heads.get(event.spine.invocation)
        seq, chain = next_of(head, event.spine)
        if (
            stamp.seq == seq
            and row[:STATED] == stated(self.next, event, stamp)
            and belongs(head, event)
            and chain_next(chain[0], raw.body, raw.stamp_bytes) == raw.chain
            and self._roots
            and root_next(self._roots[0], self.next, raw.chain) == raw.root
            and self._stamp_fault(event, stamp) is None
        ):
            return self._go_on(raw, self.next, (raw.chain,), (raw.root,))
        return self._doubt(raw, head)

    def look_from(self, ordinal: int) -> None:
        """Go on at a row, over others that are there and not looked at."""
        if ordinal > self.next:
            self.next = ordinal
            self._roots = ()

    # --- a row with a fault ---

    def _doubt(self, raw: Raw, head: LedgerHead | None) -> Fact | Trouble:
        """Find the first fault of a row, and what of it is still vouched for."""
        event, stamp, found = raw.event, raw.stamp, list[Finding]()
        at = self._position(raw, found)
        if at is None:
            return Trouble(findings=tuple(found), doubtful=_sessions(raw))
        seq, chains = next_of(head, event.spine)
        computed = [chain_next(chain, raw.body, raw.stamp_bytes) for chain in chains]
        vouched, own = raw.chain in computed, raw.chain
        if not vouched and stamp.seq != seq and raw.columns[1] == stamp.seq:
            self._jump(raw, at, seq, found)
            return self._lost(raw, at, tuple(found), behind_a_hole=True)
        if not vouched:
            # The root chain binds the chain value that was committed: if it binds the computed one,
            # then body and stamp are right and the stored value is the bad one.
            proven = [
                c for c in computed if any(root_next(r, at, c) == raw.root for r in self._roots)
            ]
            found.append(finding_at(Check.CHAIN, Code.CHAIN_DIFFERS, raw, at, "chain"))
            if not proven:
                return self._lost(raw, at, tuple(found))
            own = proven[0]
        elif not belongs(head, event):
            found.append(finding_at(Check.SPINE, Code.SPINE_CONFLICT, raw, at, "ledger"))
            return self._lost(raw, at, tuple(found))
        found.extend(self._lesser_fault(raw, at, own, seq))
        bound = [root_next(root, at, own) for root in self._roots]
        # Where rows are missing in between, nothing is left to compare the root chain with.
        roots = tuple(dict.fromkeys((raw.root, *bound)))
        return self._go_on(
            raw,
            at,
            tuple(dict.fromkeys((raw.chain, own))),
            (raw.root,) if not bound or raw.root in bound else roots,
            tuple(_once(found)),
        )

    def _lesser_fault(self, raw: Raw, at: int, own: str, seq: int) -> list[Finding]:
        """Return the faults of a row whose body and stamp are what was committed."""
        event, stamp, faults = raw.event, raw.stamp, list[Finding]()
        expected = stated(at, event, stamp)
        wrong = [
            name
            for name, said, is_so in zip(COLUMNS, raw.columns, expected, strict=False)
            if said != is_so and name != "ordinal"
        ]
        if wrong:
            faults.append(finding_at(Check.COLUMNS, Code.COLUMN_DIFFERS, raw, at, ", ".join(wrong)))
        if stamp.seq != seq:
            faults.append(finding_at(Check.SEQUENCE, Code.SEQUENCE_DIFFERS, raw, at, "seq"))
        if self._roots and not any(root_next(r, at, own) == raw.root for r in self._roots):
            faults.append(finding_at(Check.ROOT_CHAIN, Code.ROOT_CHAIN_DIFFERS, raw, at, "root"))
        fault = self._stamp_fault(event, stamp)
        if fault is not None:
            faults.append(finding_at(fault[0], fault[1], raw, at, fault[2]))
        return faults

    def _position(self, raw: Raw, found: list[Finding]) -> int | None:
        """Return the ordinal that the row has, which may be another than it says, or none."""
        said = raw.columns[0]
        assert isinstance(said, int)
        if said == self.next:
            return said
        fits = any(root_next(root, self.next, raw.chain) == raw.root for root in self._roots)
        if fits or said < self.next:
            at = self.next if fits else said
            found.append(finding_at(Check.ORDINAL, Code.ORDINAL_DIFFERS, raw, at, "ordinal"))
            return self.next if fits else None
        found.append(self.gap(said))
        return said

    def gap(self, ordinal: int) -> Finding:
        """Skip the rows before `ordinal`, which are not there, and return that finding."""
        finding = Finding(
            check=Check.ORDINAL,
            code=Code.ORDINAL_MISSING,
            detail=f"{ordinal - self.next} rows are missing",
            ordinal=self.next,
        )
        self.skip(ordinal)
        return finding

    def skip(self, ordinal: int) -> None:
        """Go on at `ordinal`; the ledgers of the rows before it have holes."""
        self._missing += ordinal - self.next
        self._roots = ()
        self.next = ordinal

    def _jump(self, raw: Raw, at: int, seq: int, found: list[Finding]) -> None:
        """Tell a hole in a ledger, unless it was told where its ordinals are missing."""
        lost = raw.stamp.seq - seq
        if 0 < lost <= self._missing:
            self._missing -= lost
        elif not found:
            found.append(finding_at(Check.SEQUENCE, Code.SEQUENCE_DIFFERS, raw, at, "seq"))

    def _lost(
        self, raw: Raw, at: int, findings: tuple[Finding, ...], *, behind_a_hole: bool = False
    ) -> Fact | Trouble:
        """Go on from the stored columns of a row whose body nothing vouches for."""
        self._anchor_on(raw.columns, behind_a_hole=behind_a_hole)
        self._pass(at, raw.root, raw.chain)
        return Trouble(findings=findings, doubtful=_sessions(raw))

    def _unreadable(self, row: Row, finding: Finding) -> Fact | Trouble:
        """Go on behind a row that cannot be read, by as much of its columns as has its type."""
        ordinal, session, chain, root = row[0], row[5], row[9], row[10]
        found = [finding]
        at = self.next
        if isinstance(ordinal, int) and ordinal > at:
            found.insert(0, self.gap(ordinal))
            at = ordinal
        self._anchor_on(row, behind_a_hole=False)
        self._pass(at, hex_of(root), hex_of(chain))
        found[-1] = attrs.evolve(finding, ordinal=at)
        return Trouble(
            findings=tuple(found), doubtful=(session,) if isinstance(session, str) else ()
        )

    # --- where it goes on ---

    def _go_on(
        self,
        raw: Raw,
        at: int,
        chains: tuple[str, ...],
        roots: tuple[str, ...],
        findings: tuple[Finding, ...] = (),
    ) -> Fact | Trouble:
        event, stamp = raw.event, raw.stamp
        self.heads.put(
            event.spine.invocation,
            LedgerHead(
                spine=event.spine, seq=stamp.seq, control=is_control(event.kind), chains=chains
            ),
        )
        self._roots = roots
        self.next = at + 1
        place = Place(
            ordinal=at,
            seq=stamp.seq,
            id=event.id,
            kind=event.kind,
            epoch=stamp.epoch,
            spine=event.spine,
            chain=chains[-1],
        )
        fact = Fact(event=event, stamp=stamp, place=place)
        return Trouble(findings=findings, fact=fact) if findings else fact

    def _anchor_on(self, row: Row, *, behind_a_hole: bool) -> None:
        """Take a row's stored place and chain value as the head of the ledger that it names.

        Its columns are not proven either: where they do not even go on from a head, the ledger of
        the row has a hole instead.
        """
        if any(
            type(value) is not kind for value, kind in zip(row[1:10], KINDS_OF[1:10], strict=True)
        ):
            self._missing += 1
            return
        seq, session, invocation, run, turn, chain = row[1], *row[5:10]
        assert isinstance(seq, int)
        assert isinstance(chain, bytes)
        stated = Spine(
            session=str(session), invocation=str(invocation), run=str(run), turn=str(turn)
        )
        head = self.heads.get(stated.invocation)
        if not behind_a_hole and seq != (1 if head is None else head.seq + 1):
            self._missing += 1
            return
        if head is None:
            control = stated == control_spine(stated.session)
            head = LedgerHead(spine=stated, seq=seq, control=control, chains=())
        self.heads.put(stated.invocation, attrs.evolve(head, seq=seq, chains=(chain.hex(),)))

    def _pass(self, at: int, root: str, chain: str) -> None:
        bound = tuple(root_next(before, at, chain) for before in self._roots)
        self._roots = tuple(dict.fromkeys((root, *bound)))
        self.next = at + 1

    def _stamp_fault(self, event: RuntimeEvent, stamp: Stamp) -> tuple[Check, Code, str] | None:
        """Return what the stamp says of root and epoch that cannot be (OWN-1, STORE-12)."""
        if stamp.root != self.root:
            if self.hindsight.imports.get(event.spine.session) == stamp.root:
                return None
            return Check.STAMP, Code.ROOT_DIFFERS, "root id"
        if self.hindsight.blind:
            return None
        state = self.hindsight.lease_at(self.next)
        if isinstance(state, Held) and state.epoch == stamp.epoch:
            return None
        return Check.EPOCH, Code.EPOCH_DIFFERS, "epoch"


def _sessions(raw: Raw) -> tuple[str, ...]:
    """Return whose row it may be, by its columns and by its body."""
    return tuple(dict.fromkeys((str(raw.columns[5]), raw.event.spine.session)))


def _once(found: list[Finding]) -> list[Finding]:
    """Keep what is missing before the row, and of the row itself the first fault only."""
    gaps = [finding for finding in found if finding.code is Code.ORDINAL_MISSING]
    own = [finding for finding in found if finding.code is not Code.ORDINAL_MISSING]
    return gaps + own[:1]
