"""The shell tool: one command in the worker's group, streamed, never run twice by us (OP-5)."""

import os
import select
import subprocess
import time
from signal import Signals
from typing import Annotated, Final

from ....machines.facts.canonical import Json
from ..context import CallContext, Failed
from ..contract import NeverAutoRetry, OutputRule, Permission
from ..decorate import tool

READ_BYTES: Final = 64 * 1024
LOOK_MS: Final = 50
"""How often the command is looked after while its output is silent."""
DRAIN_S: Final = 0.2
"""How long output may still come from processes that the finished command left behind."""
SHELL: Final = "/bin/sh"


@tool(
    recovery=NeverAutoRetry(),
    permission=Permission.ASK,
    timeout_ms=10 * 60 * 1000,
    output=OutputRule(),
)
def shell(
    context: CallContext,
    command: Annotated[str, "A command line for /bin/sh, run in the workspace directory."],
) -> object:
    """Run a shell command and return its exit code, its signal if one ended it, and its output.

    Standard output and error come as one text. There is no input. When the command has ended, every
    process that it left running is ended too.
    """
    process = subprocess.Popen(  # noqa: S603 - running what was asked for is this tool's purpose
        [SHELL, "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # Not in a group of its own: the worker's group is the one that host, guardian and successor
        # know to end, whoever is dead by then.
        process_group=None,
    )
    assert process.stdout is not None
    _relay(process, process.stdout.fileno(), context)
    code = process.wait()
    result: Json = {
        "exit_code": code if code >= 0 else None,
        "signal": Signals(-code).name if code < 0 else None,
    }
    return result if code == 0 else Failed(result)


def _relay(process: "subprocess.Popen[bytes]", pipe: int, context: CallContext) -> None:
    """Pass output on until its end, or shortly after the command's end if others hold the pipe."""
    ready = select.poll()
    ready.register(pipe, select.POLLIN)
    deadline: float | None = None
    while deadline is None or time.monotonic() < deadline:
        if ready.poll(LOOK_MS):
            data = os.read(pipe, READ_BYTES)
            if not data:
                return
            context.outlet.write(data)
        if deadline is None and process.poll() is not None:
            deadline = time.monotonic() + DRAIN_S
