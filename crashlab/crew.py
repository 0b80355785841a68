"""A few zygotes that work through courses side by side, driven by one thread."""

import os
import selectors
import subprocess
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from typing import IO, ClassVar

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from .kill import Course, Outcome
from .launch import interpreter
from .wire import decode, encode
from .workload import Promise, WorkloadUnknownError, import_path
from .zygote import Answer, Ready


@attrs.define(eq=False, kw_only=True)
class LabProcessLostError(CrashworthyError):
    """The lab itself failed, not the workload; what it said is in `failure`."""

    code: ClassVar[Code] = Code.LAB_PROCESS_LOST
    course: int
    failure: str


@attrs.define(eq=False)
class Crew:
    """Zygotes of one workload; see `hired`."""

    name: str
    promises: tuple[Promise, ...]
    _zygotes: "list[_Zygote]"

    def work(self, courses: Iterable[Course]) -> Generator[Outcome]:
        """Yield the outcome of each course, in the order in which they end.

        Raises:
            LabProcessLostError: `lab_process_lost`, when a zygote ended or could not go on.
        """
        waiting = iter(courses)
        with selectors.DefaultSelector() as busy:
            for zygote in self._zygotes:
                _give(busy, zygote, next(waiting, None))
            while busy.get_map():
                for ready, _events in busy.select():
                    zygote = ready.data
                    assert isinstance(zygote, _Zygote)
                    busy.unregister(zygote.answers)
                    outcome = zygote.take()
                    _give(busy, zygote, next(waiting, None))
                    yield outcome


@contextmanager
def hired(workload: str, jobs: int) -> Generator[Crew]:
    """Start `jobs` zygotes and end them with the block.

    Raises:
        WorkloadUnknownError: `workload_unknown`, when a zygote cannot load the workload.
    """
    zygotes: list[_Zygote] = []
    try:
        # All start before any is waited for: they import side by side.
        zygotes.extend(_Zygote.start(workload) for _ in range(jobs))
        first, *_ = [zygote.await_ready(workload) for zygote in zygotes]
        yield Crew(first.name, first.promises, zygotes)
    finally:
        for zygote in zygotes:
            zygote.end()


@attrs.define(eq=False, kw_only=True)
class _Zygote:
    process: subprocess.Popen[bytes]
    orders: IO[bytes]
    answers: IO[bytes]
    course: int = 0

    @classmethod
    def start(cls, workload: str) -> "_Zygote":
        process = subprocess.Popen(
            interpreter("crashworthy.crashlab.zygote", "serve"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # an interrupt ends the driver, and the driver ends us
            env={**os.environ, "PYTHONPATH": import_path()},
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(workload.encode() + b"\n")
        process.stdin.flush()
        return cls(process=process, orders=process.stdin, answers=process.stdout)

    def await_ready(self, workload: str) -> Ready:
        ready = decode(Ready, self.read())
        if ready.refusal:
            raise WorkloadUnknownError(reference=workload, reason=ready.refusal)
        return ready

    def give(self, course: Course) -> None:
        self.course = course.number
        try:
            self.orders.write(encode(course).encode() + b"\n")
            self.orders.flush()
        except BrokenPipeError as error:
            raise LabProcessLostError(course=self.course, failure="a zygote ended") from error

    def take(self) -> Outcome:
        answer = decode(Answer, self.read())
        if answer.outcome is None:
            raise LabProcessLostError(course=self.course, failure=answer.failure)
        return answer.outcome

    def read(self) -> bytes:
        line = self.answers.readline()
        if not line.endswith(b"\n"):
            raise LabProcessLostError(course=self.course, failure="a zygote ended")
        return line

    def end(self) -> None:
        # End of input is its order to end; one that is in the middle of a course is killed.
        with suppress(BrokenPipeError):
            self.orders.close()
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()


def _give(busy: selectors.BaseSelector, zygote: _Zygote, course: Course | None) -> None:
    if course is not None:
        zygote.give(course)
        busy.register(zygote.answers, selectors.EVENT_READ, zygote)
