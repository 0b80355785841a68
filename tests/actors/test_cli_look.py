"""Looking at a log shows all of it, at any moment, and touches nothing (STORE-10, PROJ-1)."""

import contextlib
import sqlite3
from pathlib import Path
from typing import Final, cast

import pytest

from crashworthy.actors.cli import COMMANDS
from crashworthy.actors.cli.advice import ADVICE
from crashworthy.actors.cli.at import VIEWS
from crashworthy.actors.cli.place import find_place, prepare, root_name, state_directory
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.codes import Code

from .terminal_rig import ASKS, HELLO, Desk, Ended, make_desk

_LONG: Final = """
[[turn]]
[[turn.step]]
event = [{ call = "shell", args = { command = "seq 1 100" } }, { finish = "tool_calls" }]
[[turn.step]]
event = [{ text = "Done.\\u001b[2J" }, { finish = "stop" }]
"""
_OURS: Final = frozenset({"prove", "crash", "bench", "verify"})


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A log of three sessions: one long output, one that waits, one greeting."""
    desk = make_desk(tmp_path_factory.mktemp("look"))
    for name, script in (("long", _LONG), ("asks", ASKS), ("hello", HELLO)):
        words = ("--yes",) if name == "long" else ()
        assert desk.run(desk.script(script, f"{name}.toml"), *words).status in (0, 4)
    return desk


def _footprint(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Return what any write to a file below would change.

    Not the times of `-shm`: it is memory that SQLite's readers share, and mark their place in.
    """
    found: dict[str, tuple[int, int, int]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.stat()
        time_ns = 0 if path.name.endswith("-shm") else status.st_mtime_ns
        found[str(path)] = (status.st_ino, status.st_size, time_ns)
    return found


def _objects(document: Json) -> list[dict[str, Json]]:
    return cast("list[dict[str, Json]]", document)


def test_sessions_are_listed_newest_first_with_their_first_words(desk: Desk) -> None:
    listed = _objects(desk.ask("sessions", "--json").document())
    assert [one["state"] for one in listed] == ["idle", "waiting", "idle"]
    assert [one["words"] for one in listed] == ["Go.", "Go.", "Go."]
    text = desk.ask("sessions", "--limit", "1")
    assert str(listed[0]["session"]) in text.out
    assert str(listed[1]["session"]) not in text.out
    assert "2 older sessions are not shown" in text.err


def test_show_takes_the_newest_session_or_the_beginning_of_a_name(desk: Desk) -> None:
    assert "Hello." in desk.ask("show").out
    oldest = str(_objects(desk.ask("sessions", "--json").document())[-1]["session"])
    assert "Done." in desk.ask("show", oldest[:-20]).out
    assert desk.ask("show", "ses_").status == 3
    nobody = desk.ask("show", "ses_nobody")
    assert (nobody.status, "[session_unknown]" in nobody.err) == (3, True)


def test_show_cuts_a_long_output_and_says_what_it_cut(desk: Desk) -> None:
    oldest = str(_objects(desk.ask("sessions", "--json").document())[-1]["session"])
    cut, whole = desk.ask("show", oldest, "--lines", "3"), desk.ask("show", oldest, "--lines", "0")
    assert "   | 3\n   | ... 97 more lines (--lines 0)\n" in cut.out
    assert "   | 100\n" in whole.out
    assert "\x1b" not in whole.out, "what a model says cannot move anybody's cursor"
    assert "\\u{1b}[2J" in whole.out


def test_events_are_the_stored_bodies_in_commit_order(desk: Desk) -> None:
    lines = desk.ask("events", "--json").lines()
    ordinals = [cast("int", line["ordinal"]) for line in lines]
    assert ordinals == sorted(ordinals)
    kinds = [cast("dict[str, Json]", line["body"])["kind"] for line in lines]
    assert kinds[0] == "session_opened"
    assert kinds[-1] == "run_ended"
    shown = desk.ask("events", "--limit", "2")
    assert len(shown.out.splitlines()) == 2
    assert "older facts are not shown" in shown.err


@pytest.mark.parametrize("view", VIEWS)
def test_past_moment_is_the_fold_of_the_facts_up_to_it(view: str, desk: Desk) -> None:
    session = str(_objects(desk.ask("sessions", "--json").document())[-1]["session"])
    ordinals = [line["ordinal"] for line in desk.ask("events", session, "--json").lines()]
    at = str(ordinals[3])
    told = desk.ask("at", at, session, "--view", view, "--json")
    assert told.status == 0, told.err
    assert told.document() == desk.ask("at", at, "--view", view, "--json").document()
    assert told.document() != desk.ask("at", str(ordinals[-1]), "--view", view, "--json").document()
    assert f"after {at}, " in desk.ask("at", at, "--view", view).out


@pytest.mark.parametrize("ordinal", ["0", "99999"])
def test_moment_beyond_the_log_is_refused(ordinal: str, desk: Desk) -> None:
    told = desk.ask("at", ordinal)
    assert (told.status, "[ordinal_unknown]" in told.err) == (3, True)


def test_looking_changes_no_file_of_the_root(desk: Desk) -> None:
    before = _footprint(desk.root)
    for words in (("show",), ("sessions",), ("events",), ("at", "5"), ("pending",), ("show", "x")):
        desk.ask(*words)
    assert _footprint(desk.root) == before


def test_damage_hides_what_is_behind_it_and_is_told(tmp_path: Path) -> None:
    """STORE-8: everything up to the damage is shown; nobody takes that for the whole."""
    desk = make_desk(tmp_path)
    assert desk.run(desk.script(HELLO)).status == 0
    with contextlib.closing(sqlite3.connect(desk.root / "ledger.sqlite3")) as database:
        database.execute("UPDATE facts SET body = x'7b7d' WHERE kind = 'model_text'")
        database.commit()
    told = desk.ask("show")
    assert told.status == 1
    assert "you: Go." in told.out
    assert "Hello." not in told.out
    assert "damage at fact 6 [" in told.err
    assert "see `verify`" in told.err


@pytest.mark.parametrize("command", ["show", "sessions", "events", "pending", "stop", "resume"])
def test_missing_root_is_not_made(command: str, tmp_path: Path) -> None:
    empty = make_desk(tmp_path)
    words = ("--script", empty.script(HELLO)) if command == "resume" else ()
    told = empty.ask(command, *words)
    assert (told.status, "[not_found]" in told.err) == (3, True)
    assert not empty.root.exists()


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - _OURS))
def test_help_says_what_each_exit_status_means(command: str, tmp_path: Path) -> None:
    told = _help(command, make_desk(tmp_path))
    assert told.status == 0
    assert told.out.startswith(f"usage: crashworthy {command}")
    assert "exit status:" in told.out
    assert "--json" in told.out


def _help(command: str, desk: Desk) -> Ended:
    return desk.ask(command, "--help")


def test_refusal_is_one_json_object_where_json_was_asked_for(tmp_path: Path) -> None:
    told = make_desk(tmp_path).ask("show", "--json")
    assert told.status == 3
    assert told.result()["code"] == "not_found"


# --- where a log lies ---


@pytest.mark.proves("CRASH-4")
def test_names_of_all_directories_above_a_default_root_are_durable(
    tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A root whose own name is synced is lost all the same with a directory above it."""
    state = tmp_path / "local" / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    place = find_place(None, tmp_path)
    prepare(place)
    assert place.root.parent.is_dir()
    above = (tmp_path, tmp_path / "local", state)
    assert {directory.stat().st_ino for directory in above} <= set(synced)


def test_state_directory_follows_each_platforms_convention() -> None:
    home = Path.home()
    assert state_directory({"XDG_STATE_HOME": "/x"}, "linux") == Path("/x/crashworthy")
    assert state_directory({}, "linux") == home / ".local/state/crashworthy"
    assert state_directory({"XDG_STATE_HOME": "x"}, "linux") == home / ".local/state/crashworthy"
    mac = home / "Library/Application Support/crashworthy"
    assert state_directory({"XDG_STATE_HOME": "/x"}, "darwin") == mac


def test_each_workspace_has_a_root_of_its_own_by_its_real_path(tmp_path: Path) -> None:
    one, other = tmp_path / "my work", tmp_path / "b" / "my work"
    one.mkdir()
    other.mkdir(parents=True)
    (tmp_path / "link").symlink_to(one)
    assert root_name(one) == root_name(tmp_path / "link")
    assert root_name(one) != root_name(other)
    assert root_name(one).startswith("my-work-")


def test_place_is_named_again_by_the_options_that_find_it(tmp_path: Path) -> None:
    odd = tmp_path / "a b"
    for place, words in (
        (find_place(None, None), "show"),
        (find_place(odd, None), f"show --root '{odd}'"),
        (find_place(None, odd), f"show --workspace '{odd}'"),
    ):
        command = place.command("show")
        assert command.endswith(f"crashworthy {words}"), command


def test_refusal_says_what_can_be_done_about_it(tmp_path: Path) -> None:
    told = make_desk(tmp_path).ask("show")
    assert told.err.splitlines()[-1] == f"  {ADVICE[Code.NOT_FOUND]}"


@pytest.mark.parametrize(
    "harm",
    ["lane = 'none'", "session = 'ses_other'", "turn = 'turn_other'", "snapshot = x'FF'"],
)
def test_damaged_snapshot_hides_nothing_but_itself(tmp_path: Path, harm: str) -> None:
    """LOG-5: a snapshot is no fact; what is said of the run stands without it."""
    desk = make_desk(tmp_path)
    assert desk.run(desk.script(ASKS)).status == 4
    with contextlib.closing(sqlite3.connect(desk.root / "ledger.sqlite3")) as ledger:
        ids = ledger.execute(
            "SELECT session, invocation, run, turn FROM facts WHERE kind = 'run_opened'"
        ).fetchone()
        ledger.execute(
            "INSERT INTO partials VALUES ('req_1', 'req_1.1', ?, ?, ?, ?,"
            " 'text', 0, 9, x'756E66696E6973686564')",
            ids,
        )
        ledger.commit()
        whole = desk.ask("show")
        assert "unfinished" in whole.out
        ledger.execute(f"UPDATE partials SET {harm}")  # noqa: S608 - one of the words above
        ledger.commit()

    shown = desk.ask("show")

    assert (shown.status, shown.err) == (whole.status, whole.err)
    assert "I count." in shown.out
    if "snapshot" not in harm:
        assert "unfinished" not in shown.out


@pytest.mark.proves("STORE-8")
def test_epoch_whose_column_has_another_type_hides_no_session(tmp_path: Path) -> None:
    """A flipped bit in a record's header makes a number a text, which STRICT cannot prevent."""
    desk = make_desk(tmp_path)
    assert desk.run(desk.script(HELLO)).status == 0
    ledger = desk.root / "ledger.sqlite3"
    _write_schema(ledger, "STRICT", "--")
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE lease SET epoch = 'one'")
        connection.commit()
    _write_schema(ledger, "--", "STRICT")

    for command in ("sessions", "show", "doctor", "verify"):
        assert "Traceback" not in desk.ask(command).err, command
    assert "ses_" in desk.ask("sessions").out
    assert "Hello." in desk.ask("show").out
    refused = desk.type("run", "Hi.", "--script", desk.script(HELLO))
    assert refused.status == 3
    assert "[database_damaged] stage='row'" in refused.err


def _write_schema(ledger: Path, before: str, after: str) -> None:
    with contextlib.closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_schema SET sql = replace(sql, ?, ?)", (before, after))
        connection.commit()
