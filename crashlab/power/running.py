"""A run of `crash --power`: recordings are made, images drawn from them, and each is judged."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from ..launch import interpreter
from ..matrix import Progress, scratch_base
from ..promises import LAB_PROMISES, SURVIVES
from ..wire import decode, encode
from ..workload import Finding, Workload, import_path, load_workload
from .judging import Docket, Verdict
from .losses import WHOLE, ImageUnknownError, Key, parse_key
from .planning import Extent, drawn_keys, places_to_kill
from .playing import hired
from .recorder import build_recorder
from .recording import Recording, Studio, deviation, ways_to_be_killed
from .report import Breach, Report, tallied

DEFAULT_WORKLOAD: Final = "checkpoints"
"""What is run where nobody names a workload."""


@attrs.frozen(kw_only=True)
class Course:
    """What is run.

    Attributes:
        workload: A built-in name or `module:factory`.
        profile: The name of the extent, for the report.
        shard: Which part of the images, and of how many parts.
        jobs: Recordings and images side by side.
        seconds_max: Time of one process, or of one image.
    """

    workload: str
    profile: str
    extent: Extent
    seed: int
    shard: tuple[int, int]
    jobs: int
    seconds_max: int


@attrs.frozen(kw_only=True, eq=False)
class Session:
    """The recordings of one course, as long as its block lasts."""

    course: Course
    place: Path
    workload: Workload
    recordings: tuple[Recording, ...]
    findings: tuple[tuple[int, Finding], ...]

    def images(self) -> tuple[Key, ...]:
        """Return the images of this shard."""
        part, parts = self.course.shard
        drawn = drawn_keys(self.recordings, self.course.extent.images, self.course.seed)
        return drawn[part - 1 :: parts]

    def judge(self, keys: Sequence[Key], *, base: Path, keep: bool = False) -> Iterator[Verdict]:
        """Yield the verdict of each image, in order; some are judged side by side."""
        jobs = min(self.course.jobs, len(keys))
        judges = [self._judge(keys[job::jobs], base, keep=keep) for job in range(jobs)]
        # All start before any is waited for.
        waiting = [next(judge) for judge in judges]
        assert waiting == [None] * jobs
        for number in range(len(keys)):
            verdict = next(judges[number % jobs])
            assert verdict is not None
            yield verdict

    def _judge(self, keys: Sequence[Key], base: Path, *, keep: bool) -> Generator[Verdict | None]:
        """Yield None once it is started, and then the verdicts of one process after another.

        An image that ends its judge, by the kernel's clock or by a fault of its own, is one that
        cannot be opened; the others get a new judge.
        """
        left = list(map(str, keys))
        told_of_start = False
        while left:
            docket = Docket(
                workload=self.course.workload,
                seed=self.course.seed,
                tapes=str(self.place),
                keys=tuple(left),
                base=str(base),
                keep=keep,
                seconds_max=self.course.seconds_max,
            )
            with _serving(docket) as (process, log):
                if not told_of_start:
                    told_of_start = True
                    yield None
                assert process.stdout is not None
                for line in process.stdout:
                    if line.endswith(b"\n"):
                        left.pop(0)
                        yield decode(Verdict, line)
                status = process.wait()
                if left:
                    yield _lost(left.pop(0), f"its process ended with {status}: {log()}")


@contextmanager
def _serving(docket: Docket) -> Generator[tuple["subprocess.Popen[bytes]", Callable[[], str]]]:
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            interpreter("crashworthy.crashlab.power.judging", "serve"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": import_path()},
            start_new_session=True,  # an interrupt is the driver's business
        )

        def said() -> str:
            log.seek(0)
            return log.read().decode(errors="replace")[-1000:]

        try:
            assert process.stdin is not None
            with process.stdin:
                process.stdin.write(encode(docket).encode())
            yield process, said
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


def _lost(key: str, detail: str) -> Verdict:
    finding = Finding(promise=SURVIVES.id, detail=detail)
    return Verdict(key=key, pending=0, lost=0, acknowledged=0, facts=0, findings=(finding,))


Choice = Callable[[Recording], Sequence[int]]
"""Says, once the whole recording is there, where else the first process is to be killed."""


def by_profile(course: Course) -> Choice:
    """Choose as many ways to be killed as the profile says."""
    kills_each, seed = course.extent.kills_each, course.seed
    return lambda whole: places_to_kill(ways_to_be_killed(whole), kills_each, seed)


@contextmanager
def recorded(course: Course, choose: Choice) -> Generator[Session]:
    """Record the workload undisturbed and killed, for as long as the block lasts.

    Raises:
        WorkloadUnknownError: `workload_unknown`.
        RecorderUnavailableError: `recorder_unavailable`.
        RecordingFailedError: `recording_failed`.
    """
    workload = load_workload(course.workload)
    with (
        # Memory is often mounted so that no code may be loaded from it.
        tempfile.TemporaryDirectory(prefix="crashlab-recorder-") as built,
        tempfile.TemporaryDirectory(prefix="crashlab-power-", dir=scratch_base()) as scratch,
    ):
        place = Path(scratch)
        library = build_recorder(Path(built))
        with hired(library, course.workload, course.jobs) as players:
            studio = Studio(
                place=place, players=players, seed=course.seed, seconds_max=course.seconds_max
            )
            recordings, found = _recorded(studio, choose, course.jobs)
        yield Session(
            course=course, place=place, workload=workload, recordings=recordings, findings=found
        )


def _recorded(
    studio: Studio, choose: Choice, jobs: int
) -> tuple[tuple[Recording, ...], tuple[tuple[int, Finding], ...]]:
    whole, faults = studio.record()
    recordings = [whole]
    found = [(WHOLE, fault) for fault in faults]
    with ThreadPoolExecutor(jobs) as pool:
        # Nothing follows from a tape that does not tell all.
        for recording, findings in pool.map(studio.record, () if faults else choose(whole)):
            recordings.append(recording)
            found += [
                (recording.note.killed, finding)
                for finding in (*findings, *deviation(whole, recording))
            ]
    return tuple(recordings), tuple(found)


def no_progress(_progress: Progress) -> None:
    """Show nothing."""


def run_power(course: Course, *, progress: Callable[[Progress], None] = no_progress) -> Report:
    """Take the power from the workload at many places and return what that showed (CRASH-4).

    Raises:
        WorkloadUnknownError: `workload_unknown`.
        RecorderUnavailableError: `recorder_unavailable`.
        RecordingFailedError: `recording_failed`.
    """
    with recorded(course, by_profile(course)) as session:
        breaches = [
            Breach(image="", promise=one.promise, detail=f"killed={killed}: {one.detail}")
            for killed, one in session.findings
        ]
        # Images of a tape that does not tell all are not what a disk could hold.
        keys = () if breaches else session.images()
        verdicts: list[Verdict] = []
        began = time.monotonic()
        for verdict in session.judge(keys, base=session.place):
            verdicts.append(verdict)
            breaches += [
                Breach(image=verdict.key, promise=one.promise, detail=one.detail)
                for one in verdict.findings
            ]
            progress(
                Progress(
                    done=len(verdicts),
                    total=len(keys),
                    violations=len(breaches),
                    seconds=time.monotonic() - began,
                )
            )
        part, parts = course.shard
        return Report(
            workload=session.workload.name,
            reference=course.workload,
            profile=course.profile,
            seed=course.seed,
            shard=f"{part}/{parts}",
            promises=(*LAB_PROMISES, *session.workload.promises),
            recordings=len(session.recordings),
            operations=sum(len(one.operations) for one in session.recordings),
            syncs=sum(len(one.syncs()) for one in session.recordings),
            losses=tallied([(parse_key(one.key).loss, one.lost > 0) for one in verdicts]),
            acknowledged=sum(one.acknowledged > 0 for one in verdicts),
            violations=tuple(breaches),
            seconds=time.monotonic() - began,
        )


def judge_one(course: Course, key: Key, base: Path) -> Verdict:
    """Make one image again, keep its files in `base`, and return what came of it.

    Raises:
        ImageUnknownError: `image_unknown`, when there is no such place.
        WorkloadUnknownError: `workload_unknown`.
        RecorderUnavailableError: `recorder_unavailable`.
        RecordingFailedError: `recording_failed`.
    """
    killed, after = key.cut.killed, key.cut.after

    def choose(whole: Recording) -> Sequence[int]:
        if killed >= len(whole.operations):
            raise ImageUnknownError(key=str(key))
        return () if killed == WHOLE else (killed,)

    with recorded(course, choose) as session:
        if after not in session.recordings[-1].cuts():
            raise ImageUnknownError(key=str(key))
        return next(session.judge([key], base=base, keep=True))
