"""Readers show everything up to the damage, and say what they could not show (STORE-8)."""

# ruff: noqa: S608 - statements are put together from constant names of columns

from collections.abc import Iterator
from typing import Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..machines.facts.ids import RootId
from ..machines.lifecycles.cells import Machine
from .anchor import Head, compare_anchor
from .audit.findings import Finding
from .audit.heads import stored_heads
from .audit.hindsight import Hindsight
from .audit.judge import Fact, RowJudge, Trouble
from .audit.look import Look
from .audit.pages import FACTS_PAGE, last_ordinal
from .audit.rows import COLUMNS
from .audit.tables import CELLS, cell_of
from .errors import AcknowledgedFactsMissingError, DatabaseDamagedError, StoreNotFoundError
from .journal import columns as c
from .journal.records import CellRow
from .sql import Row

_ALL: Final = ", ".join(COLUMNS)
_OF_ROOT: Final = f"SELECT {_ALL} FROM facts WHERE ordinal > ? ORDER BY ordinal LIMIT ?"
_OF_SESSION: Final = (
    f"SELECT {_ALL} FROM facts WHERE session = ? AND ordinal > ? ORDER BY ordinal LIMIT ?"
)
_OF_LEDGER: Final = (
    f"SELECT {_ALL} FROM facts WHERE invocation = ? AND seq > ? ORDER BY seq LIMIT ?"
)


@attrs.frozen(kw_only=True)
class Scope:
    """Which facts are read: all, those of a session, or those of one ledger.

    Attributes:
        upto: The last ordinal; None for all that is there.
    """

    session: str | None = None
    invocation: str | None = None
    upto: int | None = None


@attrs.frozen(kw_only=True)
class Unread:
    """One entry of the loss report of a reading.

    Attributes:
        invocation: The ledger that it seems to be in.
        reason: The code of the damage.
        shown: Whether the fact is shown all the same, because a chain vouches for what it says.
        detail: What is wrong, in words of the schema.
    """

    ordinal: int | None
    fact: str | None
    session: str | None
    invocation: str | None
    reason: Code
    shown: bool
    detail: str


@attrs.define(eq=False, kw_only=True)
class Reading:
    """Reads facts in commit order, a short snapshot a page; asked again later, it goes on.

    A ledger ends at its first row that nothing vouches for; other ledgers are shown to their ends.

    Attributes:
        losses: What is damaged so far.
        hidden: How many facts stand behind damage, and were not shown.
    """

    look: Look
    root_id: RootId
    scope: Scope
    after: int = 0
    losses: list[Unread] = attrs.field(factory=list[Unread], init=False)
    hidden: int = attrs.field(default=0, init=False)
    _hindsight: Hindsight = attrs.field(init=False)
    _judge: RowJudge = attrs.field(init=False)
    _place: int = attrs.field(init=False)
    _ended: set[str] = attrs.field(factory=set[str], init=False)
    _over: bool = attrs.field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        """Begin behind `after`: an ordinal, or for one ledger a sequence."""
        self._place = self.after
        start = self.after if self.scope.invocation is None else 0
        self._hindsight = Hindsight(self.look.run)
        self._judge = RowJudge(
            root=self.root_id,
            hindsight=self._hindsight,
            heads=stored_heads(self.look.run, start),
        )

    def more(self) -> list[Fact]:
        """Return the next facts; none where the log or the scope ends.

        Raises:
            StorageError: `storage_*`.
        """
        facts: list[Fact] = []
        while not facts and not self._over:
            try:
                page = self.look.snapshot(self._page)
            except DatabaseDamagedError as error:
                self._lose(error)
                break
            before = self._place
            facts = [fact for row in page for fact in self._judged(row)]
            if self._place == before:
                break
        return facts

    def __iter__(self) -> Iterator[Fact]:
        """Yield the facts up to the end."""
        while page := self.more():
            yield from page

    def _page(self) -> list[Row]:
        scope = self.scope
        self._hindsight.refresh(self.look.version())
        if scope.invocation is not None:
            return self.look.run(_OF_LEDGER, (scope.invocation, self._place, FACTS_PAGE))
        if scope.session is not None:
            return self.look.run(_OF_SESSION, (scope.session, self._place, FACTS_PAGE))
        return self.look.run(_OF_ROOT, (self._place, FACTS_PAGE))

    def _judged(self, row: Row) -> Iterator[Fact]:
        ordinal, place = row[0], row[0] if self.scope.invocation is None else row[1]
        if not isinstance(ordinal, int) or not isinstance(place, int):
            self._over = True
            return
        if self.scope.upto is not None and ordinal > self.scope.upto:
            self._over = True
        if self._over:
            return
        self._place = max(self._place, place)
        self._judge.look_from(ordinal)
        judged = self._judge.judge(row)
        ledger = str(row[6])
        fact = judged.fact if isinstance(judged, Trouble) else judged
        if ledger in self._ended:
            self.hidden += 1
            return
        if isinstance(judged, Trouble):
            shown = fact is not None
            self.losses += [_unread(finding, ledger, shown=shown) for finding in judged.findings]
        if fact is None:
            self._ended.add(ledger)
        else:
            yield fact

    def _lose(self, error: CrashworthyError) -> None:
        self._over = True
        lost = Unread(
            ordinal=None,
            fact=None,
            session=self.scope.session,
            invocation=self.scope.invocation,
            reason=error.code,
            shown=False,
            detail="SQLite cannot read on",
        )
        self.losses.append(lost)


def _unread(finding: Finding, ledger: str, *, shown: bool) -> Unread:
    return Unread(
        ordinal=finding.ordinal,
        fact=finding.fact,
        session=finding.session,
        invocation=ledger,
        reason=finding.code,
        shown=shown,
        detail=f"{finding.check.value}: {finding.detail}",
    )


def missing(look: Look, anchored: Head | None) -> AcknowledgedFactsMissingError | None:
    """Return what an anchor remembers and the log has not, if that is anything (STORE-9a).

    Args:
        look: The log.
        anchored: What the anchor said before the log was looked at: the owner anchors behind its
            COMMIT, so the log is never behind that.

    Raises:
        StoreNotFoundError: `not_found`, where nothing was ever acknowledged.
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`, where nothing at all is left.
        StorageError: `storage_*`.
    """

    def chain_at(ordinal: int) -> str | None:
        found = look.run(_ROOT_AT, (ordinal,))
        return next((root.hex() for (root,) in found if isinstance(root, bytes)), None)

    def compare() -> None:
        last = last_ordinal(look.run)
        compare_anchor(anchored, Head(ordinal=last, chain=chain_at(last) or ""), chain_at)

    try:
        look.snapshot(compare)
    except AcknowledgedFactsMissingError as short:
        return short
    except DatabaseDamagedError:
        return None  # Whoever reads on is told, and sees what can be read before it.
    except StoreNotFoundError:
        if anchored is None or anchored.ordinal == 0:
            raise
        # The tables of a young log lie in its WAL alone, which may be lost.
        raise AcknowledgedFactsMissingError(
            anchored_ordinal=anchored.ordinal, stored_ordinal=0
        ) from None
    return None


# --- lists, as the projections have them ---

_SESSIONS: Final = """
SELECT s.session, s.opened, s.runs, s.last_run, s.adopted, i.root, q.code,
       (SELECT max(ordinal) FROM facts WHERE facts.session = s.session)
FROM sessions AS s LEFT JOIN imports AS i USING (session) LEFT JOIN quarantine AS q USING (session)
ORDER BY 8, 1
""".strip()
_RUNS: Final = (
    f"SELECT {CELLS.all} FROM cells WHERE session = ? AND machine = ? ORDER BY made, instance"
)
_ROOT_AT: Final = "SELECT root FROM facts WHERE ordinal = ?"
_ASKS_NAMED: Final = (
    "SELECT instance FROM cells WHERE machine = ? AND instance >= ? AND instance < ?"
    " ORDER BY instance LIMIT ?"
)
_RUNS_NAMED: Final = (
    "SELECT run FROM facts WHERE seq = 1 AND kind = 'run_opened' AND run >= ? AND run < ?"
    " ORDER BY run LIMIT ?"
)


@attrs.frozen(kw_only=True)
class SessionLook:
    """One session in a list.

    Attributes:
        opened: Ordinal of its opening.
        newest: Ordinal of its newest fact.
        last_run: The inline run that closed last.
        foreign: The root it was imported from, until it is adopted.
        quarantined: Why its tools are refused.
    """

    session: str
    opened: int
    newest: int
    runs: int
    last_run: str | None
    foreign: str | None
    quarantined: str | None


def sessions(look: Look) -> list[SessionLook]:
    """Return all sessions, the one with the newest fact last; works through no facts."""

    def read() -> list[SessionLook]:
        return [
            SessionLook(
                session=c.text(session),
                opened=c.integer(opened),
                newest=c.integer(newest),
                runs=c.integer(runs),
                last_run=c.optional_text(last_run),
                foreign=c.optional_text(root) if adopted is None else None,
                quarantined=c.optional_text(code),
            )
            for session, opened, runs, last_run, adopted, root, code, newest in look.run(_SESSIONS)
        ]

    return look.snapshot(read)


def runs(look: Look, session: str) -> list[CellRow]:
    """Return the runs of a session in the order in which they were opened."""

    def read() -> list[CellRow]:
        return [cell_of(row) for row in look.run(_RUNS, (session, Machine.RUN.value))]

    return look.snapshot(read)


def runs_named(look: Look, beginning: str, *, limit: int = 6) -> list[str]:
    """Return the runs whose ids begin so, at most `limit`; one look into an index."""

    def read() -> list[str]:
        found = look.run(_RUNS_NAMED, (beginning, f"{beginning}\x7f", limit))
        return [c.text(run) for (run,) in found]

    return look.snapshot(read)


def asks_named(look: Look, beginning: str, *, limit: int = 6) -> list[str]:
    """Return the requests to people whose ids begin so, open or not, at most `limit`."""
    words = (Machine.INTERACTION.value, beginning, f"{beginning}\x7f", limit)

    def read() -> list[str]:
        return [c.text(ask) for (ask,) in look.run(_ASKS_NAMED, words)]

    return look.snapshot(read)
