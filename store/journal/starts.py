"""Starts: sessions, runs and queued messages, idempotent by the caller's key (RUN-5, LOG-3)."""

import attrs

from ...machines.facts import compose
from ...machines.facts.model import (
    PROTOCOL,
    Budgets,
    ExecutionProfile,
    MessageQueued,
    RunOpened,
    RuntimeEvent,
    SessionOpened,
    Spine,
)
from ...machines.facts.vocabulary import Author, Cause
from .errors import StartConflictError
from .ledger import Ledger, View
from .orders import Order, write_unit
from .project import ROOT_SCOPE, session_input
from .records import KeyRow, Owner, Place
from .shapes import Writer


@attrs.frozen(kw_only=True)
class Started:
    """What a start came to.

    Attributes:
        created: Whether this call made it; only then does it get the one admission (RUN-5).
        session: The session that was made or found.
        run: The run that was made or found; None for a session or a message that still waits.
        message: The queued message that the key stands for.
        places: Where the new facts stand; empty for what was found by its key.
    """

    created: bool
    session: str
    run: str | None = None
    message: str | None = None
    places: tuple[Place, ...] = ()


@attrs.frozen(kw_only=True)
class OpenSession(Order[Started]):
    """Make a session, or find it by its key, which is unique in the root (LOG-8).

    Attributes:
        opening: The fact `session_opened`.
        then: Provenance, workspace, settings and boundary that it begins with.
    """

    opening: RuntimeEvent
    then: tuple[RuntimeEvent, ...] = ()

    def write(self, ledger: Ledger, owner: Owner) -> Started:
        """Make or find the session.

        Raises:
            StartConflictError: `start_conflict`, the key came with another title before.
        """
        action = self.opening.actions
        if isinstance(action, SessionOpened) and action.key is not None:
            told = session_input(action.title)
            known = _known(ledger, ROOT_SCOPE, action.key, told)
            if known is not None:
                stored = ledger.fact(known.fact)
                assert stored is not None
                return Started(created=False, session=stored.place.spine.session)
        facts = (self.opening, *self.then)
        appended = write_unit(ledger, owner, Writer.OPEN_SESSION, facts)
        return Started(
            created=appended.created,
            session=self.opening.spine.session,
            places=appended.places,
        )


@attrs.frozen(kw_only=True)
class OpenRun(Order[Started]):
    """Open a run with its first user text, or find what its key stands for (LOG-3, RUN-5).

    The opening is composed here, because it carries the session digest of this very moment.

    Attributes:
        opened: The id of the fact `run_opened`.
        text: The fact `user_text`.
        taken: The fact `message_taken`, where the text was queued as a follow-up.
        input: Digest of the canonical bytes of text, attachments and options.
    """

    spine: Spine
    opened: str
    ts: int
    profile: ExecutionProfile
    text: RuntimeEvent
    cause: Cause = Cause.TURN
    taken: RuntimeEvent | None = None
    key: str | None = None
    input: str | None = None
    budgets: Budgets | None = None
    by: Author = Author.SYSTEM

    def write(self, ledger: Ledger, owner: Owner) -> Started:
        """Open or find the run.

        Raises:
            StartConflictError: `start_conflict`, the key came with other input before.
            UnitRefusedError: `session_busy`, `not_opened`, and the other refusals of the tables.
        """
        session = self.spine.session
        if self.key is not None and self.input is not None:
            known = _known(ledger, session, self.key, self.input)
            if known is not None and (known.run is not None or not self._takes(known)):
                return Started(created=False, session=session, run=known.run, message=known.message)
        opening = self._opening(ledger)
        taken = () if self.taken is None else (self.taken,)
        appended = write_unit(ledger, owner, Writer.OPEN_RUN, (opening, *taken, self.text))
        return Started(
            created=appended.created,
            session=session,
            run=self.spine.run,
            message=None if self.taken is None else self.taken.refs.message,
            places=appended.places,
        )

    def _takes(self, known: KeyRow) -> bool:
        return self.taken is not None and self.taken.refs.message == known.message

    def _opening(self, ledger: Ledger) -> RuntimeEvent:
        action = RunOpened(
            protocol=PROTOCOL,
            cause=self.cause,
            profile=self.profile,
            context=self._context(ledger),
            key=self.key,
            input=self.input,
            budgets=self.budgets,
        )
        return compose.run_opened(
            compose.At(spine=self.spine, ts=self.ts), self.opened, action, self.by
        )

    def _context(self, ledger: Ledger) -> str:
        """Return the digest to carry; a retry carries what the first call did."""
        stored = ledger.fact(self.opened)
        if stored is not None:
            action = stored.event().actions
            if isinstance(action, RunOpened):
                return action.context
        row = ledger.session(self.spine.session)
        return "0" * 64 if row is None else row.context


@attrs.frozen(kw_only=True)
class QueueMessage(Order[Started]):
    """Queue a message, or find what its key stands for (RUN-5, RUN-6)."""

    fact: RuntimeEvent

    def write(self, ledger: Ledger, owner: Owner) -> Started:
        """Queue or find the message.

        Raises:
            StartConflictError: `start_conflict`, the key came with other input before.
        """
        action, session = self.fact.actions, self.fact.spine.session
        if isinstance(action, MessageQueued) and action.key is not None:
            assert action.input is not None
            known = _known(ledger, session, action.key, action.input)
            if known is not None:
                return Started(created=False, session=session, run=known.run, message=known.message)
        appended = write_unit(ledger, owner, Writer.QUEUE_MESSAGE, (self.fact,))
        return Started(
            created=appended.created,
            session=session,
            message=self.fact.refs.message,
            places=appended.places,
        )


def _known(view: View, scope: str, key: str, told: str) -> KeyRow | None:
    """Return what a key stands for, if it came with the same input.

    Raises:
        StartConflictError: `start_conflict`.
    """
    row = view.key(scope, key)
    if row is not None and row.input != told:
        raise StartConflictError(scope=scope, key=key)
    return row
