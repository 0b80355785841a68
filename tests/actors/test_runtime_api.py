"""The public API is what its documents show: each example runs, each name is where it is said."""

import ast
import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import attrs
import pytest

import crashworthy
from crashworthy.actors import sync
from crashworthy.actors.live import Bus
from crashworthy.machines.facts.canonical import TextUncleanError
from crashworthy.store.ownership.errors import RootOwnedError

from .terminal_rig import ASKS, HELLO, PATIENCE_S, SOURCES, WONDERS, Desk, make_desk

_PACKAGE: Final = Path(crashworthy.__file__)
_README: Final = (_PACKAGE.parents[2] / "README.md").read_text("utf-8")
_FILES: Final = re.compile(
    r"^<!-- (file|output): (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

_TWO: Final = """
[[turn]]
[[turn.step]]
event = [
  { call = "shell", args = { command = "touch one.txt" } },
  { call = "shell", args = { command = "touch two.txt" } },
  { finish = "tool_calls" },
]
"""


def _settings(desk: Desk, script: str) -> crashworthy.Settings:
    told = crashworthy.read_script(Path(desk.script(script)))
    return crashworthy.Settings(
        root=desk.root,
        workspace=desk.workspace,
        backend=lambda: crashworthy.ScriptedBackend(script=told),
    )


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return make_desk(tmp_path)


@pytest.mark.parametrize("module", [crashworthy, sync], ids=lambda module: module.__name__)
def test_examples_in_docstrings_run_as_they_are_shown(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 5
    assert result.failed == 0


def test_program_in_the_readme_prints_what_the_readme_says(tmp_path: Path) -> None:
    """What it prints the second time is the readme's next sentence."""
    files = {(kind, name): text for kind, name, text in _FILES.findall(_README)}
    for (kind, name), text in files.items():
        if kind == "file":
            (tmp_path / name).write_text(text, "utf-8")
    [(program, shown)] = [(name, text) for (kind, name), text in files.items() if kind == "output"]
    first, second = (_run(tmp_path, program) for _ in range(2))
    assert (first, second) == (shown, shown.splitlines(keepends=True)[-1])


def _run(folder: Path, program: str) -> str:
    done = subprocess.run(
        [sys.executable, program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": SOURCES},
        capture_output=True,
        check=False,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_lists_of_public_names_agree() -> None:
    """Checkers read the imports, `import *` the list, and programs the map of homes."""
    tree = ast.parse(_PACKAGE.read_text("utf-8"))
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    homes = set(vars(crashworthy)["_HOMES"])
    assert imported == homes == set(crashworthy.__all__) - {"__version__"}


def test_each_public_name_is_documented() -> None:
    bare = [
        name
        for name in crashworthy.__all__
        if callable(value := getattr(crashworthy, name)) and not (value.__doc__ or "").strip()
    ]
    # Unions are aliases: their members say what they are.
    assert set(bare) <= {"BackendEvent", "LiveEvent"}


def test_turn_is_taken_and_told(desk: Desk) -> None:
    shown: list[str] = []

    def show(event: crashworthy.LiveEvent) -> None:
        if isinstance(event, crashworthy.Committed):
            shown.append(event.event.kind.value)

    turn = crashworthy.run_sync("Hi.", _settings(desk, HELLO), show=show)
    assert (turn.text, turn.completed, turn.created) == ("Hello.", True, True)
    assert shown == [fact.kind.value for fact in turn.facts if fact.spine.run == turn.run]


def test_end_of_a_turn_is_shown_although_it_is_published_late(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end stands in the log before its event goes out; who looks in between must not leave."""
    publish = Bus.publish

    def never_the_end(bus: Bus, event: crashworthy.LiveEvent) -> None:
        if not (isinstance(event, crashworthy.Committed) and event.event.kind == "run_ended"):
            publish(bus, event)

    monkeypatch.setattr(Bus, "publish", never_the_end)
    settings = _settings(desk, HELLO)
    first = crashworthy.run_sync("Hi.", settings)
    shown: list[str] = []

    def show(event: crashworthy.LiveEvent) -> None:
        if isinstance(event, crashworthy.Committed):
            shown.append(event.event.kind)

    crashworthy.run_sync("And again.", settings, session=first.session, show=show)

    assert (shown[0], shown[-1]) == ("run_opened", "run_ended")
    assert len(shown) == len(set(shown)), "each fact of this turn, once"


def test_next_turn_goes_on_in_the_same_session(desk: Desk) -> None:
    settings = _settings(desk, HELLO)
    first = crashworthy.run_sync("Hi.", settings)
    second = crashworthy.run_sync("And again.", settings, session=first.session)
    assert second.session == first.session
    assert second.run != first.run
    assert len(second.facts) > len(first.facts)


@pytest.mark.parametrize(
    ("answer", "words"), [(crashworthy.ALLOW, "It is done."), (crashworthy.DENY, "Then not.")]
)
def test_answer_decides_what_the_model_is_told(
    answer: crashworthy.Answer, words: str, desk: Desk
) -> None:
    turn = crashworthy.run_sync("Go.", _settings(desk, ASKS), answer=lambda _ask: answer)
    assert turn.text == words
    assert (desk.workspace / "ran.txt").exists() is (answer == crashworthy.ALLOW)


def test_questions_are_answered_in_order(desk: Desk) -> None:
    def answer(ask: crashworthy.PendingAsk) -> crashworthy.Answer:
        [colour, _reason] = ask.action.questions
        decision = crashworthy.AnswerDecision.ANSWER
        return crashworthy.Answer(decision=decision, answers=(colour.options[1], None))

    turn = crashworthy.run_sync("Go.", _settings(desk, WONDERS), answer=answer)
    assert turn.text == "Blue it is."


def test_allowed_call_runs_although_its_sibling_stays_open(desk: Desk) -> None:
    """The turn is left only when nothing can happen any more but the answer that nobody gives."""
    turn = crashworthy.run_sync(
        "Go.",
        _settings(desk, _TWO),
        answer=lambda ask: crashworthy.ALLOW if "one.txt" in ask.action.review else None,
    )
    assert turn.end is None
    assert [("two.txt" in ask.action.review) for ask in turn.pending] == [True]
    assert (desk.workspace / "one.txt").exists()
    assert not (desk.workspace / "two.txt").exists()
    settled = [fact.kind.value for fact in turn.facts].count("outcome")
    assert settled == 1, "the turn was left before its call was settled"


def test_refusals_come_as_the_errors_they_are(desk: Desk) -> None:
    """Not inside a group of a nursery that the caller never saw."""
    settings = _settings(desk, HELLO)
    with pytest.raises(TextUncleanError):
        crashworthy.run_sync("\ud800", settings)
    with pytest.raises(crashworthy.CrashworthyError) as unknown:
        crashworthy.run_sync("Hi.", settings, session="ses_nobody")
    assert unknown.value.code is crashworthy.Code.SESSION_UNKNOWN


def test_log_that_an_agents_tools_could_reach_is_refused(desk: Desk) -> None:
    inside = attrs.evolve(_settings(desk, HELLO), root=desk.workspace / "log")
    around = attrs.evolve(_settings(desk, HELLO), root=desk.home)
    for settings in (inside, around):
        with pytest.raises(crashworthy.CrashworthyError) as refused:
            crashworthy.run_sync("Hi.", settings)
        assert refused.value.code is crashworthy.Code.ROOT_NOT_APART
    assert list(desk.workspace.iterdir()) == [], "nothing was made"


def test_root_of_a_living_owner_is_refused_by_name(desk: Desk) -> None:
    def inside(_event: crashworthy.LiveEvent) -> None:
        done = desk.type("run", "Me, too.", "--script", desk.script(HELLO))
        refused.append("[root_owned]" in done.err)

    refused: list[bool] = []
    crashworthy.run_sync(
        "Hi.", _settings(desk, HELLO), show=lambda event: None if refused else inside(event)
    )
    assert refused == [True]
    assert issubclass(RootOwnedError, crashworthy.CrashworthyError)


def test_error_of_an_answering_function_ends_the_turn_as_itself(desk: Desk) -> None:
    def answer(_ask: crashworthy.PendingAsk) -> crashworthy.Answer | None:
        raise LookupError

    with pytest.raises(LookupError):
        crashworthy.run_sync("Go.", _settings(desk, ASKS), answer=answer)
    assert "permission" in desk.ask("pending").out, "the run waits on: it was nobody's answer"
