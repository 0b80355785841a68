"""`crashworthy verify` tells people in lines, scripts in a status and a documented JSON form."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from crashworthy.actors.cli import verify as command
from crashworthy.machines.facts.codes import Code
from crashworthy.store.anchor import Head, open_anchor

from ..store.logs import ruin, varied_log


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return varied_log(tmp_path / "root")


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    sources = str(Path(command.__file__).parents[2] / ".src")
    return subprocess.run(
        [sys.executable, "-m", "crashworthy", "verify", *map(str, words)],
        env={**os.environ, "PYTHONPATH": sources},
        capture_output=True,
        check=False,
        text=True,
    )


def test_clean_root_is_status_0_in_two_lines(root: Path) -> None:
    done = run(root)

    assert (done.returncode, done.stderr) == (0, "")
    summary, head = done.stdout.splitlines()
    assert summary == "clean: 46 facts in 2 sessions"
    assert head.startswith("head: ordinal 46, root chain ")


def test_finding_is_status_1_and_one_line(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ruin(root, ("UPDATE facts SET body = x'7b7d' WHERE ordinal = 12", ()))

    assert command.main([str(root)]) == 1

    line, doubt, summary, _head = capsys.readouterr().out.splitlines()
    assert line.startswith("ordinal 12  body  [fact_malformed]  body  fact ")
    assert doubt == "session ses_a: not folded beyond ordinal 12"
    assert summary == "findings: 46 facts in 2 sessions"


def test_missing_facts_are_status_4(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    anchor = open_anchor(root / "anchor")
    anchor.write(Head(ordinal=50, chain="4" * 64))
    anchor.close()

    assert command.main([str(root)]) == 4

    assert "acknowledged facts are missing: 46 facts" in capsys.readouterr().out


def test_place_without_a_root_is_status_3_with_its_code(tmp_path: Path) -> None:
    done = run(tmp_path / "nothing")

    assert (done.returncode, done.stdout) == (3, "")
    assert f"[{Code.NOT_FOUND}]" in done.stderr


def test_anchor_that_says_nothing_is_told(root: Path) -> None:
    told = "the anchor says nothing"
    (root / "anchor").write_bytes(b"no anchor")
    assert told in run(root).stdout


def test_wrong_words_are_status_2(root: Path) -> None:
    assert run(root, "--unheard-of").returncode == 2
    assert run(root, "--root", root).returncode == 2, "the log is named once"


def test_log_is_found_by_the_options_of_all_other_commands(root: Path, tmp_path: Path) -> None:
    """What the advice about a log that is not found names is there to be typed."""
    assert run("--root", root).returncode == 0
    lost = run("--workspace", tmp_path)
    assert (lost.returncode, "--root, --workspace" in lost.stderr) == (3, True)


def test_json_is_one_document_on_stdout_or_in_a_file(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ruin(root, ("UPDATE sessions SET runs = 9 WHERE session = 'ses_b'", ()))
    file = tmp_path / "report.json"

    assert command.main([str(root), "--json", "-", "--blobs"]) == 1
    told = capsys.readouterr()
    shown = json.loads(told.out)
    assert "findings: 46 facts" in told.err
    assert command.main(["--root", str(root), "--json", str(file)]) == 1
    assert "findings: 46 facts" in capsys.readouterr().out

    assert shown.keys() == {
        *("format", "status", "root_id", "problem", "head", "facts", "sessions", "blobs"),
        "anchored",
        *("total", "findings", "doubtful", "rows"),
    }
    assert (shown["format"], shown["status"], shown["facts"]) == (1, "findings", 46)
    [finding] = [one for one in shown["findings"] if one["check"] == "projection"]
    assert finding == {
        "check": "projection",
        "code": "projection_differs",
        "ordinal": 34,
        "fact": None,
        "session": "ses_b",
        "detail": "sessions: runs",
    }
    assert json.loads(file.read_bytes())["findings"] == [finding]


def test_help_documents_every_status(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--help"])

    told = capsys.readouterr().out
    assert all(f"\n  {status}  " in told for status in range(5))
