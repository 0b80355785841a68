"""The command line as its users meet it: real processes, real roots, scripted models."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, cast

import attrs

from crashworthy.actors import cli
from crashworthy.machines.facts.canonical import Json

SOURCES = str(Path(cli.__file__).parents[2] / ".src")
PATIENCE_S = 60

HELLO = """
[[turn]]
[[turn.step]]
event = [{ text = "Hello." }, { finish = "stop" }]
"""

ASKS = """
[[turn]]
[[turn.step]]
event = [
  { text = "I count." },
  { call = "shell", label = "one", args = { command = "echo ran >> ran.txt; echo counted" } },
  { finish = "tool_calls" },
]
[[turn.step]]
when = { contains = "counted" }
event = [{ text = "It is done." }, { finish = "stop" }]
[[turn.step]]
or = true
event = [{ text = "Then not." }, { finish = "stop" }]
"""

SLEEPS = """
[[turn]]
[[turn.step]]
event = [
  { call = "shell", args = { command = "echo begun; sleep 60" } },
  { finish = "tool_calls" },
]
[[turn.step]]
event = [{ text = "Woke up." }, { finish = "stop" }]
"""

WONDERS = """
[[turn]]
[[turn.step]]
event = [
  { call = "ask_user", args = '''{"questions": [
    {"text": "Which?", "options": ["red", "blue"]}, {"text": "Why?"}]}''' },
  { finish = "tool_calls" },
]
[[turn.step]]
when = { contains = "blue" }
event = [{ text = "Blue it is." }, { finish = "stop" }]
[[turn.step]]
or = true
event = [{ text = "As you like." }, { finish = "stop" }]
"""


@attrs.frozen(kw_only=True)
class Ended:
    """A command that is over."""

    status: int
    out: str
    err: str

    def lines(self) -> list[dict[str, Json]]:
        """Return standard output as JSON lines."""
        return [cast("dict[str, Json]", json.loads(line)) for line in self.out.splitlines()]

    def document(self) -> Json:
        """Return standard output as one JSON document."""
        return cast("Json", json.loads(self.out))

    def result(self) -> dict[str, Json]:
        """Return the last JSON line."""
        return self.lines()[-1]

    def waits_for(self) -> tuple[str, str]:
        """Return the run and the request of a run that waits for one answer."""
        [pending] = cast("list[dict[str, Json]]", self.result()["pending"])
        return str(pending["run"]), str(pending["ask"])


@attrs.frozen(kw_only=True)
class Desk:
    """A home directory with a workspace, scripts and a log, where commands are typed.

    Attributes:
        started: The commands that were started and may still run.
    """

    home: Path
    started: "list[Typed]" = attrs.field(factory=list["Typed"])

    @property
    def workspace(self) -> Path:
        """Return the directory that agents work in."""
        return self.home / "work"

    @property
    def root(self) -> Path:
        """Return the state root."""
        return self.home / "log"

    def script(self, text: str, name: str = "agent.toml") -> str:
        """Write a script and return its path."""
        path = self.home / name
        path.write_text(text, "utf-8")
        return str(path)

    def command(self, *words: str | bytes) -> list[str | bytes]:
        """Return the words that start a command about this desk's log."""
        start = [sys.executable, "-m", "crashworthy", *words[:1], "--root", str(self.root)]
        return [*start, *words[1:]]

    def type(self, *words: str | bytes, stdin: bytes = b"") -> Ended:
        """Type a command about this desk's log and wait for its end."""
        return self._typed(self.command(*words), stdin)

    def type_anywhere(self, *words: str) -> Ended:
        """Type a command that is told nothing but its words, and wait for its end."""
        return self._typed([sys.executable, "-m", "crashworthy", *words], b"")

    def _typed(self, command: Sequence[str | bytes], stdin: bytes) -> Ended:
        done = subprocess.run(
            command,
            cwd=self.workspace,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return Ended(status=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    def ask(self, *words: str) -> Ended:
        """Carry a command out in this process, where no fresh one is the point."""
        out, err = io.StringIO(), io.StringIO()
        command, *rest = words
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = cli.main([command, "--root", str(self.root), *rest])
            except SystemExit as usage:
                status = 0 if usage.code is None else int(usage.code)
        return Ended(status=status, out=out.getvalue(), err=err.getvalue())

    def run(self, script: str, *words: str) -> Ended:
        """Carry out a run of a script in this process, as JSON lines."""
        place = ("--workspace", str(self.workspace))
        return self.ask("run", "Go.", "--json", "--script", script, *place, *words)

    def start(self, *words: str) -> "Typed":
        """Type a command and come back while it runs; its output is JSON lines."""
        process = subprocess.Popen(
            self.command(*words, "--json"),
            cwd=self.workspace,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        typed = Typed(process=process)
        self.started.append(typed)
        return typed

    def clear(self) -> None:
        """End what still runs, because a test ended before it did."""
        for typed in self.started:
            if typed.process.poll() is None:
                typed.kill()

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return an environment in which default roots lie in this home, too."""
        state = {"XDG_STATE_HOME": str(self.home / "state"), "COLUMNS": "100"}
        return {**os.environ, "PYTHONPATH": SOURCES, **state, **(more or {})}


@attrs.define(eq=False, kw_only=True)
class Typed:
    """A command that runs."""

    process: "subprocess.Popen[bytes]"
    seen: list[dict[str, Json]] = attrs.field(factory=list[dict[str, Json]])

    def until(self, kind: str) -> dict[str, Json]:
        """Read on until a fact of this kind, and return its body."""
        for line in self.lines():
            fact = line.get("fact")
            if isinstance(fact, dict) and fact["kind"] == kind:
                return fact
        raise AssertionError((kind, self.seen, self.end()))

    def until_output(self) -> None:
        """Read on until a tool's output is shown."""
        assert any(line.get("of") == "tool" for line in self.lines())

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the command alone."""
        self.process.send_signal(number)

    def end(self) -> Ended:
        """Wait for the end."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return Ended(status=self.process.returncode, out=out.decode(), err=err.decode())

    def kill(self) -> None:
        """End the command as it is."""
        self.process.kill()
        self.process.communicate(timeout=PATIENCE_S)

    def wait_for_words(self, words: str) -> str:
        """Read standard error until it has these words, and return what was read."""
        assert self.process.stderr is not None
        read = ""
        deadline = time.monotonic() + PATIENCE_S
        while words not in read:
            assert time.monotonic() < deadline, read
            piece = os.read(self.process.stderr.fileno(), 4096)
            assert piece, read
            read += piece.decode()
        return read

    def lines(self) -> Iterator[dict[str, Json]]:
        stream = cast("IO[bytes]", self.process.stdout)
        for line in stream:
            told = cast("dict[str, Json]", json.loads(line))
            self.seen.append(told)
            yield told


def make_desk(home: Path) -> Desk:
    """Make a desk in an empty directory."""
    (home / "work").mkdir(parents=True)
    return Desk(home=home)


def kinds(facts: Sequence[dict[str, Json]]) -> list[str]:
    """Return the kinds of the facts among JSON lines."""
    bodies = [line.get("fact", line.get("body")) for line in facts]
    return [str(body["kind"]) for body in bodies if isinstance(body, dict)]
