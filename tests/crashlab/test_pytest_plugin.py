"""An embedder's own pytest run kills their workload and fails with the lab's report."""

import subprocess
import sys
from pathlib import Path

import pytest

TOYS = Path(__file__).parent
PACKAGE = TOYS.parents[1] / ".src"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "test_mine.py").write_text(
        "def test_sound(crash_matrix):\n"
        "    report = crash_matrix('toy_ledger:sound')\n"
        "    assert report.deaths > 4\n"
        "def test_broken(crash_matrix):\n"
        "    crash_matrix('toy_ledger:rebuilds_otherwise')\n"
    )
    return tmp_path


def run_pytest(project: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-P", "-m", "pytest", "-p", "crashworthy.crashlab.pytest_plugin"]
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", "--crash-shard", "1/25", *options],
        cwd=project,
        env={"PYTHONPATH": f"{PACKAGE}:{TOYS}"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_fixture_passes_a_sound_workload_and_fails_a_broken_one(project: Path) -> None:
    done = run_pytest(project, "--crash-reports", "reports")
    assert "1 failed, 1 passed" in done.stdout, done.stdout + done.stderr
    assert "BROKEN CRASH.I4" in done.stdout
    written = sorted(path.name for path in (project / "reports").iterdir())
    assert written == [
        "test-broken.html", "test-broken.json", "test-sound.html", "test-sound.json",
    ]  # fmt: skip
