"""The public API: open a root, talk to sessions, answer, stop, look (RUN-1)."""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import attrs
import trio

from ..machines.facts import compose
from ..machines.facts.canonical import Json, encode
from ..machines.facts.codes import Code
from ..machines.facts.digests import Domain, digest, digest_json
from ..machines.facts.ids import Prefix
from ..machines.facts.model import (
    PROTOCOL,
    AskOpened,
    Attachment,
    BoundaryChanged,
    Budgets,
    ExecutionProfile,
    PromptPart,
    RunEnded,
    RuntimeEvent,
    SessionOpened,
    Text,
    WorkspaceAttached,
)
from ..machines.facts.vocabulary import (
    AnswerDecision,
    AttachmentKind,
    Author,
    Intent,
    Kind,
)
from ..machines.lifecycles import run
from ..machines.lifecycles.cells import Machine
from ..machines.projections.history import history
from ..machines.projections.target import Capabilities
from ..store.journal.ends import Stopped
from ..store.journal.errors import UnitRefusedError
from ..store.journal.ledger import View
from ..store.journal.pending import Pending
from ..store.journal.starts import OpenSession
from ..store.operational import OperationalReading, read_operational
from .backends.contract import BackendFactory
from .clock import Clock, SystemClock
from .errors import RunUnknownError, SessionUnknownError
from .host import Host, HostSettings, open_host
from .kernel import Start
from .live import Committed, LiveEvent, session_of
from .means import PROJECTION, TOOL_PROTOCOL, Means, Patience, Scope
from .permission import Policy
from .reading import session_facts
from .tools.boundary import Boundary, parse_boundary
from .tools.builtin.catalogue import BUILTIN_TOOLS
from .tools.contract import Tool
from .tools.paths import workspace_boundary
from .tools.registry import Registry
from .workspace import attach, keep_apart

DEFAULT_PROMPT: Final = (
    ("runtime", "You work on the files of one directory through tools. Be exact and brief."),
)


@attrs.frozen(kw_only=True)
class Settings:
    """How a runtime behaves; every field has a safe default but the first three.

    Attributes:
        root: The state root: log, blobs, locks. Never inside of the workspace, nor around it.
        workspace: The directory that tools work in.
        backend: Makes one backend per run.
        tools: What the model may call.
        policy: Who decides about calls that need approval.
        system: The system prompt's named parts, in order (CONT-5).
        steps_max: Requests per run; None is unlimited.
        make: Whether a missing root is made.
        accept_loss: A person accepts that acknowledged facts are missing (STORE-9a).
    """

    root: Path
    workspace: Path
    backend: BackendFactory
    tools: tuple[Tool, ...] = BUILTIN_TOOLS
    policy: Policy = attrs.field(factory=Policy)
    system: tuple[tuple[str, str], ...] = DEFAULT_PROMPT
    patience: Patience = attrs.field(factory=Patience)
    steps_max: int | None = None
    make: bool = True
    accept_loss: bool = False
    clock: Clock = attrs.field(factory=SystemClock)


@attrs.frozen(kw_only=True)
class PendingAsk:
    """One open request to a person (ASK-1).

    Attributes:
        asked_ts: Milliseconds since the Unix epoch.
    """

    ask: str
    session: str
    run: str
    operation: str
    asked_ts: int
    action: AskOpened


@attrs.frozen(kw_only=True)
class AttachmentInput:
    """Bytes to go with a user's text (LOG-1)."""

    kind: AttachmentKind
    media_type: str
    data: bytes
    name: str | None = None


def tell_history(facts: Sequence[RuntimeEvent], target: Capabilities) -> Sequence[Json]:
    """Return the checked history that a backend is shown (run.Historian)."""
    return history(facts, target).bodies()


@attrs.define(eq=False, kw_only=True)
class Runtime:
    """A ready runtime over one owned root; made by `open_runtime`."""

    host: Host
    settings: Settings
    _workspace: tuple[str, str] = attrs.field(alias="workspace")

    # --- sessions ---

    async def create_session(
        self, *, title: str | None = None, key: str | None = None
    ) -> "Session":
        """Make a session in this runtime's workspace, or find the one of this key (RUN-5).

        Raises:
            StartConflictError: `start_conflict`, the key came with another title before.
        """
        self.host.life.admit()
        ids, clock = self.host.kernel.ids, self.settings.clock
        name = ids.next_id(Prefix.SESSION)
        at = compose.At(spine=compose.control_spine(name), ts=clock.now_ms())
        opening = compose.session_opened(
            at,
            ids.next_id(Prefix.FACT),
            SessionOpened(protocol=PROTOCOL, key=key, title=title),
        )
        path, identity = self._workspace
        attached = compose.control(
            at,
            ids.next_id(Prefix.FACT),
            Kind.WORKSPACE_ATTACHED,
            WorkspaceAttached(workspace=identity, path=path),
            Author.HOST,
        )
        started = await self.host.store.submit(OpenSession(opening=opening, then=(attached,)))
        return self.session(started.session)

    def session(self, name: str) -> "Session":
        """Return a session of this root.

        Raises:
            SessionUnknownError: `session_unknown`.
        """
        if self.host.store.read(lambda view: view.session(name)) is None:
            raise SessionUnknownError(session=name)
        return Session(id=name, runtime=self)

    # --- people ---

    def pending(self) -> tuple[PendingAsk, ...]:
        """Return every open request to a person, in the order of their facts (ASK-1)."""

        def look(view: View) -> tuple[PendingAsk, ...]:
            found: list[tuple[int, PendingAsk]] = []
            for name in view.pending(Pending.RUN_LIVE):
                for ask in view.pending(Pending.ASK_OPEN, name):
                    found.extend(_pending(view, ask))
            return tuple(one for _ordinal, one in sorted(found, key=lambda pair: pair[0]))

        return self.host.store.read(look)

    async def answer(
        self, ask: str, decision: AnswerDecision, answers: tuple[str | None, ...] = ()
    ) -> None:
        """Record a person's decision; the first one counts.

        Raises:
            AskUnknownError: `ask_unknown`.
            AlreadyDecidedError: `already_decided`, with the first decision.
            AskClosedError: `ask_closed`, with the reason.
            AnswerMisfitsError: `answer_misfits`.
            HostRefusedError: `host_draining`.
        """
        self.host.life.admit()
        await self.host.people.answer(ask, decision, answers)

    async def stop(self, run: str, source: str = "user") -> Stopped:
        """Stop a run; idempotent, and a typed no-op on one that is over (RUN-4).

        Raises:
            RunUnknownError: `run_unknown`.
        """
        return await self.host.kernel.stop(run, source)

    async def abandon(self, run: str) -> None:
        """Give up a run that waits for a person (ASK-3).

        Raises:
            RunUnknownError: `run_unknown`.
            UnitRefusedError: `run_not_waiting`.
        """
        self.host.life.admit()
        await self.host.kernel.abandon(run)

    async def resume(self, run: str) -> "RunHandle":
        """Take up a waiting run (ASK-3); on one that this process executes already it does nothing.

        Raises:
            RunUnknownError: `run_unknown`.
            ProfileDriftError: `profile_drift`, naming the field; the run stays waiting.
            UnitRefusedError: `run_not_waiting`, `run_sealed`, `run_stopping`.
        """
        self.host.life.admit()
        session = self.session_of_run(run)
        await self.host.kernel.reattach(run, self.means(session))
        return RunHandle(id=run, session=session, runtime=self, created=False)

    def waiting_runs(self) -> tuple[str, ...]:
        """Return the runs that wait for a person, oldest first."""
        live = self.host.store.read(lambda view: view.pending(Pending.RUN_LIVE))
        return tuple(name for name in live if self.host.waits(name))

    def session_of_run(self, run: str) -> str:
        """Return the session of a run.

        Raises:
            RunUnknownError: `run_unknown`.
        """
        cell = self.host.store.read(lambda view: view.cell(Machine.RUN, run))
        if cell is None:
            raise RunUnknownError(run=run)
        return str(cell.memo["session"])

    # --- looking ---

    def operational(self, run: str | None = None) -> OperationalReading:
        """Return how things went, for people: stages, retries, timings, late errors (LOG-10).

        Bounded, redacted, and best effort; what cannot be read is counted, never raised.

        Args:
            run: Only records of this run; the host's own records have no run.
        """
        assert self.host.store.tenure is not None
        return read_operational(self.host.store.tenure.root.operational, run)

    # --- what runs are made with ---

    def means(self, session: str) -> Means:
        """Return what a run of a session executes with, as things are now."""
        path, identity = self._workspace
        boundary = self._boundary(session) or workspace_boundary(
            path, hidden=(str(self.settings.root.resolve()),)
        )
        registry = Registry(self.settings.tools)
        backend = self.settings.backend()
        profile = ExecutionProfile(
            backend=backend.name,
            model=backend.model,
            prompt=tuple(
                PromptPart(name=name, digest=digest(Domain.PROMPT, text.encode()))
                for name, text in self.settings.system
            ),
            tools=registry.profiles(),
            tool_protocol=TOOL_PROTOCOL,
            projection=PROJECTION,
            policy=self.settings.policy.digest,
        )
        return Means(
            backend=self.settings.backend,
            registry=registry,
            policy=self.settings.policy,
            runner=self.host.tools,
            spools=self.host.spools,
            keep=self.host.keep,
            scope=Scope(root=path, identity=identity, boundary=boundary),
            clock=self.settings.clock,
            profile=profile,
            system=self.settings.system,
            patience=self.settings.patience,
            steps_max=self.settings.steps_max,
        )

    def _boundary(self, session: str) -> Boundary | None:
        control = compose.control_spine(session)

        def look(view: View) -> Json:
            after, newest = 0, None
            while page := view.ledger(control.invocation, after=after):
                for stored in page:
                    action = stored.event().actions
                    if isinstance(action, BoundaryChanged):
                        newest = action.boundary
                after = page[-1].place.seq
            return newest

        told = self.host.store.read(look)
        return None if told is None else parse_boundary(told)

    @asynccontextmanager
    async def events(
        self, *, session: str | None = None, run: str | None = None
    ) -> AsyncGenerator[trio.MemoryReceiveChannel[LiveEvent]]:
        """Yield a channel of what happens from now on: facts, and pieces marked partial."""

        def wants(event: LiveEvent) -> bool:
            if session is not None and session_of(event) != session:
                return False
            name = event.event.spine.run if isinstance(event, Committed) else event.run
            return run is None or name == run

        async with self.host.kernel.bus.subscribe(wants) as channel:
            yield channel


def _pending(view: View, ask: str) -> Iterable[tuple[int, PendingAsk]]:
    row = view.cell_row(Machine.INTERACTION, ask)
    place = None if row is None else view.opening(str(row.cell.memo["run"]))
    if row is None or place is None:
        return
    after = 0
    while page := view.ledger(place.spine.invocation, after=after):
        for stored in page:
            event = stored.event()
            if event.refs.ask == ask and isinstance(event.actions, AskOpened):
                yield (
                    stored.place.ordinal,
                    PendingAsk(
                        ask=ask,
                        session=event.spine.session,
                        run=event.spine.run,
                        operation=str(event.refs.operation),
                        asked_ts=event.ts,
                        action=event.actions,
                    ),
                )
                return
        after = page[-1].place.seq


@attrs.frozen(kw_only=True)
class Session:
    """One long-lived conversation in a workspace."""

    id: str
    runtime: Runtime

    async def send(
        self,
        text: str,
        *,
        key: str | None = None,
        attachments: Sequence[AttachmentInput] = (),
        budgets: Budgets | None = None,
    ) -> "RunHandle":
        """Start a turn with these words; with a key, the same call always finds the same run.

        Raises:
            CanonicalError: `unclean_text`; unclean words are refused, never changed (BYTE-3).
            StartConflictError: `start_conflict`, the key came with other input before.
            UnitRefusedError: `session_busy`, another turn is open.
        """
        runtime = self.runtime
        runtime.host.life.admit()
        encode(text)
        kept = [
            Attachment(
                kind=one.kind,
                media_type=one.media_type,
                bytes=len(one.data),
                digest=await runtime.host.keep(one.data),
                name=one.name,
            )
            for one in attachments
        ]
        told: Json = {
            "text": text,
            "attachments": [[str(one.kind), one.media_type, one.digest] for one in kept],
        }
        start = Start(
            session=self.id,
            text=Text(text=text, attachments=tuple(kept)),
            key=key,
            input=None if key is None else digest_json(Domain.INPUT, told),
            budgets=budgets,
        )
        started = await runtime.host.kernel.start(start, runtime.means(self.id))
        assert started.run is not None
        return RunHandle(id=started.run, session=self.id, runtime=runtime, created=started.created)

    async def steer(self, text: str) -> None:
        """Queue words for the open run; without one they wait for the next turn (RUN-6).

        They are delivered between two steps, or returned at the end of the run; never across turns.

        Raises:
            UnitRefusedError: The refusals of the tables.
        """
        self.runtime.host.life.admit()
        encode(text)
        try:
            await self.runtime.host.kernel.queue(self.id, Text(text=text), Intent.STEER)
        except UnitRefusedError as error:
            if error.code is not Code.NO_OPEN_RUN:
                raise
            await self.follow_up(text)

    async def follow_up(self, text: str, *, key: str | None = None) -> None:
        """Queue words for the next turn (RUN-6).

        Raises:
            StartConflictError: `start_conflict`, the key came with other words before.
        """
        self.runtime.host.life.admit()
        encode(text)
        told = None if key is None else digest_json(Domain.INPUT, {"text": text})
        kernel = self.runtime.host.kernel
        await kernel.queue(self.id, Text(text=text), Intent.FOLLOW_UP, key=key, told=told)
        await kernel.go_on(self.id, self.runtime.means(self.id))

    def facts(self) -> list[RuntimeEvent]:
        """Return everything that happened in this session, in commit order."""
        return session_facts(self.runtime.host.store, self.id)


@attrs.frozen(kw_only=True)
class RunHandle:
    """One run; `created` says whether the call that returned this handle opened it."""

    id: str
    session: str
    runtime: Runtime
    created: bool

    async def wait(self) -> RunEnded | None:
        """Wait until this process is done with the run.

        Returns:
            Its end; None when it has none: it waits for a person under nobody's hand.
        """
        active = self.runtime.host.kernel.active.get(self.id)
        if active is not None:
            await active.finished.wait()
        return self.end()

    def end(self) -> RunEnded | None:
        """Return the run's end, if it has one."""

        def look(view: View) -> RunEnded | None:
            cell = view.cell(Machine.RUN, self.id)
            place = view.opening(self.id)
            if cell is None or place is None or not isinstance(cell.state, run.Ended):
                return None
            head = view.head(place.spine.invocation)
            stored = None if head is None else view.at(place.spine.invocation, head.seq)
            action = None if stored is None else stored.event().actions
            return action if isinstance(action, RunEnded) else None

        return self.runtime.host.store.read(look)

    @property
    def waits(self) -> bool:
        """Say whether the run waits for a person."""
        return self.runtime.host.waits(self.id)

    async def stop(self, source: str = "user") -> Stopped:
        """Stop this run (RUN-4)."""
        return await self.runtime.stop(self.id, source)


def host_settings(settings: Settings) -> HostSettings:
    """Return how a runtime of these settings opens its host."""
    return HostSettings(
        root=settings.root,
        make=settings.make,
        accept_loss=settings.accept_loss,
        clock=settings.clock,
        partial_s=settings.patience.partial_ms / 1000,
    )


@asynccontextmanager
async def open_runtime(
    settings: Settings, host: HostSettings | None = None
) -> AsyncGenerator[Runtime]:
    """Own a root, recover it, and yield a runtime that is ready.

    Leaving stops what runs, keeps what waits for a person, and releases everything (OWN-3).

    Args:
        settings: How the runtime behaves.
        host: How its host is opened, for who injects more than settings say (`host_settings`).

    Raises:
        RootOwnedError: `root_owned`, another process owns the root.
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`.
        WorkspaceUnusableError: `workspace_unusable`.
        RootNotApartError: `root_not_apart`, one of the two lies inside the other.
        HostHungError: `host_hung`, on leaving: a function of a host tool still runs.
    """
    root = settings.root if host is None else host.root
    await trio.to_thread.run_sync(keep_apart, root, settings.workspace)
    workspace = await trio.to_thread.run_sync(attach, settings.workspace)
    async with open_host(host or host_settings(settings), tell_history) as opened:
        yield Runtime(host=opened, settings=settings, workspace=workspace)
