"""`run` is durable from its first word: killed, stopped, repeated or raced, its log is right."""

import json
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from crashworthy.store.audit.report import Status
from crashworthy.store.verify import verify

from .terminal_rig import ASKS, HELLO, SLEEPS, Desk, kinds, make_desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = make_desk(tmp_path)
    yield desk
    desk.clear()


def test_run_says_what_the_model_said_and_where_its_log_is(desk: Desk) -> None:
    run = desk.type("run", "Say hello.", "--script", desk.script(HELLO))
    assert run.status == 0
    assert run.out == "Hello.\n== completed\n"
    assert f"logged in {desk.root}" in run.err
    assert f"--root {desk.root}" in run.err.rpartition("look at it:")[2]
    assert verify(desk.root).status is Status.CLEAN


def test_run_killed_in_a_tool_is_told_as_unknown_by_the_next_owner(desk: Desk) -> None:
    """The command may have run to its end: only a person can know."""
    typed = desk.start("run", "Sleep.", "--yes", "--script", desk.script(SLEEPS))
    typed.until_output()
    typed.kill()
    run = str(typed.seen[0]["run"])
    before = desk.ask("show", run)
    assert "unowned" in before.out, "nobody works on it, and nobody has said so yet"

    stopped = desk.ask("stop", run, "--json")
    assert (stopped.status, stopped.document()) == (0, {"run": run, "stopped": "ended"})
    after = desk.ask("show", run)
    assert "unknown" in after.out
    assert "owner_lost" in after.out
    assert verify(desk.root).status is Status.CLEAN


def test_next_owner_says_that_a_worker_got_away_and_settles_nothing(desk: Desk) -> None:
    """OWN-2: what left the process group of its worker may still act, and cannot be ended."""
    (desk.workspace / "away.py").write_text(
        "import os, time\nos.setsid()\nprint('away', flush=True)\n"
        "os.dup2(os.open(os.devnull, os.O_WRONLY), 1)\ntime.sleep(9)\n",
        "utf-8",
    )
    command = json.dumps(f"{shlex.quote(sys.executable)} away.py & sleep 30")
    script = (
        f'[[turn]]\n[[turn.step]]\nevent = [{{ call = "shell", args = {{ command = {command} }} }},'
        ' { finish = "tool_calls" }]\n'
    )
    typed = desk.start("run", "Go away.", "--yes", "--script", desk.script(script))
    typed.until_output()
    typed.kill()
    run = str(typed.seen[0]["run"])

    other = desk.type("run", "x", "--script", desk.script(HELLO, "other.toml"))

    assert (other.status, "[worker_alive]" in other.err) == (0, True)
    assert "unowned" in desk.ask("show", run).out
    assert verify(desk.root).status is Status.CLEAN


def test_terminal_that_falls_behind_shows_every_fact_and_the_whole_text(desk: Desk) -> None:
    """A model may be faster than any terminal; what was shown live is then made good at the end."""
    text = " ".join(f"w{number}" for number in range(9000))
    script = desk.script(
        f'[[turn]]\n[[turn.step]]\nevent = [{{ text = "{text}", pieces = 20000 }},'
        ' { finish = "stop" }]\n'
    )
    lines = desk.run(script).lines()
    assert kinds(lines)[-3:] == ["model_text", "request_settled", "run_ended"]
    shown = "".join(str(line["text"]) for line in lines if line["type"] == "piece")
    assert text.startswith(shown)
    typed = desk.type("run", "x", "--script", script)
    assert text in typed.out
    assert "== completed" in typed.out


def test_run_of_a_known_key_is_found_and_not_executed_again(desk: Desk) -> None:
    words = ("run", "Count.", "--yes", "--json", "--key", "k1", "--script", desk.script(ASKS))
    first, again = desk.type(*words), desk.type(*words)
    assert (first.status, again.status) == (0, 0)
    assert [first.lines()[0][name] for name in ("session", "run")] == [
        again.lines()[0][name] for name in ("session", "run")
    ]
    assert (first.lines()[0]["created"], again.lines()[0]["created"]) == (True, False)
    assert (desk.workspace / "ran.txt").read_text("utf-8") == "ran\n"
    assert kinds(again.lines()) == []


def test_key_with_other_words_is_refused_and_starts_nothing(desk: Desk) -> None:
    script = desk.script(HELLO)
    assert desk.type("run", "One.", "--key", "k", "--script", script).status == 0
    other = desk.type("run", "Two.", "--key", "k", "--script", script)
    assert other.status == 3
    assert "[start_conflict]" in other.err


def test_second_process_is_told_who_owns_the_root_and_may_still_look(desk: Desk) -> None:
    script = desk.script(SLEEPS)
    typed = desk.start("run", "Sleep.", "--yes", "--script", script)
    typed.until_output()
    second = desk.type("run", "Me, too.", "--script", script, "--json")
    assert second.status == 3
    assert second.result()["code"] == "root_owned"
    assert f"pid={typed.process.pid}" in second.err
    look = desk.ask("show")
    assert (look.status, "running" in look.out) == (0, True)
    typed.kill()


def test_first_interrupt_stops_the_run_durably(desk: Desk) -> None:
    typed = desk.start("run", "Sleep.", "--yes", "--script", desk.script(SLEEPS))
    typed.until_output()
    typed.signal(signal.SIGINT)
    end = typed.end()
    assert end.status == 1
    assert end.result()["state"] == "aborted"
    assert end.result()["source"] == "user"
    assert kinds(end.lines()) == ["stop_requested", "run_ended"]


def test_second_interrupt_ends_the_process_as_it_is(desk: Desk) -> None:
    """The backend here does not let itself be called off, so the durable stop cannot finish."""
    stubborn = "[[turn]]\n[[turn.step]]\nevent = [{ ignore_cancel_ms = 60000 }]\n"
    typed = desk.start("run", "Wait.", "--script", desk.script(stubborn))
    typed.until("request_dispatched")
    typed.signal(signal.SIGINT)
    typed.wait_for_words("stopping; once more")
    typed.until("stop_requested")
    typed.signal(signal.SIGINT)
    assert typed.end().status == -signal.SIGINT
    stopped = desk.ask("stop", str(typed.seen[0]["run"]), "--json")
    assert stopped.document() == {"run": typed.seen[0]["run"], "stopped": "ended"}
    assert "aborted: user" in desk.ask("show").out, "recovery carried the durable intent out"


def test_failed_run_has_status_1_and_says_why(desk: Desk) -> None:
    script = '[[turn]]\n[[turn.step]]\nevent = [{ error = "auth", message = "no such key" }]\n'
    run = desk.type("run", "Go.", "--script", desk.script(script))
    assert run.status == 1
    assert "auth: no such key" in run.out
    assert "== failed: backend_failed" in run.out


def test_step_limit_is_an_end_of_its_own(desk: Desk) -> None:
    run = desk.type(
        *("run", "Count.", "--yes", "--json", "--steps-max", "1"), "--script", desk.script(ASKS)
    )
    assert (run.status, run.result()["failure"]) == (1, "step_limit")


def test_unclean_text_is_refused_before_anything_is_made(desk: Desk) -> None:
    run = desk.type("run", b"caf\xe9", "--script", desk.script(HELLO))
    assert run.status == 3
    assert "[unclean_text]" in run.err
    assert not desk.root.exists()


def test_text_on_standard_input_is_taken_whole_with_its_nuls(desk: Desk) -> None:
    """BYTE-3: a NUL is data."""
    run = desk.type("run", "--script", desk.script(HELLO), "--json", stdin=b"a\0b\nc\n")
    [said] = [line["fact"] for line in run.lines() if "user_text" in str(line)]
    assert isinstance(said, dict)
    assert said["content"] == {"text": "a\0b\nc"}


@pytest.mark.parametrize(
    "words",
    [
        ("run", "x"),
        ("run", "x", "--steps-max", "0", "--script", "s"),
        ("run", " ", "--script", "s"),
        ("run", "x", "--key", "", "--script", "s"),
        ("answer",),
        ("at", "one"),
    ],
    ids=" ".join,
)
def test_wrong_usage_is_status_2_and_touches_nothing(words: tuple[str, ...], desk: Desk) -> None:
    run = desk.type(*words)
    assert (run.status, run.out) == (2, "")
    assert not desk.root.exists()


def test_script_that_is_none_is_refused_with_the_place_of_its_fault(desk: Desk) -> None:
    run = desk.type("run", "x", "--script", desk.script("[[turn]]\nuser = 1\n"))
    assert run.status == 3
    assert "[script_malformed] path='turn[0].user'" in run.err


def test_tools_of_a_users_module_run_in_a_worker(desk: Desk) -> None:
    (desk.workspace / "mine.py").write_text(
        "import os\n"
        "import crashworthy\n"
        "@crashworthy.tool(permission=crashworthy.Permission.FREE)\n"
        "def parent() -> int:\n"
        '    """Return the process that started the one this runs in."""\n'
        "    return os.getppid()\n",
        "utf-8",
    )
    script = (
        '[[turn]]\n[[turn.step]]\nevent = [{ call = "parent" }, { finish = "tool_calls" }]\n'
        '[[turn.step]]\nevent = [{ text = "Good." }, { finish = "stop" }]\n'
    )
    run = desk.type("run", "x", "--tools", "mine:parent", "--script", desk.script(script))
    assert run.status == 0, run.err
    assert "parent ok" in run.out
    none = desk.type("run", "x", "--tools", "mine:child", "--script", desk.script(script))
    assert (none.status, "[tools_unavailable]" in none.err) == (3, True)
