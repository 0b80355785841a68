"""What commands say is what a person can act on: exact, true, and possible today."""

import json
import os
import re
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
import trio

from crashworthy.actors.cli import COMMANDS, main
from crashworthy.actors.cli.advice import ADVICE
from crashworthy.actors.cli.terminal import counted
from crashworthy.actors.host import HostSettings, open_host
from crashworthy.actors.runtime import tell_history
from crashworthy.machines.recovery.parks import EXPLANATIONS
from crashworthy.store.anchor import Head, open_anchor

from .terminal_rig import ASKS, HELLO, PATIENCE_S, SLEEPS, WONDERS, Desk, make_desk

_READS: Final = """
[[turn]]
[[turn.step]]
event = [{ call = "read", args = { path = "door/secret.txt" } }, { finish = "tool_calls" }]
[[turn.step]]
event = [{ text = "I see." }, { finish = "stop" }]
"""
_TWO: Final = """
[[turn]]
[[turn.step]]
event = [
  { call = "shell", args = { command = "sleep 0.5; echo slow one" } },
  { call = "shell", args = { command = "echo quick one" } },
  { finish = "tool_calls" },
]
[[turn.step]]
event = [{ text = "Both." }, { finish = "stop" }]
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


# --- what is asked ---


def test_question_about_the_boundary_names_the_file_that_would_be_read(desk: Desk) -> None:
    """ASK-4: the one that is behind the link, wherever the question is read."""
    outside = desk.home / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("hidden\n", "utf-8")
    (desk.workspace / "door").symlink_to(outside)
    wanted = f"read {(outside / 'secret.txt').resolve()}"

    run = desk.type("run", "Go.", "--no-input", "--script", desk.script(_READS))

    assert run.status == 4
    assert wanted in run.out
    assert wanted in run.err, "beside the command that answers it"
    for words in (("pending",), ("show",), ("at", "8", "--view", "status")):
        assert wanted in desk.ask(*words).out, words


def test_command_that_answers_stands_behind_what_it_answers(desk: Desk) -> None:
    run = desk.type("run", "Go.", "--no-input", "--script", desk.script(WONDERS))
    assert run.err.index("Which?") < run.err.index("- blue") < run.err.index(" answer ask_")


def test_result_names_its_call_where_calls_run_side_by_side(desk: Desk) -> None:
    run = desk.ask(
        *("run", "Go.", "--yes", "--script", desk.script(_TWO)),
        *("--workspace", str(desk.workspace)),
    )
    lines = run.out.splitlines()
    assert "-> 1.1 shell: command = 'sleep 0.5; echo slow one'" in lines
    assert "   1.1 | slow one" in lines
    assert "   1.2 | quick one" in lines
    done = [line.split()[0] for line in lines if "shell ok" in line]
    assert done == ["1.2", "1.1"], "each as it comes"
    assert sum(line.startswith("?  1.2 permission") for line in lines) == 1
    assert sum(line == "   1.2 allowed" for line in lines) == 1
    shown = desk.ask("show").out
    assert shown.index("-> 1.1 shell") < shown.index("slow one") < shown.index("1.1 settled: ok")


def test_call_keeps_its_name_in_the_process_that_goes_on_with_it(desk: Desk) -> None:
    script = desk.script(ASKS)
    run, ask = desk.run(script).waits_for()
    assert desk.ask("answer", ask, "allow").status == 0
    assert "1.1 shell ok" in desk.ask("resume", run, "--script", script).out


# --- names of nothing ---


@pytest.mark.parametrize("command", ["stop", "resume"])
def test_where_nothing_is_open_that_is_said(command: str, desk: Desk) -> None:
    script = desk.script(HELLO)
    assert desk.run(script).status == 0
    told = desk.ask(command, *(("--script", script) if command == "resume" else ()))
    assert told.status == 3
    assert "[no_open_run]" in told.err
    assert "nothing to stop or to take up" in told.err


def test_turn_goes_on_in_the_session_that_the_beginning_of_its_id_names(desk: Desk) -> None:
    script = desk.script(HELLO)
    first = desk.run(script).lines()[0]
    again = desk.run(script, "--session", str(first["session"])[:16]).lines()[0]
    assert again["session"] == first["session"]
    assert again["run"] != first["run"]


def test_unknown_session_makes_no_log(desk: Desk) -> None:
    told = desk.run(desk.script(HELLO), "--session", "ses_nobody")
    assert (told.status, "[not_found]" in told.err) == (3, True)
    assert not desk.root.exists()
    assert desk.run(desk.script(HELLO)).status == 0
    told = desk.run(desk.script(HELLO), "--session", "ses_nobody")
    assert (told.status, "[session_unknown]" in told.err) == (3, True)


def test_slip_in_the_name_of_a_command_is_told_the_nearest(desk: Desk) -> None:
    told = desk.type_anywhere("resum")
    assert (told.status, "did you mean 'resume'?" in told.err) == (2, True)


def test_log_without_a_session_says_so(desk: Desk) -> None:
    """A process may die right after it made the root."""

    async def own() -> None:
        async with open_host(HostSettings(root=desk.root), tell_history):
            pass

    trio.run(own)
    told = desk.ask("show")
    assert (told.status, "[no_session]" in told.err) == (3, True)


@pytest.mark.parametrize("ordinal", ["0", "-5", "99"])
def test_ordinal_that_is_none_is_told_which_there_are(ordinal: str, desk: Desk) -> None:
    assert desk.run(desk.script(HELLO)).status == 0
    told = desk.ask("at", ordinal)
    assert told.status == 3
    assert "ordinals count from 1 to `last`" in told.err
    assert "does not go that far" not in told.err


@pytest.mark.parametrize("when", ["before it is used", "after it was used"])
@pytest.mark.parametrize("chars", [12, 99], ids=["beginning", "whole"])
def test_second_answer_is_told_the_first(when: str, chars: int, desk: Desk) -> None:
    """ASK-1: also by the beginning of its id, although it is pending no more."""
    script = desk.script(ASKS)
    run, ask = desk.run(script).waits_for()
    assert desk.ask("answer", ask[:12], "allow").status == 0
    if when == "after it was used":
        assert desk.ask("resume", run, "--script", script).status == 0
    told = desk.ask("answer", ask[:chars], "deny")
    assert told.status == 3
    assert f"[already_decided] ask='{ask}', decision='allow'" in told.err


def test_second_answer_is_told_the_first_whatever_it_says(desk: Desk) -> None:
    _run, ask = desk.run(desk.script(WONDERS)).waits_for()
    assert desk.ask("answer", ask, "blue", "-").status == 0
    for words in (("allow",), ("red",), ("deny",)):
        assert "[already_decided]" in desk.ask("answer", ask, *words).err


def test_request_that_nobody_made_is_unknown(desk: Desk) -> None:
    _run, _ask = desk.run(desk.script(ASKS)).waits_for()
    assert "[ask_unknown]" in desk.ask("answer", "ask_nothing", "allow").err


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_this_name\n", "No module named 'nothing_of_this_name'"),
        ("\nraise RuntimeError('not today')\n", "RuntimeError: not today (mine.py, line 2)"),
        ("def (\n", "SyntaxError: invalid syntax (mine.py, line 1)"),
    ],
)
def test_module_of_tools_that_cannot_be_imported_is_told_with_the_place(
    source: str, reason: str, desk: Desk
) -> None:
    (desk.workspace / "mine.py").write_text(source, "utf-8")
    told = desk.type("run", "Go.", "--tools", "mine", "--script", desk.script(HELLO))
    assert told.status == 3
    assert "[tools_unavailable] word='mine'" in told.err
    assert reason in told.err
    assert "Traceback" not in told.err


def test_run_that_is_over_cannot_be_taken_up_and_the_way_on_is_told(desk: Desk) -> None:
    """The owner is gone in the middle of a call: whoever takes the run up finds it ended."""
    script = desk.script(SLEEPS)
    typed = desk.start("run", "Sleep.", "--yes", "--script", script)
    typed.until_output()
    typed.kill()
    shown = desk.ask("show")
    assert "== unowned" in shown.out
    assert "the process that worked on the run is gone" in shown.err

    told = desk.ask("resume", "--script", script)

    assert told.status == 3
    assert "[run_sealed] index=" in told.err
    assert "The run is over" in told.err
    assert "`show` says how it ended" in told.err
    assert "== failed: owner_lost" in desk.ask("show").out


def test_script_that_is_none_is_told_by_its_path_and_where_its_form_is(desk: Desk) -> None:
    told = desk.run(str(desk.home / "deep/no.toml"))
    assert f"path='{desk.home / 'deep/no.toml'}'" in told.err
    assert "`run --help`" in told.err
    assert "[[turn.step]]" in desk.ask("run", "--help").out


def test_key_of_a_run_that_is_over_is_told_how_it_ended(desk: Desk) -> None:
    words = ("run", "Go.", "--key", "k", "--script", desk.script(HELLO))
    assert desk.type(*words).status == 0
    assert "known by its key, and over (completed)" in desk.type(*words).err


# --- what is unknown ---


def test_call_that_a_stop_leaves_unknown_is_told_at_the_end(desk: Desk) -> None:
    """Who pressed Ctrl-C reads what to check, not only that it stopped."""
    process = subprocess.Popen(
        desk.command("run", "Sleep.", "--yes", "--script", desk.script(SLEEPS)),
        cwd=desk.workspace,
        env=desk.environment({"PYTHONUNBUFFERED": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if b"| begun" in line:
            break
    process.send_signal(signal.SIGINT)
    _out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "   1.1 shell unknown: " in err.decode()
    assert "say in a new turn whether it happened" in err.decode()


# --- facts that are gone ---


@pytest.mark.parametrize("command", ["show", "sessions", "events", "pending", "stop", "at"])
def test_emptied_log_is_told_as_what_it_is(command: str, desk: Desk) -> None:
    """STORE-9a: all of a young log lies in its WAL, and the anchor remembers it."""
    typed = desk.start("run", "Sleep.", "--yes", "--script", desk.script(SLEEPS))
    typed.until_output()
    typed.kill()
    (desk.root / "ledger.sqlite3-wal").unlink()
    (desk.root / "ledger.sqlite3-shm").unlink()
    os.truncate(desk.root / "ledger.sqlite3", 0)

    told = desk.ask(command, *(("3",) if command == "at" else ()))

    assert told.status == 3
    assert "[acknowledged_facts_missing]" in told.err
    assert "stored_ordinal=0" in told.err


def test_log_that_lost_its_newest_facts_is_shown_with_a_warning(desk: Desk) -> None:
    assert desk.run(desk.script(HELLO)).status == 0
    anchor = open_anchor(desk.root / "anchor")
    anchor.write(Head(ordinal=50, chain="4" * 64))
    anchor.close()

    for command in ("show", "sessions", "events"):
        told = desk.ask(command)
        assert told.status == 1, command
        assert "[acknowledged_facts_missing] anchored_ordinal=50" in told.err
        assert told.out, "what is left is shown"


# --- where a log may lie ---


@pytest.mark.parametrize("root", ["log", "deep/er/log", ".", "link/log"])
def test_log_inside_of_the_workspace_is_refused(root: str, desk: Desk) -> None:
    """The agent's own tools could change the log that says what they did."""
    (desk.workspace / "deep/er").mkdir(parents=True)
    (desk.home / "link").symlink_to(desk.workspace)
    place = desk.home / root if root.startswith("link") else desk.workspace / root
    before = sorted(desk.workspace.rglob("*"))
    told = desk.type("run", "Go.", "--root", str(place), "--script", desk.script(HELLO))
    assert told.status == 3
    assert "[root_not_apart]" in told.err
    assert sorted(desk.workspace.rglob("*")) == before, "nothing was made"


def test_workspace_inside_of_the_log_is_refused(desk: Desk) -> None:
    assert desk.run(desk.script(HELLO)).status == 0
    inside = desk.root / "work"
    inside.mkdir(mode=0o700)
    told = desk.ask("run", "Go.", "--workspace", str(inside), "--script", desk.script(HELLO))
    assert (told.status, "[root_not_apart]" in told.err) == (3, True)


def test_default_log_of_a_home_directory_is_refused_and_another_is_taken(desk: Desk) -> None:
    """OWN-6: the state directory lies in the home directory, and so do all default roots."""
    script = desk.script(HELLO)
    words = ["run", "Go.", "--workspace", str(desk.home), "--script", script]
    told = desk.type_anywhere(*words)
    assert (told.status, "[root_not_apart]" in told.err, "--root" in told.err) == (3, True, True)
    assert not (desk.home / ".crashworthy").exists()


# --- numbers and places that are none ---


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("events", "--limit", "-1"), "'-1' is no whole number from 0 on"),
        (("show", "--lines", "many"), "'many' is no whole number from 0 on"),
        (("run", "x", "--script", "s", "--steps-max", "0"), "'0' is no whole number from 1 on"),
    ],
)
def test_number_that_is_none_is_told_what_is_one(
    words: tuple[str, ...], told: str, desk: Desk
) -> None:
    refused = desk.ask(*words)
    assert (refused.status, told in refused.err) == (2, True)


def test_place_where_no_log_can_be_is_told_by_its_path(desk: Desk) -> None:
    script = ("--script", desk.script(HELLO))
    for words in (("show",), ("run", "Go.", *script)):
        told = desk.type_anywhere(*words, "--root", script[1])
        assert (told.status, "[root_unusable]" in told.err) == (3, True)
        assert f"path='{script[1]}', reason='it is no directory'" in told.err
    told = desk.type_anywhere("run", "Go.", *script, "--root", str(desk.home / "no/such"))
    assert (told.status, f"there is no directory {desk.home / 'no'}" in told.err) == (3, True)


# --- words ---


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)], ids=str)
def test_help_fits_on_80_columns(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with suppress(SystemExit):
        main([*command, "--help"])
    told = capsys.readouterr().out
    assert "--help" in told
    assert [line for line in told.splitlines() if len(line) > 80] == []


def test_one_is_no_plural() -> None:
    assert [counted(n, "session") for n in (0, 1, 2)] == ["0 sessions", "1 session", "2 sessions"]


def test_advice_names_only_what_there_is() -> None:
    """A person who is sent to a command that does not exist is worse off than before."""
    for text in (*ADVICE.values(), *(why.action for why in EXPLANATIONS.values())):
        named = re.findall(r"`(\w+)(?: --[\w-]+)*`", text)
        assert set(named) <= set(COMMANDS) | {"last"}, text
        for act in ("verdict", "export"):
            assert act not in text.lower(), text


def test_refusal_is_json_on_standard_output_only_where_json_goes_there(desk: Desk) -> None:
    absent = str(desk.home / "none")
    told = desk.type_anywhere("verify", absent, "--json", str(desk.home / "file"))
    assert (told.status, told.out) == (3, "")
    told = desk.type_anywhere("verify", absent, "--json", "-")
    assert (told.status, json.loads(told.out)["code"]) == (3, "not_found")
