"""What is left of a project after its agent was killed: reopened twice, judged, gone on with."""

import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import attrs
import trio

from ..actors.backends.contract import Backend, ModelRequest
from ..actors.backends.script import Script, parse_script, read_script
from ..actors.backends.scripted import ScriptedBackend
from ..actors.backends.wrapped import WrappedBackend
from ..actors.runtime import Runtime, Settings, open_runtime
from ..actors.tools.builtin.shell import shell
from ..machines.facts.model import Dispatched, Outcome, RuntimeEvent
from ..machines.facts.vocabulary import OutcomeState
from ..store.connect import Connector
from ..store.probe import no_probe
from ..store.rebuild import refold
from .promises import REBUILDS, REPAIR_ONLY, SETTLES
from .wire import decode, encode
from .workload import Doors, Finding, Promise
from .workloads.looking import broken, is_made, seen, unverified
from .workloads.ownership import own
from .workloads.runtime_acts import NEXT_TURN, next_turns, take_up
from .workloads.runtime_promised import NEXT_TURN_WORKS, NOTHING_TWICE
from .workloads.runtime_views import facts_of, unexplained

T = TypeVar("T")

_TURN_S_MAX: Final = 60
_ANSWER: Final = parse_script(
    {
        "turn": [
            {"user": NEXT_TURN, "step": [{"event": [{"text": "this"}, {"finish": "stop"}]}]},
        ]
    }
)


@attrs.frozen(kw_only=True)
class Ruin:
    """Where the killed agent worked.

    Attributes:
        root: Its state root; there may be none yet.
        script: What its model said.
        tests_run: A file with a line for each time the project's tests were begun.
        shown: The ids of the facts that somebody was shown while it lived.
    """

    root: str
    workspace: str
    script: str
    tests_run: str
    shown: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Aftermath:
    """What its heirs found.

    Attributes:
        facts: How many facts were durable when it died.
        findings: Every promise that does not hold.
    """

    facts: int
    findings: tuple[Finding, ...]


def serve() -> None:
    """Judge the ruin whose description stands on standard input, in this process of its own."""
    ruin = decode(Ruin, sys.stdin.buffer.read())
    sys.stdout.write(encode(judge(ruin)) + "\n")


def judge(ruin: Ruin) -> Aftermath:
    """Reopen the ruin twice, hold it against every promise, rebuild it, and go on with the work."""
    return _Judge(ruin=ruin).judge()


@attrs.define(eq=False, kw_only=True)
class _Judge:
    ruin: Ruin
    requests: int = 0
    findings: list[Finding] = attrs.field(factory=list[Finding])

    @property
    def root(self) -> Path:
        return Path(self.ruin.root)

    def judge(self) -> Aftermath:
        left = seen(self.root).facts
        tests = self.tests_run()
        self.life(_nothing)
        recovered = seen(self.root)
        if (self.requests, self.tests_run()) != (0, tests):
            self.blame(REPAIR_ONLY, f"{self.requests} requests, {self.tests_run()} test runs")
        self.hold()
        self.life(_nothing)
        again = seen(self.root)
        if again.facts_digest != recovered.facts_digest:
            self.blame(SETTLES, f"{recovered.facts} facts became {again.facts}")
        self.rebuild()
        if seen(self.root) != again:
            self.blame(REBUILDS, f"{again} became {seen(self.root)}")
        for detail in self.life(_go_on):
            self.blame(NEXT_TURN_WORKS, detail)
        self.hold()
        return Aftermath(facts=left, findings=tuple(self.findings))

    def hold(self) -> None:
        """Hold the root, what it shows, and the world outside against what was promised."""
        facts = facts_of(self.root)
        self.findings += broken(self.root, ())
        self.findings += unverified(self.root)
        self.findings += unexplained(
            facts, shown=self.ruin.shown, effects=(), workspace=Path(self.ruin.workspace)
        )
        least, most = test_runs(facts)
        if not least <= self.tests_run() <= most:
            told = f"the tests were run {self.tests_run()} times, told are {least} to {most}"
            self.blame(NOTHING_TWICE, told)

    def rebuild(self) -> None:
        if is_made(self.root):
            plain = Doors(factory=Connector().factory, probe=no_probe)
            store = own(self.root, plain, "host_rebuild")
            refold(store)
            store.close()

    def tests_run(self) -> int:
        path = Path(self.ruin.tests_run)
        return len(path.read_text("ascii").splitlines()) if path.exists() else 0

    def life(self, act: Callable[[Runtime], Awaitable[T]]) -> T:
        """Open the root as its next owner, act, and let go of it."""
        model = read_script(Path(self.ruin.script))
        script = Script(model=model.model, turns=(*_ANSWER.turns, *model.turns))

        def leaves(_request: ModelRequest) -> None:
            self.requests += 1

        def backend() -> Backend:
            return WrappedBackend(inner=ScriptedBackend(script=script), before=leaves)

        settings = Settings(root=self.root, workspace=Path(self.ruin.workspace), backend=backend)

        async def whole() -> T:
            async with open_runtime(settings) as runtime:
                return await act(runtime)
            raise AssertionError

        return trio.run(whole)

    def blame(self, promise: Promise, detail: str) -> None:
        self.findings.append(Finding(promise=promise.id, detail=detail))


def test_runs(facts: Sequence[RuntimeEvent]) -> tuple[int, int]:
    """Return how often the project's tests were begun, at least and at most, as the log tells it.

    Each dispatch is one attempt: it may have died before anything happened, and never repeats.
    """
    begun = {
        fact.refs.operation
        for fact in facts
        if isinstance(fact.actions, Dispatched) and fact.actions.tool == shell.name
    }
    done = {
        fact.refs.operation
        for fact in facts
        if isinstance(fact.actions, Outcome) and fact.actions.state is OutcomeState.SETTLED
    }
    return len(begun & done), len(begun)


async def _nothing(_runtime: Runtime) -> None:
    """Leave everything as recovery left it."""


async def _go_on(runtime: Runtime) -> list[str]:
    with trio.fail_after(_TURN_S_MAX):
        await take_up(runtime)
        return await next_turns(runtime, "aftermath")
