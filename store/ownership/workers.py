"""An epoch is gone only when none of its workers can still act (OWN-2)."""

import fcntl
import os
import signal
import time
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from ..errors import file_step
from ..platform import ProcessIdentity, process_lives
from ..probe import Probe, no_probe
from .lock import open_lock_file

PAUSE_S: Final = 0.02
TRIES: Final = 150
"""About three seconds for killed processes to disappear."""


class WorkersProof(StrEnum):
    """What the workers' lock says about every former epoch."""

    GONE = "gone"  # nobody of a former epoch can act any more
    WORKER_ALIVE = "worker_alive"  # somebody may; operations of that epoch stay unknown


@attrs.frozen(kw_only=True)
class LeftWorker:
    """A worker that a former owner recorded and did not record as ended.

    Attributes:
        process: The worker.
        group: Its process group, which its own children share.
    """

    process: ProcessIdentity
    group: int


def join_workers(path: Path) -> int:
    """Hold `workers.lock` as a worker does, on a descriptor that its children inherit.

    Called in the worker before it reports ready; the lock ends with the last process that has the
    descriptor, and nobody closes it before.

    Returns:
        The descriptor. Whoever starts a child passes it on (`pass_fds`): `subprocess` closes what
        it is not told of, and such a child would act unseen.

    Raises:
        StorageError: `storage_*`.
        LockReplacedError: `lock_replaced`, when something else stands at its path.
    """
    fd = open_lock_file(path)
    os.set_inheritable(fd, True)
    # A successor that tries for the whole lock holds it for a moment only, so waiting is right.
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def end_left_workers(recorded: Sequence[LeftWorker]) -> tuple[LeftWorker, ...]:
    """Kill the process groups of workers left behind, and return those that were killed.

    A pid that now belongs to another process, or a group that is not the recorded one, is left
    alone: what cannot be verified is not killed.
    """
    return tuple(worker for worker in recorded if _end(worker))


def prove_workers_gone(
    path: Path,
    recorded: Sequence[LeftWorker],
    *,
    pause: Callable[[float], None] = time.sleep,
    probe: Probe = no_probe,
) -> WorkersProof:
    """End what is recorded as left, then take the workers' lock exclusively: that is the proof.

    Called under the owner lock and before this owner starts a worker; the lock is let go at once.

    Args:
        path: The workers' lock file.
        recorded: Workers of former epochs that were not recorded as ended.
        pause: Waits some seconds; called at most `TRIES` times.
        probe: Called after each step.

    Raises:
        StorageError: `storage_*`.
        LockReplacedError: `lock_replaced`, when something else stands at its path.
    """
    end_left_workers(recorded)
    probe("workers.ended")
    fd = open_lock_file(path)
    try:
        for _ in range(TRIES):
            if _is_free(fd):
                probe("workers.proven_gone")
                return WorkersProof.GONE
            pause(PAUSE_S)
    finally:
        os.close(fd)
    return WorkersProof.WORKER_ALIVE


def _end(worker: LeftWorker) -> bool:
    pid, group = worker.process.pid, worker.group
    if group <= 1 or group == os.getpgrp() or not process_lives(worker.process):
        return False
    try:
        if os.getpgid(pid) != group:
            return False
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _is_free(fd: int) -> bool:
    with file_step("lock"):
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True
