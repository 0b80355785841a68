"""A worker ends with its call and with its host, or a successor sees that it lives (OWN-2)."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
import trio

from crashworthy.actors.tools.builtin.files import write
from crashworthy.actors.tools.builtin.shell import shell
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.effects.files import observe
from crashworthy.actors.tools.outcome import Unknown, settle
from crashworthy.actors.tools.runner import (
    Audience,
    NotStarted,
    Returned,
    TimedOut,
    WorkerDied,
)
from crashworthy.machines.facts.vocabulary import Observation
from crashworthy.store.ownership.workers import LeftWorker, WorkersProof, prove_workers_gone
from crashworthy.store.platform import ProcessIdentity, boot_id, process_started

from .rig import PATIENCE_S, SOURCE, Bench, play, tools_of

MADE = '''
"""Tools of this test."""
import subprocess, time
from crashworthy.actors.tools.decorate import tool

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
    return tools_of(MADE, tmp_path, monkeypatch)


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


# --- beside its call ---


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


# --- beside its host ---

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
