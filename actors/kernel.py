"""The kernel: owns active runs and the terminal protocol, whatever door asked for it (RUN-1)."""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Final, cast

import attrs
import trio

from ..machines.facts import compose
from ..machines.facts.ids import IdSource, Prefix
from ..machines.facts.model import (
    Budgets,
    MessageQueued,
    MessageReturned,
    RunEnded,
    RunOpened,
    RuntimeEvent,
    Spine,
    Text,
)
from ..machines.facts.vocabulary import (
    Author,
    Cause,
    Intent,
    ReturnReason,
    RunFailure,
    RunStatus,
)
from ..machines.lifecycles import run
from ..machines.lifecycles.cells import Machine
from ..store.errors import (
    CommitOutcomeUnknownError,
    StorageError,
    StoreClosedError,
    StoreOnProbationError,
    StorePoisonedError,
)
from ..store.journal import writers
from ..store.journal.ends import AbandonRun, EndRun, Stop, Stopped
from ..store.journal.errors import UnitRefusedError
from ..store.journal.ledger import View
from ..store.journal.pending import Pending
from ..store.journal.starts import OpenRun, QueueMessage, Started
from ..store.operational import OperationalBook, OperationalKind
from ..store.ownership.errors import LockReplacedError
from ..store.port import Store
from .clock import Clock
from .errors import ProfileDriftError, RunUnknownError
from .live import Bus, Committed
from .means import Means
from .pen import Pen
from .reading import Mail, queued_messages, session_facts
from .run import Historian, RunActor, Snapshots
from .waiting import Waiting

_LOG: Final = logging.getLogger("crashworthy")


@attrs.define(eq=False, kw_only=True)
class Active:
    """A run that this process executes."""

    session: str
    pen: Pen
    scope: trio.CancelScope
    finished: trio.Event


def _no_runs() -> dict[str, Active]:
    return {}


@attrs.frozen(kw_only=True)
class Start:
    """One start of a turn, as the caller states it (RUN-5).

    Attributes:
        key: The caller's idempotency key; the same key and input find the same run for ever.
        input: Digest of text, attachments and options, for keyed starts.
    """

    session: str
    text: Text
    key: str | None = None
    input: str | None = None
    budgets: Budgets | None = None
    by: Author = Author.USER


@attrs.define(eq=False, kw_only=True)
class Kernel:
    """Starts, stops, answers and re-attaches runs of one owned store.

    Every task it starts lives in `nursery`, which the host owns.

    Attributes:
        closing: The host drains: what ends now is followed by nothing.
    """

    store: Store
    nursery: trio.Nursery
    bus: Bus
    clock: Clock
    ids: IdSource
    historian: Historian
    snapshots: Callable[[Spine], Snapshots]
    operational: OperationalBook
    waiting: Waiting = attrs.field(factory=Waiting)
    closing: bool = False
    active: dict[str, Active] = attrs.field(factory=_no_runs)
    _stopping: dict[str, trio.Lock] = attrs.field(factory=dict[str, trio.Lock])

    # --- starting ---

    async def start(self, start: Start, means: Means) -> Started:
        """Open a run, or find the one that the key stands for; only a new one is executed (RUN-5).

        Raises:
            StartConflictError: `start_conflict`, the key came with other input before.
            UnitRefusedError: `session_busy`, `not_opened`.
        """
        spine = Spine(
            session=start.session,
            invocation=self.ids.next_id(Prefix.INVOCATION),
            run=self.ids.next_id(Prefix.RUN),
            turn=self.ids.next_id(Prefix.TURN),
        )
        at = compose.At(spine=spine, ts=self.clock.now_ms())
        text = compose.user_text(at, self.ids.next_id(Prefix.FACT), start.text, by=start.by)
        order = OpenRun(
            spine=spine,
            opened=self.ids.next_id(Prefix.FACT),
            ts=at.ts,
            profile=means.profile,
            text=text,
            key=start.key,
            input=start.input,
            budgets=start.budgets,
        )
        started = await self.store.submit(order)
        if started.created:
            await self._execute(spine, means, opened=True)
        return started

    async def start_queued(self, message: RuntimeEvent, means: Means) -> Started:
        """Open the turn that a queued follow-up asks for (RUN-6).

        Raises:
            UnitRefusedError: `session_busy`, `message_not_queued`.
        """
        session, name = message.spine.session, message.refs.message
        assert name is not None
        assert isinstance(message.content, Text)
        action = message.actions
        assert isinstance(action, MessageQueued)
        spine = Spine(
            session=session,
            invocation=self.ids.next_id(Prefix.INVOCATION),
            run=self.ids.next_id(Prefix.RUN),
            turn=self.ids.next_id(Prefix.TURN),
        )
        now = self.clock.now_ms()
        control = compose.At(spine=compose.control_spine(session), ts=now)
        at = compose.At(spine=spine, ts=now)
        taken = compose.message_taken(control, self.ids.next_id(Prefix.FACT), name, spine.run)
        text = compose.user_text(
            at, self.ids.next_id(Prefix.FACT), message.content, message=name, by=message.author
        )
        order = OpenRun(
            spine=spine,
            opened=self.ids.next_id(Prefix.FACT),
            ts=now,
            profile=means.profile,
            text=text,
            cause=Cause.FOLLOW_UP,
            taken=taken,
            key=action.key,
            input=action.input,
        )
        started = await self.store.submit(order)
        if started.created:
            await self._execute(spine, means, opened=True)
        return started

    async def reattach(self, name: str, means: Means) -> bool:
        """Take up a waiting run under this owner; say whether this call did (ASK-3).

        Raises:
            RunUnknownError: `run_unknown`.
            ProfileDriftError: `profile_drift`, naming the field; the run stays waiting.
            UnitRefusedError: `run_not_waiting`, `run_sealed`, `run_stopping`.
        """
        if name in self.active:
            return False
        spine, opened = self._opening(name)
        refuse_drift(name, opened, means)
        at = compose.At(spine=spine, ts=self.clock.now_ms())
        digest = means.profile_digest
        fact = compose.run_reattached(at, self.ids.next_id(Prefix.FACT), digest)
        appended = await self.store.submit(writers.reattach(fact))
        if appended.created:
            self.bus.publish(Committed(event=fact))
            await self._execute(spine, means, opened=False)
        return appended.created

    def _opening(self, name: str) -> tuple[Spine, RunOpened]:
        def look(view: View) -> RuntimeEvent | None:
            place = view.opening(name)
            stored = None if place is None else view.fact(place.id)
            return None if stored is None else stored.event()

        event = self.store.read(look)
        if event is None or not isinstance(event.actions, RunOpened):
            raise RunUnknownError(run=name)
        return event.spine, event.actions

    async def _execute(self, spine: Spine, means: Means, *, opened: bool) -> None:
        """Start the actor of a run whose opening (or re-attachment) this process just wrote."""
        facts = await trio.to_thread.run_sync(lambda: session_facts(self.store, spine.session))
        own = [fact for fact in facts if fact.spine == spine]
        past = [fact for fact in facts if fact.spine != spine]
        pen = Pen(
            desk=self.store,
            bus=self.bus,
            clock=self.clock,
            ids=self.ids,
            spine=spine,
            facts=own,
            operational=self.operational,
        )
        if opened:
            for fact in own:
                self.bus.publish(Committed(event=fact))
        if self.closing:
            return  # Handed in before the host began to drain; its next owner's recovery closes it.
        actor = RunActor(
            pen=pen,
            means=means,
            waiting=self.waiting,
            historian=self.historian,
            snapshots=self.snapshots(spine),
            mail=Mail(store=self.store, session=spine.session),
            past=past,
        )
        active = Active(
            session=spine.session, pen=pen, scope=trio.CancelScope(), finished=trio.Event()
        )
        self.active[spine.run] = active
        self.nursery.start_soon(self._drive, actor, active, means)

    async def _drive(self, actor: RunActor, active: Active, means: Means) -> None:
        """Run the actor and write its end; first accepted end wins (RUN-2)."""
        began = trio.current_time()
        try:
            with active.scope:
                end = await self._outcome(actor)
                if end is not None:
                    await self._end(active, end)
        finally:
            self.active.pop(active.pen.spine.run, None)
            ms = round((trio.current_time() - began) * 1000)
            active.pen.note(OperationalKind.RUN_EXECUTED, ms=ms, facts=len(active.pen.facts))
            active.finished.set()
        if not active.scope.cancelled_caught:
            await self.go_on(active.session, means)

    async def _outcome(self, actor: RunActor) -> RunEnded | None:
        """Return how the run ends; a storage failure ends it as one, if it can be written.

        Raises:
            CommitOutcomeUnknownError: `commit_outcome_unknown`; the host ends, recovery reads.
            StorePoisonedError: `store_poisoned`, likewise.
            StoreClosedError: `store_closed`.
            LockReplacedError: `lock_replaced`; the root is not where it was.
        """
        try:
            with trio.move_on_after(self._left_s(actor.pen)):
                return await actor.run()
            return RunEnded(status=RunStatus.FAILED, failure=RunFailure.DEADLINE)
        except UnitRefusedError:
            # Somebody else moved the run on: a stop, an end. Its facts say what happened.
            return None
        except (StorageError, StoreOnProbationError) as error:
            actor.pen.note(OperationalKind.STORE_FAILED, code=str(error.code))
            return RunEnded(status=RunStatus.FAILED, failure=RunFailure.STORAGE)
        except (StorePoisonedError, CommitOutcomeUnknownError, StoreClosedError, LockReplacedError):
            raise
        except Exception as error:  # noqa: BLE001 - logged whole, and the run ends as internal
            # A bug of ours costs this run, and is told; it never costs its neighbours.
            _LOG.exception("run %s failed inside the runtime", actor.pen.spine.run)
            actor.pen.note(
                OperationalKind.INTERNAL_ERROR, error=type(error).__name__, message=str(error)
            )
            return RunEnded(status=RunStatus.FAILED, failure=RunFailure.INTERNAL)

    def _left_s(self, pen: Pen) -> float:
        """Return the seconds until the run's durable deadline; infinite without one (RUN-8)."""
        opened = pen.facts[0].actions
        budgets = opened.budgets if isinstance(opened, RunOpened) else None
        if budgets is None or budgets.deadline_ts is None:
            return float("inf")
        return max(0.0, (budgets.deadline_ts - self.clock.now_ms()) / 1000)

    async def _end(self, active: Active, end: RunEnded) -> None:
        """Write the terminal; keep trying while the environment refuses, and give way to a stop.

        Raises:
            StorePoisonedError: `store_poisoned`; the host ends, recovery reads the truth.
        """
        pen = active.pen
        fact = compose.run_ended(pen.at(), pen.fresh(), end)
        with suppress(UnitRefusedError):
            await pen.append_surely(EndRun(end=fact), (fact,))

    async def go_on(self, session: str, means: Means) -> None:
        """Open the next turn if a follow-up waits for it and nobody closes the host (RUN-6)."""
        if self.closing:
            return
        queued = queued_messages(self.store, session, Pending.MESSAGE_FOLLOW_UP)
        if queued:
            try:
                await self.start_queued(queued[0], means)
            except UnitRefusedError:
                return  # Another turn was faster; its end asks again.

    # --- stopping ---

    async def stop(self, name: str, source: str) -> Stopped:
        """Stop a run: the intent is durable first, then it is cancelled, then it ends (RUN-4).

        Idempotent; on a run that is over it changes nothing and says so.

        Raises:
            RunUnknownError: `run_unknown`.
        """
        lock = self._stopping.setdefault(name, trio.Lock())
        async with lock:
            spine, _opened = self._opening(name)
            at = compose.At(spine=spine, ts=self.clock.now_ms())
            fact = compose.stop_requested(at, self.ids.next_id(Prefix.FACT), source)
            found = await self.store.submit(Stop(fact=fact))
            if found is Stopped.REQUESTED:
                self.bus.publish(Committed(event=fact))
            if found in (Stopped.ENDED, Stopped.UNKNOWN):
                return found
            with trio.CancelScope(shield=True):
                await self._finish_stop(spine)
            return found

    async def _finish_stop(self, spine: Spine) -> None:
        active = self.active.get(spine.run)
        if active is not None:
            active.scope.cancel()
            await active.finished.wait()
        cell = self.store.read(lambda view: view.cell(Machine.RUN, spine.run))
        if cell is None or not isinstance(cell.state, run.Stopping):
            return
        stop = cell.memo.get("stop")
        end = RunEnded(status=RunStatus.ABORTED, source=str(stop))
        at = compose.At(spine=spine, ts=self.clock.now_ms())
        fact = compose.run_ended(at, self.ids.next_id(Prefix.FACT), end)
        try:
            await self.store.submit(EndRun(end=fact))
        except UnitRefusedError:
            return
        self.bus.publish(Committed(event=fact))
        await self._return_follow_ups(spine.session)

    async def _return_follow_ups(self, session: str) -> None:
        """Hand back what waited for the next turn: a stop takes it off the queue too (RUN-6)."""
        now = self.clock.now_ms()
        at = compose.At(spine=compose.control_spine(session), ts=now)
        action = MessageReturned(reason=ReturnReason.STOPPED)
        facts = tuple(
            compose.message_returned(
                at, self.ids.next_id(Prefix.FACT), str(message.refs.message), action
            )
            for message in queued_messages(self.store, session, Pending.MESSAGE_FOLLOW_UP)
        )
        if facts:
            await self.store.submit(writers.return_messages(*facts))
            for fact in facts:
                self.bus.publish(Committed(event=fact))

    async def abandon(self, name: str) -> None:
        """Give up a waiting run on a person's word (ASK-3).

        Raises:
            RunUnknownError: `run_unknown`.
            UnitRefusedError: `run_not_waiting`.
        """
        spine, _opened = self._opening(name)
        now = self.clock.now_ms()
        control = compose.At(spine=compose.control_spine(spine.session), ts=now)
        gone = compose.run_abandoned(control, self.ids.next_id(Prefix.FACT), name)
        end = compose.run_ended(
            compose.At(spine=spine, ts=now),
            self.ids.next_id(Prefix.FACT),
            RunEnded(status=RunStatus.FAILED, failure=RunFailure.ABANDONED_BY_PERSON),
        )
        await self.store.submit(AbandonRun(abandoned=gone, end=end))
        active = self.active.get(name)
        if active is not None:
            active.scope.cancel()
        for fact in (gone, end):
            self.bus.publish(Committed(event=fact))

    def pen_of(self, name: str) -> Pen | None:
        """Return the pen of a run that this process executes."""
        active = self.active.get(name)
        return None if active is None else active.pen

    # --- messages ---

    async def queue(
        self,
        session: str,
        text: Text,
        intent: Intent,
        *,
        key: str | None = None,
        told: str | None = None,
    ) -> Started:
        """Queue a message for the next step boundary, or for the next turn (RUN-6).

        Raises:
            StartConflictError: `start_conflict`.
        """
        at = compose.At(spine=compose.control_spine(session), ts=self.clock.now_ms())
        action = MessageQueued(intent=intent, key=key, input=told)
        name = self.ids.next_id(Prefix.MESSAGE)
        fact = compose.message_queued(at, self.ids.next_id(Prefix.FACT), name, text, action)
        queued = await self.store.submit(QueueMessage(fact=fact))
        if queued.created:
            self.bus.publish(Committed(event=fact))
        return queued


def refuse_drift(name: str, opened: RunOpened, means: Means) -> None:
    """Compare the profile of an opening with what this process has, field by field (CONT-5).

    Raises:
        ProfileDriftError: `profile_drift`, with the first field that differs.
    """
    for field in attrs.fields(type(opened.profile)):
        then, now = getattr(opened.profile, field.name), getattr(means.profile, field.name)
        if then != now:
            before, after = _difference(then, now)
            raise ProfileDriftError(run=name, field=field.name, opened=before, now=after)


def _difference(then: object, now: object) -> tuple[str, str]:
    """Return both sides as text; of two lists, such as tools, only what the other has not."""
    told = str(then), str(now)
    if isinstance(then, tuple) and isinstance(now, tuple):
        before, after = cast("tuple[object, ...]", then), cast("tuple[object, ...]", now)
        if set(before) != set(after):
            return (
                ", ".join(str(one) for one in before if one not in after),
                ", ".join(str(one) for one in after if one not in before),
            )
    return told
