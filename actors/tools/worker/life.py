"""What keeps a worker from outliving its host: guardian, and the end of its group (OWN-2).

Imported before anything heavy: the guardian is a fork of this process and should be small.
"""

import os
import signal
from typing import Final, NoReturn

HOST_PIPE: Final = 0
"""The worker's standard input: the host holds the other end and never writes to it."""
EXIT_NOT_KILLED: Final = 5


def begin(channel: int) -> None:
    """Lead a group of our own, and set the guardian that ends it with the host.

    Args:
        channel: The descriptor of the conversation with the host, which the guardian lets go.
    """
    if os.getpgrp() != os.getpid():
        os.setpgid(0, 0)
    # A handler, not SIG_IGN: children would inherit being deaf. The host asks a group to end by
    # SIGTERM, and the worker has to stay and report what its child did.
    signal.signal(signal.SIGTERM, _stay)
    signal.signal(signal.SIGINT, _stay)
    _set_guardian(channel)
    _detach_input()


def end_group() -> NoReturn:
    """End this process and its whole group, now and without a word."""
    os.killpg(0, signal.SIGKILL)
    os._exit(EXIT_NOT_KILLED)  # Not reached: the signal includes us.


def _stay(_number: int, _frame: object) -> None:
    """Go on; only SIGKILL ends a worker."""


def _set_guardian(channel: int) -> None:
    """Fork a process that only waits for the end of the host's pipe, then ends the group.

    A thread could be kept from running by a tool that holds the interpreter, and dies with a worker
    that is killed while its children run on. The guardian shares neither fate.
    """
    if os.fork():
        return
    try:
        os.close(channel)
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        while os.read(HOST_PIPE, 1):
            pass
    finally:
        end_group()


def _detach_input() -> None:
    """Give tools an empty input; the host's pipe stays open in the guardian alone."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, HOST_PIPE)
    os.dup2(nothing, 1)
    os.close(nothing)
