"""What a killed root shows is held against its promises, and each breach is found."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.turnstile import Turnstile
from crashworthy.crashlab.workload import open_stage
from crashworthy.crashlab.workloads.runtime_acts import rest
from crashworthy.crashlab.workloads.runtime_life import Life, live, workspace_of
from crashworthy.crashlab.workloads.runtime_scenes import FILE_EDIT, PARALLEL_TOOLS, Scene, begin
from crashworthy.crashlab.workloads.runtime_views import (
    facts_of,
    repeated,
    torn_files,
    unexplained,
    unexplained_session,
)
from crashworthy.machines.facts.model import RunEnded, RuntimeEvent, StopRequested
from crashworthy.machines.facts.vocabulary import Kind, RunStatus


def played(home: Path, scene: Scene, text: str) -> list[RuntimeEvent]:
    """Take one turn of a scene on a new root and return its facts."""
    stage = open_stage(
        home=home, seed=1, turnstile=Turnstile(target=None, note_path=str(home / "note"))
    )

    async def act(life: Life) -> None:
        await begin(life, text)
        await rest(life.runtime)

    acting: Callable[[Life], Awaitable[None]] = act
    live(stage, scene.tools, scene.script, acting)
    return facts_of(home / "root")


@pytest.fixture
def written(tmp_path: Path) -> list[RuntimeEvent]:
    return played(tmp_path, FILE_EDIT, "write it down")


def promises(facts: list[RuntimeEvent]) -> set[str]:
    return {finding.promise for finding in unexplained_session(facts)}


def test_whole_turn_is_explained(tmp_path: Path, written: list[RuntimeEvent]) -> None:
    workspace = workspace_of(tmp_path / "root")
    assert (workspace / "a.txt").read_text() == "two\n"
    assert unexplained(written, shown=(), effects=(), workspace=workspace) == []


def test_fact_that_was_shown_and_is_gone_is_found(
    tmp_path: Path, written: list[RuntimeEvent]
) -> None:
    shown = [fact.id for fact in written]
    found = unexplained(written[:-1], shown=shown, effects=(), workspace=tmp_path)
    assert "RUNTIME.I1" in {finding.promise for finding in found}


def test_run_without_an_end_is_found(written: list[RuntimeEvent]) -> None:
    """Cut anywhere between opening and end, a run is neither over nor waits for anybody."""
    opened = next(i for i, fact in enumerate(written) if fact.kind is Kind.RUN_OPENED)
    ended = next(i for i, fact in enumerate(written) if fact.kind is Kind.RUN_ENDED)
    for cut in range(opened + 2, ended):
        assert promises(written[:cut]) == {"RUNTIME.I3"}
    assert promises(written) == set()


def test_stop_that_did_not_end_its_run_as_aborted_is_found(written: list[RuntimeEvent]) -> None:
    at = next(i for i, fact in enumerate(written) if fact.kind is Kind.RUN_ENDED)
    stop = attrs.evolve(
        written[at],
        id="fact_stop",
        kind=Kind.STOP_REQUESTED,
        actions=StopRequested(source="ui"),
    )
    assert "RUNTIME.I4" in promises([*written[:at], stop, *written[at:]])
    heeded = attrs.evolve(written[at], actions=RunEnded(status=RunStatus.ABORTED, source="ui"))
    assert "RUNTIME.I4" not in promises([*written[:at], stop, heeded])


def test_file_that_is_not_what_its_write_said_is_found(
    tmp_path: Path, written: list[RuntimeEvent]
) -> None:
    workspace = workspace_of(tmp_path / "root")
    assert torn_files(written, workspace) == []
    (workspace / ".crashworthy-op_1.tmp").touch()
    assert torn_files(written, workspace) == [".crashworthy-op_1.tmp is left over"]
    (workspace / ".crashworthy-op_1.tmp").unlink()
    (workspace / "a.txt").write_text("tw")
    assert torn_files(written, workspace) == ["a.txt diverged, and its write is told as ok"]


def test_same_words_under_another_operation_are_a_repetition(tmp_path: Path) -> None:
    facts = played(tmp_path, PARALLEL_TOOLS, "do it all")
    bump = next(
        fact.refs.operation for fact in facts if getattr(fact.content, "name", "") == "bump"
    )
    assert bump is not None
    assert repeated(facts, [bump]) == []
    assert repeated(facts, [bump, bump]) == ["bump {'line': 'x'} happened 2 times"]
