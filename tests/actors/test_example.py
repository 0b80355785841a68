"""The demo repairs a failing project for real: red before, green after, and the log tells all."""

import subprocess
import sys
from pathlib import Path

import pytest

from crashworthy.store.audit.report import Status
from crashworthy.store.verify import verify

from .terminal_rig import Desk, Ended, make_desk


def _demo(desk: Desk, *words: str) -> Ended:
    """Run the demo in a process of its own; it takes no root, it makes one."""
    done = subprocess.run(
        [sys.executable, "-m", "crashworthy", "demo", str(desk.home / "demo"), *words],
        cwd=desk.workspace,
        env=desk.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
    )
    return Ended(status=done.returncode, out=done.stdout, err=done.stderr)


def _pytest(project: Path) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        capture_output=True,
        check=False,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, Ended]:
    desk = make_desk(tmp_path_factory.mktemp("demo"))
    return Desk(home=desk.home / "demo"), _demo(desk, "--yes")


def test_demo_runs_the_tests_red_repairs_and_runs_them_green(demo: tuple[Desk, Ended]) -> None:
    desk, ended = demo
    assert ended.status == 0, ended.err
    red, green = ended.out.index("1 failed, 3 passed"), ended.out.index("4 passed")
    assert red < ended.out.index("edit: path = 'till/receipt.py'") < green
    assert "== completed" in ended.out
    status, told = _pytest(desk.home / "project")
    assert (status, "4 passed" in told) == (0, True), told


def test_log_of_the_demo_verifies_and_shows_the_work(demo: tuple[Desk, Ended]) -> None:
    desk, ended = demo
    assert str(desk.root) in ended.err
    assert verify(desk.root, blobs=True).status is Status.CLEAN
    assert "All four tests pass." in desk.ask("show").out
    assert "1 failed, 3 passed" not in desk.ask("at", "12").out, "that came later"


def test_demo_leaves_alone_a_directory_that_holds_anything(demo: tuple[Desk, Ended]) -> None:
    desk, _ended = demo
    again = _demo(Desk(home=desk.home.parent), "--yes")
    assert (again.status, "[example_unusable]" in again.err) == (3, True)


def test_demo_without_a_person_waits_and_changes_nothing(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    ended = _demo(desk)
    assert ended.status == 4
    assert _pytest(desk.home / "demo/project")[0] == 1
    assert "answer ask_" in ended.err
