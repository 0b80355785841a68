"""A host with real workers is killed at random moments; what it leaves is judged, and can fail."""

import json
from pathlib import Path

import pytest

from crashworthy.actors.cli.demo import make_example
from crashworthy.crashlab.aftermath import Ruin, judge
from crashworthy.crashlab.main import main
from crashworthy.crashlab.moments import Timeline


def test_moment_falls_behind_the_facts_that_were_shown_before_it() -> None:
    timeline = Timeline(shown_s=(1.0, 2.0, 2.0, 3.0), whole_s=4.0)
    places = {share: timeline.at(share) for share in (0.0, 0.24, 0.25, 0.5, 0.625, 0.99)}
    assert {share: at.behind for share, at in places.items()} == {
        0.0: 0, 0.24: 0, 0.25: 1, 0.5: 3, 0.625: 3, 0.99: 4,
    }  # fmt: skip
    assert places[0.24].delay_s == pytest.approx(0.96)
    assert places[0.625].delay_s == pytest.approx(0.5)


@pytest.mark.slow
def test_hosts_killed_at_random_moments_leave_nothing_unexplained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "moments.json"
    assert main(["--moments", "3", "--seed", "11", "--jobs", "2", "--json", str(report)]) == 0
    told = json.loads(report.read_text())["moments"]
    assert [(one["seed"], one["reached"], one["clean"]) for one in told] == [
        (seed, True, True) for seed in (11, 12, 13)
    ]
    assert capsys.readouterr().out.endswith("3 moments, 0 not reached, 0 broken: clean\n")


def test_test_run_that_nobody_called_for_and_fact_that_is_gone_are_found(tmp_path: Path) -> None:
    place = make_example(tmp_path / "demo")
    runs = tmp_path / "tests-run"
    runs.write_text("begun\n")
    after = judge(
        Ruin(
            root=str(place.root),
            workspace=str(place.workspace),
            script=str(place.root.parent / "repair.toml"),
            tests_run=str(runs),
            shown=("fact_gone",),
        )
    )
    assert {finding.promise for finding in after.findings} == {"RUNTIME.I1", "RUNTIME.I5"}


def test_command_without_a_workload_is_refused() -> None:
    assert main(["--moments", "0"]) == main([]) == 2
