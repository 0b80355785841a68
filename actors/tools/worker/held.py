"""The descriptors that every child of a worker keeps: the lock, and lines that say it lives.

`subprocess` closes what it is not told to keep, so a tool that starts a program would make a child
nobody can see. In a worker, and only there, each such child is given them. A child that
closes them on purpose and leaves the process group is not detected, and that is not promised.
"""

import os
import select
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Protocol, cast

import attrs


@attrs.define(eq=False)
class Held:
    """What children inherit.

    Attributes:
        kept: The descriptor that holds `workers.lock` shared, and the host's lifeline (OWN-2).
        left_behind: Whether a child of the last call was alive when it ended.
    """

    kept: tuple[int, ...]
    left_behind: bool = attrs.field(default=False, init=False)
    _line: int | None = attrs.field(default=None, init=False)

    @contextmanager
    def call(self) -> Generator[None]:
        """Run one call; afterwards `left_behind` says whether a child of it still lives.

        Every child holds the writing end of a pipe: its reading end is at end-of-file only when all
        of them are gone, however they were started and whoever they belong to now.
        """
        reading, writing = os.pipe()
        os.set_inheritable(writing, True)
        self._line = writing
        try:
            yield
        finally:
            self._line = None
            os.close(writing)
            poll = select.poll()
            poll.register(reading, select.POLLIN)
            self.left_behind = not poll.poll(0)
            os.close(reading)

    def given(self) -> tuple[int, ...]:
        """Return what a child started now must keep."""
        return self.kept if self._line is None else (*self.kept, self._line)

    def install(self) -> None:
        """Make every `subprocess.Popen` of this process hand the descriptors on."""
        started = cast("_Start", subprocess.Popen.__init__)

        def start(*args: object, **kwargs: object) -> None:
            if kwargs.get("close_fds", True):
                wanted = cast("tuple[int, ...]", kwargs.get("pass_fds", ()))
                kwargs["pass_fds"] = (*wanted, *self.given())
            started(*args, **kwargs)

        # The one seam that every way to start a program in Python's own library goes through.
        setattr(subprocess.Popen, "__init__", start)  # noqa: B010 - a type checker refuses `=`


class _Start(Protocol):
    def __call__(self, *args: object, **kwargs: object) -> None: ...
