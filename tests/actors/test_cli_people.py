"""What a person is asked outlives the process that asked (ASK-1, ASK-3)."""

import os
import pty
import select
import subprocess
import time
from pathlib import Path

import pytest

from crashworthy.store.audit.report import Status
from crashworthy.store.verify import verify

from .terminal_rig import ASKS, PATIENCE_S, WONDERS, Desk, Ended, kinds, make_desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


def _leave_open(desk: Desk, script: str, *words: str) -> tuple[str, str]:
    """Run until the run waits, and return the run and its request."""
    run = desk.run(script, *words)
    assert (run.status, run.result()["state"]) == (4, "waiting")
    return run.waits_for()


def test_approval_is_recorded_in_one_process_and_used_once_in_another(desk: Desk) -> None:
    script = desk.script(ASKS)
    run, ask = _leave_open(desk, script)
    assert not (desk.workspace / "ran.txt").exists()

    answered = desk.type("answer", ask, "allow")
    assert answered.status == 0
    assert "Nothing was executed" in answered.err
    assert not (desk.workspace / "ran.txt").exists()

    resumed = desk.type("resume", run, "--script", script)
    assert resumed.status == 0, resumed.err
    assert "It is done." in resumed.out
    assert "I count." not in resumed.out, "what was told before is not told again"
    assert (desk.workspace / "ran.txt").read_text("utf-8") == "ran\n"
    assert verify(desk.root).status is Status.CLEAN


def test_denial_reaches_the_model_and_nothing_runs(desk: Desk) -> None:
    script = desk.script(ASKS)
    run, ask = _leave_open(desk, script)
    assert desk.ask("answer", ask, "deny").status == 0
    resumed = desk.ask("resume", run, "--script", script)
    assert (resumed.status, "Then not." in resumed.out) == (0, True)
    assert "shell not started, denied: approval_denied" in resumed.out
    assert not (desk.workspace / "ran.txt").exists()


def test_only_the_first_answer_counts(desk: Desk) -> None:
    _run, ask = _leave_open(desk, desk.script(ASKS))
    assert desk.ask("answer", ask[:12], "deny").status == 0
    second = desk.ask("answer", ask, "allow")
    assert second.status == 3
    assert "[already_decided]" in second.err
    assert "decision='deny'" in second.err


def test_questions_are_answered_by_one_text_each(desk: Desk) -> None:
    script = desk.script(WONDERS)
    run, ask = _leave_open(desk, script)
    shown = desk.ask("pending").out
    assert "Which?" in shown
    assert "- blue" in shown
    assert desk.ask("answer", ask, "blue").status == 3, "one answer is missing"
    assert desk.ask("answer", ask, "allow").status == 3, "a question is no approval"
    assert desk.ask("answer", ask, "blue", "-").status == 0
    assert "Blue it is." in desk.ask("resume", run, "--script", script).out


def test_number_of_an_option_means_the_option(desk: Desk) -> None:
    """As at the prompt; the second question has no options, so its number is a text."""
    script = desk.script(WONDERS)
    run, ask = _leave_open(desk, script)
    answered = desk.ask("answer", ask, "2", "2", "--json")
    assert answered.document() == {
        "answers": ["blue", "2"],
        "ask": ask,
        "decision": "answer",
        "run": run,
    }


def test_yes_gives_approvals_but_answers_no_question(desk: Desk) -> None:
    _run, ask = _leave_open(desk, desk.script(WONDERS), "--yes")
    assert ask in desk.ask("pending").out


def test_refused_agent_is_told_only_the_tools_that_differ(desk: Desk) -> None:
    (desk.workspace / "mine.py").write_text(
        "import crashworthy\n@crashworthy.tool\ndef mine() -> int:\n"
        '    """Return one."""\n    return 1\n',
        "utf-8",
    )
    script = desk.script(ASKS)
    run, _ask = _leave_open(desk, script)
    other = desk.type("resume", run, "--script", script, "--tools", "mine")
    assert other.status == 3
    assert "field='tools', opened='', now=\"ToolProfile(name='mine'" in other.err
    assert other.err.count("ToolProfile") == 1


def test_other_agent_cannot_take_up_a_run_that_still_waits(desk: Desk) -> None:
    """CONT-5: what a person approved was approved for this model, these tools, this policy."""
    script = desk.script(ASKS)
    run, ask = _leave_open(desk, script)
    other = desk.ask("resume", run, "--script", script, "--approve", "allow")
    assert other.status == 3
    assert "[profile_drift]" in other.err
    assert "field='policy'" in other.err
    assert ask in desk.ask("pending").out
    assert not (desk.workspace / "ran.txt").exists()


def test_run_of_the_same_key_goes_on_once_it_is_answered(desk: Desk) -> None:
    """A script that is run again after a crash finds its run, and what was decided meanwhile."""
    script = desk.script(ASKS)
    first = desk.run(script, "--key", "k")
    assert first.status == 4
    assert desk.run(script, "--key", "k").status == 4, (
        "still nobody answered, and nothing was added"
    )
    _run, ask = first.waits_for()
    assert desk.ask("answer", ask, "allow").status == 0
    assert desk.run(script, "--key", "k").result()["state"] == "completed"
    assert (desk.workspace / "ran.txt").read_text("utf-8") == "ran\n"


@pytest.mark.parametrize(
    ("command", "end"), [("stop", "aborted: user"), ("abandon", "failed: abandoned_by_person")]
)
def test_waiting_run_can_be_ended_without_executing_it(command: str, end: str, desk: Desk) -> None:
    run, ask = _leave_open(desk, desk.script(ASKS))
    assert desk.ask(command, run).status == 0
    assert f"== {end}" in desk.ask("show").out
    assert desk.ask("pending").out == ""
    late = desk.ask("answer", ask, "allow")
    assert (late.status, "[ask_closed]" in late.err) == (3, True)
    again = desk.ask("resume", run, "--script", desk.script(ASKS))
    assert again.status == 3


def test_person_at_the_terminal_sees_the_action_and_allows_it(desk: Desk) -> None:
    ended = _at_a_terminal(desk, b"what?\ny\n", "run", "Go.", "--script", desk.script(ASKS))
    assert ended.status == 0
    assert "command = 'echo ran >> ran.txt; echo counted'" in ended.out
    assert ended.out.count("[y] allow this once") == 2, "an answer that is none is asked for again"
    assert "It is done." in ended.out


def test_person_may_leave_a_request_open_at_the_terminal(desk: Desk) -> None:
    script = desk.script(WONDERS)
    ended = _at_a_terminal(desk, b"2\nbecause\n", "run", "Go.", "--script", script)
    assert (ended.status, "Blue it is." in ended.out) == (0, True)
    ended = _at_a_terminal(desk, b"l\n", "run", "Go.", "--script", desk.script(ASKS, "asks.toml"))
    assert ended.status == 4


def _at_a_terminal(desk: Desk, keys: bytes, *words: str) -> Ended:
    """Type a command at a pseudo terminal, and the keys once it asks."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        desk.command(*words),
        cwd=desk.workspace,
        env=desk.environment({"NO_COLOR": "1"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown, deadline = b"", time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if not select.select([ours], [], [], 1)[0]:
            continue
        try:
            piece = os.read(ours, 4096)
        except OSError:  # Linux's word for: nobody has the other side any more.
            break
        if not piece:
            break
        shown += piece
        if keys and shown.rstrip().endswith(b">"):
            line, _, keys = keys.partition(b"\n")
            os.write(ours, line + b"\n")
    status = process.wait(timeout=PATIENCE_S)
    os.close(ours)
    return Ended(status=status, out=shown.decode().replace("\r\n", "\n"), err="")


def test_answering_asks_nobody_and_adds_one_fact(desk: Desk) -> None:
    _run, ask = _leave_open(desk, desk.script(ASKS))
    before = desk.ask("events", "--json").lines()
    assert desk.ask("answer", ask, "allow", "--json").status == 0
    after = desk.ask("events", "--json").lines()
    assert kinds(after[len(before) :]) == ["ask_answered"]
