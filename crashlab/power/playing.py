"""Lives of a workload under the recorder: each a fork of a process that has opened nothing."""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from enum import StrEnum
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import IO

import attrs

from ..launch import Ending, Forking, interpreter
from ..turnstile import Turnstile
from ..wire import decode, encode
from ..workload import Stage, Workload, import_path, open_stage


class Part(StrEnum):
    """Which life of a root is lived."""

    SCRIPT = "script"
    GO_ON = "go_on"  # recover what a killed script left, and bring the work to its end


@attrs.frozen(kw_only=True)
class Life:
    """What a recorded process is told.

    Attributes:
        home: The directory that holds the root and the world outside.
        tape: What is recorded is appended to it.
        log: What the process prints is appended to it.
        killed: After how many operations it is killed; 0 for not at all.
        seconds_max: After so long the kernel ends it (SIGALRM).
    """

    home: str
    tape: str
    log: str
    seed: int
    part: Part
    killed: int
    seconds_max: int


def stage_at(home: Path, seed: int) -> Stage:
    """Return a stage on which nobody is killed by the lab's own hand."""
    return open_stage(home=home, seed=seed, turnstile=Turnstile(target=None, note_path=""))


def serve() -> None:
    """Fork one life for each line of standard input, and tell how each ended."""
    library, reference = sys.argv[1:]
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # a workload may print
        forking = Forking.prepare(reference)
        recorder = ctypes.CDLL(library)
        for line in sys.stdin.buffer:
            life = decode(Life, line)
            ending = forking.fork(partial(_live, recorder, forking.workload, life), Path(life.log))
            answers.write(f"{encode(ending)}\n")
            answers.flush()


def _live(recorder: ctypes.CDLL, workload: Workload, life: Life) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(life.seconds_max)
    home = Path(life.home).resolve()
    recorder.crashlab_record(
        os.fsencode(life.tape), os.fsencode(home), ctypes.c_uint64(life.killed)
    )
    stage = stage_at(home, life.seed)
    match life.part:
        case Part.SCRIPT:
            workload.script(stage)
        case Part.GO_ON:
            workload.recover(stage)
            workload.finish(stage)


@attrs.define(eq=False)
class Player:
    """A process that lives lives, driven by one thread at a time."""

    _process: "subprocess.Popen[bytes]"
    _orders: IO[bytes]
    _answers: IO[bytes]

    @classmethod
    def start(cls, library: Path, workload: str) -> "Player":
        """Start it; it loads the workload while others start."""
        process = subprocess.Popen(
            [*interpreter("crashworthy.crashlab.power.playing", "serve"), str(library), workload],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": import_path()},
            start_new_session=True,  # an interrupt ends the driver, and the driver ends us
        )
        assert process.stdin is not None
        assert process.stdout is not None
        return cls(process, process.stdin, process.stdout)

    def play(self, life: Life) -> Ending | None:
        """Return how the life ended, or None if the player itself is gone."""
        with suppress(BrokenPipeError):
            self._orders.write(encode(life).encode() + b"\n")
            self._orders.flush()
        line = self._answers.readline()
        return decode(Ending, line) if line.endswith(b"\n") else None

    def end(self) -> None:
        """End it; nobody is waited for."""
        self._process.kill()
        self._process.wait()
        with suppress(BrokenPipeError):
            self._orders.close()
        self._answers.close()


@contextmanager
def hired(library: Path, workload: str, jobs: int) -> Generator["SimpleQueue[Player]"]:
    """Start players, and end them with the block; who needs one takes it and brings it back."""
    with ExitStack() as stack:
        players = SimpleQueue[Player]()
        for _ in range(jobs):
            player = Player.start(library, workload)
            stack.callback(player.end)
            players.put(player)
        yield players
