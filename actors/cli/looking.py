"""A log opened for looking: no lock, nothing made or changed, up to any moment (STORE-10)."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final, TypeVar

import attrs

from ...machines.facts import canonical, compose
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.ids import Prefix
from ...machines.facts.model import RuntimeEvent, WorkspaceAttached
from ...machines.lifecycles import lease
from ...machines.projections.transcript_parts import Fragment, Lane
from ...store.audit.look import Look
from ...store.connect import Connector
from ...store.journal.evidence import SqlView
from ...store.journal.ledger import View
from ...store.journal.pending import Pending
from ...store.journal.records import Stored
from ...store.ownership.root import StateRoot, look_at_root
from ..errors import RunUnknownError, SessionUnknownError
from .place import Place
from .terminal import tell

T = TypeVar("T")

PAGE: Final = 500


@attrs.define(eq=False, kw_only=True)
class NameAmbiguousError(CrashworthyError):
    """The beginning of an id fits several; write more of it."""

    code: ClassVar[Code] = Code.NAME_AMBIGUOUS
    name: str
    fits: tuple[str, ...]


@attrs.define(eq=False, kw_only=True)
class OrdinalUnknownError(CrashworthyError):
    """The log does not go that far."""

    code: ClassVar[Code] = Code.ORDINAL_UNKNOWN
    ordinal: int
    last: int


@attrs.frozen(kw_only=True)
class Numbered:
    """One readable fact with its place in the log."""

    stored: Stored
    event: RuntimeEvent


@attrs.frozen(kw_only=True)
class Damage:
    """A fact that cannot be read; what comes before it is shown (STORE-8)."""

    ordinal: int
    code: str


@attrs.define(eq=False, kw_only=True)
class Log:
    """One root, for looking.

    Attributes:
        damage: The facts that could not be read so far.
    """

    root: StateRoot
    look: Look
    damage: list[Damage] = attrs.field(factory=list[Damage], init=False)

    def read(self, work: Callable[[View], T]) -> T:
        """Return what `work` finds in one short snapshot."""
        return self.look.snapshot(lambda: work(SqlView(self.look.run)))

    def stored(
        self, *, session: str | None = None, after: int = 0, upto: int | None = None
    ) -> Iterator[Stored]:
        """Yield facts in commit order, a short snapshot a page."""
        while True:
            page = self.read(_page(session, after))
            for one in page:
                if upto is not None and one.place.ordinal > upto:
                    return
                yield one
            if not page:
                return
            after = page[-1].place.ordinal

    def facts(self, session: str, *, upto: int | None = None) -> list[Numbered]:
        """Return a session's facts in commit order, without those that cannot be read."""
        facts: list[Numbered] = []
        for one in self.stored(session=session, upto=upto):
            try:
                facts.append(Numbered(stored=one, event=one.event()))
            except CrashworthyError as error:
                self.damage.append(Damage(ordinal=one.place.ordinal, code=error.code.value))
        return facts

    def last(self) -> int:
        """Return the ordinal of the newest fact; 0 in an empty log."""
        return self.read(lambda view: view.last().ordinal)

    # --- names ---

    def sessions(self) -> list[str]:
        """Return the sessions, the one with the newest fact last."""
        newest = dict[str, int]()
        for one in self.stored():
            newest[one.place.spine.session] = one.place.ordinal
        return sorted(newest, key=newest.__getitem__)

    def find_session(self, name: str | None) -> str:
        """Return the session of this id or beginning of one; without a name the newest.

        Raises:
            SessionUnknownError: `session_unknown`.
            NameAmbiguousError: `name_ambiguous`.
        """
        if name is not None and self.read(lambda view: view.session(name)) is not None:
            return name
        sessions = self.sessions()
        if name is None and sessions:
            return sessions[-1]
        fits = [one for one in sessions if name is not None and one.startswith(name)]
        if not fits:
            raise SessionUnknownError(session=name or "")
        return _only(name or "", fits)

    def find_run(self, name: str | None) -> str:
        """Return the run of this id or beginning of one; without a name the newest open one.

        Raises:
            RunUnknownError: `run_unknown`.
            NameAmbiguousError: `name_ambiguous`.
        """
        if name is None:
            live = self.read(lambda view: view.pending(Pending.RUN_LIVE))
            if not live:
                raise RunUnknownError(run="")
            return _only("", list(live))
        if self.read(lambda view: view.opening(name)) is not None:
            return name
        runs = dict.fromkeys(one.place.spine.run for one in self.stored())
        fits = [one for one in runs if one.startswith(name)]
        if not fits:
            raise RunUnknownError(run=name)
        return _only(name, fits)

    def session_of(self, run: str) -> str:
        """Return the session of a run that `find_run` found."""
        place = self.read(lambda view: view.opening(run))
        assert place is not None
        return place.spine.session

    def workspace(self, session: str) -> str | None:
        """Return the directory that a session works in, as its facts say."""
        control = compose.control_spine(session).invocation
        for one in self.read(lambda view: view.ledger(control)):
            action = one.event().actions
            if isinstance(action, WorkspaceAttached):
                return action.path
        return None

    # --- now ---

    def live(self) -> bool:
        """Say whether a live owner seems to hold the root; for display, never evidence (OWN-6)."""
        state = self.read(lambda view: view.lease())
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
            )

        return self.read(look)


@contextmanager
def open_log(place: Place) -> Generator[Log]:
    """Open the log of a place for looking; what would keep an owner out is said, and looked past.

    Raises:
        StoreNotFoundError: `not_found`.
        NeedsUpgradeError: `needs_upgrade`.
        StorageError: `storage_*`.
    """
    root, problem = look_at_root(place.root)
    if problem is not None:
        tell(f"crashworthy: nobody can own this root as it is: {problem}")
    log = Log(root=root, look=Look(path=root.database, connector=Connector()))
    try:
        yield log
    finally:
        log.look.close()
        for one in log.damage:
            tell(f"crashworthy: fact {one.ordinal} cannot be read ({one.code}): see `verify`")


def bare(name: str, prefix: str) -> bool:
    """Say whether a name is an id, or the beginning of one, of this kind."""
    return name.startswith(f"{prefix}_")


def is_run(name: str) -> bool:
    """Say whether a name means a run rather than a session."""
    return bare(name, Prefix.RUN)


def events_of(facts: Sequence[Numbered]) -> list[RuntimeEvent]:
    """Return the facts as projectors take them."""
    return [one.event for one in facts]


def _only(name: str, fits: Sequence[str]) -> str:
    if len(fits) > 1:
        raise NameAmbiguousError(name=name, fits=tuple(fits[:5]))
    return fits[0]


def _page(session: str | None, after: int) -> Callable[[View], Sequence[Stored]]:
    return lambda view: view.log(after=after, limit=PAGE, session=session)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
