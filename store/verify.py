"""Verification reads a whole root, changes nothing, and names each bad row once (STORE-8)."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import attrs

from ..machines.facts.chain import root_start
from ..machines.facts.codes import Code, CrashworthyError
from .anchor import Head, compare_anchor, read_anchor
from .audit.authority import AuthorityCheck
from .audit.blobs import BlobCheck
from .audit.compare import confirmed, suspects
from .audit.findings import Check, Finding, Findings
from .audit.fold import Fold
from .audit.form import foreign_objects
from .audit.heads import head_shelf
from .audit.hindsight import Hindsight
from .audit.judge import RowJudge
from .audit.look import Look
from .audit.pages import FACTS_PAGE, fact_row, facts_page, last_ordinal
from .audit.report import Report
from .audit.tables import Tables, open_scratch
from .audit.walk import Walk
from .blobs import BlobStore
from .connect import Connector
from .errors import AcknowledgedFactsMissingError, DatabaseDamagedError, StoreNotFoundError
from .ownership.root import StateRoot, look_at_root
from .sql import Row, fetch

_ROOT_AT: Final = "SELECT root FROM facts WHERE ordinal = ?"
_SESSION_OF: Final = "SELECT session FROM facts WHERE id = ?"
_FILE_FAULTS_MAX: Final = 100

T = TypeVar("T")

Progress = Callable[[int, int], None]
"""Is told how many facts were read, and how many there were when the verification began."""


def no_progress(_done: int, _total: int) -> None:
    """Tell nobody."""


def verify(
    path: Path,
    *,
    progress: Progress = no_progress,
    blobs: bool = False,
    file_check: bool = True,
    connector: Connector | None = None,
) -> Report:
    """Check everything that a root says against everything else it says.

    Only reads, also beside a live owner, and in the same memory for any length of the log.

    Args:
        path: The directory of the root.
        progress: Is told after each page.
        blobs: Whether to read every blob that a fact names, too (OP-6a).
        file_check: Whether to let SQLite check its own file, in one long snapshot.
        connector: Opens the connection.

    Raises:
        StoreNotFoundError: `not_found`, where nothing was ever acknowledged either.
        NeedsUpgradeError: `needs_upgrade`.
        SchemaNewerError: `schema_newer`.
        SchemaUnknownError: `schema_unknown`.
        RootMarkerInvalidError: `root_marker_invalid`.
        StorageError: `storage_*`.
    """
    root, problem = look_at_root(path)
    # Read before the log: the owner anchors behind its COMMIT, so the log is never behind this.
    anchored = read_anchor(root.anchor)
    look = Look(path=root.database, connector=connector or Connector())
    scratch = open_scratch()
    with contextlib.closing(look), contextlib.closing(scratch):
        verification = _Verification(
            root=root,
            look=look,
            own=Tables(run=lambda sql, params: fetch(scratch, sql, params)),
            progress=progress,
            anchored=anchored,
            blobs=blobs,
        )
        try:
            return verification.report(problem, file_check=file_check)
        except StoreNotFoundError:
            if anchored is None or anchored.ordinal == 0:
                raise
            # The tables of a young log lie in its WAL alone, which may be lost.
            return verification.report_emptied(problem, anchored)


@attrs.define(eq=False, kw_only=True)
class _Verification:
    """One verification on its way."""

    root: StateRoot
    look: Look
    own: Tables
    progress: Progress
    anchored: Head | None
    blobs: bool
    findings: Findings = attrs.field(factory=Findings, init=False)
    hindsight: Hindsight = attrs.field(init=False)
    walk: Walk = attrs.field(init=False)
    blob_check: BlobCheck | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        self.own.create()
        self.hindsight = Hindsight(self.look.run)
        if self.blobs:
            store = BlobStore(place=self.root.blobs, is_named=lambda _blob: False)
            self.blob_check = BlobCheck(store, self.findings)
        judge = RowJudge(
            root=self.root.root_id,
            hindsight=self.hindsight,
            heads=head_shelf(self.own.run),
        )
        self.walk = Walk(
            judge=judge,
            fold=Fold(self.look.run, self.hindsight, self.own),
            findings=self.findings,
            each=None if self.blob_check is None else self.blob_check.check,
        )

    def report(self, problem: CrashworthyError | None, *, file_check: bool) -> Report:
        """Check one thing after the other and say what was found."""
        head = Head(ordinal=0, chain="")
        foreign = foreign_objects(self.look.run)
        if foreign:
            # What the columns of such a database mean, only a person can say.
            self._add_file(f"schema: {', '.join(foreign)}", code=Code.SCHEMA_UNKNOWN)
        else:
            head = self._check_rows(head)
        if file_check:
            self._check_file()
        return self._report(problem, head)

    def report_emptied(self, problem: CrashworthyError | None, anchored: Head) -> Report:
        """Say that everything that was acknowledged is missing."""
        self._add_missing(anchored.ordinal, last=0)
        return self._report(problem, Head(ordinal=0, chain=root_start(self.root.root_id)))

    def _report(self, problem: CrashworthyError | None, head: Head) -> Report:
        return Report(
            root_id=self.root.root_id,
            problem=None if problem is None else problem.code,
            head=head,
            anchored=None if self.anchored is None else self.anchored.ordinal,
            facts=self.walk.facts,
            sessions=self.walk.sessions,
            findings=tuple(self.findings.kept),
            total=self.findings.total,
            doubtful=self.walk.doubtful,
            rows=self.walk.rows,
            blobs=None if self.blob_check is None else self.blob_check.checked,
        )

    def _check_rows(self, nowhere: Head) -> Head:
        """Check all rows, and return the head of the log; `nowhere` if that cannot be read."""
        total = self._guarded("facts", self._last, 0)
        while self._next_page():
            self.progress(self.walk.facts, total)
        self.walk.finish()
        if not self.hindsight.blind:
            self._guarded("projections", self._check_projections, None)
        self._guarded("authority", self._check_authority, None)
        return self._guarded("facts", self._check_anchor, nowhere)

    # --- the log ---

    def _next_page(self) -> bool:
        """Read and walk on, and say whether there is more."""
        try:
            page = self.look.snapshot(self._read_page)
        except DatabaseDamagedError:
            return self._salvage()
        self.walk.take(page)
        return bool(page)

    def _read_page(self) -> list[Row]:
        try:
            self.hindsight.refresh(self.look.version())
        except DatabaseDamagedError as error:
            # Without them nobody can say what the tables admitted: no session is folded.
            self.hindsight.blind = True
            self._add_file(f"authority rows: {error.cause}")
        return facts_page(self.look.run, self.walk.judge.next - 1)

    def _salvage(self) -> bool:
        """Read on row by row, past what SQLite cannot read, and say whether anything is left."""
        judge = self.walk.judge
        last = self._guarded("facts", self._last, 0)
        rows: list[Row] = []
        lost = 0
        for ordinal in range(judge.next, last + 1):
            row = self._row(ordinal)
            if row is not None and not lost:
                rows.append(row)
            if (row is None) == bool(rows) or len(rows) == FACTS_PAGE:
                break
            lost += row is None
        self.walk.take(rows)
        if lost:
            self._add_file(f"{lost} rows cannot be read", judge.next)
            judge.skip(judge.next + lost)
        return bool(rows or lost) and judge.next <= last

    def _row(self, ordinal: int) -> Row | None:
        try:
            return fact_row(self.look.run, ordinal)
        except DatabaseDamagedError:
            return None

    def _last(self) -> int:
        return last_ordinal(self.look.run)

    # --- what is kept beside it ---

    def _check_projections(self) -> None:
        live = Tables(run=self.look.run)
        paged = Tables(
            run=lambda sql, params: self.look.snapshot(lambda: self.look.run(sql, params))
        )
        self.walk.fold.flush()
        suspected = suspects(paged, self.own)
        if not suspected:
            return

        def look_again() -> list[Finding]:
            """Bring the fold to the head of this very moment, and compare there."""
            while page := self._read_page():
                self.walk.take(page)
            self.walk.finish()
            self.walk.fold.flush()
            return list(confirmed(suspected, live, self.own, self._session_of))

        for finding in self.look.snapshot(look_again):
            if finding.session not in self.walk.doubtful:
                self.findings.add(finding)

    def _session_of(self, fact: str) -> str | None:
        return next((str(session) for (session,) in self.look.run(_SESSION_OF, (fact,))), None)

    def _check_authority(self) -> None:
        check = AuthorityCheck(
            root=self.root.root_id,
            run=self.look.run,
            snapshot=self.look.snapshot,
            hindsight=self.hindsight,
        )
        for finding in check.findings():
            self.findings.add(finding)

    def _check_anchor(self) -> Head:
        """Compare what was acknowledged with what is stored, and return the stored head."""

        def chain_at(ordinal: int) -> str | None:
            found = self.look.run(_ROOT_AT, (ordinal,))
            return next((root.hex() for (root,) in found if isinstance(root, bytes)), None)

        last = self._last()
        head = Head(ordinal=last, chain=chain_at(last) or root_start(self.root.root_id))
        try:
            compare_anchor(self.anchored, head, chain_at)
        except AcknowledgedFactsMissingError as error:
            self._add_missing(error.anchored_ordinal, last=last)
        return head

    def _add_missing(self, anchored: int, *, last: int) -> None:
        self.findings.add(
            Finding(
                check=Check.ANCHOR,
                code=Code.ACKNOWLEDGED_FACTS_MISSING,
                detail=f"acknowledged up to {anchored}",
                ordinal=min(anchored, last + 1),
            )
        )

    # --- SQLite's own word ---

    def _check_file(self) -> None:
        try:
            rows = self.look.run(f"PRAGMA integrity_check({_FILE_FAULTS_MAX})")
        except DatabaseDamagedError as error:
            rows = [(error.cause,)]
        for (fault,) in rows:
            if fault != "ok":
                self._add_file(str(fault).strip())

    def _guarded(self, what: str, work: Callable[[], T], otherwise: T) -> T:
        """Do a part of the work; where SQLite cannot read the file, say so and go on."""
        try:
            return work()
        except DatabaseDamagedError as error:
            self._add_file(f"{what}: {error.cause}")
            return otherwise

    def _add_file(
        self, detail: str, ordinal: int | None = None, code: Code = Code.DATABASE_DAMAGED
    ) -> None:
        self.findings.add(Finding(check=Check.FILE, code=code, detail=detail, ordinal=ordinal))
