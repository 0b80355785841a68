"""A call goes to a worker and comes back as an outcome, whatever the tool does (OP-7, OP-8)."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from crashworthy.actors.tools.builtin.files import edit, write
from crashworthy.actors.tools.builtin.looking import glob, grep, read
from crashworthy.actors.tools.builtin.shell import shell
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.process import tool_environment
from crashworthy.actors.tools.runner import (
    NotRepresentable,
    Raised,
    Refused,
    Returned,
    Uncertain,
    WorkerDied,
)
from crashworthy.store.platform import process_started

from .rig import SOURCE, Bench, play, tools_of

MADE = '''
"""Tools of this test."""
import os, signal, subprocess, sys
from crashworthy.actors.tools.context import CallContext, Failed
from crashworthy.actors.tools.contract import ArtifactRule, ReplaySafe
from crashworthy.actors.tools.decorate import tool
from crashworthy.actors.tools.errors import OutcomeUncertainError

@tool(recovery=ReplaySafe())
def pid() -> int:
    """Tell."""
    return os.getpid()

@tool
def fail(kind: str) -> object:
    """Fail in some way."""
    if kind == "raise":
        raise ValueError("bad \\ud800 thing")
    if kind == "exit":
        sys.exit(7)
    if kind == "uncertain":
        raise OutcomeUncertainError(reason="half-way")
    if kind == "unreadable":
        view = memoryview(b"gone")
        view.release()
        return view
    if kind == "liar":
        class Liar:
            @property
            def __class__(self): raise RuntimeError
        return Liar()
    if kind == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    return Failed({"reason": "said so"})

@tool
def say(text: str, context: CallContext) -> str:
    """Print and return."""
    print("printed", text)
    sys.stderr.write("complained\\n")
    context.write("streamed\\n")
    subprocess.run(["/bin/echo", "from a child"], check=True)
    return os.getcwd()

@tool
async def later(text: str) -> str:
    """Return after a while."""
    import trio
    await trio.sleep(0.01)
    return text

@tool
def large(size: int) -> str:
    """Return much."""
    return "é" * size

@tool(artifacts=ArtifactRule(count_max=1, size_bytes_max=200_000))
def draw(context: CallContext, size: int) -> str:
    """Add an artifact, then another one."""
    context.artifact("picture.png", "image/png", b"p" * size)
    context.artifact("second.png", "image/png", b"p")
    return "drawn"
'''


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Tool]:
    """Return tools of a module that workers can import as the host does."""
    return tools_of(MADE, tmp_path, monkeypatch)


@pytest.mark.proves("OP-8")
def test_one_worker_serves_many_calls(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        pids = [(await bench.run(made("pid"))).finish for _ in range(3)]
        (record,) = bench.log.living
        assert pids == [Returned(value=record.process.pid)] * 3
        assert record.process.started == process_started(record.process.pid)

    assert len(play(tmp_path, scene).log.seen) == 1


@pytest.mark.proves("OP-8")
def test_built_in_tools_work_on_the_workspace(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        (tmp_path / "work/.git").mkdir()
        (tmp_path / "work/.git/config").write_text("needle")
        (tmp_path / "work/bin").write_bytes(b"\0needle")
        assert isinstance(
            (await bench.run(write, path="a/b.txt", content="x\nold\n")).finish, Returned
        )
        await bench.run(edit, path="a/b.txt", old="old", new="needle")
        seen = (await bench.run(read, path="a/b.txt", first_line=2, lines=1)).finish
        assert isinstance(seen, Returned)
        assert isinstance(seen.value, dict)
        assert (seen.value["text"], seen.value["lines_total"]) == ("needle", 2)
        found = (await bench.run(grep, pattern="ne+dle")).finish
        assert found == Returned(
            value={
                "matches": [{"path": "a/b.txt", "line": 2, "text": "needle"}],
                "complete": True,
            }
        )
        listed = (await bench.run(glob, pattern="**/*.txt")).finish
        assert listed == Returned(value={"paths": ["a/b.txt"], "complete": True})
        refused = (await bench.run(read, path="../workers.lock")).finish
        assert isinstance(refused, Refused)
        assert refused.facts["code"] == "sandbox_boundary_required"

    play(tmp_path, scene)


@pytest.mark.proves("OP-7")
def test_shell_streams_and_tells_how_it_ended(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command="pwd; echo err >&2; cat; exit 3")
        assert ending.finish == Returned(value={"exit_code": 3, "signal": None}, failed=True)
        assert ending.output is not None
        assert ending.output.inline == f"{bench.place.root}\nerr\n"
        assert "".join(bench.shown) == ending.output.inline
        ending = await bench.run(shell, command="kill -KILL $$")
        assert ending.finish == Returned(
            value={"exit_code": None, "signal": "SIGKILL"}, failed=True
        )

    play(tmp_path, scene)


def test_import_path_of_the_host_does_not_reach_the_programs_of_tools(tmp_path: Path) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(shell, command='echo "[$PYTHONPATH]"')
        assert ending.output is not None
        assert ending.output.inline == f"[{os.environ.get('PYTHONPATH', '')}]\n"

    play(tmp_path, scene)


@pytest.mark.proves("OWN-7")
def test_credentials_of_the_host_do_not_reach_tools() -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "TOKENIZER": "x"}
    secret = {"OPENAI_API_KEY": "s", "GITHUB_TOKEN": "s", "Db_Password": "s"}
    assert tool_environment({**kept, **secret}) == kept


SCRIPT = '''
import sys
from pathlib import Path
import trio
from crashworthy.actors.tools.decorate import tool
from actors_tools_rig.rig import open_bench

@tool
def double(number: int) -> int:
    """Double."""
    return number * 2

async def main():
    async with open_bench(Path(sys.argv[1])) as bench:
        print((await bench.run(double, number=21)).finish.value)

if __name__ == "__main__":
    trio.run(main)
'''


def test_tool_of_a_script_runs_in_a_worker(tmp_path: Path) -> None:
    (tmp_path / "actors_tools_rig").symlink_to(Path(__file__).parent)
    (tmp_path / "script.py").write_text(SCRIPT)
    out = subprocess.run(
        [sys.executable, str(tmp_path / "script.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )
    assert out.stdout == "42\n"


@pytest.mark.parametrize(
    ("kind", "finish"),
    [
        ("raise", Raised(error="ValueError", message="bad \ufffd thing")),
        ("exit", Raised(error="SystemExit", message="7")),
        ("uncertain", Uncertain(reason="half-way")),
        ("failed", Returned(value={"reason": "said so"}, failed=True)),
        ("segfault", WorkerDied(exit_code=-signal.SIGSEGV, detail="")),
    ],
)
@pytest.mark.proves("OP-8")
def test_failing_tool_is_an_outcome_and_the_pool_goes_on(
    tmp_path: Path, made: Callable[[str], Tool], kind: str, finish: object
) -> None:
    async def scene(bench: Bench) -> None:
        assert (await bench.run(made("fail"), kind=kind)).finish == finish
        assert isinstance((await bench.run(made("pid"))).finish, Returned)

    play(tmp_path, scene)


@pytest.mark.proves("BYTE-1a")
def test_result_that_cannot_be_read_is_settled(tmp_path: Path, made: Callable[[str], Tool]) -> None:
    async def scene(bench: Bench) -> None:
        finish = (await bench.run(made("fail"), kind="unreadable")).finish
        assert isinstance(finish, NotRepresentable)
        finish = (await bench.run(made("fail"), kind="liar")).finish
        assert isinstance(finish, Returned)

    play(tmp_path, scene)


def test_printed_and_streamed_output_is_one_text_and_async_tools_are_awaited(
    tmp_path: Path, made: Callable[[str], Tool]
) -> None:
    async def scene(bench: Bench) -> None:
        ending = await bench.run(made("say"), text="é")
        assert ending.finish == Returned(value=bench.place.root)
        assert ending.output is not None
        assert ending.output.inline == "printed é\ncomplained\nstreamed\n"
        assert (await bench.run(made("later"), text="x")).finish == Returned(value="x")

    play(tmp_path, scene)


@pytest.mark.proves("OP-7")
def test_large_result_is_cut_and_artifacts_keep_their_rule(
    tmp_path: Path, made: Callable[[str], Tool]
) -> None:
    async def scene(bench: Bench) -> None:
        finish = (await bench.run(made("large"), size=100_000)).finish
        assert isinstance(finish, Returned)
        assert finish.whole is not None
        assert (finish.whole.bytes_total, finish.value) == (200_000, None)
        assert len(finish.whole.inline) < 40_000
        finish = (await bench.run(made("draw"), size=100_000)).finish
        assert isinstance(finish, Refused)
        assert finish.facts["code"] == "artifact_refused"

    play(tmp_path, scene)


# --- memory ---


@pytest.mark.proves("OP-7")
def test_host_memory_stays_flat_when_a_tool_prints_fifty_megabytes(tmp_path: Path) -> None:
    """Peak resident memory, not Python's own count: buffers of pipes and decoders are in it."""

    async def scene(bench: Bench) -> None:
        bench.shown = Sink()
        await bench.run(shell, command="echo warm")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ending = await bench.run(shell, command="head -c 50000000 /dev/zero")
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert ending.output is not None
        assert ending.output.bytes_total == 50_000_000
        unit = 1 if sys.platform == "darwin" else 1024
        assert grown * unit < 8_000_000

    play(tmp_path, scene)


class Sink(list[str]):
    """Forgets what it is told."""

    def append(self, _text: str, /) -> None:
        pass
