"""One walk over the log: each row judged, each unit folded, as far as it goes (MACH-5c)."""

from collections import Counter
from collections.abc import Callable, Iterable

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.model import RunOpened, RuntimeEvent
from ...machines.facts.vocabulary import Cause, Kind
from ...machines.lifecycles.unit import UnitRefused
from ..sql import Row
from .findings import Check, Finding, Findings
from .fold import Fold
from .judge import Fact, RowJudge, Trouble


@attrs.define(eq=False, kw_only=True)
class Walk:
    """Where a walk stands.

    Attributes:
        doubtful: Sessions whose fold stopped, with the ordinal of the row that stopped it. Their
            later rows are judged by chain and columns still, and accused of nothing else.
        rows: How often each row of the lifecycle tables admitted a fact (MACH-4).
        each: Is shown every fact that a chain vouches for.
    """

    judge: RowJudge
    fold: Fold
    findings: Findings
    each: Callable[[RuntimeEvent, int], None] | None = None
    facts: int = 0
    sessions: int = 0
    doubtful: dict[str, int] = attrs.field(factory=dict[str, int])
    rows: Counter[str] = attrs.field(factory=Counter[str])
    _unit: list[Fact] = attrs.field(factory=list[Fact], init=False)

    def take(self, page: Iterable[Row]) -> None:
        """Judge and fold the rows that follow."""
        for row in page:
            self.facts += 1
            judged = self.judge.judge(row)
            accused = isinstance(judged, Trouble)
            fact = self._troubled(judged) if isinstance(judged, Trouble) else judged
            if fact is None:
                continue
            event = fact.event
            self.sessions += event.kind is Kind.SESSION_OPENED
            if self.each is not None:
                self.each(event, fact.place.ordinal)
            if event.spine.session not in self.doubtful and not self.fold.hindsight.blind:
                self._fold(fact, accused=accused)

    def finish(self) -> None:
        """Fold what is due behind the last row."""
        self._break_unit()
        self._take_claims(self.judge.next)

    def doubt(self, session: str, ordinal: int) -> None:
        """Stop folding a session."""
        self.doubtful.setdefault(session, ordinal)
        if self._unit and self._unit[0].event.spine.session == session:
            self._unit.clear()

    def _troubled(self, trouble: Trouble) -> Fact | None:
        for finding in trouble.findings:
            self.findings.add(finding)
        for session in trouble.doubtful:
            self.doubt(session, self.judge.next - 1)
        return trouble.fact

    def _fold(self, fact: Fact, *, accused: bool) -> None:
        session = fact.event.spine.session
        if self._unit and self._unit[0].event.spine.session != session:
            self._break_unit()
        if not self._unit:
            self._take_claims(fact.place.ordinal)
            if session in self.doubtful:
                return
            self.fold.begin(fact.place.ordinal)
        if not self._is_opened(fact):
            self._refuse(fact, Code.NOT_OPENED, accused=accused)
            return
        self._check_context(fact)
        self._unit.append(fact)
        try:
            taken = self.fold.add(fact.event, fact.place)
        except CrashworthyError as error:
            self._refuse(fact, error.code, accused=accused)
            return
        if isinstance(taken, UnitRefused):
            if taken.refusal.code is not Code.UNIT_INCOMPLETE:
                self._refuse(fact, taken.refusal.code, accused=accused)
            return
        for told, rows in zip(self._unit, taken.rows, strict=True):
            for name in rows:
                self.rows[name] += 1
            if rows != told.stamp.rows and not accused:
                self._add(told, Code.ROWS_DIFFER, "rows of the stamp")
        self._unit.clear()

    def _is_opened(self, fact: Fact) -> bool:
        """Say whether the session of an opening was opened before it, as its writer demanded."""
        if not isinstance(fact.event.actions, RunOpened):
            return True
        return self.fold.session(fact.event.spine.session) is not None

    def _check_context(self, fact: Fact) -> None:
        """Demand of an opening the session digest on which it stands (CONT-1)."""
        action = fact.event.actions
        if not isinstance(action, RunOpened) or action.cause is Cause.CLAIM_REPAIR:
            return
        session = self.fold.session(fact.event.spine.session)
        if session is not None and session.context != action.context:
            self._add(fact, Code.CONTEXT_DIFFERS, "context")

    def _break_unit(self) -> None:
        """Refuse a unit that has no end."""
        if self._unit:
            self._refuse(self._unit[-1], Code.UNIT_INCOMPLETE, accused=False)

    def _refuse(self, fact: Fact, code: Code, *, accused: bool) -> None:
        if not accused:
            self._add(fact, code, "refused by the tables")
        self.doubt(fact.event.spine.session, fact.place.ordinal)

    def _add(self, fact: Fact, code: Code, detail: str) -> None:
        self.findings.add(
            Finding(
                check=Check.TABLES,
                code=code,
                detail=detail,
                ordinal=fact.place.ordinal,
                fact=fact.event.id,
                session=fact.event.spine.session,
            )
        )

    def _take_claims(self, ordinal: int) -> None:
        """Add the claims that were made before the fact at `ordinal`."""
        while (name := self.fold.hindsight.due_claim(ordinal)) is not None:
            try:
                record = self.fold.hindsight.claim(name)
                if record is not None:
                    self.fold.take_claim(record)
            except CrashworthyError:
                # The authority check names it; what it sealed and reserved stays as it is.
                continue
