"""A file effect is planned, written by rename, and recognised after any death (OP-6)."""

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.actors.tools.boundary import BoundaryRequiredError
from crashworthy.actors.tools.builtin.files import edit, write
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.effects.files import (
    Change,
    FileEffect,
    FilePolicy,
    Parents,
    execute,
    leftovers,
    observe,
    plan,
    temp_name,
)
from crashworthy.actors.tools.errors import (
    EditTextAmbiguousError,
    EditTextMissingError,
    FileNotTextError,
    FileTooLargeError,
    ParentMissingError,
    PathDeniedError,
    TargetChangedError,
    TargetHardLinkedError,
    TargetMissingError,
    TargetNotRegularError,
    TargetSymlinkError,
    ToolRefusedError,
    TransformUnstableError,
)
from crashworthy.actors.tools.paths import Workspace, workspace_boundary
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.vocabulary import Observation

SOURCE = Path(__file__).parents[4] / ".src"


def workspace(root: Path) -> Workspace:
    found = str(root.resolve())
    return Workspace(root=found, identity="w-1", boundary=workspace_boundary(found))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    return workspace(tmp_path)


def effect_of(tool: Tool) -> FileEffect:
    assert tool.effect is not None
    return tool.effect


WRITE, EDIT = effect_of(write), effect_of(edit)


def looked(place: Workspace, effect: FileEffect, args: dict[str, Json]) -> Observation:
    return observe(plan(effect, args, place).evidence, "w-1").observation


@pytest.mark.proves("OP-6")
def test_plan_changes_nothing_and_execution_does_what_was_planned(
    place: Workspace, tmp_path: Path
) -> None:
    args: dict[str, Json] = {"path": "new/dir/file.txt", "content": "höllo"}
    planned = plan(WRITE, args, place)
    assert names_in(tmp_path) == []
    assert (planned.before, planned.after) == (None, "höllo".encode())
    result = execute(WRITE, args, place, planned.evidence, "op-1")
    assert result == planned.evidence.result
    assert (tmp_path / "new/dir/file.txt").read_text() == "höllo"
    assert names_in(tmp_path / "new/dir") == ["file.txt"]
    seen = observe(planned.evidence, "w-1")
    assert seen.observation is Observation.MATCHES_EXPECTED_STATE


def test_mode_is_kept_and_a_new_file_has_the_planned_one(place: Workspace, tmp_path: Path) -> None:
    target = tmp_path / "script"
    target.write_text("old")
    target.chmod(0o750)
    old_umask = os.umask(0o077)
    try:
        for path, mode in (("script", 0o750), ("fresh", 0o644)):
            args: dict[str, Json] = {"path": path, "content": "new"}
            execute(WRITE, args, place, plan(WRITE, args, place).evidence, "op-1")
            assert stat.S_IMODE((tmp_path / path).stat().st_mode) == mode
    finally:
        os.umask(old_umask)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_owner_is_kept(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    os.chown(tmp_path / "file", 12345, 54321)
    args: dict[str, Json] = {"path": "file", "content": "new"}
    execute(WRITE, args, place, plan(WRITE, args, place).evidence, "op-1")
    found = (tmp_path / "file").stat()
    assert (found.st_uid, found.st_gid) == (12345, 54321)


def make_symlink(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def make_hard_link(path: Path) -> None:
    path.write_text("another")
    os.link(path, path.parent / "second-name")


def make_directory(path: Path) -> None:
    path.mkdir()


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(WRITE.policy.size_bytes_max + 1)


@pytest.mark.parametrize(
    ("make", "refusal"),
    [
        (make_symlink, TargetSymlinkError),
        (make_hard_link, TargetHardLinkedError),
        (make_directory, TargetNotRegularError),
        (make_pipe, TargetNotRegularError),
        (make_large, FileTooLargeError),
    ],
)
@pytest.mark.proves("OP-6")
def test_target_that_a_rename_would_change_otherwise_is_refused(
    place: Workspace,
    tmp_path: Path,
    make: Callable[[Path], None],
    refusal: type[ToolRefusedError],
) -> None:
    """Seen at the plan, and again at the execution if it appeared in between."""
    args: dict[str, Json] = {"path": "target", "content": "x"}
    early = plan(WRITE, args, place).evidence
    make(tmp_path / "target")
    names = names_in(tmp_path)
    with pytest.raises(refusal):
        plan(WRITE, args, place)
    with pytest.raises(refusal):
        execute(WRITE, args, place, early, "op-1")
    assert names_in(tmp_path) == names
    assert observe(early, "w-1").observation is Observation.DIVERGED


@pytest.mark.proves("OP-6")
def test_execution_refuses_a_file_that_the_plan_did_not_see(
    place: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("one")
    args: dict[str, Json] = {"path": "file", "content": "two"}
    evidence = plan(WRITE, args, place).evidence
    (tmp_path / "file").write_text("somebody else's")
    with pytest.raises(TargetChangedError):
        execute(WRITE, args, place, evidence, "op-1")
    assert (tmp_path / "file").read_text() == "somebody else's"
    other = attrs.evolve(place, identity="w-2")
    with pytest.raises(TargetChangedError):
        execute(WRITE, args, other, plan(WRITE, args, place).evidence, "op-1")


@pytest.mark.proves("OP-6")
def test_parent_that_became_a_link_is_not_followed(place: Workspace, tmp_path: Path) -> None:
    """Between plan and execution somebody moves the ground; the write must not leave with it."""
    (tmp_path / "dir").mkdir()
    args: dict[str, Json] = {"path": "dir/file", "content": "x"}
    evidence = plan(WRITE, args, place).evidence
    (tmp_path / "dir").rename(tmp_path / "moved")
    (tmp_path / "dir").symlink_to(tmp_path / "moved")
    with pytest.raises(TargetChangedError):
        execute(WRITE, args, place, evidence, "op-1")
    assert names_in(tmp_path / "moved") == []
    assert observe(evidence, "w-1").observation is Observation.DIVERGED


def test_target_below_a_file_is_refused_as_what_it_is(place: Workspace, tmp_path: Path) -> None:
    args: dict[str, Json] = {"path": "dir/file", "content": "x"}
    evidence = plan(WRITE, args, place).evidence
    (tmp_path / "dir").write_text("a file now")
    with pytest.raises(TargetNotRegularError):
        plan(WRITE, args, place)
    with pytest.raises(TargetNotRegularError):
        execute(WRITE, args, place, evidence, "op-1")
    assert observe(evidence, "w-1").observation is Observation.DIVERGED
    assert not leftovers(evidence.target, "op-1")


def test_transform_that_changes_its_mind_writes_nothing(place: Workspace, tmp_path: Path) -> None:
    answers = iter([b"one", b"two"])

    def unstable(before: bytes | None, args: object) -> Change:
        del before, args
        return Change(content=next(answers), result=None)

    effect = FileEffect(target="path", transform=unstable, version=1)
    evidence = plan(effect, {"path": "file"}, place).evidence
    with pytest.raises(TransformUnstableError):
        execute(effect, {"path": "file"}, place, evidence, "op-1")
    assert names_in(tmp_path) == []


def test_missing_directory_is_refused_when_the_policy_says_so(place: Workspace) -> None:
    effect = attrs.evolve(WRITE, policy=FilePolicy(parents=Parents.REFUSE))
    with pytest.raises(ParentMissingError):
        plan(effect, {"path": "no/file", "content": ""}, place)


@pytest.mark.proves("ASK-4")
def test_boundary_holds_at_plan_and_at_execution(place: Workspace, tmp_path: Path) -> None:
    with pytest.raises(BoundaryRequiredError):
        plan(WRITE, {"path": "../out", "content": ""}, place)
    with pytest.raises(PathDeniedError):
        plan(WRITE, {"path": ".git/config", "content": ""}, place)
    args: dict[str, Json] = {"path": "file", "content": ""}
    evidence = plan(WRITE, args, place).evidence
    closed = attrs.evolve(place, boundary=attrs.evolve(place.boundary, files=()))
    with pytest.raises(BoundaryRequiredError):
        execute(WRITE, args, closed, evidence, "op-1")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize(
    ("content", "changes", "refusal"),
    [
        (None, {}, TargetMissingError),
        (b"\xff", {}, FileNotTextError),
        (b"nothing", {}, EditTextMissingError),
        (b"old", {"old": ""}, EditTextMissingError),
        (b"old old", {}, EditTextAmbiguousError),
    ],
)
def test_edit_that_fits_nowhere_or_twice_is_refused(
    place: Workspace,
    tmp_path: Path,
    content: bytes | None,
    changes: dict[str, Json],
    refusal: type[ToolRefusedError],
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    with pytest.raises(refusal):
        plan(EDIT, {"path": "file", "old": "old", "new": "new", **changes}, place)


def test_edit_replaces_all_when_asked_to(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old\r\nold")
    args: dict[str, Json] = {"path": "file", "old": "old", "new": "new", "all": True}
    evidence = plan(EDIT, args, place).evidence
    assert execute(EDIT, args, place, evidence, "op-1") == {
        "path": "file",
        "replaced": 2,
        "bytes": 8,
    }
    assert (tmp_path / "file").read_bytes() == b"new\r\nnew"


# --- observation ---


@pytest.mark.proves("OP-6")
def test_observation_tells_the_four_states_apart(place: Workspace, tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_text("before")
    args: dict[str, Json] = {"path": "file", "content": "after"}
    evidence = plan(WRITE, args, place).evidence
    assert observe(evidence, "w-1").observation is Observation.MATCHES_PRIOR_STATE
    target.write_text("after")
    assert observe(evidence, "w-1").observation is Observation.MATCHES_EXPECTED_STATE
    target.chmod(0o600)
    assert observe(evidence, "w-1").observation is Observation.DIVERGED
    target.unlink()
    assert observe(evidence, "w-1").observation is Observation.DIVERGED
    make_large(target)
    assert observe(evidence, "w-1").observation is Observation.DIVERGED
    assert observe(evidence, "w-2").observation is Observation.UNREADABLE


def test_missing_directory_counts_as_absent(place: Workspace) -> None:
    assert looked(place, WRITE, {"path": "no/dir/file", "content": "x"}) is (
        Observation.MATCHES_PRIOR_STATE
    )


def test_effect_without_a_difference_counts_as_happened(place: Workspace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("same")
    assert looked(place, WRITE, {"path": "file", "content": "same"}) is (
        Observation.MATCHES_EXPECTED_STATE
    )


@pytest.mark.proves("OP-6")
def test_leftovers_are_exactly_the_files_of_the_operation(place: Workspace, tmp_path: Path) -> None:
    evidence = plan(WRITE, {"path": "file", "content": "x"}, place).evidence
    mine, other = tmp_path / temp_name("op-1"), tmp_path / temp_name("op-11")
    mine.write_text("half")
    other.write_text("half")
    assert leftovers(evidence.target, "op-1")
    assert not leftovers(evidence.target, "op-1")
    assert names_in(tmp_path) == [other.name]
    other.unlink()
    other.symlink_to(tmp_path)
    assert not leftovers(evidence.target, "op-11")
    assert other.is_symlink()


# --- death at every step ---

VICTIM = """
import json, os, signal, sys
from pathlib import Path
from crashworthy.actors.tools.builtin.files import write
from crashworthy.actors.tools.effects.files import execute, plan
from crashworthy.actors.tools.paths import Workspace, workspace_boundary

root, target, step = sys.argv[1:]
place = Workspace(root=root, identity="w-1", boundary=workspace_boundary(root))
args = {"path": target, "content": "after" * 1000}
evidence = plan(write.effect, args, place).evidence

def probe(name):
    print(name, flush=True)
    if name == step:
        os.kill(os.getpid(), signal.SIGKILL)

execute(write.effect, args, place, evidence, "op-1", probe)
"""

STEPS = {
    "file.begun": Observation.MATCHES_PRIOR_STATE,
    "file.temp_made": Observation.MATCHES_PRIOR_STATE,
    "file.temp_written": Observation.MATCHES_PRIOR_STATE,
    "file.temp_durable": Observation.MATCHES_PRIOR_STATE,
    "file.renamed": Observation.MATCHES_EXPECTED_STATE,
    "file.durable": Observation.MATCHES_EXPECTED_STATE,
}


def die_at(step: str, root: Path, target: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", VICTIM, str(root), target, step],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


def test_every_step_is_listed(tmp_path: Path) -> None:
    """A step that nobody dies at would be a gap."""
    lived = die_at("none", tmp_path.resolve(), "file")
    assert (lived.returncode, lived.stdout.split()) == (0, list(STEPS))


@pytest.mark.parametrize("existing", [None, "before"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.proves("OP-6")
def test_killed_effect_is_observed_as_what_it_is(
    tmp_path: Path, step: str, existing: str | None
) -> None:
    place = workspace(tmp_path)
    if existing is not None:
        (tmp_path / "file").write_text(existing)
    evidence = plan(WRITE, {"path": "file", "content": "after" * 1000}, place).evidence
    died = die_at(step, tmp_path.resolve(), "file")
    assert died.returncode == -signal.SIGKILL
    assert died.stdout.split()[-1] == step
    assert observe(evidence, "w-1").observation is STEPS[step]
    left = step in {"file.temp_made", "file.temp_written", "file.temp_durable"}
    assert leftovers(evidence.target, "op-1") is left
    expected = STEPS[step] is Observation.MATCHES_EXPECTED_STATE
    names = ["file"] if expected or existing is not None else []
    assert names_in(tmp_path) == names
    if names:
        assert (tmp_path / "file").read_text() == ("after" * 1000 if expected else existing)


# --- one transform ---

CONTENTS = st.none() | st.text(st.sampled_from("ab\n\r\0é𝄞"), max_size=12).map(str.encode)


@given(
    before=CONTENTS,
    old=st.text(st.sampled_from("ab\né"), min_size=1, max_size=3),
    new=st.text(st.sampled_from("ab\né𝄞"), max_size=3),
    every=st.booleans(),
    use_edit=st.booleans(),
)
@pytest.mark.proves("OP-6")
def test_plan_equals_execution(
    before: bytes | None, old: str, new: str, *, every: bool, use_edit: bool
) -> None:
    """Whatever the plan says will be there, is there; what it refuses is never begun."""
    effect = EDIT if use_edit else WRITE
    args: dict[str, Json] = (
        {"path": "d/f", "old": old, "new": new, "all": every}
        if use_edit
        else {"path": "d/f", "content": old + new}
    )
    with tempfile.TemporaryDirectory() as directory:
        root, place = Path(directory), workspace(Path(directory))
        (root / "d").mkdir()
        if before is not None:
            (root / "d/f").write_bytes(before)
        try:
            planned = plan(effect, args, place)
        except ToolRefusedError:
            with pytest.raises(ToolRefusedError):
                effect.transform(before, args)
            return
        assert planned.before == before
        result = execute(effect, args, place, planned.evidence, "op-1")
        assert (root / "d/f").read_bytes() == planned.after
        assert json.dumps(result) == json.dumps(planned.evidence.result)
        assert observe(planned.evidence, "w-1").observation is Observation.MATCHES_EXPECTED_STATE
        assert names_in(root / "d") == ["f"]
