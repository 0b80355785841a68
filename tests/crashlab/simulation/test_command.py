"""The command tells what histories showed, and how to repeat one that broke a promise."""

import json
from pathlib import Path

import pytest

from crashworthy.crashlab.main import main
from crashworthy.crashlab.simulation.history import History
from crashworthy.crashlab.simulation.told import as_lines, as_text
from crashworthy.crashlab.workload import Finding


def history(*findings: Finding) -> History:
    return History(
        seed=7,
        owners=("died at boundary 3, before BEGIN", "lived to its end"),
        facts=12,
        digest="d",
        deaths=1,
        told=(),
        rows=("RUN.T1",),
        findings=findings,
        story=("1 session_opened",) if findings else (),
    )


@pytest.mark.slow
@pytest.mark.proves("CRASH-6", "CRASH-7")
def test_histories_are_told_to_people_and_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "histories.json"
    assert main(["--simulate", "2", "--seed", "5", "--jobs", "2", "--json", str(report)]) == 0
    told = json.loads(report.read_text())
    assert [(one["seed"], one["clean"]) for one in told["histories"]] == [(5, True), (6, True)]
    assert told["rows"]["SES.T1"] == 2
    assert capsys.readouterr().out.endswith("\n0 broken: clean\n")


def test_broken_history_is_told_with_its_facts_and_the_command_that_repeats_it() -> None:
    broken = history(Finding(promise="RUNTIME.I5", detail="x happened 2 times"))
    assert as_lines(broken).splitlines() == [
        "seed 7: BROKEN",
        "  owner 1 died at boundary 3, before BEGIN",
        "  owner 2 lived to its end",
        "  1 session_opened",
        "  BROKEN RUNTIME.I5: x happened 2 times",
        "  repeat: crashworthy crash --simulate 1 --seed 7",
    ]
    assert as_text([broken, history()], 30.0).splitlines() == [
        "2 histories in 30.0 s, 4 a minute",
        "  4 owners, 2 of them killed; 24 facts, 1 rows of the tables taken",
        "1 broken: NOT clean",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--simulate", "0"],
        ["--simulate", "--moments"],
        ["--simulate", "1", "--html", "page.html"],
    ],
)
def test_misuse_exits_two(arguments: list[str]) -> None:
    assert main(arguments) == 2
