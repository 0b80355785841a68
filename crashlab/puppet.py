"""A process that plays one act at a time and holds still wherever the act pauses."""

import importlib
import os
import selectors
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import IO, ClassVar, TypeAlias, cast

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from .launch import interpreter
from .wire import decode, encode
from .workload import import_path


@attrs.frozen(kw_only=True, eq=False)
class Scene:
    """What an act is given.

    Attributes:
        root: The directory that all acts of a play share.
        argument: Whatever the play wants to tell the act.
        pause: Holds the act, under a label, until the play lets it go on.
    """

    root: Path
    argument: str
    pause: Callable[[str], None]


Act: TypeAlias = Callable[[Scene], str]
"""A module-level function; what it returns is its result, best a value of a closed enum."""


@attrs.define(eq=False, kw_only=True)
class PuppetFailedError(CrashworthyError):
    """An act raised, hung, ended its process or paused elsewhere than the play expects."""

    code: ClassVar[Code] = Code.PUPPET_FAILED
    act: str
    reason: str


class Saying(StrEnum):
    """What a puppet says."""

    PAUSED = "paused"
    RETURNED = "returned"
    RAISED = "raised"


@attrs.frozen(kw_only=True)
class _Cue:
    act: str
    root: str
    argument: str


@attrs.frozen(kw_only=True)
class _Release:
    delay_us: int


@attrs.frozen(kw_only=True)
class _Said:
    saying: Saying
    text: str


@attrs.define(eq=False, kw_only=True)
class Puppet:
    """One such process, as its play holds it; see `puppets`."""

    process: subprocess.Popen[bytes]
    _orders: IO[bytes] = attrs.field(alias="orders")
    _answers: IO[bytes] = attrs.field(alias="answers")
    _seconds_max: float = attrs.field(alias="seconds_max")
    _act: str = attrs.field(init=False, default="")

    @property
    def pid(self) -> int:
        """Return its process id."""
        return self.process.pid

    def begin(self, act: str, root: Path, argument: str = "") -> None:
        """Start an act, named `module:function`, and do not wait for it."""
        self._act = act
        self._send(_Cue(act=act, root=str(root), argument=argument))

    def await_pause(self, label: str) -> None:
        """Wait until the act holds still at `label`.

        Raises:
            PuppetFailedError: `puppet_failed`, when it says anything else.
        """
        said = self._read()
        if (said.saying, said.text) != (Saying.PAUSED, label):
            raise PuppetFailedError(act=self._act, reason=f"{said.saying}: {said.text}")

    def release(self, delay_us: int = 0) -> None:
        """Let a paused act go on after `delay_us` microseconds of its own time."""
        self._send(_Release(delay_us=delay_us))

    def result(self) -> str:
        """Wait for the end of the act and return its result.

        Raises:
            PuppetFailedError: `puppet_failed`, when it raises or pauses instead.
        """
        said = self._read()
        if said.saying is not Saying.RETURNED:
            raise PuppetFailedError(act=self._act, reason=f"{said.saying}: {said.text}")
        return said.text

    def play(self, act: str, root: Path, argument: str = "") -> str:
        """Play an act that does not pause and return its result."""
        self.begin(act, root, argument)
        return self.result()

    @contextmanager
    def stopped(self) -> Generator[None]:
        """Hold the whole process by SIGSTOP: an owner that is alive and does nothing (OWN-1)."""
        os.kill(self.pid, signal.SIGSTOP)
        # Signals are not instant; what follows must not overlap with a last step.
        os.waitpid(self.pid, os.WUNTRACED)
        try:
            yield
        finally:
            os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process by SIGKILL, wherever it is."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """End the process, with its consent or without."""
        with suppress(BrokenPipeError):
            self._orders.close()
        try:
            self.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            self.kill()
        self._answers.close()

    def _send(self, value: _Cue | _Release) -> None:
        try:
            self._orders.write(encode(value).encode() + b"\n")
            self._orders.flush()
        except BrokenPipeError as error:
            raise PuppetFailedError(act=self._act, reason="its process ended") from error

    def _read(self) -> _Said:
        with selectors.DefaultSelector() as ready:
            ready.register(self._answers, selectors.EVENT_READ)
            if not ready.select(self._seconds_max):
                raise PuppetFailedError(act=self._act, reason=f"silent for {self._seconds_max} s")
        line = self._answers.readline()
        if not line:
            raise PuppetFailedError(act=self._act, reason="its process ended")
        return decode(_Said, line)


@contextmanager
def puppets(count: int, *, seconds_max: float = 30.0) -> Generator[tuple[Puppet, ...]]:
    """Start `count` puppets, and end them with the block; each answer takes at most so long."""
    started: list[Puppet] = []
    try:
        for _ in range(count):
            process = subprocess.Popen(
                interpreter("crashworthy.crashlab.puppet", "serve"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # an interrupt is the play's business, not the puppet's
                env={**os.environ, "PYTHONPATH": import_path()},
            )
            assert process.stdin is not None
            assert process.stdout is not None
            started.append(
                Puppet(
                    process=process,
                    orders=process.stdin,
                    answers=process.stdout,
                    seconds_max=seconds_max,
                )
            )
        yield tuple(started)
    finally:
        for puppet in started:
            puppet.close()


def serve() -> None:
    """Play the acts whose cues stand on standard input until it ends."""
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # What an act prints must not mix with our answers.

        def say(saying: Saying, text: str) -> None:
            answers.write(encode(_Said(saying=saying, text=text)).encode() + b"\n")
            answers.flush()

        def pause(label: str) -> None:
            say(Saying.PAUSED, label)
            line = sys.stdin.buffer.readline()
            if not line:
                os._exit(0)  # The play is over in the middle of the act.
            _spin(decode(_Release, line).delay_us)

        while line := sys.stdin.buffer.readline():
            cue = decode(_Cue, line)
            try:
                act = _find(cue.act)
                text = act(Scene(root=Path(cue.root), argument=cue.argument, pause=pause))
            except Exception:  # noqa: BLE001  # whatever an act raises is its result
                say(Saying.RAISED, traceback.format_exc())
            else:
                say(Saying.RETURNED, text)


def _find(reference: str) -> Act:
    module, _, function = reference.partition(":")
    return cast("Act", getattr(importlib.import_module(module), function))


def _spin(delay_us: int) -> None:
    """Wait without giving up the processor: sleeps are coarser than what a race is about."""
    end = time.perf_counter_ns() + delay_us * 1000
    while time.perf_counter_ns() < end:
        pass
