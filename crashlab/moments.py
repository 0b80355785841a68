"""Random moments: a real agent with real workers loses its host anywhere, and nothing is lost.

The seed of a moment decides which share of the rehearsed time it falls at; by the rehearsal that is
a delay behind one of the run's facts. The same seed kills behind the same fact after the same
delay, as far as rehearsals take the same time; how far the host and its workers get within the
delay is the machine's business.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from bisect import bisect_right
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar, Final, cast

import attrs

from ..actors.cli.demo import TASK, make_example
from ..actors.cli.place import Place
from ..machines.facts.codes import Code, CrashworthyError
from .aftermath import Aftermath, Ruin
from .launch import interpreter
from .matrix import scratch_base
from .promises import SURVIVES
from .wire import decode, encode
from .workload import Finding, import_path

MOMENTS: Final[Mapping[str, int]] = MappingProxyType({"ci": 10, "deep": 50})
"""How many moments each profile kills at."""

TRIES: Final = 3
"""How often a moment is tried whose host was over before it came; each time the delay is halved."""

_FACT: Final = "fact"
_LOG: Final = "log.txt"
_TESTS_RUN: Final = "tests-run"

_COUNT_RUNS: Final = '''"""Counts how often the tests of this project were begun."""

from pathlib import Path


def pytest_sessionstart() -> None:
    with (Path(__file__).parent.parent / "@FILE@").open("a", encoding="ascii") as runs:
        runs.write("begun\\n")
'''


@attrs.define(eq=False, kw_only=True)
class RehearsalFailedError(CrashworthyError):
    """The example did not come to its end although nobody killed it; there is nothing to kill."""

    code: ClassVar[Code] = Code.REHEARSAL_FAILED
    said: str


@attrs.frozen(kw_only=True)
class Timeline:
    """When the facts of an undisturbed run were shown.

    Attributes:
        shown_s: Seconds from the start of the process, one for each fact.
        whole_s: When the last word was said.
    """

    shown_s: tuple[float, ...]
    whole_s: float

    def at(self, share: float) -> "Moment":
        """Return the moment at this share of the whole time, from 0 up to and without 1."""
        at_s = share * self.whole_s
        behind = bisect_right(self.shown_s, at_s)
        since_s = at_s - (self.shown_s[behind - 1] if behind else 0.0)
        return Moment(share=share, behind=behind, delay_s=since_s)


@attrs.frozen(kw_only=True)
class Moment:
    """Where a host is killed.

    Attributes:
        share: Of the time of the whole run.
        behind: How many facts were shown before it.
        delay_s: Seconds since the last of them, or since the start.
    """

    share: float
    behind: int
    delay_s: float


@attrs.frozen(kw_only=True)
class Killing:
    """What came of one moment.

    Attributes:
        seed: Repeats it: `--moments 1 --seed N`.
        reached: Whether the host died there, by SIGKILL, before its end.
        facts: How many facts were durable then.
        findings: Every promise that does not hold.
    """

    seed: int
    moment: Moment
    reached: bool
    facts: int
    findings: tuple[Finding, ...]

    @property
    def clean(self) -> bool:
        """Say whether it died there and kept every promise."""
        return self.reached and not self.findings

    @property
    def line(self) -> str:
        """Return what a person reads of it."""
        at = self.moment
        word = "clean" if self.clean else "BROKEN" if self.reached else "NOT REACHED"
        place = f"at {at.share:.3f} of the run, {at.delay_s * 1000:.0f} ms behind fact {at.behind}"
        first = f"seed {self.seed}: {place}, {self.facts} durable: {word}"
        broken = [f"  BROKEN {one.promise}: {one.detail}" for one in self.findings]
        return "\n".join([first, *broken])


@attrs.frozen(kw_only=True)
class Course:
    """How moments are run.

    Attributes:
        jobs: How many at a time.
        seconds_max: Time of one process.
    """

    moments: int
    seed: int
    jobs: int
    seconds_max: int


def run_moments(course: Course) -> Iterator[Killing]:
    """Kill the example's host at as many random moments, and yield what came of each, in order.

    Raises:
        RehearsalFailedError: `rehearsal_failed`.
    """
    with tempfile.TemporaryDirectory(prefix="crashlab-moments-", dir=scratch_base()) as scratch:
        base = Path(scratch)
        timeline = rehearse(base / "rehearsal", course.seconds_max)
        seeds = range(course.seed, course.seed + course.moments)
        with ThreadPoolExecutor(course.jobs) as pool:
            yield from pool.map(partial(kill_at, base, timeline, course), seeds)


def as_text(killings: Sequence[Killing]) -> str:
    """Return the last line: how many, and what of it is not clean."""
    broken = sum(bool(one.findings) for one in killings)
    unreached = sum(not one.reached for one in killings)
    word = "NOT clean" if broken or unreached else "clean"
    return f"{len(killings)} moments, {unreached} not reached, {broken} broken: {word}"


def as_json(killings: Sequence[Killing]) -> str:
    """Return all moments as one JSON document."""
    told = [{**attrs.asdict(one), "clean": one.clean} for one in killings]
    return json.dumps({"moments": told}, indent=2) + "\n"


def rehearse(home: Path, seconds_max: int) -> Timeline:
    """Let the agent do its work undisturbed.

    Raises:
        RehearsalFailedError: `rehearsal_failed`.
    """
    stage = _make(home)
    shown: list[float] = []
    began = time.monotonic()
    with _agent(stage, seconds_max) as process:
        for line in _lines(process):
            at_s = time.monotonic() - began
            if line["type"] == _FACT:
                shown.append(at_s)
            if line["type"] == "result" and line["state"] == "completed":
                return Timeline(shown_s=tuple(shown), whole_s=at_s)
    raise RehearsalFailedError(said=(home / _LOG).read_text(errors="replace")[-2000:])


def kill_at(base: Path, timeline: Timeline, course: Course, seed: int) -> Killing:
    """Kill one host at the moment of this seed, and judge what it left."""
    # A share, not a time: the seed means the same on another machine.
    moment = timeline.at(random.Random(seed).random())  # noqa: S311  # a sample, no secret
    for attempt in range(TRIES):
        home = base / f"{seed}-{attempt}"
        stage = _make(home)
        shown = _killed(stage, moment, course.seconds_max)
        if shown is not None:
            after = _judged(stage, shown, course.seconds_max)
            shutil.rmtree(home)
            return Killing(
                seed=seed,
                moment=moment,
                reached=True,
                facts=after.facts,
                findings=after.findings,
            )
        shutil.rmtree(home)
        # This time the machine was faster than in the rehearsal.
        moment = attrs.evolve(moment, delay_s=moment.delay_s / 2)
    return Killing(seed=seed, moment=moment, reached=False, facts=0, findings=())


@attrs.frozen(kw_only=True)
class _Stage:
    home: Path
    place: Place

    @property
    def script(self) -> Path:
        return self.place.root.parent / "repair.toml"

    @property
    def workspace(self) -> Path:
        assert self.place.workspace is not None
        return self.place.workspace


def _make(home: Path) -> _Stage:
    place = make_example(home)
    stage = _Stage(home=home, place=place)
    (stage.workspace / "conftest.py").write_text(_COUNT_RUNS.replace("@FILE@", _TESTS_RUN), "ascii")
    return stage


def _killed(stage: _Stage, moment: Moment, seconds_max: int) -> tuple[str, ...] | None:
    """Kill the host at the moment and return the facts it showed; None if it was over before."""
    shown: list[str] = []
    with _agent(stage, seconds_max) as process:
        lines = _lines(process)
        while len(shown) < moment.behind:
            line = next(lines, None)
            if line is None:
                return None
            if line["type"] == _FACT:
                shown.append(_id_of(line))
        time.sleep(moment.delay_s)
        # The host alone: its workers live on, as they would, until they see that it is gone.
        process.kill()
        shown += [_id_of(line) for line in lines if line["type"] == _FACT]
        return tuple(shown) if process.wait() == -signal.SIGKILL else None


@contextmanager
def _agent(stage: _Stage, seconds_max: int) -> Generator[subprocess.Popen[bytes]]:
    """Start the example's agent as the command line does, in a process of its own."""
    words = ["run", TASK, "--script", str(stage.script), "--root", str(stage.place.root)]
    words += ["--workspace", str(stage.workspace), "--yes", "--json"]
    with (stage.home / _LOG).open("ab") as log:
        process = subprocess.Popen(
            [*interpreter("crashworthy.actors.cli", "main"), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": import_path()},
            start_new_session=True,  # an interrupt is the lab's business, not the agent's
        )
    watchdog = threading.Timer(seconds_max, process.kill)
    watchdog.start()
    try:
        yield process
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def _lines(process: subprocess.Popen[bytes]) -> Iterator[Mapping[str, object]]:
    """Yield what the agent says; a last line that its death tore is not one."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.endswith(b"\n"):
            yield cast("Mapping[str, object]", json.loads(line))


def _id_of(line: Mapping[str, object]) -> str:
    return str(cast("Mapping[str, object]", line["fact"])["id"])


def _judged(stage: _Stage, shown: tuple[str, ...], seconds_max: int) -> Aftermath:
    """Let a fresh process judge what is left."""
    ruin = Ruin(
        root=str(stage.place.root),
        workspace=str(stage.workspace),
        script=str(stage.script),
        tests_run=str(stage.place.root.parent / _TESTS_RUN),
        shown=shown,
    )
    said = ""
    try:
        done = subprocess.run(
            interpreter("crashworthy.crashlab.aftermath", "serve"),
            input=encode(ruin),
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": import_path()},
            timeout=seconds_max,
            check=False,
        )
        if done.returncode == 0:
            return decode(Aftermath, done.stdout)
        said = done.stderr[-2000:]
    except subprocess.TimeoutExpired:
        said = f"it hung for {seconds_max} s"
    return Aftermath(facts=0, findings=(Finding(promise=SURVIVES.id, detail=said),))
