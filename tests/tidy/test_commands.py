"""The commands that README.md states are the ones that CI runs and a newcomer types."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from .tree import ROOT

_BLOCK: Final = re.compile(
    r"^<!-- command: (\w+) -->\n```sh\n(.*?)\n```$", re.MULTILINE | re.DOTALL
)


def stated_commands(readme: str) -> dict[str, str]:
    """Return the commands of a README by name: each fenced block directly under its comment."""
    return dict(_BLOCK.findall(readme))


def _ci(root: Path, readme: str) -> subprocess.CompletedProcess[str]:
    """Run our CI script in a tree that holds nothing but `readme`."""
    (root / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", root / ".ci/run")
    (root / "README.md").write_text(readme, "utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [root / ".ci/run"],
        env={**os.environ, "PATH": path},
        capture_output=True,
        check=False,
        text=True,
    )


def test_readme_states_a_main_and_a_test_command() -> None:
    commands = stated_commands((ROOT / "README.md").read_text("utf-8"))
    assert set(commands) == {"main", "test"}
    install = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && "
    assert all(command.startswith(install) for command in commands.values())


def test_ci_runs_the_test_command_that_the_readme_states(tmp_path: Path) -> None:
    """The block is replaced by another one, which leaves a trace and no .venv."""
    readme = (ROOT / "README.md").read_text("utf-8")
    stated = stated_commands(readme)["test"]
    before, _, after = readme.rpartition(stated)
    run = _ci(tmp_path, f"{before}echo ran > trace{after}")
    assert (tmp_path / "trace").read_text("utf-8") == "ran\n"
    assert (run.returncode, run.stderr) == (2, ".ci/run: the test command left no .venv\n")


@pytest.mark.parametrize(
    "readme",
    ["", "```sh\ntrue\n```\n", "<!-- command: main -->\n```sh\ntrue\n```\n"],
    ids=["empty", "unmarked", "other-mark"],
)
def test_ci_fails_clearly_when_the_readme_states_no_test_command(
    readme: str, tmp_path: Path
) -> None:
    run = _ci(tmp_path, readme)
    assert (run.returncode, run.stderr) == (2, ".ci/run: README.md states no test command\n")
