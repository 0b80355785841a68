"""The process that loads the workload once, opens nothing, and runs one course after another."""

import os
import sys
import traceback
from typing import IO

import attrs

from .kill import Course, Outcome, run_course
from .launch import Forking, Launcher, Mode, Spawning
from .wire import decode, encode
from .workload import Promise, WorkloadUnknownError


@attrs.frozen(kw_only=True)
class Ready:
    """The zygote's first word: what it loaded, or why it could not.

    Attributes:
        name: The workload's name.
        promises: The workload's promises.
        refusal: Why nothing could be loaded; empty if something was.
    """

    name: str
    promises: tuple[Promise, ...]
    refusal: str


@attrs.frozen(kw_only=True)
class Answer:
    """The zygote's answer to one course: an outcome, or the lab's own failure."""

    outcome: Outcome | None
    failure: str


def serve() -> None:
    """Read a workload's reference and then courses from standard input until it ends."""
    # What the workload prints while it is imported must not mix with our answers.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        reference = sys.stdin.buffer.readline().decode().rstrip("\n")
        try:
            forking = Forking.prepare(reference)
        except WorkloadUnknownError as error:
            _send(answers, Ready(name="", promises=(), refusal=error.reason))
            return
        workload = forking.workload
        _send(answers, Ready(name=workload.name, promises=workload.promises, refusal=""))
        launchers: dict[Mode, Launcher] = {Mode.FORK: forking, Mode.SPAWN: Spawning()}
        for line in sys.stdin.buffer:
            course = decode(Course, line)
            _send(answers, _answer(launchers[course.mode], course))


def _answer(launcher: Launcher, course: Course) -> Answer:
    try:
        return Answer(outcome=run_course(launcher, course), failure="")
    except Exception:  # noqa: BLE001  # the driver reports it and stops
        return Answer(outcome=None, failure=traceback.format_exc())


def _send(answers: IO[bytes], value: attrs.AttrsInstance) -> None:
    answers.write(encode(value).encode() + b"\n")
    answers.flush()
