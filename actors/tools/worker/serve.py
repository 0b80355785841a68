"""The worker's conversation: one order, its output in pieces, one report of how it ended."""

import os
import socket
import sys
from base64 import b64encode
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from importlib import import_module
from types import CoroutineType
from typing import Final, NoReturn, TextIO, cast

import attrs

from ....machines.facts import canonical
from ....machines.facts.canonical import Json
from ....store.platform import process_started
from ....store.probe import Probe, no_probe
from ..conduct import conclude, explain, given
from ..context import CallContext
from ..contract import ArtifactRule, Tool
from ..effects.files import execute
from ..errors import ArtifactRefusedError
from ..runner import Answer, Returned
from .frames import ORDER_BYTES_MAX, PIECE_BYTES, PROTOCOL, FrameReader, pack
from .held import Held
from .life import end_group
from .messages import ReceivedOrder, finish_json, load_tool, read_order

READ_BYTES: Final = 256 * 1024


@attrs.define(eq=False)
class Conversation:
    """The worker's side of the channel; a busy host makes it wait, and that bounds all memory."""

    channel: socket.socket
    held: Held
    probe: Probe
    _artifacts: ArtifactRule = attrs.field(factory=ArtifactRule, init=False)
    _artifacts_made: int = attrs.field(default=0, init=False)

    def serve(self) -> NoReturn:
        """Say that we are ready, then run orders until the host is gone."""
        # A forked child must not keep the channel open: its end says that the worker is gone.
        os.register_at_fork(after_in_child=self.channel.close)
        pid = os.getpid()
        self._tell(
            {
                "t": "ready",
                "protocol": PROTOCOL,
                "pid": pid,
                "group": os.getpgrp(),
                "started": process_started(pid),
            }
        )
        reader = FrameReader(ORDER_BYTES_MAX)
        while data := self.channel.recv(READ_BYTES):
            for message in reader.feed(data):
                self._perform(read_order(message))
        end_group()

    def write(self, data: bytes) -> None:
        """Pass on a piece of output (context.Outlet)."""
        self._pieces("output", data)

    def artifact(self, name: str, media_type: str, content: bytes) -> None:
        """Pass on one whole artifact (context.Outlet).

        Raises:
            ArtifactRefusedError: `artifact_refused`, over the tool's rule.
        """
        rule = self._artifacts
        if self._artifacts_made == rule.count_max or len(content) > rule.size_bytes_max:
            raise ArtifactRefusedError(
                name=name, count_max=rule.count_max, size_bytes_max=rule.size_bytes_max
            )
        self._artifacts_made += 1
        self._tell({"t": "artifact", "name": name, "media_type": media_type, "bytes": len(content)})
        self._pieces("artifact", content)

    def _tell(self, message: dict[str, Json]) -> None:
        self.probe(f"worker.{message['t']}")
        self.channel.sendall(pack(message))

    def _pieces(self, channel: str, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            piece = b64encode(data[start : start + PIECE_BYTES]).decode("ascii")
            self._tell({"t": "output", "channel": channel, "data": piece})

    def _perform(self, order: ReceivedOrder) -> None:
        with self.held.call(), _printing_to(self.write):
            try:
                os.chdir(order.workspace.root)
                finish: Answer = conclude(self._run(load_tool(order.entry), order))
            except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 - foreign code
                finish = explain(error)
        report = finish_json(self._streamed(finish))
        self._tell({**report, "t": "done", "left_behind": self.held.left_behind})

    def _run(self, tool: Tool, order: ReceivedOrder) -> object:
        if tool.effect is not None:
            assert order.evidence is not None  # The kernel plans before T1.
            return execute(
                tool.effect,
                order.args,
                order.workspace,
                order.evidence,
                order.operation,
                self.probe,
            )
        self._artifacts, self._artifacts_made = tool.artifacts, 0
        context = CallContext(
            operation=order.operation, key=order.key, workspace=order.workspace, outlet=self
        )
        returned = tool.function(**order.args, **given(tool, context))
        if type(returned) is not CoroutineType:  # Not `isinstance`: `__class__` is foreign.
            return returned
        # Only here: trio takes longer to import than all the rest of a worker.
        import trio  # noqa: PLC0415

        return trio.run(_awaited, cast("Coroutine[object, object, object]", returned))

    def _streamed(self, finish: Answer) -> Answer:
        """Return the finish; a value too large for one message goes ahead of it in pieces."""
        if not isinstance(finish, Returned):
            return finish
        encoded = canonical.encode(finish.value)
        if len(encoded) <= PIECE_BYTES:
            return finish
        # A text is more useful to read as itself than as JSON.
        self._pieces("result", finish.value.encode() if isinstance(finish.value, str) else encoded)
        return attrs.evolve(finish, value=None)


class _Printed:
    """What `print` writes to while a tool runs."""

    encoding = "utf-8"

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def write(self, text: str) -> int:
        self._write(text.encode("utf-8", "surrogatepass"))
        return len(text)

    def flush(self) -> None:
        """Nothing waits."""

    def isatty(self) -> bool:
        return False


@contextmanager
def _printing_to(write: Callable[[bytes], None]) -> Generator[None]:
    """Let Python's own standard output and error go to the host."""
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = cast("TextIO", _Printed(write))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


async def _awaited(coroutine: Coroutine[object, object, object]) -> object:
    return await coroutine


def load_probe(reference: str | None) -> Probe:
    """Return the probe that a crash lab named (`module:name`), or one that does nothing."""
    if reference is None:
        return no_probe
    module, _, name = reference.partition(":")
    return cast("Probe", vars(import_module(module))[name])
