"""The command tells people, machines and CI the same story."""

import io
import json
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from crashworthy.crashlab import main as command
from crashworthy.crashlab.main import main, shown_on
from crashworthy.crashlab.matrix import PROFILES, Profile, Progress


@pytest.fixture(autouse=True)
def short_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Profile(name="ci", second_max=3, spawn_max=0)
    monkeypatch.setattr(command, "PROFILES", {**PROFILES, "ci": few})


def run(workload: str, *options: str) -> int:
    return main(["--workload", f"toy_ledger:{workload}", "--profile", "ci", *options])


def test_clean_run_exits_zero_and_writes_every_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = {kind: tmp_path / f"report.{kind}" for kind in ("json", "junit", "html")}
    options = [text for kind, path in paths.items() for text in (f"--{kind}", str(path))]
    assert run("sound", *options) == 0
    assert capsys.readouterr().out.endswith("\nclean\n")
    report = json.loads(paths["json"].read_text())
    assert (report["clean"], report["unreached"], report["violations"]) == (True, [], [])
    assert (report["deaths"], report["deaths_in_recovery"]) == (77, 3)
    suite = ET.fromstring(paths["junit"].read_text())  # noqa: S314  # our own file
    assert (suite.get("tests"), suite.get("failures")) == ("41", "0")
    assert paths["html"].read_text().count('<i class="good"') == 40


@pytest.mark.parametrize("form", ["json", "junit", "html"])
def test_report_on_standard_output_is_one_document(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = [f"--{form}", "-"] if form != "json" else ["--json", "-", "--junit", "side.xml"]
    assert run("sound", "--shard", "1/20", *options) == 0
    told = capsys.readouterr()
    match form:
        case "json":
            assert json.loads(told.out)["clean"] is True
            side = (tmp_path / "side.xml").read_text()
            assert ET.fromstring(side).tag == "testsuite"  # noqa: S314  # our own output
        case "junit":
            assert ET.fromstring(told.out).tag == "testsuite"  # noqa: S314  # our own output
        case _:
            assert told.out.startswith("<!doctype html>")
    assert told.err.endswith("\nclean\n")
    assert not (tmp_path / "-").exists()


def test_broken_run_exits_one_and_names_the_death_to_repeat(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, page = tmp_path / "junit.xml", tmp_path / "page.html"
    assert run("acks_early", "--junit", str(junit), "--html", str(page)) == 1
    out = capsys.readouterr().out
    assert "BROKEN TOY.I1: What was acknowledged is in the log." in out
    assert "--at 'host:commit:COMMIT#2:before'" in out
    suite = ET.fromstring(junit.read_text())  # noqa: S314  # our own file
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert suite.get("failures") == "6"
    assert failed == [f"host:commit:COMMIT#{unit}" for unit in range(2, 8)]
    assert page.read_text().count('<i class="bad"') == 6


def test_page_needs_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("rebuilds_otherwise", "--shard", "1/20", "--html", str(page)) == 1

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            assert tag not in {"script", "link", "img", "iframe"}
            assert not {"src", "href"} & {name for name, _ in attrs}

    Reader().feed(page.read_text())


def test_one_death_is_told_in_full_and_keeps_its_files(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("acks_early", "--at", "host:commit:COMMIT#2:before") == 1
    out = capsys.readouterr().out
    assert "death at host:commit:COMMIT#2:before: reached" in out
    assert "BROKEN TOY.I1 in step recover: lost: ['dispatch 1']" in out
    files = Path(out.rpartition("files: ")[2].strip())
    assert (files / "death/root/toy.db").exists()
    assert (files / "death/acks").read_text().startswith("dispatch 1\n")


def test_death_in_recovery_is_repeated_by_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    key = "worker:probe:effect.done#2:at => host:commit:COMMIT#1:after"
    assert run("sound", "--at", key) == 0
    assert f"death at {key}: reached" in capsys.readouterr().out


def test_list_names_every_death(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("sound", "--list") == 0
    assert len(capsys.readouterr().out.splitlines()) == 74


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--workload", "no_such"],
        ["--workload", "toy_ledger:missing"],
        ["--workload", "toy_ledger:sound", "--profile", "lazy"],
        ["--workload", "toy_ledger:sound", "--shard", "3/2"],
        ["--workload", "toy_ledger:sound", "--at", "host:commit:COMMIT#99:before"],
        ["--workload", "toy_ledger:sound", "--jobs", "0"],
        ["--workload", "toy_ledger:sound", "--json", "-", "--html", "-"],
        ["--workload", "toy_ledger:sound", "--list", "--json", "-"],
        ["--workload", "toy_ledger:sound", "--json", "no/such/directory/report.json"],
        ["--moments", "1", "--junit", "report.xml"],
    ],
)
def test_misuse_exits_two(arguments: list[str]) -> None:
    assert main(arguments) == 2


def test_progress_of_a_short_run_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal, pipe = Terminal(), io.StringIO()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run("sound", "--shard", "1/20") == 0
    assert "7/7 deaths, 0 violations" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", pipe)
    assert run("sound", "--shard", "1/20") == 0
    assert not pipe.getvalue()


def test_long_run_says_now_and_then_that_it_lives_where_nobody_watches() -> None:
    log = io.StringIO()
    show = shown_on(log)
    for second in range(60):
        show(Progress(done=10 * second, total=9000, violations=0, seconds=float(second)))
    assert log.getvalue().splitlines() == [
        f"{done}/9000 deaths, 0 violations, 10/s" for done in (150, 300, 450)
    ]
