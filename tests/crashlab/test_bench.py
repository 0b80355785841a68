"""The bench measures everything it names, tells what it measured, and misses what is too slow."""

import json
from pathlib import Path

import pytest

from crashworthy.crashlab.bench import main as command
from crashworthy.crashlab.bench.figure import Figure, as_table, at_least, at_most
from crashworthy.crashlab.bench.ground import (
    QUICK,
    emptied_wal,
    fill,
    last_stored,
    metered,
    opened,
    raw_twin,
    wal_frames,
)
from crashworthy.crashlab.bench.main import main
from crashworthy.crashlab.workloads.teller import Teller
from crashworthy.store.verify import verify

NAMES = {
    *(f"append.budget.{kind}" for kind in ("text", "dispatch", "outcome")),
    *(
        f"append.{what}.{kind}"
        for what in ("growth", "growth_steps", "growth_frames", "rows_read")
        for kind in ("text", "dispatch", "outcome")
    ),
    "load.ms_10k",
    "open.growth",
    "verify.facts_per_s",
    "verify.memory_mb",
    "rebuild.facts_per_s",
    "rebuild.memory_mb",
    "group_commit.ceiling_share",
    "group_commit.gain_32_slow_sync",
    "claim.growth_steps.append",
    "claim.growth_steps.claim",
    "claim.commit_ms",
    "recovery.bundle_commit_ms",
    "syncs.per_tool_call",
    "open.ms_1000_sessions",
    "repair.ms_10k_run",
}
# These count work and not time, so that they are the same on every machine, busy or not.
COUNTED = (
    "append.growth_steps.text",
    "append.growth_steps.dispatch",
    "append.growth_steps.outcome",
    "claim.growth_steps.append",
    "claim.growth_steps.claim",
    "syncs.per_tool_call",
)


@pytest.mark.slow
def test_bench_measures_all_figures_and_meets_those_that_count_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    told = tmp_path / "figures.json"

    status = main(["--quick", "--place", str(place), "--json", str(told)])

    report = json.loads(told.read_text())
    figures = report["figures"]
    assert set(figures) == NAMES
    assert {name: figures[name]["met"] for name in COUNTED} == dict.fromkeys(COUNTED, True)
    assert status == (1 if any(figure["met"] is False for figure in figures.values()) else 0)
    assert report["sizes"]["facts"] == QUICK.facts
    assert list(place.iterdir()) == [], "what was measured is removed"
    shown = capsys.readouterr().out
    assert all(name in shown for name in NAMES)


def test_figures_on_standard_output_are_one_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    figure = Figure(name="open.growth", value=1.0, unit="ratio", target=at_most(2.0, "f"))

    def measured(*_sizes: object, **_told: object) -> list[Figure]:
        return [figure]

    monkeypatch.setattr(command, "measure_all", measured)
    assert main(["--quick", "--place", str(tmp_path), "--json", "-"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["figures"]["open.growth"]["met"] is True
    assert "open.growth" in told.err


def test_bench_refuses_sizes_that_are_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--facts", "0"]) == 2
    assert "not positive" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "met"), [(0.9, True), (1.0, True), (1.1, False)], ids=["below", "at", "above"]
)
def test_figure_meets_its_bound_up_to_the_bound_itself(value: float, *, met: bool) -> None:
    assert Figure(name="x", value=value, unit="ratio", target=at_most(1.0, "a")).met is met
    assert Figure(name="x", value=2 - value, unit="ratio", target=at_least(1.0, "a")).met is met


def test_table_marks_what_is_missed() -> None:
    missed = Figure(name="slow", value=2.0, unit="ratio", target=at_most(1.0, "a"))
    plain = Figure(name="plain", value=1234.5, unit="rows", parts={"more": 1.0})
    slow, told, part = as_table([missed, plain]).splitlines()
    assert slow.split() == ["slow", "2", "ratio", "<=", "1", "a", "MISSED"]
    assert told.split() == ["plain", "1,234", "rows"]
    assert part.split() == ["1", "more"]


def test_filled_log_is_one_that_verifies(tmp_path: Path) -> None:
    """A figure about a log that no runtime could have written would be a figure about nothing."""
    with opened(tmp_path) as store:
        teller = Teller(session="ses")
        store.write(teller.open_session())
        fill(store, teller, 500)
    report = verify(tmp_path / "root")
    assert (report.total, report.facts >= 500) == (0, True)


def test_meter_counts_one_commit_of_one_unit(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        order = Teller(session="ses").open_session()
        emptied_wal(store)
        with metered(store) as meter:
            store.write(order)
        frames = wal_frames(store)
        with metered(store) as idle:
            pass
    assert meter.commits == 1
    assert meter.steps > meter.statements > meter.rows > 0
    assert frames == int(frames) > 0
    assert (idle.steps, idle.statements, idle.rows, idle.commits) == (0, 0, 0, 0)


def test_raw_twin_holds_the_very_rows_of_the_store(tmp_path: Path) -> None:
    with opened(tmp_path) as store, raw_twin(tmp_path) as twin:
        store.write(Teller(session="ses").open_session())
        twin.insert(last_stored(store, 1))
        theirs = twin.connection.execute("SELECT * FROM facts").fetchall()
        ours = store.reader.fetch("SELECT * FROM facts")
        indexes = "SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'facts' ORDER BY name"
        assert twin.connection.execute(indexes).fetchall() == store.reader.fetch(indexes)
    assert theirs == ours
