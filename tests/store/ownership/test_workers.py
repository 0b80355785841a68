"""An epoch is gone when its last worker, and that worker's children, cannot act any more."""

import os
import signal
from pathlib import Path

import attrs
import pytest

from crashworthy.store.ownership import workers
from crashworthy.store.ownership.workers import (
    LeftWorker,
    WorkersProof,
    end_left_workers,
    prove_workers_gone,
)
from crashworthy.store.platform import ProcessIdentity, boot_id, process_lives, process_started

from ..conftest import StartChild
from ..rig import Child

# The worker leads a group of its own; with "parent" its child inherits the lock and it dies itself.
WORKING = """
import os, subprocess, sys
from pathlib import Path
from crashworthy.store.ownership.workers import join_workers
os.setsid()
join_workers(Path(sys.argv[1]))
if sys.argv[2] == "parent":
    child = subprocess.Popen(["sleep", "60"], close_fds=False, start_new_session=True)
    print(child.pid, flush=True)
else:
    print(os.getpid(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "workers.lock"


@pytest.fixture(autouse=True)
def few_tries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "TRIES", 30)


def left(child: Child) -> LeftWorker:
    pid = int(child.hear())
    started = process_started(pid)
    assert started is not None
    process = ProcessIdentity(pid=pid, boot_id=boot_id(), started=started)
    return LeftWorker(process=process, group=os.getpgid(pid))


def test_epoch_is_gone_when_there_never_was_a_worker(path: Path) -> None:
    assert prove_workers_gone(path, ()) is WorkersProof.GONE


def test_epoch_is_gone_when_its_recorded_worker_was_ended(
    start_child: StartChild, path: Path
) -> None:
    child = start_child(WORKING, path, "worker")
    worker = left(child)
    assert prove_workers_gone(path, (worker,)) is WorkersProof.GONE
    assert child.wait() == -9


def test_epoch_is_not_gone_when_a_worker_is_not_recorded(
    start_child: StartChild, path: Path
) -> None:
    child = start_child(WORKING, path, "worker")
    child.hear()
    assert prove_workers_gone(path, ()) is WorkersProof.WORKER_ALIVE
    child.process.kill()
    child.wait()
    assert prove_workers_gone(path, ()) is WorkersProof.GONE


def test_epoch_is_not_gone_when_a_stopped_worker_may_go_on(
    start_child: StartChild, path: Path
) -> None:
    child = start_child(WORKING, path, "worker")
    worker = left(child)
    os.kill(worker.process.pid, signal.SIGSTOP)
    assert prove_workers_gone(path, ()) is WorkersProof.WORKER_ALIVE
    assert prove_workers_gone(path, (worker,)) is WorkersProof.GONE


def test_epoch_is_not_gone_when_a_dead_workers_child_lives(
    start_child: StartChild, path: Path
) -> None:
    """The child inherited the descriptor, and with it the lock."""
    parent = start_child(WORKING, path, "parent")
    grandchild = int(parent.hear())
    assert parent.process.wait(timeout=20) == 0
    try:
        assert prove_workers_gone(path, ()) is WorkersProof.WORKER_ALIVE
    finally:
        os.kill(grandchild, signal.SIGKILL)
    assert prove_workers_gone(path, ()) is WorkersProof.GONE


@pytest.mark.parametrize("lie", ["started", "boot", "group", "own group"])
def test_worker_is_left_alone_when_it_cannot_be_verified(
    start_child: StartChild, path: Path, lie: str
) -> None:
    """A pid is used again after its process is gone; killing a stranger is worse than waiting."""
    child = start_child(WORKING, path, "worker")
    worker = left(child)
    match lie:
        case "started":
            told = attrs.evolve(worker, process=attrs.evolve(worker.process, started="1"))
        case "boot":
            told = attrs.evolve(worker, process=attrs.evolve(worker.process, boot_id="other"))
        case "group":
            stranger = left(start_child(WORKING, path, "worker"))
            told = attrs.evolve(worker, group=stranger.group)
        case _:
            told = attrs.evolve(worker, group=os.getpgrp())
    assert end_left_workers((told,)) == ()
    assert process_lives(worker.process)
    assert end_left_workers((worker,)) == (worker,)


def test_worker_waits_when_a_successor_is_proving(start_child: StartChild, path: Path) -> None:
    """The proof holds the lock only while it looks, and a new worker must not fail for that."""
    steps: list[str] = []
    started: list[Child] = []

    def start_meanwhile(step: str) -> None:
        steps.append(step)
        if step == "workers.proven_gone":
            started.append(start_child(WORKING, path, "worker"))

    assert prove_workers_gone(path, (), probe=start_meanwhile) is WorkersProof.GONE
    assert steps == ["workers.ended", "workers.proven_gone"]
    assert started[0].hear() == str(started[0].process.pid)
