"""A log opened for looking: no lock, nothing made or changed, up to any moment (STORE-10)."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import ClassVar, TypeVar

import attrs

from ...machines.facts import canonical, compose
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.ids import Prefix
from ...machines.facts.model import RuntimeEvent, Spine, WorkspaceAttached
from ...machines.lifecycles import lease
from ...machines.projections.transcript_parts import Fragment, Lane
from ...store.anchor import read_anchor
from ...store.audit.judge import Fact
from ...store.audit.look import Look
from ...store.connect import Connector
from ...store.errors import AcknowledgedFactsMissingError, DatabaseDamagedError
from ...store.journal.evidence import SqlView
from ...store.journal.ledger import View
from ...store.journal.pending import Pending
from ...store.ownership.root import StateRoot, look_at_root
from ...store.read import Reading, Scope, Unread, asks_named, missing, runs_named, sessions
from ..errors import (
    AskUnknownError,
    NoOpenRunError,
    NoSessionError,
    RunUnknownError,
    SessionUnknownError,
)
from .exits import Exit
from .place import Place, check_kind
from .terminal import tell

T = TypeVar("T")


@attrs.define(eq=False, kw_only=True)
class NameAmbiguousError(CrashworthyError):
    """The name fits several; `fits` are the first of them."""

    code: ClassVar[Code] = Code.NAME_AMBIGUOUS
    name: str
    fits: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class OrdinalUnknownError(CrashworthyError):
    """There is no fact of this ordinal: ordinals count from 1 to `last`, the newest fact."""

    code: ClassVar[Code] = Code.ORDINAL_UNKNOWN
    ordinal: int
    last: int


@attrs.define(eq=False, kw_only=True)
class Log:
    """One root, for looking.

    Attributes:
        short: Facts that were acknowledged and are gone (STORE-9a); None where none are.
        losses: What could not be shown so far, because it is damaged (STORE-8).
    """

    root: StateRoot
    look: Look
    short: AcknowledgedFactsMissingError | None = None
    losses: list[Unread] = attrs.field(factory=list[Unread], init=False)

    def read(self, work: Callable[[View], T]) -> T:
        """Return what `work` finds in one short snapshot."""
        return self.look.snapshot(lambda: work(SqlView(self.look.run)))

    def facts(self, session: str, *, upto: int | None = None) -> list[Fact]:
        """Return a session's facts in commit order, each ledger up to its damage."""
        return self._facts(Scope(session=session, upto=upto))

    def last(self) -> int:
        """Return the ordinal of the newest fact; 0 in an empty log."""
        return self.read(lambda view: view.last().ordinal)

    def status(self) -> Exit:
        """Return what a command that looked came to."""
        return Exit.FAILED if self.losses or self.short else Exit.DONE

    def _facts(self, scope: Scope) -> list[Fact]:
        reading = Reading(look=self.look, root_id=self.root.root_id, scope=scope)
        facts = list(reading)
        self.losses.extend(one for one in reading.losses if one not in self.losses)
        return facts

    # --- names ---

    def sessions(self) -> list[str]:
        """Return the sessions, the one with the newest fact last."""
        return [one.session for one in sessions(self.look)]

    def find_session(self, name: str | None) -> str:
        """Return the session of this id or beginning of one; without a name the newest.

        Raises:
            NoSessionError: `no_session`, where none was named and there is none.
            SessionUnknownError: `session_unknown`.
            NameAmbiguousError: `name_ambiguous`.
        """
        known = self.sessions()
        if name is None:
            if not known:
                raise NoSessionError(root=str(self.root.path))
            return known[-1]
        fits = [one for one in known if one.startswith(name)]
        if not fits:
            raise SessionUnknownError(session=name)
        return _only(name, fits)

    def find_run(self, name: str | None) -> str:
        """Return the run of this id or beginning of one; without a name the one that is open.

        Raises:
            NoOpenRunError: `no_open_run`, where none was named and none is open.
            RunUnknownError: `run_unknown`.
            NameAmbiguousError: `name_ambiguous`.
        """
        if name is None:
            fits = list(self.read(lambda view: view.pending(Pending.RUN_LIVE)))
            if not fits:
                raise NoOpenRunError(root=str(self.root.path))
            return _only("", fits)
        fits = runs_named(self.look, name)
        if not fits:
            raise RunUnknownError(run=name)
        return _only(name, fits)

    def find_ask(self, name: str) -> str:
        """Return the request of this id or beginning of one, open or not.

        Raises:
            AskUnknownError: `ask_unknown`.
            NameAmbiguousError: `name_ambiguous`.
        """
        fits = asks_named(self.look, name)
        if not fits:
            raise AskUnknownError(ask=name)
        return _only(name, fits)

    def session_of(self, run: str) -> str:
        """Return the session of a run that `find_run` found."""
        place = self.read(lambda view: view.opening(run))
        assert place is not None
        return place.spine.session

    def workspace(self, session: str) -> str | None:
        """Return the directory that a session works in, as its facts say."""
        for fact in self._facts(Scope(invocation=compose.control_spine(session).invocation)):
            if isinstance(fact.event.actions, WorkspaceAttached):
                return fact.event.actions.path
        return None

    # --- now ---

    def live(self) -> bool:
        """Say whether a live owner seems to hold the root; for display, never evidence (OWN-6)."""
        try:
            state = self.read(lambda view: view.lease())
        except DatabaseDamagedError:
            return False  # Nobody owns a root whose epochs cannot be read.
        if not isinstance(state, lease.Held):
            return False
        try:
            told = canonical.parse(self.root.owner_lock.read_bytes())
        except (OSError, CrashworthyError):
            return False
        if not isinstance(told, dict) or told.get("epoch") != state.epoch:
            return False
        pid = told.get("pid")
        return isinstance(pid, int) and _lives(pid)

    def fragments(self, session: str) -> tuple[Fragment, ...]:
        """Return the unfinished streams of a session's open runs (LOG-5)."""

        def look(view: View) -> tuple[Fragment, ...]:
            return tuple(
                Fragment(
                    stream=one.stream,
                    owner=one.owner,
                    run=one.spine.run,
                    lane=Lane(one.lane),
                    text=one.snapshot.decode(errors="replace"),
                    bytes_total=one.bytes_total,
                )
                for run in view.pending(Pending.RUN_LIVE, session)
                for one in view.partials(run)
                # A damaged snapshot hides nothing but itself (LOG-5).
                if one.lane in set(Lane) and one.spine == _spine_of(view, run)
            )

        return self.read(look)


def _spine_of(view: View, run: str) -> Spine | None:
    place = view.opening(run)
    return None if place is None else place.spine


@contextmanager
def open_log(place: Place) -> Generator[Log]:
    """Open the log of a place for looking; what would keep an owner out is said, and looked past.

    Raises:
        RootUnusableError: `root_unusable`.
        StoreNotFoundError: `not_found`.
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`, where nothing else is left.
        NeedsUpgradeError: `needs_upgrade`.
        StorageError: `storage_*`.
    """
    check_kind(place)
    root, problem = look_at_root(place.root)
    if problem is not None:
        tell(f"crashworthy: nobody can own this root as it is: {problem}")
    # Read before the log: the owner anchors behind its COMMIT, so the log is never behind this.
    anchored = read_anchor(root.anchor)
    log = Log(root=root, look=Look(path=root.database, connector=Connector()))
    try:
        log.short = missing(log.look, anchored)
        if log.short is not None:
            tell(f"crashworthy: {log.short}: what is left is shown, see `verify`")
        yield log
    finally:
        log.look.close()
        for one in log.losses:
            where = "a place unknown" if one.ordinal is None else f"fact {one.ordinal}"
            rest = "" if one.shown else "; nothing behind it in its ledger is shown"
            tell(f"crashworthy: damage at {where} [{one.reason}] {one.detail}{rest}: see `verify`")


def is_run(name: str) -> bool:
    """Say whether a name means a run rather than a session."""
    return name.startswith(f"{Prefix.RUN}_")


def events_of(facts: Sequence[Fact]) -> list[RuntimeEvent]:
    """Return the facts as projectors take them."""
    return [one.event for one in facts]


def _only(name: str, fits: Sequence[str]) -> str:
    """Return the one that fits: it alone, or the one whose whole id the name is.

    Raises:
        NameAmbiguousError: `name_ambiguous`.
    """
    if len(fits) > 1 and name not in fits:
        raise NameAmbiguousError(name=name, fits=tuple(fits[:5]))
    return name if name in fits else fits[0]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
