"""Crash matrices from pytest: a fixture kills a workload and fails with the report (CRASH-7).

Use it in a test of your own:

    def test_survives_every_death(crash_matrix: CrashMatrix) -> None:
        crash_matrix("my_package.crash:workload")
"""

from pathlib import Path
from typing import Protocol, cast

import pytest

from .matrix import PROFILES, Plan, run_matrix
from .pages import as_html, as_json
from .report import Report, as_text


class CrashMatrix(Protocol):
    """What the fixture `crash_matrix` is."""

    def __call__(self, workload: str, *, seed: int = 1, jobs: int = 2) -> Report:
        """Run the matrix of a workload (a built-in name or `module:factory`).

        The test fails, with the report as its text, when a promise broke or a boundary was not
        reached; else the report is returned.
        """
        ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what CI chooses: how much is sampled, which shard, and where reports go."""
    group = parser.getgroup("crashworthy", "crash matrices")
    profiles = sorted(PROFILES)
    group.addoption("--crash-profile", choices=profiles, default="ci", help="how much is sampled")
    group.addoption("--crash-shard", default="1/1", metavar="I/N", help="run one part of N")
    group.addoption("--crash-reports", default="", metavar="DIR", help="write JSON and HTML here")


@pytest.fixture
def crash_matrix(request: pytest.FixtureRequest) -> CrashMatrix:
    """Return the function that runs a crash matrix within this test."""
    config = request.config
    part, _, parts = cast("str", config.getoption("--crash-shard")).partition("/")
    profile = PROFILES[cast("str", config.getoption("--crash-profile"))]
    reports = cast("str", config.getoption("--crash-reports"))
    node = cast("object", request.node)  # pyright: ignore[reportUnknownMemberType]  # untyped there
    assert isinstance(node, pytest.Item)

    def run(workload: str, *, seed: int = 1, jobs: int = 2) -> Report:
        shard = (int(part), int(parts))
        plan = Plan(workload=workload, profile=profile, seed=seed, jobs=jobs, shard=shard)
        report = run_matrix(plan)
        if reports:
            _write(report, Path(reports), node.name)
        if not report.clean:
            pytest.fail(as_text(report), pytrace=False)
        return report

    return run


def _write(report: Report, folder: Path, test: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in test)
    (folder / f"{name}.json").write_text(as_json(report), encoding="utf-8")
    (folder / f"{name}.html").write_text(as_html(report), encoding="utf-8")
