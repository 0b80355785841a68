"""The command says what it proved, shows what it did not, and exits accordingly."""

import json
import sys
from pathlib import Path

import attrs
import pytest

from crashworthy.spec.explorer import Model
from crashworthy.spec.obligation import (
    ContractModule,
    ModelProof,
    Obligations,
    Plant,
    Profile,
    SpeedProbe,
)
from crashworthy.spec.prove import main
from crashworthy.spec.registry import OBLIGATIONS

from .places import ROOT, TOY_CONTRACTS
from .toy_models import ALONE, COUNTED, CROWDED, ENDS, Bugs, Doors, doors
from .toy_proof import JOB


def two() -> Model[Doors]:
    return doors(2)


def careless() -> Model[Doors]:
    return doors(2, Bugs(enters_without_key=True))


DOORS = ModelProof(name="doors", build=two, states=11)
LARGE = ModelProof(name="doors-3", build=lambda: doors(3), states=16, profile=Profile.DEEP)
KEYLESS = Plant(
    name="keyless", bug="an owner enters without a key", invariant=ALONE.id, build=careless
)
TOYS = Obligations(
    machines=(JOB,),
    models=(DOORS, LARGE),
    plants=(KEYLESS,),
    contracts=(ContractModule(module=TOY_CONTRACTS, conditions=6),),
    speeds=(SpeedProbe(name="nothing", run=lambda: 1000),),
)


@pytest.fixture(autouse=True)
def _toys_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])


def test_everything_is_proven_and_written_down(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    assert main(("--json", str(path)), TOYS) == 0
    written = json.loads(path.read_text("utf-8"))
    assert written["machines"] == {"job": {"states": 12, "rows": 8, "rows_taken": 8}}
    assert written["models"] == {
        "doors": {"states": 11, "edges": 12, "depth": 6, "rows_taken": 4, "violations": []}
    }
    assert written["planted"] == {"keyless": {"invariant": "DOOR.I1", "trace_length": 2}}
    assert written["contracts"] == {"total": 6, "confirmed": 6, "unreached": []}
    mutants = written["mutants"]
    assert mutants["killed"] == mutants["total"] == sum(mutants["by"].values())
    assert mutants["equivalent"] == []
    assert written["invariants"]["JOB.I1"] == {
        "proofs": ["machine:job", "contract:toy_contracts.counters_stay"],
        "crash_owed": True,
    }
    assert written["invariants"][CROWDED.id] == {"proofs": ["model:doors"], "crash_owed": False}
    sections = {"machines", "models", "planted", "contracts", "mutants", "invariants"}
    assert set(written) == {"profile", "seconds", "python", *sections}
    said = capsys.readouterr()
    assert (
        "ok      model     doors                    11 states, 12 edges, depth 6, 4 rows"
        in said.out
    )
    assert said.out.splitlines()[-1].startswith("proven: machines, models, contracts, mutants (ci)")
    assert said.err == "", "progress is for terminals"


def test_larger_scopes_wait_for_the_deep_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("--only", "models"), TOYS) == 0
    assert "doors-3" not in capsys.readouterr().out
    assert main(("--only", "models", "--profile", "deep"), TOYS) == 1, "16 is not its size"
    assert "seen: 15 were counted" in capsys.readouterr().out


def test_counterexample_is_printed_and_the_status_is_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    wrong = attrs.evolve(TOYS, models=(attrs.evolve(DOORS, build=careless),), plants=())
    assert main(("--only", "models"), wrong) == 1
    out = capsys.readouterr().out
    assert "FAILED  model     doors" in out
    assert "DOOR.I1 is broken: At most one owner is inside." in out
    assert "  2  owner 1 enters [DOOR.T2]" in out


def test_uncovered_invariant_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    bare = Obligations(invariants=(COUNTED, ENDS))
    assert main((), bare) == 1
    assert "DOOR.I2 is covered by no proof" in capsys.readouterr().out
    tested = attrs.evolve(COUNTED, tests=("tests/spec/test_prove.py::test_x",))
    assert main((), Obligations(invariants=(tested,))) == 0


def test_lost_contract_is_a_failure() -> None:
    short = attrs.evolve(TOYS, contracts=(ContractModule(module=TOY_CONTRACTS, conditions=7),))
    assert main(("--only", "contracts"), short) == 1


def test_planted_bug_that_is_not_found_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    blind = attrs.evolve(TOYS, plants=(attrs.evolve(KEYLESS, build=two),))
    assert main(("--only", "models"), blind) == 1
    assert main(("--plant", "keyless"), blind) == 3
    assert "NOT FOUND: DOOR.I1 holds in every reachable state" in capsys.readouterr().out


def test_planted_bug_is_shown_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("--plant", "keyless"), TOYS) == 1
    assert "    2  owner 1 enters [DOOR.T2]" in capsys.readouterr().out
    assert main(("--plant", "list"), TOYS) == 0
    assert "keyless  DOOR.I1  an owner enters" in capsys.readouterr().out
    assert main(("--plant", "unknown"), TOYS) == 2


def test_speed_is_measured_or_the_status_says_that_it_was_not(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(("--speed",), TOYS) == 0
    assert "facts/s of one core's time (1000 facts)" in capsys.readouterr().out
    assert main(("--speed",), Obligations()) == 1


def test_wrong_usage_has_its_own_status() -> None:
    with pytest.raises(SystemExit, match="2"):
        main(("--only", "everything"), TOYS)


def test_registered_machines_keep_their_promises(capsys: pytest.CaptureFixture[str]) -> None:
    """The quick part of the real proof runs with the tests; the whole is `crashworthy prove`."""
    assert main(("--only", "machines"), OBLIGATIONS) == 0, capsys.readouterr().out


def test_tests_named_by_invariants_exist() -> None:
    for invariant in OBLIGATIONS.invariants:
        for node in invariant.tests:
            path, _, name = node.partition("::")
            assert f"def {name}(" in (ROOT / path).read_text("utf-8"), node


def test_report_on_standard_output_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(("--only", "machines", "--json", "-"), TOYS) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["machines"]["job"]["states"] == 12
    assert "proven: machines" in told.err


def test_report_that_would_not_be_made_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as usage:
        main(("--plant", "keyless", "--json", "-"), TOYS)
    assert usage.value.code == 2
    assert "only whole proofs write a report" in capsys.readouterr().err


def test_planted_bugs_are_listed_in_columns(capsys: pytest.CaptureFixture[str]) -> None:
    longer = attrs.evolve(KEYLESS, name="a_very_much_longer_name_than_the_other", invariant="D.I2")
    assert main(("--plant", "list"), attrs.evolve(TOYS, plants=(KEYLESS, longer))) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.index(KEYLESS.bug) == second.index(KEYLESS.bug)
    assert first.index("DOOR.I1") == second.index("D.I2")
