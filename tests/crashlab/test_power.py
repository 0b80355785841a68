"""Power is taken from a store: nothing acknowledged is lost, and each missing sync is found."""

import json
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.main import BROKEN, CLEAN, ENVIRONMENT, USAGE, main
from crashworthy.crashlab.matrix import Progress
from crashworthy.crashlab.power.judging import Verdict
from crashworthy.crashlab.power.losses import Loss
from crashworthy.crashlab.power.planning import Extent, all_lost
from crashworthy.crashlab.power.recorder import RecorderUnavailableError, build_recorder
from crashworthy.crashlab.power.recording import Recording
from crashworthy.crashlab.power.report import Report, as_text
from crashworthy.crashlab.power.running import Course, by_profile, recorded, run_power

PLAN = Course(
    workload="toy_note:sound",
    profile="ci",
    extent=Extent(images=60, kills_each=1),
    seed=1,
    shard=(1, 1),
    jobs=2,
    seconds_max=60,
)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Skip where there is none; a lab that cannot look has not seen anything."""
    try:
        return build_recorder(tmp_path_factory.mktemp("recorder"))
    except RecorderUnavailableError as error:
        pytest.skip(str(error))


def course(workload: str, images: int = 60) -> Course:
    return attrs.evolve(PLAN, workload=workload, extent=Extent(images=images, kills_each=1))


def nobody_killed(_whole: Recording) -> Sequence[int]:
    return ()


def verdicts(workload: str, images: int) -> list[Verdict]:
    """Judge images of the one undisturbed recording."""
    with recorded(course(workload, images), nobody_killed) as session:
        assert session.findings == ()
        return list(session.judge(session.images(), base=session.place))


def broken(seen: Sequence[Verdict]) -> set[str]:
    return {finding.promise for one in seen for finding in one.findings}


def violated(report: Report) -> set[str]:
    return {breach.promise for breach in report.violations}


# --- the store ---


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
@pytest.mark.proves("CRASH-4", "STORE-1", "STORE-9a", "OP-6a", "STORE.I1", "STORE.I2", "STORE.I11")
def test_store_outlives_every_loss_of_power_with_all_that_it_acknowledged() -> None:
    report = run_power(course("checkpoints", 100))

    assert report.violations == ()
    assert report.clean
    assert report.recordings >= 15
    assert report.acknowledged >= 50
    assert {tally.loss: tally.lossy > 0 for tally in report.losses} == dict.fromkeys(Loss, True)


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("level", ["normal", "off"])
def test_store_that_syncs_less_loses_what_it_acknowledged(level: str) -> None:
    seen = verdicts(f"toy_power:{level}", 30)
    assert "STORE.I1" in broken(seen)


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize(
    ("workload", "promise"),
    [
        ("anchor_unsynced", "STORE.I11"),
        ("blob_name_unsynced", "STORE.I2"),
        ("blob_content_unsynced", "STORE.I2"),
    ],
)
def test_each_other_sync_is_missed(workload: str, promise: str) -> None:
    assert promise in broken(verdicts(f"toy_power:{workload}", 40))


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
def test_owner_that_trusts_the_directories_of_a_killed_one_is_found() -> None:
    """The lab found this in the store: only a kill and a power loss together show it."""
    with recorded(course("toy_power:trusting"), by_profile(PLAN)) as session:
        ends = [all_lost(one, len(one.operations)) for one in session.recordings]
        whole, *killed = session.judge(ends, base=session.place)
    assert whole.findings == ()
    assert {"STORE.I1", "STORE.I2"} <= broken(killed)


@pytest.mark.slow
@pytest.mark.usefixtures("recorder")
def test_whole_script_of_the_store_outlives_it_too() -> None:
    assert broken(verdicts("store", 20)) == set()


# --- any workload ---


@pytest.mark.usefixtures("recorder")
def test_sound_note_is_clean_and_what_is_about_kills_alone_is_excused() -> None:
    steps: list[Progress] = []
    report = run_power(PLAN, progress=steps.append)
    assert report.clean
    assert (report.images, len(steps), steps[-1].done) == (60, 60, 60)
    assert "clean\n" in as_text(report)


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("lapse", ["root_name", "content", "file_name", "trusts_root"])
def test_each_step_that_a_note_leaves_out_is_found(lapse: str) -> None:
    report = run_power(course(f"toy_note:{lapse}"))
    assert violated(report) == {"NOTE.I1"}
    text = as_text(report)
    assert f"--workload toy_note:{lapse} --seed 1 --at 'killed=" in text
    assert text.endswith("NOT clean\n")


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("stray", ["links", "maps", "writes_elsewhere"])
def test_what_the_recorder_cannot_see_is_a_failure_and_no_image_is_made(stray: str) -> None:
    report = run_power(course(f"toy_note:{stray}"))
    assert violated(report) == {"CRASH.I8"}
    assert (report.images, report.clean) == (0, False)


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize("fault", ["ends_its_judge", "hangs"])
def test_image_that_ends_its_judge_is_broken_and_the_others_are_judged(fault: str) -> None:
    few = attrs.evolve(course(f"toy_note:{fault}", 12), seconds_max=1)
    with recorded(few, nobody_killed) as session:
        seen = list(session.judge(session.images(), base=session.place))
        assert [one.key for one in seen] == [str(key) for key in session.images()]
    assert broken(seen) == {"CRASH.I6"}
    assert any(not one.findings for one in seen)


# --- the command ---


@pytest.mark.usefixtures("recorder")
def test_failure_is_repeated_by_its_key(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--power", "30", "--workload", "toy_note:file_name", "--json", "-"]
    assert main(words) == BROKEN
    told = json.loads(capsys.readouterr().out)["power"]
    assert (told["clean"], told["images"]) == (False, 30)
    key = told["violations"][0]["image"]

    assert main([*words[:4], "--at", key]) == BROKEN
    out = capsys.readouterr().out
    assert f"image {key}: " in out
    assert f"BROKEN NOTE.I1: {told['violations'][0]['detail']}\n" in out
    kept = next(Path(out.rpartition("files: ")[2].strip()).glob("image-*"))
    assert (kept / "acks").exists()


@pytest.mark.usefixtures("recorder")
def test_listed_keys_are_those_of_the_run_and_shards_share_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = ["--power", "20", "--workload", "toy_note:sound", "--list"]
    assert main(words) == CLEAN
    whole = capsys.readouterr().out.splitlines()
    parts: list[str] = []
    for shard in ("1/2", "2/2"):
        assert main([*words, "--shard", shard]) == CLEAN
        parts += capsys.readouterr().out.splitlines()
    assert len(whole) == len(set(whole)) == 20
    assert sorted(parts) == sorted(whole)


@pytest.mark.usefixtures("recorder")
@pytest.mark.parametrize(
    "key", ["", "killed=0 after=9999 lost=all draw=0", "killed=9999 after=0 lost=all draw=0", "x"]
)
def test_key_of_no_image_is_wrong_usage(key: str) -> None:
    if key:
        assert main(["--power", "--workload", "toy_note:sound", "--at", key]) == USAGE


@pytest.mark.usefixtures("recorder")
def test_workload_that_fails_by_itself_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--power", "5", "--workload", "toy_note:raises"]) == BROKEN
    assert "recording_failed" in capsys.readouterr().err


def test_unknown_workload_and_two_runs_at_once_are_wrong_usage() -> None:
    assert main(["--power", "5", "--workload", "nobody"]) == USAGE
    assert main(["--power", "--moments"]) == USAGE
    assert main(["--power", "--junit", "-"]) == USAGE


def test_without_a_compiler_nothing_is_passed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert main(["--power", "5", "--workload", "toy_note:sound"]) == ENVIRONMENT
    told = capsys.readouterr()
    assert "recorder_unavailable" in told.err
    assert told.out == ""


@pytest.mark.parametrize("compiler", ["false", "true"])
def test_compiler_that_makes_nothing_is_told(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(RecorderUnavailableError, match="made nothing"):
        build_recorder(tmp_path, platform="linux")


def test_library_that_cannot_be_loaded_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "writes-words"
    compiler.write_text('#!/bin/sh\necho words > "$5"\n', "ascii")
    compiler.chmod(0o700)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(RecorderUnavailableError, match="cannot be loaded"):
        build_recorder(tmp_path, platform="linux")


def test_other_platform_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecorderUnavailableError, match="darwin"):
        build_recorder(tmp_path, platform="darwin")
