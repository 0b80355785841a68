"""Authority rows have their form, agree with each other, and rest on facts (STORE-7)."""

# ruff: noqa: S608 - statements are put together from constant names of tables and columns

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from ...machines.facts.boundary import Manifest, refuse_target
from ...machines.facts.codec import decode_body
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.digests import is_digest
from ...machines.facts.ids import claim_id, control_invocation
from ...machines.facts.model import RunOpened
from ...machines.lifecycles import lease
from ...machines.lifecycles.table import Refused
from ..errors import DatabaseDamagedError
from ..journal import columns as c
from ..journal.authority import manifest_of, sealed_runs
from ..journal.claims import decode_profile
from ..journal.partials import SNAPSHOT_BYTES_MAX, Lane
from ..journal.records import ClaimRecord
from ..sql import Row
from .findings import Check, Finding
from .hindsight import Hindsight
from .tables import PAGE, Run

_ROOT: Final = "SELECT one, root_id, ordinal FROM root"
_LEASES: Final = (
    "SELECT number, event, held, epoch, gone, row, ordinal FROM lease WHERE number > ?"
    " ORDER BY number LIMIT ?"
)
_WORKERS: Final = (
    "SELECT worker, epoch, ordinal, ended FROM workers WHERE worker > ? ORDER BY worker LIMIT ?"
)
_CLAIMS: Final = f"SELECT {c.CLAIM} FROM claims WHERE claim > ? ORDER BY claim LIMIT ?"
_SEALS: Final = "SELECT run, ordinal FROM seals WHERE claim = ? ORDER BY run"
_RESERVED: Final = "SELECT word, id, ordinal FROM reservations WHERE claim = ? ORDER BY word"
_LOOSE: Final = """
SELECT 'seals', claim FROM seals WHERE claim NOT IN (SELECT claim FROM claims)
UNION SELECT 'reservations', claim FROM reservations WHERE claim NOT IN (SELECT claim FROM claims)
""".strip()
_PINNED: Final = (
    "SELECT id, kind, chain, session, run, turn FROM facts WHERE invocation = ? AND seq = ?"
)
_LOSSES: Final = "SELECT number, anchored, ordinal, epoch FROM accepted_losses ORDER BY number"
_QUARANTINES: Final = (
    f"SELECT {c.QUARANTINE} FROM quarantine WHERE session > ? ORDER BY session LIMIT ?"
)
_IMPORTS: Final = (
    "SELECT session, root, ordinal FROM imports WHERE session > ? ORDER BY session LIMIT ?"
)
_BEFORE: Final = "SELECT 1 FROM facts WHERE session = ? AND ordinal <= ? LIMIT 1"
_PARTIALS: Final = (
    f"SELECT {c.PARTIAL} FROM partials WHERE (owner, stream) > (?, ?)"
    " ORDER BY owner, stream LIMIT ?"
)
_LEDGER_OF: Final = "SELECT invocation FROM facts WHERE id = ?"
_START: Final = "SELECT body FROM facts WHERE run = ? AND seq = 1"
_CLAIMED: Final = "CLM.T1"
_SPINE: Final = "SELECT session, invocation, turn FROM facts WHERE run = ? AND seq = 1"
_LAST: Final = "SELECT ordinal FROM facts ORDER BY ordinal DESC LIMIT 1"
_CODES: Final = frozenset(Code)


@attrs.define(eq=False, kw_only=True)
class AuthorityCheck:
    """Checks one table after the other; the caller gives each page a snapshot of its own.

    Attributes:
        root: The id that the root's marker says.
        run: Executes one statement.
        snapshot: Runs a piece of work on one moment of the store.
        hindsight: The leases as facts saw them.
    """

    root: str
    run: Run
    snapshot: Callable[[Callable[[], list[Finding]]], list[Finding]]
    hindsight: Hindsight
    _lease: lease.LeaseState = attrs.field(factory=lambda: lease.Free(epoch=0, gone=0), init=False)
    _lease_place: tuple[int, int] = attrs.field(default=(0, 0), init=False)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong."""
        yield from self.snapshot(self._root)
        yield from self._paged(_LEASES, (0,), 1, self._of_lease)
        yield from self._paged(_WORKERS, ("",), 1, self._of_worker)
        yield from self._paged(_CLAIMS, ("",), 1, self._of_claim)
        yield from self.snapshot(self._loose)
        yield from self.snapshot(self._losses)
        yield from self._paged(_QUARANTINES, ("",), 1, self._of_quarantine)
        yield from self._paged(_IMPORTS, ("",), 1, self._of_import)
        yield from self._paged(_PARTIALS, ("", ""), 2, self._of_partial)

    def _paged(
        self, sql: str, after: Row, width: int, judge: Callable[[Row], Iterator[Finding]]
    ) -> Iterator[Finding]:
        """Judge the rows of a table, whose first `width` columns are its key."""
        place = [after]

        def page() -> list[Finding]:
            rows = self.run(sql, (*place[0], PAGE))
            place[0] = rows[-1][:width] if rows else ()
            return [finding for row in rows for finding in _judged(judge, row)]

        while place[0]:
            yield from self.snapshot(page)

    def _head(self) -> int:
        return c.integer(next(iter(self.run(_LAST, ())), (0,))[0])

    # --- root and lease ---

    def _root(self) -> list[Finding]:
        rows = self.run(_ROOT, ())
        return [] if rows == [(1, self.root, 0)] else [_differs("root", "not this root's id")]

    def _of_lease(self, row: Row) -> Iterator[Finding]:
        """Step the lease's own table through its records (LEA.T1 .. LEA.T5)."""
        number, event, held, epoch, gone, taken, ordinal = row
        last, since = self._lease_place
        place = c.integer(number), c.integer(ordinal)
        if place[0] != last + 1 or not since <= place[1] <= self._head():
            yield _differs("lease", "number or ordinal", place[1])
        self._lease_place = place
        state = lease.Held if held else lease.Free
        stated = state(epoch=c.integer(epoch), gone=c.integer(gone))
        stepped = lease.TABLE.step(self._lease, _seen(c.text(event), stated))
        if isinstance(stepped, Refused) or stepped != (stated, taken):
            yield _differs("lease", f"record {place[0]} does not follow", place[1])
        self._lease = stated

    def _of_worker(self, row: Row) -> Iterator[Finding]:
        _worker, epoch, made, ended = row
        head, ordinal = self._head(), c.integer(made)
        over = ordinal if ended is None else c.integer(ended)
        if not (0 <= ordinal <= over <= head and 1 <= c.integer(epoch) <= self._lease.epoch):
            yield _differs("workers", "epoch or ordinals", ordinal)

    # --- claims ---

    def _of_claim(self, row: Row) -> Iterator[Finding]:
        session = row[1] if isinstance(row[1], str) else None
        try:
            record = c.claim_of(row)
            manifest = manifest_of(record)
            decode_profile(record.profile)
            refuse_target(manifest, record.target)
        except CrashworthyError as error:
            yield Finding(check=Check.AUTHORITY, code=error.code, detail="claims", session=session)
            return
        for fault in self._claim_faults(record, manifest):
            yield _differs("claims", fault, record.ordinal, record.target.session)

    def _claim_faults(self, record: ClaimRecord, manifest: Manifest) -> Iterator[str]:
        source, target = manifest.source, record.target
        if record.ordinal > self._head():
            yield "ordinal"
        if record.epoch not in self._epochs_at(record.ordinal):
            yield "epoch"
        if record.claim != claim_id(record.boundary):
            yield "claim"
        if record.row != _CLAIMED:
            yield "row"
        if not is_digest(record.replay):
            yield "replay"
        control = control_invocation(target.session)
        if any(self.run(_LEDGER_OF, (fact,)) != [(control,)] for fact in record.evidence):
            yield "evidence"
        if not self._starts_so(record):
            yield "profile"
        if record.source_run != source.run or target.session != source.session:
            yield "source"
        for segment in manifest.segments:
            pinned = self.run(_PINNED, (segment.invocation, segment.last_seq))
            chain = bytes.fromhex(segment.chain)
            if pinned != [
                (segment.last_id, "run_ended", chain, segment.session, segment.run, segment.turn)
            ]:
                yield f"segment {segment.run}"
        at = record.ordinal
        seals = sorted((run, at) for run in sealed_runs(manifest))
        if self.run(_SEALS, (record.claim,)) != seals:
            yield "seals"
        reserved = [
            ("invocation", target.invocation, at),
            ("run", target.run, at),
            ("turn", target.turn, at),
        ]
        if self.run(_RESERVED, (record.claim,)) != reserved:
            yield "reservations"

    def _starts_so(self, record: ClaimRecord) -> bool:
        """Say whether the start of a claim, if it has one, opens with the claimed profile."""
        for (body,) in self.run(_START, (record.target.run,)):
            try:
                action = decode_body(c.data(body)).actions
            except CrashworthyError:
                return True  # The walk names that row; nothing is compared with it.
            claimed = decode_profile(record.profile)
            return isinstance(action, RunOpened) and action.profile == claimed
        return True

    def _epochs_at(self, ordinal: int) -> range:
        """Return the epochs that held the root while `ordinal` was its last fact."""
        return range(
            self.hindsight.lease_at(ordinal).epoch, self.hindsight.lease_at(ordinal + 1).epoch + 1
        )

    def _loose(self) -> list[Finding]:
        return [
            _differs(c.text(table), f"no claim {c.text(claim)}")
            for table, claim in self.run(_LOOSE, ())
        ]

    # --- what a person or damage added, and snapshots ---

    def _losses(self) -> list[Finding]:
        head, faults = self._head(), list[Finding]()
        for number, anchored, ordinal, epoch in self.run(_LOSSES, ()):
            made = c.integer(ordinal)
            known = 1 <= c.integer(epoch) <= self._lease.epoch
            if not (made <= head and made <= c.integer(anchored) and known):
                faults.append(_differs("accepted_losses", f"loss {c.integer(number)}", made))
        return faults

    def _of_quarantine(self, row: Row) -> Iterator[Finding]:
        held = c.quarantine_of(row)
        head = self._head()
        whole = (
            held.code in _CODES
            and 1 <= held.first_bad <= head
            and 0 <= held.ordinal <= head
            and held.head_seq >= 0
            and (is_digest(held.head_chain) or (held.head_seq, held.head_chain) == (0, ""))
        )
        if not whole:
            yield _differs("quarantine", "form", held.ordinal, held.session)

    def _of_import(self, row: Row) -> Iterator[Finding]:
        session, root, ordinal = c.text(row[0]), c.text(row[1]), c.integer(row[2])
        early = bool(self.run(_BEFORE, (session, ordinal)))
        if root == self.root or not 0 <= ordinal <= self._head() or early:
            yield _differs("imports", "root or ordinal", ordinal, session)

    def _of_partial(self, row: Row) -> Iterator[Finding]:
        partial = c.partial_of(row)
        spine = partial.spine
        whole = (
            partial.lane in set(Lane)
            and len(partial.snapshot) <= min(SNAPSHOT_BYTES_MAX, partial.bytes_total)
            and not (partial.finished and partial.snapshot)
            and _is_text(partial.snapshot)
            and self.run(_SPINE, (spine.run,)) == [(spine.session, spine.invocation, spine.turn)]
        )
        if not whole:
            yield Finding(
                check=Check.PARTIAL,
                code=Code.PARTIAL_MALFORMED,
                detail=f"stream of {partial.owner}",
                session=spine.session,
            )


def _judged(judge: Callable[[Row], Iterator[Finding]], row: Row) -> list[Finding]:
    """Judge a row; one whose columns have other types than the schema's is told as that.

    Raises:
        DatabaseDamagedError: `database_damaged`, more than that row cannot be read.
    """
    try:
        return list(judge(row))
    except DatabaseDamagedError as damaged:
        if damaged.stage != "row":
            raise
        return [Finding(check=Check.AUTHORITY, code=Code.ROW_MALFORMED, detail="a column's type")]


def _seen(event: str, stated: lease.LeaseState) -> lease.LeaseSeen:
    """Return what a record says happened."""
    if event == "open":
        return lease.Open(epoch=stated.epoch, locked=True)
    kind = lease.Gone if event == "gone" else lease.Close
    return kind(epoch=stated.epoch, gone=stated.gone, workers=False)


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _differs(
    table: str, detail: str, ordinal: int | None = None, session: str | None = None
) -> Finding:
    return Finding(
        check=Check.AUTHORITY,
        code=Code.AUTHORITY_DIFFERS,
        detail=f"{table}: {detail}",
        ordinal=ordinal,
        session=session,
    )
