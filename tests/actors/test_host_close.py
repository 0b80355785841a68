"""A host that closes admits nothing, wakes nobody, and never lets go while it may act (OWN-3)."""

import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest
import trio

from crashworthy.actors.backends.script import parse_script
from crashworthy.actors.backends.scripted import ScriptedBackend
from crashworthy.actors.errors import HostHungError, HostRefusedError
from crashworthy.actors.host import Host, HostSettings
from crashworthy.actors.runtime import Runtime, Session, Settings, host_settings, open_runtime
from crashworthy.actors.tools.contract import NeverAutoRetry, Permission, Place, Tool
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import Outcome, RunEnded
from crashworthy.machines.facts.vocabulary import AnswerDecision, Kind, RunStatus
from crashworthy.machines.lifecycles.host import Closed, Failed
from crashworthy.store.audit.report import Status
from crashworthy.store.operational import OperationalKind, read_operational
from crashworthy.store.ownership.errors import LockReplacedError, RootOwnedError
from crashworthy.store.ownership.lock import take_owner_lock
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.verify import verify

HOLDS: Mapping[str, object] = {"call": "hold", "args": {}}
SCRIPT = parse_script(
    {
        "turn": [
            {
                "step": [
                    {"event": [HOLDS, {"finish": "tool_calls"}]},
                    {"event": [{"text": "done"}, {"finish": "stop"}]},
                ]
            }
        ]
    }
)
GRACE_S = 0.3


@attrs.define
class Hold:
    """A host tool that runs in its thread until it is let go, whatever happens to its call."""

    begun: threading.Event = attrs.field(factory=threading.Event)
    free: threading.Event = attrs.field(factory=threading.Event)

    def hold(self, *_args: object, **_given: object) -> str:
        self.begun.set()
        self.free.wait(30)
        return "held"

    def tool(self, permission: Permission = Permission.FREE) -> Tool:
        return Tool(
            name="hold",
            description="Holds.",
            schema={"type": "object", "properties": {}, "additionalProperties": False},
            place=Place.HOST,
            entry="tests:hold",
            function=self.hold,
            recovery=NeverAutoRetry(),
            permission=permission,
            local=True,
        )


def settings_of(place: Path, hold: Hold, permission: Permission = Permission.FREE) -> Settings:
    (place / "work").mkdir(exist_ok=True)
    return Settings(
        root=place / "root",
        workspace=place / "work",
        backend=lambda: ScriptedBackend(script=SCRIPT),
        tools=(hold.tool(permission),),
    )


def hosted(settings: Settings) -> HostSettings:
    return attrs.evolve(host_settings(settings), grace_s=GRACE_S)


async def begin(runtime: Runtime, hold: Hold) -> Session:
    """Start a turn, and come back while its tool runs."""
    session = await runtime.create_session(key="s")
    await session.send("go")
    with trio.fail_after(10):
        await trio.to_thread.run_sync(hold.begun.wait)
    return session


async def opened_once(settings: Settings) -> None:
    async with open_runtime(settings):
        pass


@pytest.mark.trio
@pytest.mark.proves("OWN-3")
async def test_thread_that_still_runs_keeps_the_lock(tmp_path: Path) -> None:
    hold = Hold()
    settings = settings_of(tmp_path, hold)
    found: list[Runtime] = []

    async def live() -> None:
        async with open_runtime(settings, hosted(settings)) as runtime:
            found.append(runtime)
            await begin(runtime, hold)

    with pytest.raises(HostHungError) as caught:
        await live()

    [runtime] = found
    assert caught.value.code is Code.HOST_HUNG
    assert len(caught.value.left) == 1
    assert runtime.host.life.state == Failed(lock_kept=True)
    mark = json.loads((tmp_path / "root" / "hung.json").read_bytes())
    assert mark["left"] == list(caught.value.left)
    with pytest.raises(RootOwnedError):
        await opened_once(settings)
    assert verify(tmp_path / "root").status is Status.CLEAN
    assert runtime.host.store.tenure is not None
    hold.free.set()
    runtime.host.store.tenure.release()  # What the end of the process does.

    async with open_runtime(settings) as later:
        facts = later.session(next(iter(_sessions(later)))).facts()
    assert [one.kind for one in facts if isinstance(one.actions, Outcome)] == []
    assert not (tmp_path / "root" / "hung.json").exists()
    told = read_operational(tmp_path / "root" / "operational.sqlite3").records
    [hung] = [one for one in told if one.kind == OperationalKind.HOST_HUNG]
    assert hung.details["left"] == caught.value.left[0]


def _sessions(runtime: Runtime) -> list[str]:
    rows = runtime.host.store.reader.fetch("SELECT session FROM sessions")
    return [str(name) for (name,) in rows]


@pytest.mark.trio
async def test_thread_that_ends_in_time_lets_the_host_close(tmp_path: Path) -> None:
    hold = Hold()
    settings = settings_of(tmp_path, hold)
    async with open_runtime(settings, hosted(settings)) as runtime:
        await begin(runtime, hold)
        threading.Timer(GRACE_S / 3, hold.free.set).start()

    assert runtime.host.life.state == Closed()
    assert not (tmp_path / "root" / "hung.json").exists()
    await opened_once(settings)


@pytest.mark.trio
async def test_callers_own_error_stays_the_cause(tmp_path: Path) -> None:
    hold = Hold()
    settings = settings_of(tmp_path, hold)

    async def live() -> None:
        async with open_runtime(settings, hosted(settings)) as runtime:
            await begin(runtime, hold)
            raise ZeroDivisionError

    with pytest.raises(HostHungError) as caught:
        await live()

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    hold.free.set()


@pytest.mark.trio
@pytest.mark.proves("OWN-3", "ASK-3")
async def test_draining_host_takes_no_answer_and_wakes_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = Hold()
    settings = settings_of(tmp_path, hold, Permission.ASK)
    refused: list[Code] = []

    async with open_runtime(settings, hosted(settings)) as runtime:
        session = await runtime.create_session(key="s")
        run = await session.send("go")
        with trio.fail_after(10):
            while not runtime.pending():  # noqa: ASYNC110 - the test has no event of it
                await trio.sleep(0.01)
        [ask] = runtime.pending()
        release = SqliteStore.aclose

        async def come_late(store: SqliteStore, *, hung: bool = False) -> None:
            """Come when nothing is admitted any more, and before the store is closed."""
            for late_word in (
                lambda: runtime.answer(ask.ask, AnswerDecision.ALLOW),
                lambda: session.steer("and"),
                lambda: session.follow_up("then"),
                lambda: runtime.abandon(run.id),
                lambda: session.send("more"),
            ):
                with pytest.raises(HostRefusedError) as caught:
                    await late_word()
                refused.append(caught.value.code)
            await release(store, hung=hung)

        monkeypatch.setattr(SqliteStore, "aclose", come_late)

    monkeypatch.undo()
    assert refused == [Code.HOST_DRAINING] * 5
    assert not hold.begun.is_set()
    async with open_runtime(settings) as later:
        assert [one.ask for one in later.pending()] == [ask.ask]
        kinds = {fact.kind for fact in later.session(session.id).facts()}
    assert Kind.DISPATCHED not in kinds
    assert Kind.ASK_ANSWERED not in kinds


@pytest.mark.trio
async def test_workers_that_cannot_be_opened_fail_the_opening_with_their_own_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path, Hold())

    def refuse(*_args: object) -> None:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patched:
        patched.setattr("crashworthy.actors.host.open_pool", refuse)
        with pytest.raises(OSError, match="Too many open files"):
            await opened_once(settings)

    await opened_once(settings)


_HANGS = """
import sys, time, trio
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.actors.test_host_close import Hold, begin, hosted, settings_of
from crashworthy.actors.runtime import open_runtime
hold, settings = Hold(), None
settings = settings_of(Path(sys.argv[1]), hold)
async def main():
    async with open_runtime(settings, hosted(settings)) as runtime:
        await begin(runtime, hold)
trio.run(main)
"""


def test_process_of_a_hung_host_ends_non_zero_and_only_then_lets_go(tmp_path: Path) -> None:
    tree = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _HANGS, str(tmp_path), str(tree)],
        env={"PYTHONPATH": str(tree / ".src"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    assert "[host_hung]" in done.stderr

    ends: list[RunEnded] = []

    async def look() -> None:
        async with open_runtime(settings_of(tmp_path, Hold())) as runtime:
            [name] = _sessions(runtime)
            facts = runtime.session(name).facts()
            ends.extend(one.actions for one in facts if isinstance(one.actions, RunEnded))

    trio.run(look)
    assert [end.status for end in ends] == [RunStatus.ABORTED]
    assert verify(tmp_path / "root").status is Status.CLEAN


def is_locked(root: Path) -> bool:
    """Whether a successor would find the root owned."""
    try:
        lock = take_owner_lock(root / "owner.lock")
    except RootOwnedError:
        return True
    lock.release()
    return False


@pytest.mark.trio
@pytest.mark.proves("OWN-3")
async def test_caller_that_is_cancelled_lets_go_of_nothing_that_still_acts(tmp_path: Path) -> None:
    """To mark the shutdown was itself cancelled, and the lock let go beside the thread."""
    hold = Hold()
    settings = settings_of(tmp_path, hold)
    found: list[Runtime] = []

    async def live() -> None:
        with trio.CancelScope() as scope:
            async with open_runtime(settings, hosted(settings)) as runtime:
                found.append(runtime)
                await begin(runtime, hold)
                scope.cancel()
                await trio.sleep_forever()

    with pytest.raises(HostHungError):
        await live()

    assert found[0].host.life.state == Failed(lock_kept=True)
    assert is_locked(tmp_path / "root")
    assert (tmp_path / "root" / "hung.json").exists()
    hold.free.set()


@pytest.mark.trio
@pytest.mark.proves("OWN-3")
async def test_whoever_interrupts_the_closing_lets_go_of_nothing_that_still_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold = Hold()
    settings = settings_of(tmp_path, hold)

    async def interrupted(_host: Host) -> None:
        await trio.lowlevel.checkpoint()
        raise KeyboardInterrupt

    async def live() -> None:
        async with open_runtime(settings, hosted(settings)) as runtime:
            await begin(runtime, hold)
            monkeypatch.setattr("crashworthy.actors.host._quiet", interrupted)

    with pytest.raises(HostHungError) as caught:
        await live()

    assert isinstance(caught.value.__cause__, BaseExceptionGroup)
    assert is_locked(tmp_path / "root")
    hold.free.set()


@pytest.mark.trio
@pytest.mark.proves("OWN-3", "OWN-5")
@pytest.mark.parametrize("replaced", [False, True], ids=["moved", "replaced"])
async def test_root_that_is_gone_from_its_place_stays_locked_beside_a_thread(
    tmp_path: Path, *, replaced: bool
) -> None:
    """A stop that cannot be written is refused; what is left was then never asked."""
    hold = Hold()
    settings = settings_of(tmp_path, hold)

    async def live() -> None:
        async with open_runtime(settings, hosted(settings)) as runtime:
            await begin(runtime, hold)
            (tmp_path / "root").rename(tmp_path / "moved")
            if replaced:
                (tmp_path / "root").mkdir(mode=0o700)

    with pytest.raises(HostHungError) as caught:
        await live()

    assert isinstance(caught.value.__cause__, LockReplacedError)
    assert is_locked(tmp_path / "moved")
    assert [*(tmp_path / "root").iterdir()] == [] if replaced else not (tmp_path / "root").exists()
    hold.free.set()


@pytest.mark.trio
@pytest.mark.proves("OWN-5")
async def test_closing_writes_nothing_where_another_root_may_be(tmp_path: Path) -> None:
    settings = settings_of(tmp_path, Hold())
    async with open_runtime(settings, hosted(settings)):
        (tmp_path / "root").rename(tmp_path / "moved")
        (tmp_path / "root").mkdir(mode=0o700)

    assert [*(tmp_path / "root").iterdir()] == []
    await opened_once(attrs.evolve(settings, root=tmp_path / "root"))


@attrs.define
class ShieldedHold(Hold):
    """An async host tool that no cancellation reaches until it is let go."""

    def tool(self, permission: Permission = Permission.FREE) -> Tool:
        return attrs.evolve(super().tool(permission), function=self.hold_shielded)

    async def hold_shielded(self, *_args: object, **_given: object) -> str:
        self.begun.set()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(self.free.wait, 30)
        return "held"


@pytest.mark.trio
@pytest.mark.proves("OWN-3")
async def test_function_that_shields_itself_is_marked_when_patience_is_over(tmp_path: Path) -> None:
    """The process cannot end before it does; so people are told in time, and the exit says so."""
    hold = ShieldedHold()
    settings = settings_of(tmp_path, hold)
    seen: list[bool] = []

    def look() -> None:
        seen.append((tmp_path / "root" / "hung.json").exists())
        hold.free.set()

    async def live() -> None:
        async with open_runtime(settings, hosted(settings)) as runtime:
            await begin(runtime, hold)
            threading.Timer(GRACE_S * 4, look).start()

    with pytest.raises(HostHungError):
        await live()

    assert seen == [True]
    assert is_locked(tmp_path / "root")
