"""Two ways to give a step a fresh process: a fork of a clean parent, or a new interpreter."""

import gc
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import ClassVar, Final, Never, Protocol

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from .counting import watch_foreign_connections
from .steps import Order, perform, redirect_output
from .wire import encode
from .workload import Workload, import_path, load_workload


class Mode(StrEnum):
    """How the processes of a death come into being."""

    FORK = "fork"
    SPAWN = "spawn"


@attrs.frozen(kw_only=True)
class Ending:
    """How a process ended.

    Attributes:
        signal: The signal that ended it; 0 if it exited.
        status: Its exit status; 0 if a signal ended it.
    """

    signal: int
    status: int

    def __str__(self) -> str:
        if self.signal:
            return f"ended by {signal.Signals(self.signal).name}"
        return f"exited with {self.status}"


class Launcher(Protocol):
    """Whatever can run one step in a fresh process."""

    def run(self, order: Order) -> Ending:
        """Run the step to its end."""
        ...


@attrs.define(eq=False, kw_only=True)
class ZygoteNotCleanError(CrashworthyError):
    """The parent of all victims has a thread or a connection; the workload's import made it."""

    code: ClassVar[Code] = Code.ZYGOTE_NOT_CLEAN
    threads: int
    connections: int


@attrs.define(eq=False)
class Forking:
    """Forks each step from this process, which imported everything and opened nothing."""

    _workload: Workload
    _connections: list[str]

    @property
    def workload(self) -> Workload:
        """Return what was loaded."""
        return self._workload

    @classmethod
    def prepare(cls, reference: str) -> "Forking":
        """Load the workload and keep what was loaded out of the garbage collector's way."""
        connections: list[str] = []
        watch_foreign_connections(connections.append)
        workload = load_workload(reference)
        gc.collect()
        gc.freeze()  # A collection in a child would copy every page of the parent.
        return cls(workload, connections)

    def run(self, order: Order) -> Ending:
        """Fork, do the step in the child and wait for it.

        Raises:
            ZygoteNotCleanError: `zygote_not_clean`.
        """
        return self.fork(partial(perform, order, self._workload), Path(order.home) / "log")

    def fork(self, act: Callable[[], None], log: Path) -> Ending:
        """Fork, act in the child with its output in `log`, and wait for it.

        Raises:
            ZygoteNotCleanError: `zygote_not_clean`; a SQLite connection must not be carried over
                a fork, and a thread is not (CRASH-1).
        """
        threads = _thread_count()
        if threads != 1 or self._connections:
            raise ZygoteNotCleanError(threads=threads, connections=len(self._connections))
        child = os.fork()
        if child == 0:
            _be_child(act, log)
        return _ending(os.waitpid(child, 0)[1])


def _be_child(act: Callable[[], None], log: Path) -> Never:
    status = 1
    try:
        redirect_output(str(log))
        act()
        status = 0
    except Exception:  # noqa: BLE001  # told in the log, and by the status
        traceback.print_exc()
    finally:
        # Not even an exception may reach the parent's code: the child is a copy of it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


@attrs.frozen
class Spawning:
    """Starts a new interpreter for each step: slower, works everywhere, shares nothing."""

    def run(self, order: Order) -> Ending:
        """Start an interpreter, hand it the order and wait for it."""
        with (Path(order.home) / "log").open("ab") as log:
            done = subprocess.run(
                interpreter("crashworthy.crashlab.steps", "run_alone"),
                input=encode(order).encode(),
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": import_path()},
                check=False,
            )
        code = done.returncode
        return Ending(signal=max(-code, 0), status=max(code, 0))


def interpreter(module: str, function: str) -> list[str]:
    """Return the command of a new interpreter that calls one function of ours.

    `-P` keeps the working directory off the import path (HOUSE-1).
    """
    return [sys.executable, "-P", "-c", f"from {module} import {function}; {function}()"]


def default_mode() -> Mode:
    """Return fork on Linux; elsewhere system frameworks make a forked child unsafe."""
    return Mode.FORK if sys.platform == "linux" else Mode.SPAWN


_TASKS: Final = Path("/proc/self/task")


def _thread_count() -> int:
    """Return how many threads the kernel knows of; Python does not see those of extensions."""
    return len(list(_TASKS.iterdir())) if _TASKS.exists() else threading.active_count()


def _ending(wait_status: int) -> Ending:
    if os.WIFSIGNALED(wait_status):
        return Ending(signal=os.WTERMSIG(wait_status), status=0)
    return Ending(signal=0, status=os.WEXITSTATUS(wait_status))
