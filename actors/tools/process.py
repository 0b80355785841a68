"""One worker process as its host sees it: started, spoken to, ended with its group (OWN-2)."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

import attrs
import trio

from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code, CrashworthyError
from ...machines.facts.text import repair_text
from ...store.ownership.workers import LeftWorker
from ...store.platform import ProcessIdentity, boot_id
from .worker.frames import (
    PROTOCOL,
    REPORT_BYTES_MAX,
    FrameInvalidError,
    FrameReader,
    int_field,
    pack,
    text_field,
)

READ_BYTES: Final = 256 * 1024
DIAGNOSIS_BYTES: Final = 4096
"""How much of a worker's own last words is kept."""
DIAGNOSIS_S: Final = 0.5
GONE_S: Final = 2
"""How long killed processes may take to disappear before they count as escaped."""

_MODULE: Final = "crashworthy.actors.tools.worker"
_TOOL_PYTHONPATH: Final = "CRASHWORTHY_TOOL_PYTHONPATH"


@attrs.define(eq=False, kw_only=True)
class WorkerUnavailableError(CrashworthyError):
    """A worker did not get ready; the call that waited for it was not started."""

    code: ClassVar[Code] = Code.WORKER_UNAVAILABLE
    reason: str


@attrs.frozen(kw_only=True)
class WorkerSettings:
    """How workers are started and ended.

    Attributes:
        lock_path: The root's `workers.lock`.
        workers_max: How many run at once.
        grace_ms: Between asking a group to end and ending it.
        start_ms_max: How long a worker may take to get ready.
        environment: What tools find in their environment.
        probe: `module:name` of a crash lab's probe, loaded in the worker.
    """

    lock_path: Path
    workers_max: int = 4
    grace_ms: int = 2000
    start_ms_max: int = 60_000
    environment: Mapping[str, str] = attrs.field(factory=lambda: tool_environment(os.environ))
    probe: str | None = None


def tool_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what by its name is a credential (OWN-7).

    A tool's output is stored, and printing the environment is the most common of commands.
    """
    return {
        name: value
        for name, value in environment.items()
        if not name.upper().endswith(_SECRET_ENDINGS)
    }


_SECRET_ENDINGS: Final = (
    *("API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS"),
    *("ACCESS_KEY", "ACCESS_KEY_ID", "PRIVATE_KEY"),
)


@attrs.frozen(kw_only=True)
class WorkerEnd:
    """How a worker ended.

    Attributes:
        exit_code: Its exit code, negative for a signal.
        words: What it said on standard error before it was ready.
        escaped: Whether somebody it started lives on outside of its group.
    """

    exit_code: int
    words: str
    escaped: bool


@attrs.define(eq=False, kw_only=True)
class WorkerProcess:
    """A started worker; whoever holds it must `end` it."""

    record: LeftWorker
    _process: trio.Process = attrs.field(alias="process")
    _channel: trio.SocketStream = attrs.field(alias="channel")
    _lifeline: int = attrs.field(alias="lifeline")
    _reader: FrameReader = attrs.field(factory=lambda: FrameReader(REPORT_BYTES_MAX), init=False)
    _waiting: list[dict[str, Json]] = attrs.field(factory=list[dict[str, Json]], init=False)
    _end: WorkerEnd | None = attrs.field(default=None, init=False)

    async def send(self, message: dict[str, Json]) -> None:
        """Send one message.

        Raises:
            trio.BrokenResourceError: The worker is gone.
        """
        await self._channel.send_all(pack(message))

    async def receive(self) -> dict[str, Json] | None:
        """Return the next message, or None once the worker is gone.

        Raises:
            FrameInvalidError: `frame_invalid`, it does not speak the protocol.
        """
        while not self._waiting:
            try:
                data = await self._channel.receive_some(READ_BYTES)
            except trio.BrokenResourceError:
                return None
            if not data:
                return None
            self._waiting = list(self._reader.feed(bytes(data)))
            self._waiting.reverse()  # Taken from the end.
        return self._waiting.pop()

    def is_gone(self) -> bool:
        """Tell whether an idle worker has ended: its end of the channel is closed."""
        poll = select.poll()
        poll.register(self._channel.socket.fileno(), select.POLLIN)
        return bool(poll.poll(0))  # An idle worker has nothing else to say.

    def signal_group(self, number: signal.Signals) -> None:
        """Send a signal to the worker's group; one that is gone already is no error.

        The leader is not reaped before `end`, so its group cannot be anybody else's by now.
        """
        # macOS answers EPERM where only zombies are left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.record.group, number)

    async def end(self) -> WorkerEnd:
        """End the group, and return when it is gone; a second call changes nothing."""
        if self._end is None:
            self.signal_group(signal.SIGKILL)
            with trio.CancelScope(shield=True):
                code = await self._process.wait()
                words = await _last_words(self._process)
                escaped = not await self._is_over()
                await trio.aclose_forcefully(self._channel)
                assert self._process.stdin is not None
                await trio.aclose_forcefully(self._process.stdin)
                self._end = WorkerEnd(exit_code=code, words=words, escaped=escaped)
        assert self._end is not None, "the shielded scope swallows nothing"
        return self._end

    async def _is_over(self) -> bool:
        """Wait for the end of the line that everybody of this worker holds; tell whether it came.

        The kernel ends the members of a group one after the other, and the leader may be first.
        """
        try:
            with trio.move_on_after(GONE_S):
                await trio.lowlevel.wait_readable(self._lifeline)
                return True
            return False
        finally:
            os.close(self._lifeline)


async def start_worker(settings: WorkerSettings) -> WorkerProcess:
    """Start a worker and wait until it holds the lock and has its guardian.

    Raises:
        WorkerUnavailableError: `worker_unavailable`, it ended, is silent or speaks otherwise.
    """
    ours, theirs = socket.socketpair()
    lifeline, line = os.pipe()
    try:
        process = await trio.lowlevel.open_process(
            [
                # -P: the working directory may be a workspace, and must not be imported from.
                *(sys.executable, "-P", "-m", _MODULE),
                *(str(theirs.fileno()), str(line), str(settings.lock_path)),
                *(() if settings.probe is None else (settings.probe,)),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno(), line],
            start_new_session=True,
            env=_environment(settings.environment),
        )
    except BaseException:
        ours.close()
        os.close(lifeline)
        raise
    finally:
        theirs.close()
        os.close(line)
    worker = WorkerProcess(
        # It is verified before `ready`; until then it is ours to end as the leader of its session.
        record=LeftWorker(
            process=ProcessIdentity(pid=process.pid, boot_id=boot_id(), started=""),
            group=process.pid,
        ),
        process=process,
        channel=trio.SocketStream(trio.socket.from_stdlib_socket(ours)),
        lifeline=lifeline,
    )
    try:
        with trio.move_on_after(settings.start_ms_max / 1000):
            ready = await worker.receive()
            if ready is not None:
                worker.record = _verified(worker.record, ready)
                return worker
    except FrameInvalidError as error:
        await worker.end()
        raise WorkerUnavailableError(reason=str(error)) from error
    except BaseException:
        await worker.end()
        raise
    end = await worker.end()
    reason = f"not ready, exit code {end.exit_code}: {end.words[-300:]}"
    raise WorkerUnavailableError(reason=reason)


def _verified(record: LeftWorker, ready: dict[str, Json]) -> LeftWorker:
    if text_field(ready, "t") != "ready" or int_field(ready, "protocol") != PROTOCOL:
        raise FrameInvalidError(reason="another protocol")
    if (int_field(ready, "pid"), int_field(ready, "group")) != (record.process.pid, record.group):
        raise FrameInvalidError(reason="not the leader of its group")
    process = attrs.evolve(record.process, started=text_field(ready, "started"))
    return attrs.evolve(record, process=process)


def _environment(tools: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that lets a worker import what the host imports."""
    environment = dict(tools)
    if "PYTHONPATH" in environment:
        environment[_TOOL_PYTHONPATH] = environment["PYTHONPATH"]
    environment["PYTHONPATH"] = os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path)
    return environment


async def _last_words(process: trio.Process) -> str:
    """Return what a worker wrote to standard error before it was ready; later nobody reads it."""
    assert process.stderr is not None
    said = b""
    with trio.move_on_after(DIAGNOSIS_S):
        while data := await process.stderr.receive_some(READ_BYTES):
            said = (said + bytes(data))[-DIAGNOSIS_BYTES:]
    await trio.aclose_forcefully(process.stderr)
    return repair_text(said)[0]
