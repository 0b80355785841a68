"""One owner of a simulated history, in a process of its own: it opens, is judged, acts and ends."""

import hashlib
import random
import re
import traceback
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import attrs
import trio
from trio.testing import MockClock

from ...actors.backends.contract import ModelRequest
from ...actors.gravity import leaves_of
from ...actors.host import HostSettings
from ...actors.means import Patience
from ...actors.permission import Policy
from ...actors.runtime import Runtime, Settings, host_settings, open_runtime
from ...actors.tools.simulated import World
from ...machines.facts.codes import CrashworthyError
from ...machines.facts.ids import time_ordered
from ...store.audit.judge import Fact
from ...store.connect import Connector
from ...store.ownership.workers import WorkersProof
from ...store.probe import no_probe
from ...store.rebuild import refold
from ...store.runner import InlineRunner
from ..faults import Injector
from ..promises import FINISHES, REBUILDS, REPAIR_ONLY, SETTLES, SURVIVES
from ..seeded import run_seeded
from ..turnstile import Turnstile
from ..wire import encode
from ..workload import Doors, Finding, Promise, Stage, read_acks
from ..workloads.host_lives import HostWatch
from ..workloads.looking import seen
from ..workloads.ownership import own
from ..workloads.runtime_life import Life, acknowledging, workspace_of
from ..workloads.runtime_promised import NEXT_TURN_WORKS
from ..workloads.runtime_views import log_of
from ..workloads.world import Deed as WorldDeed
from ..workloads.world import happened, note
from .ending import finish
from .judge import MARK, MARKED, SICK, UNPROVEN, judge
from .model import model_of
from .people import People
from .plot import End, LifePlan, Plot
from .strike import Strike
from .tools import OFFERED
from .workers import Crew, Haunting, Left, VirtualClock, orders_of

EPOCH_TS: Final = 1_700_000_000_000
"""When every history begins, in milliseconds since 1970."""

_VIRTUAL_S_MAX: Final = 7_200
_WHOLE: Final = 0.25
"""How often an owner verifies what it found; the last one always verifies what it leaves."""
_CONTEXT: Final = re.compile("context='[0-9a-f]*'")
"""A digest over what came before, which has the place of the workspace in it."""
_DISK_S: Final = (0.0, 0.0, 0.001, 0.02)


@attrs.frozen(kw_only=True)
class Ended:
    """What is left of an owner, by its own word right before its end.

    Attributes:
        place: Where it died; empty if it lived to its end.
        now_ts: The time of the history then.
        left: The workers that live on.
        findings: Every promise that is broken.
        told: The codes that people were told, in order of the alphabet.
        facts: How many facts the log had when it was judged last.
        digest: Identifies them, wherever the root stands.
        rows: The rows of the lifecycle tables that admitted them.
    """

    place: str
    now_ts: int
    left: tuple[Left, ...]
    findings: tuple[Finding, ...] = ()
    told: tuple[str, ...] = ()
    facts: int = 0
    digest: str = ""
    rows: tuple[str, ...] = ()


def ended_path(home: Path, number: int) -> Path:
    """Return where the owner of that number leaves its word."""
    return home / f"ended-{number}.json"


def live(home: Path, plot: Plot, number: int, former: Ended) -> None:
    """Be the owner of that number, to its end or its death."""
    life = _Owner(home=home, plot=plot, number=number, former=former)
    life.run()
    life.say()


class _GaveUpError(Exception):
    """The program around the runtime fails, for reasons of its own."""


@attrs.define(eq=False, kw_only=True)
class _Ids:
    """Ids that follow from the seed (facts.ids.IdSource); two owners never meet."""

    time: VirtualClock
    rng: random.Random
    count: int = 0

    def next_id(self, prefix: str) -> str:
        """Return a fresh id."""
        self.count += 1
        return time_ordered(prefix, self.time.now_ms(), self.count, self.rng.randbytes(8))


@attrs.define(eq=False, kw_only=True)
class _Owner:
    """One owner, from what the former one left to its own last words.

    Attributes:
        settled: How many facts there are, if a further recovery must not add any.
        proven: Whether it proved that all former owners and their workers are gone (OWN-2).
        log: Every fact, as judged last.
    """

    home: Path
    plot: Plot
    number: int
    former: Ended
    plan: LifePlan = attrs.field(init=False)
    time: VirtualClock = attrs.field(init=False)
    strike: Strike = attrs.field(init=False)
    haunting: Haunting = attrs.field(init=False)
    ids: _Ids = attrs.field(init=False)
    rng: random.Random = attrs.field(init=False)
    stage: Stage = attrs.field(init=False)
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)
    settled: int | None = None
    proven: bool = True
    crew: Crew | None = None
    people: People | None = None
    findings: list[Finding] = attrs.field(factory=list[Finding])
    log: Sequence[Fact] = ()

    def __attrs_post_init__(self) -> None:
        """Take over what the former owner left."""
        self.plan = self.plot.lives[self.number]
        began_ts = self.former.now_ts + self.plan.gap_ms
        self.time = VirtualClock(began_ts=began_ts, clock=MockClock(autojump_threshold=0))
        self.rng = random.Random(f"{self.plot.seed} {self.number}")  # noqa: S311  # no secret
        self.ids = _Ids(time=self.time, rng=self.rng)
        self.strike = Strike(
            plan=self.plan, last_words=self.say, injector=Injector(fault=self.plan.fault)
        )
        doors = self.strike.doors
        self.stage = Stage(
            root=self.root,
            seed=self.plot.seed,
            host=doors,
            worker=doors,
            acks=str(self.home / "acks"),
            turnstile=Turnstile(target=None, note_path=""),
        )
        identity = f"ws_{self.plot.seed}"
        orders = {}
        if self.former.left:
            facts = [fact.event for fact in log_of(self.root)]
            orders = dict(orders_of(facts, self.root, workspace_of(self.root), identity))
        self.haunting = Haunting(
            root=self.root, time=self.time, orders=orders, left=list(self.former.left)
        )

    @property
    def root(self) -> Path:
        return self.home / "root"

    @property
    def is_last(self) -> bool:
        return self.plan.end is End.FINISHES

    def say(self, place: str = "") -> None:
        """Write down what the next owner and the lab must know."""
        mine = () if self.crew is None or not place else self.crew.left()
        log = () if place else self.log  # Who dies has no time to look.
        told = () if self.people is None else sorted(self.people.told.elements())
        text = encode(
            Ended(
                place=place,
                now_ts=self.time.now_ms(),
                left=(*self.haunting.left, *mine),
                findings=tuple(self.findings),
                told=tuple(told),
                facts=len(log),
                digest=_digest(log, self.home),
                rows=tuple(sorted({row for fact in log for row in fact.stamp.rows})),
            )
        )
        ended_path(self.home, self.number).write_text(text)

    # --- the whole life ---

    def run(self) -> None:
        """Open, be judged, act, and end as planned."""
        if self.plan.twice:
            self.survive(partial(self.own, _come_and_go))
        self.survive(partial(self.own, self.act))
        if self.is_last and not self.proven and not self.findings:
            # What an owner without the proof could not close, its successor does.
            self.survive(partial(self.own, self.finish))
        if self.is_last and self.plan.twice and not self.findings:
            self.reopen()

    def survive(self, life: Callable[[], None]) -> None:
        """Live, and tell apart the ends that a sick world explains from those that nothing does."""
        try:
            life()
        except BaseException as error:  # noqa: BLE001 - whatever ends a host is judged here
            for leaf in leaves_of(BaseExceptionGroup("", [error])):
                if not self.is_explained(leaf):
                    told = "".join(traceback.format_exception(leaf))
                    self.blame(FINISHES if self.is_last else SURVIVES, told)

    def is_explained(self, error: BaseException) -> bool:
        """Say whether the plan made it: a fault was met, or the program failed as it should."""
        if isinstance(error, CrashworthyError):
            return self.strike.injector.fired > 0
        return isinstance(error, _GaveUpError)

    def own(self, act: Callable[[Life], Awaitable[None]]) -> None:
        """Own the root once, in a trio of its own under the virtual clock."""

        async def whole() -> None:
            with trio.fail_after(_VIRTUAL_S_MAX):
                async with trio.open_nursery() as outside:
                    outside.start_soon(self.haunting.play)
                    with trio.CancelScope() as self.scope:
                        await self.host(act, outside)
                    outside.cancel_scope.cancel()

        seed = self.plot.seed * 1_000 + self.number
        run_seeded(seed, whole, clock=self.time.clock, instruments=(self.strike,))

    async def host(self, act: Callable[[Life], Awaitable[None]], outside: trio.Nursery) -> None:
        """Open the runtime, judge what it found, and serve."""
        world = World(outside)
        self.crew = Crew(
            seed=self.plot.seed,
            root=self.root,
            world=world,
            time=self.time,
            probe=self.strike.probe,
            begins=self.strike.die_in_call,
        )
        box: list[Runtime] = []
        settings = self.settings(box)
        watch = HostWatch(stage=self.stage, world=world)
        before = (*self.world_outside(), len(self.haunting.landed))
        with watch.living():
            async with open_runtime(settings, self.host_settings(settings, self.crew)) as runtime:
                box.append(runtime)
                life = Life(runtime=runtime, stage=self.stage, outside=outside)
                life.acknowledge()
                store = runtime.host.store
                self.proven = store.proof is WorkersProof.GONE
                if not self.proven:
                    self.stage.ack(f"{UNPROVEN}{store.owner.epoch}")
                self.judge_opening(runtime, before)
                shows = runtime.host.kernel.bus.subscribe(acknowledging(life))
                with watch.serving(runtime), self.marking(runtime):
                    async with shows:
                        await act(life)

    @contextmanager
    def marking(self, runtime: Runtime) -> Generator[None]:
        """Note at the end of the block which ids are newer: those of what came too late."""
        try:
            yield
        finally:
            # Who does not know what its last COMMIT did does not know what came before its drain.
            mark = SICK if self.strike.injector.fired else self.ids.next_id(MARK)
            self.stage.ack(f"{MARKED}{runtime.host.store.owner.epoch} {mark}")

    def settings(self, box: list[Runtime]) -> Settings:
        """Return how the runtime behaves; its requests are noted outside of it as they leave."""

        def leaves(request: ModelRequest) -> None:
            newest = box[0].host.kernel.active[request.run].pen.facts[-1]
            assert newest.refs.request is not None
            self.strike.probe("request.starts")
            note(self.root, WorldDeed.REQUEST, newest.refs.request)
            self.strike.probe("request.done")

        return Settings(
            root=self.root,
            workspace=workspace_of(self.root),
            backend=model_of(self.plot, leaves),
            tools=OFFERED,
            policy=Policy(ask_ms_max=self.plot.ask_ms_max),
            patience=Patience(partial_ms=100),
            clock=self.time,
        )

    def host_settings(self, settings: Settings, crew: Crew) -> HostSettings:
        """Return how the host is opened: everything that is not pure follows from the seed."""
        return attrs.evolve(
            host_settings(settings),
            ids=self.ids,
            runner=InlineRunner(latency_s=partial(self.rng.choice, _DISK_S)),
            connector=Connector(factory=self.stage.host.factory),
            probe=self.stage.host.probe,
            pause=self.haunting.pause,
            tools=crew,
        )

    # --- what is judged ---

    def judge_opening(self, runtime: Runtime, before: tuple[int, int, int]) -> None:
        """Judge what this owner found and what its recovery made of it."""
        requests, effects = self.world_outside()
        landed = len(self.haunting.landed) - before[2]
        if (requests, effects - landed) != before[:2]:
            done = f"{requests} requests, {effects} effects, {landed} of them by former workers"
            self.blame(REPAIR_ONLY, f"there were {before[:2]}, and are {done}")
        ordinal, settled = runtime.host.store.heads.now.ordinal, self.settled
        if settled is not None and not self.strike.injector.fired and ordinal != settled:
            self.blame(SETTLES, f"{settled} facts became {ordinal}")
        self.settled = ordinal if self.proven else None
        self.judge(whole=self.rng.random() < _WHOLE)

    def judge(self, *, whole: bool) -> None:
        """Hold what the root says against the promises; `whole` also verifies every row of it."""
        self.log = log_of(self.root)
        alive = [left.operation for left in self.haunting.left]
        acks = read_acks(self.home)
        self.findings += judge(self.root, self.log, acks, alive, proven=self.proven, whole=whole)

    def world_outside(self) -> tuple[int, int]:
        """Return how many requests left and how many effects happened so far."""
        return len(happened(self.root, WorldDeed.REQUEST)), len(
            happened(self.root, WorldDeed.EFFECT)
        )

    def blame(self, promise: Promise, detail: str) -> None:
        """Note a broken promise."""
        self.findings.append(Finding(promise=promise.id, detail=detail))

    # --- what is done ---

    async def act(self, life: Life) -> None:
        """Let people do what they do, until the owner ends as planned.

        Raises:
            _GaveUpError: As planned.
        """
        self.strike.ready()
        people = People(plot=self.plot, runtime=life.runtime, done=life.acknowledge)
        self.people = people
        if self.is_last:
            async with trio.open_nursery() as nursery:
                for act in self.plan.acts:
                    nursery.start_soon(people.act, act)
            await self.haunting.gone()
            if self.proven:
                await self.finish(life)
            return
        for act in self.plan.acts:
            life.outside.start_soon(people.act, act)
        await trio.sleep(self.plan.leaves_ms / 1000)
        self.strike.die_in_time()
        match self.plan.end:
            case End.FAILS:
                raise _GaveUpError
            case End.CANCELLED:
                self.scope.cancel()
                await trio.lowlevel.checkpoint()
            case _:
                return  # It leaves; the death that it was to die lay beyond its end.

    async def finish(self, life: Life) -> None:
        """Bring the work to its end, as the last owner."""
        for detail in await finish(life.runtime):
            self.blame(NEXT_TURN_WORKS, detail)
        self.judge(whole=True)

    def reopen(self) -> None:
        """Own the root once more, which adds nothing, and make its projections anew."""
        self.settled = len(self.log)
        self.survive(partial(self.own, _come_and_go))
        if self.findings:
            return
        left = seen(self.root)
        plain = Doors(factory=Connector().factory, probe=no_probe)
        store = own(self.root, plain, "host_rebuild")
        refold(store)
        store.close()
        if seen(self.root) != left:
            self.blame(REBUILDS, f"{left} became {seen(self.root)}")


async def _come_and_go(_life: Life) -> None:
    """Leave everything as recovery left it."""


def _digest(log: Sequence[Fact], home: Path) -> str:
    """Return what identifies a log but for the place where it stands."""
    told = "\n".join(f"{fact.stamp.rows} {fact.event}" for fact in log)
    told = _CONTEXT.sub("", told.replace(str(home.resolve()), "~"))
    return hashlib.sha256(told.encode()).hexdigest()
