"""The worker process: guardian first, then the lock, then the word that it is ready (OWN-2).

Started by the host as `python -m crashworthy.actors.tools.worker CHANNEL LIFELINE LOCK [PROBE]`.
"""

import os
import socket
import sys
from pathlib import Path

from .life import begin

TOOL_PYTHONPATH = "CRASHWORTHY_TOOL_PYTHONPATH"


def main(channel: int, lifeline: int, lock_path: str, probe: str | None = None) -> None:
    """Live as a worker until the host's pipe ends.

    Args:
        channel: The descriptor of the conversation with the host.
        lifeline: A descriptor that everyone here keeps; at its end the host sees that all are gone.
        lock_path: The root's `workers.lock`.
        probe: `module:name` of a crash lab's probe.
    """
    begin(channel)
    _restore_path()
    from ....store.ownership.workers import join_workers  # noqa: PLC0415 - after the fork
    from .held import Held  # noqa: PLC0415 - likewise
    from .serve import Conversation, load_probe  # noqa: PLC0415 - likewise

    held = Held(kept=(join_workers(Path(lock_path)), lifeline))
    held.install()
    # Until here an error should be told; from here on a pipe that nobody empties would only block.
    os.dup2(os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC), 2)
    with socket.socket(fileno=channel) as conversation:
        conversation.set_inheritable(False)
        Conversation(conversation, held, load_probe(probe)).serve()


def _restore_path() -> None:
    """Hide the import path that started us from the programs that tools start."""
    os.environ.pop("PYTHONPATH", None)
    original = os.environ.pop(TOOL_PYTHONPATH, None)
    if original is not None:
        os.environ["PYTHONPATH"] = original


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:5])
