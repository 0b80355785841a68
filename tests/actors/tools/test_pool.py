"""A worker's death is an outcome, and no worker outlives its host (OP-8, OWN-2)."""

import fcntl
import importlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import cast

import attrs
import pytest
import trio

from crashworthy.actors.tools.builtin.files import edit, write
from crashworthy.actors.tools.builtin.looking import glob, grep, read
from crashworthy.actors.tools.builtin.shell import shell
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.effects.files import observe
from crashworthy.actors.tools.outcome import Unknown, settle
from crashworthy.actors.tools.process import tool_environment
from crashworthy.actors.tools.runner import (
    Audience,
    NotRepresentable,
    NotStarted,
    Raised,
    Refused,
    Returned,
    TimedOut,
    Uncertain,
    WorkerDied,
)
from crashworthy.machines.facts.vocabulary import Observation
from crashworthy.store.ownership.workers import LeftWorker, WorkersProof, prove_workers_gone
from crashworthy.store.platform import ProcessIdentity, boot_id, process_started

from .rig import SOURCE, Bench, open_bench

PATIENCE_S = 60
"""How long a test waits for another process on a busy machine."""


def play(
    home: Path, scene: Callable[[Bench], Awaitable[None]], *, probe: str | None = None
) -> Bench:
    benches: list[Bench] = []

    async def main() -> None:
        with trio.fail_after(PATIENCE_S):
            async with open_bench(home, probe=probe) as bench:
                benches.append(bench)
                await scene(bench)

    trio.run(main)
    return benches[0]


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_free(lock: Path) -> bool:
    with lock.open("r+b") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


MADE = '''
"""Tools of this test."""
import os, signal, subprocess, sys, time
from crashworthy.actors.tools.context import CallContext, Failed
from crashworthy.actors.tools.contract import ArtifactRule, ReplaySafe
from crashworthy.actors.tools.decorate import tool
from crashworthy.actors.tools.errors import OutcomeUncertainError

@tool(recovery=ReplaySafe())
def pid() -> int:
    """Tell."""
    return os.getpid()

@tool
def fail(kind: str) -> object:
    """Fail in some way."""
    if kind == "raise":
        raise ValueError("bad \\ud800 thing")
    if kind == "exit":
        sys.exit(7)
    if kind == "uncertain":
        raise OutcomeUncertainError(reason="half-way")
    if kind == "unreadable":
        view = memoryview(b"gone")
        view.release()
        return view
    if kind == "liar":
        class Liar:
            @property
            def __class__(self): raise RuntimeError
        return Liar()
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    return Failed({"reason": "said so"})

@tool
def say(text: str, context: CallContext) -> str:
    """Print and return."""
    print("printed", text)
    sys.stderr.write("complained\\n")
    context.write("streamed\\n")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    return os.getcwd()

@tool
async def later(text: str) -> str:
    """Return after a while."""
    import trio
    await trio.sleep(0.01)
    return text

@tool
def large(size: int) -> str:
    """Return much."""
    return "é" * size

@tool(artifacts=ArtifactRule(count_max=1, size_bytes_max=200_000))
def draw(context: CallContext, size: int) -> str:
    """Add an artifact, then another one."""
    context.artifact("picture.png", "image/png", b"p" * size)
    context.artifact("second.png", "image/png", b"p")
    return "drawn"

@tool
def leave(escape: bool) -> int:
    """Leave a process behind, in our group or out of it."""
    return subprocess.Popen(["sleep", "300"], start_new_session=escape).pid

@tool(timeout_ms=200)
def deaf() -> None:
    """Never end when asked."""
    while True:
        time.sleep(1)
'''


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tool]:
    """Return tools of a module that workers can import as the host does."""
    (tmp_path / "tools_of_this_test.py").write_text(MADE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "tools_of_this_test", raising=False)
    module = importlib.import_module("tools_of_this_test")
    return lambda name: cast("Tool", vars(module)[name])


@pytest.mark.proves("OP-8")
def test_one_worker_serves_many_calls(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        pids = [(await bench.run(made("pid"))).finish for _ in range(3)]
        (record,) = bench.log.living
        assert pids == [Returned(value=record.process.pid)] * 3
        assert record.process.started == process_started(record.process.pid)

    assert len(play(tmp_path, scene).log.seen) == 1


@pytest.mark.proves("OP-8")
def test_built_in_tools_work_on_the_workspace(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        (tmp_path / "work/.git").mkdir()
        (tmp_path / "work/.git/config").write_text("needle")
        (tmp_path / "work/bin").write_bytes(b"\0needle")
        assert isinstance(
            (await bench.run(write, path="a/b.txt", content="x\nold\n")).finish, Returned
        )
        await bench.run(edit, path="a/b.txt", old="old", new="needle")
        seen = (await bench.run(read, path="a/b.txt", first_line=2, lines=1)).finish
        assert isinstance(seen, Returned)
        assert isinstance(seen.value, dict)
        assert (seen.value["text"], seen.value["lines_total"]) == ("needle", 2)
        found = (await bench.run(grep, pattern="ne+dle")).finish
        assert found == Returned(
            value={
                "matches": [{"path": "a/b.txt", "line": 2, "text": "needle"}],
                "complete": True,
            }
        )
        listed = (await bench.run(glob, pattern="**/*.txt")).finish
        assert listed == Returned(value={"paths": ["a/b.txt"], "complete": True})
        refused = (await bench.run(read, path="../workers.lock")).finish
        assert isinstance(refused, Refused)
        assert refused.facts["code"] == "sandbox_boundary_required"

    play(tmp_path, scene)


@pytest.mark.proves("OP-7")
def test_shell_streams_and_tells_how_it_ended(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command="pwd; echo err >&2; cat; exit 3")
        assert ending.finish == Returned(value={"exit_code": 3, "signal": None}, failed=True)
        assert ending.output is not None
        assert ending.output.inline == f"{bench.place.root}\nerr\n"
        assert "".join(bench.shown) == ending.output.inline
        ending = await bench.run(shell, command="kill -KILL $$")
        assert ending.finish == Returned(
            value={"exit_code": None, "signal": "SIGKILL"}, failed=True
        )

    play(tmp_path, scene)


def test_import_path_of_the_host_does_not_reach_the_programs_of_tools(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command='echo "[$PYTHONPATH]"')
        assert ending.output is not None
        assert ending.output.inline == f"[{os.environ.get('PYTHONPATH', '')}]\n"

    play(tmp_path, scene)


@pytest.mark.proves("OWN-7")
def test_credentials_of_the_host_do_not_reach_tools() -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "TOKENIZER": "x"}
    secret = {"OPENAI_API_KEY": "s", "GITHUB_TOKEN": "s", "Db_Password": "s"}
    assert tool_environment({**kept, **secret}) == kept


SCRIPT = '''
import sys
from pathlib import Path
import trio
from crashworthy.actors.tools.decorate import tool
from actors_tools_rig.rig import open_bench

@tool
def double(number: int) -> int:
    """Double."""
    return number * 2

async def main():
    async with open_bench(Path(sys.argv[1])) as bench:
        print((await bench.run(double, number=21)).finish.value)

if __name__ == "__main__":
    trio.run(main)
'''


def test_tool_of_a_script_runs_in_a_worker(tmp_path: Path) -> None:
    (tmp_path / "actors_tools_rig").symlink_to(Path(__file__).parent)
    (tmp_path / "script.py").write_text(SCRIPT)
    out = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert out.stdout == "42\n"


@pytest.mark.parametrize(
    ("kind", "finish"),
    [
        ("raise", Raised(error="ValueError", message="bad \ufffd thing")),
        ("exit", Raised(error="SystemExit", message="7")),
        ("uncertain", Uncertain(reason="half-way")),
        ("failed", Returned(value={"reason": "said so"}, failed=True)),
        ("segfault", WorkerDied(exit_code=-signal.SIGSEGV, detail="")),
    ],
)
@pytest.mark.proves("OP-8")
def test_failing_tool_is_an_outcome_and_the_pool_goes_on(
    tmp_path: Path, made: Callable[[str], Tool], kind: str, finish: object
) -> None:
    async def scene(bench: Bench) -> None:
        assert (await bench.run(made("fail"), kind=kind)).finish == finish
        assert isinstance((await bench.run(made("pid"))).finish, Returned)

    play(tmp_path, scene)


@pytest.mark.proves("BYTE-1a")
def test_result_that_cannot_be_read_is_settled(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        finish = (await bench.run(made("fail"), kind="unreadable")).finish
        assert isinstance(finish, NotRepresentable)
        finish = (await bench.run(made("fail"), kind="liar")).finish
        assert isinstance(finish, Returned)

    play(tmp_path, scene)


def test_printed_and_streamed_output_is_one_text_and_async_tools_are_awaited(
    tmp_path: Path, made: Callable[[str], Tool]
) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(made("say"), text="é")
        assert ending.finish == Returned(value=bench.place.root)
        assert ending.output is not None
        assert ending.output.inline == "printed é\ncomplained\nstreamed\n"
        assert (await bench.run(made("later"), text="x")).finish == Returned(value="x")

    play(tmp_path, scene)


@pytest.mark.proves("OP-7")
def test_large_result_is_cut_and_artifacts_keep_their_rule(
    tmp_path: Path, made: Callable[[str], Tool]
) -> None:
    async def scene(bench: Bench) -> None:
        finish = (await bench.run(made("large"), size=100_000)).finish
        assert isinstance(finish, Returned)
        assert finish.whole is not None
        assert (finish.whole.bytes_total, finish.value) == (200_000, None)
        assert len(finish.whole.inline) < 40_000
        finish = (await bench.run(made("draw"), size=100_000)).finish
        assert isinstance(finish, Refused)
        assert finish.facts["code"] == "artifact_refused"

    play(tmp_path, scene)


# --- ends ---


@pytest.mark.proves("OP-5")
def test_time_out_asks_then_ends_the_group(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        polite = attrs.evolve(shell, timeout_ms=300)
        asked = "trap 'echo asked; exit 1' TERM; echo begun; sleep 300 & wait"
        ending = await bench.run(polite, command=asked)
        assert ending.finish == TimedOut(timeout_ms=300)
        assert ending.output is not None
        assert ending.output.inline == "begun\nasked\n"
        assert (await bench.run(made("deaf"))).finish == TimedOut(timeout_ms=200)

    play(tmp_path, scene)
    assert is_free(tmp_path / "workers.lock")


@pytest.mark.proves("RUN-4", "OWN-2")
def test_cancelled_call_ends_its_group_before_it_raises(tmp_path: Path) -> None:
    """A command that ignores the first signal is ended by the second."""

    async def scene(bench: Bench) -> None:
        with trio.move_on_after(5) as limit:
            await bench.run(shell, command="trap 'touch asked' TERM; sleep 300 & wait; sleep 300")
        assert limit.cancelled_caught
        assert bench.log.living == []
        assert is_free(bench.lock)

    play(tmp_path, scene)
    assert (tmp_path / "work/asked").exists()


@pytest.mark.proves("OP-6", "OP-8")
def test_worker_killed_inside_a_file_effect_leaves_it_to_be_observed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crash lab's probe is loaded in the worker; here it kills it between rename and sync."""
    (tmp_path / "probe_of_this_test.py").write_text(
        "import os, signal\n"
        "def probe(name):\n"
        "    if name == 'file.renamed': os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    async def scene(bench: Bench) -> None:
        order = bench.order(write, path="file", content="x")
        ending = await bench.pool.run(order, Audience(show=bench.shown.append, spools=None))
        assert isinstance(ending.finish, WorkerDied)
        assert isinstance(settle(write, ending), Unknown)
        assert order.evidence is not None
        seen = observe(order.evidence, "w-1").observation
        assert seen is Observation.MATCHES_EXPECTED_STATE

    play(tmp_path, scene, probe="probe_of_this_test:probe")


@pytest.mark.proves("OP-8")
def test_killed_worker_is_an_outcome(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command="kill -KILL $PPID; sleep 300")
        assert ending.finish == WorkerDied(exit_code=-signal.SIGKILL, detail="")
        assert is_free(bench.lock)

    play(tmp_path, scene)


@pytest.mark.proves("OP-5")
def test_nothing_of_a_call_goes_on_after_it(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command="(sleep 1; echo late > late) & echo done")
        assert ending.left_behind
        assert is_free(bench.lock)
        ending = await bench.run(made("leave"), escape=False)
        assert (ending.left_behind, ending.escaped) == (True, False)
        assert is_free(bench.lock)

    play(tmp_path, scene)
    assert not (tmp_path / "work/late").exists()


@pytest.mark.proves("OWN-2")
def test_process_that_left_the_group_keeps_the_lock(
    tmp_path: Path, made: Callable[[str], Tool]
) -> None:
    """It cannot be ended by its group, so a successor must see that somebody may still act."""
    escaped: list[int] = []

    async def scene(bench: Bench) -> None:
        ending = await bench.run(made("leave"), escape=True)
        finish = ending.finish
        assert ending.escaped
        assert isinstance(finish, Returned)
        assert isinstance(finish.value, int)
        escaped.append(finish.value)

    play(tmp_path, scene)
    lock = tmp_path / "workers.lock"
    try:
        proof = prove_workers_gone(lock, (), pause=lambda _: None)
        assert proof is WorkersProof.WORKER_ALIVE
    finally:
        os.kill(escaped[0], signal.SIGKILL)
    wait_until(lambda: is_free(lock))


def test_worker_that_cannot_start_means_not_started(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        bench.lock.mkdir()
        ending = await bench.run(shell, command="true")
        assert isinstance(ending.finish, NotStarted)
        assert bench.log.seen == []
        bench.lock.rmdir()
        assert isinstance((await bench.run(shell, command="true")).finish, Returned)

    play(tmp_path, scene)


def test_idle_worker_that_died_is_replaced(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        await bench.pool.warm(1)
        os.killpg(bench.log.living[0].group, signal.SIGKILL)
        await trio.sleep(0.2)
        assert isinstance((await bench.run(shell, command="true")).finish, Returned)
        assert len(bench.log.seen) == 2

    play(tmp_path, scene)


# --- the host dies ---

HOST = """
import sys
from pathlib import Path
import trio
from actors_tools_rig.rig import open_bench
from crashworthy.actors.tools.builtin.shell import shell

async def main():
    async with open_bench(Path(sys.argv[1])) as bench:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: bench.run(shell, command=sys.argv[2]))
            while not bench.log.living:
                await trio.sleep(0.01)
            record = bench.log.living[0]
            print(record.process.pid, record.group, flush=True)

trio.run(main)
"""


def start_host(home: Path, command: str) -> tuple["subprocess.Popen[str]", int]:
    """Start a process that hosts `command`; return it and the worker's group."""
    (home / "actors_tools_rig").symlink_to(Path(__file__).parent)
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(home), command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{SOURCE}:{home}"},
    )
    assert host.stdout is not None
    return host, int(host.stdout.readline().split()[1])


def group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.proves("OWN-2")
@pytest.mark.parametrize("worker_dies_first", [False, True])
def test_group_ends_with_its_host(tmp_path: Path, *, worker_dies_first: bool) -> None:
    """Also when the worker was killed a moment before, so that only the guardian sees the end."""
    host, group = start_host(tmp_path, "touch begun; sleep 2; echo late > late")
    try:
        wait_until((tmp_path / "work/begun").exists)
        if worker_dies_first:
            host.send_signal(signal.SIGSTOP)
            os.kill(group, signal.SIGKILL)
        host.kill()
        wait_until(lambda: is_free(tmp_path / "workers.lock"))
        wait_until(lambda: not group_lives(group))
    finally:
        host.kill()
        host.communicate()
    time.sleep(2.2)
    assert not (tmp_path / "work/late").exists()


@pytest.mark.proves("OWN-2")
def test_stopped_host_keeps_its_workers(tmp_path: Path) -> None:
    """A stopped owner is alive: its pipe has not ended, and its tools go on."""
    host, group = start_host(tmp_path, "touch begun; sleep 0.5; echo on > on; sleep 300")
    try:
        wait_until((tmp_path / "work/begun").exists)
        host.send_signal(signal.SIGSTOP)
        wait_until((tmp_path / "work/on").exists)
        assert group_lives(group)
        assert not is_free(tmp_path / "workers.lock")
    finally:
        host.kill()
        host.communicate()
    wait_until(lambda: is_free(tmp_path / "workers.lock"))


@pytest.mark.proves("OWN-2")
def test_successor_ends_a_recorded_worker_whose_guardian_was_killed(tmp_path: Path) -> None:
    host, group = start_host(tmp_path, "echo $PPID > worker; sleep 300")
    started = process_started(group)
    assert started is not None
    try:
        wait_until((tmp_path / "work/worker").exists)
        guardian = next(
            pid
            for pid in group_members(group)
            if pid != group and b"sleep" not in command_line(pid)
        )
        os.kill(guardian, signal.SIGKILL)
        host.kill()
        time.sleep(0.3)
        assert group_lives(group)
        recorded = LeftWorker(
            process=ProcessIdentity(pid=group, boot_id=boot_id(), started=started), group=group
        )
        assert prove_workers_gone(tmp_path / "workers.lock", [recorded]) is WorkersProof.GONE
    finally:
        host.kill()
        host.communicate()
    wait_until(lambda: not group_lives(group))


def group_members(group: int) -> list[int]:
    out = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid="], capture_output=True, text=True, check=True
    )
    rows = [line.split() for line in out.stdout.splitlines()]
    return [int(pid) for pid, found in rows if int(found) == group]


def command_line(pid: int) -> bytes:
    out = subprocess.run(["ps", "-o", "command=", "-p", str(pid)], capture_output=True, check=False)
    return out.stdout


# --- memory ---


@pytest.mark.proves("OP-7")
def test_host_memory_stays_flat_when_a_tool_prints_fifty_megabytes(tmp_path: Path) -> None:
    """Peak resident memory, not Python's own count: buffers of pipes and decoders are in it."""

    async def scene(bench: Bench) -> None:
        bench.shown = Sink()
        await bench.run(shell, command="echo warm")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ending = await bench.run(shell, command="head -c 50000000 /dev/zero")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert ending.output is not None
        assert ending.output.bytes_total == 50_000_000
        unit = 1 if sys.platform == "darwin" else 1024
        assert grown * unit < 8_000_000

    play(tmp_path, scene)


class Sink(list[str]):
    """Forgets what it is told."""

    def append(self, _text: str, /) -> None:
        pass
