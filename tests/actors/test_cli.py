"""The command line finds its commands by name and answers wrong usage with status 2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from crashworthy import __version__
from crashworthy.actors import cli
from crashworthy.machines.facts.codes import Code

_SOURCES = str(Path(cli.__file__).parents[2] / ".src")


def _run(*words: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-m", "crashworthy", *words],
        env={**os.environ, "PYTHONPATH": _SOURCES},
        capture_output=True,
        check=False,
        text=True,
    )


def _offer(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    command = cli.Command(module=module, summary="a command of this test")
    monkeypatch.setattr(cli, "COMMANDS", {"sample": command})


def _write_module(monkeypatch: pytest.MonkeyPatch, folder: Path, source: str) -> None:
    (folder / "sample_command.py").write_text(source, "utf-8")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.delitem(sys.modules, "sample_command", raising=False)
    _offer(monkeypatch, "sample_command")


def test_command_gets_the_words_after_its_name_and_gives_the_status(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source = "def main(argv):\n    return 40 + len(argv) if argv[0] == '--help' else 0\n"
    _write_module(monkeypatch, tmp_path, source)
    assert cli.main(["sample", "--help", "x"]) == 42


def test_coded_error_of_a_command_is_told_with_its_meaning_and_status_3(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "from crashworthy.machines.facts.asserts import AssertsDisabledError\n"
        "def main(argv):\n    raise AssertsDisabledError\n"
    )
    _write_module(monkeypatch, tmp_path, source)
    assert cli.main(["sample"]) == 3
    told = capsys.readouterr().err
    assert told.startswith(f"crashworthy sample: [{Code.ASSERTS_DISABLED}]")
    assert "start it without" in told


def test_absent_module_is_said_with_its_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _offer(monkeypatch, "crashworthy.nowhere.main")
    assert cli.main(["sample"]) == 3
    assert f"[{Code.COMMAND_UNAVAILABLE}] command='sample'" in capsys.readouterr().err


def test_missing_dependency_of_a_command_is_not_taken_for_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _write_module(monkeypatch, tmp_path, "import no_such_library\n")
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        cli.main(["sample"])


@pytest.mark.parametrize("words", [(), ("unheard-of",), ("--unheard-of",)], ids=str)
def test_wrong_usage_gives_help_and_status_2(words: tuple[str, ...]) -> None:
    run = _run(*words)
    assert (run.returncode, run.stdout) == (2, "")
    assert "usage: crashworthy" in run.stderr


def test_help_lists_every_command_on_stdout() -> None:
    run = _run("--help")
    assert run.returncode == 0
    assert all(f"  {name}" in run.stdout for name in cli.COMMANDS)


def test_version_is_that_of_the_package() -> None:
    assert _run("--version").stdout == f"crashworthy {__version__}\n"


def test_command_refuses_to_start_when_asserts_are_disabled() -> None:
    """Asserts state our invariants; without them a broken one would be written to disk."""
    run = _run("prove", flags=("-O",))
    assert run.returncode == 3
    assert f"[{Code.ASSERTS_DISABLED}]" in run.stderr


def _run_in_shell(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", f"{sys.executable} -m crashworthy {words}"],
        env={**os.environ, "PYTHONPATH": _SOURCES},
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_command_needs_no_standard_streams(closed: str, tmp_path: Path) -> None:
    """A supervisor may start it without them, and files of ours must not get their numbers."""
    script = tmp_path / "absent.toml"
    run = _run_in_shell(f"run hello --script {script} --root {tmp_path / 'log'} {closed}")
    assert run.returncode == 3
    assert "Traceback" not in run.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
def test_output_that_takes_nothing_is_told_with_a_code_and_status_3() -> None:
    run = _run_in_shell("prove --plant list > /dev/full")
    assert run.returncode == 3
    assert run.stderr.startswith(f"crashworthy prove: [{Code.STORAGE_FULL}] stage='output'")
    assert "Traceback" not in run.stderr
