"""Starting is idempotent and exclusive; an outcome is neither lost nor doubled (BR-09, 12, 13)."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping

import pytest

from .rig import CALLS, HERE, KILLED, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]

PAY = turn(step(call("bump", line="pay"), CALLS), step({"text": "paid"}, STOP))
SEND = {"do": "send", "text": "pay", "key": "k1"}


def test_same_start_finds_the_same_run_in_and_across_processes(stage: MakeStage) -> None:
    """BR-12 (a), (c): the answer was lost, the process was killed; there is one run."""
    scene = stage(play(PAY))
    told = {"kill_at": {"order": "settle", "when": "after"}}
    assert scene.live(SEND, **told).status == KILLED

    again = scene.live(SEND, SEND)

    runs = {result["run"] for result in again.results}
    assert len(runs) == 1
    assert [result["created"] for result in again.results] == [False, False]
    assert scene.kinds().count("run_opened") == 1
    assert scene.effects() == 1
    scene.check_rest()


def test_start_with_other_words_under_a_known_key_is_a_conflict(stage: MakeStage) -> None:
    """BR-12 (d)."""
    scene = stage(play(PAY))
    scene.live(SEND)
    facts = len(scene.facts())

    other = scene.live({"do": "send", "text": "pay more", "key": "k1"})

    assert other.results == [{"refused": "start_conflict"}]
    assert len(scene.facts()) == facts


def test_starts_at_once_open_one_run_and_attach_the_others(stage: MakeStage) -> None:
    """BR-12 (a): the same key from many tasks."""
    scene = stage(play(PAY))

    life = scene.live({"do": "send_many", "text": "pay", "key": "k1", "times": 8})

    (found,) = life.results
    assert len({run for run, _created in found}) == 1
    assert sum(created for _run, created in found) == 1
    assert scene.effects() == 1


def test_second_prompt_beside_an_open_run_is_refused(stage: MakeStage) -> None:
    """BR-12 (e): without a key, the session is busy."""
    scene = stage(play(PAY))

    life = scene.live({"do": "send_many", "text": "pay", "times": 3})

    (found,) = life.results
    assert sorted(str(one) for one in found)[1:] == ["session_busy", "session_busy"]
    assert scene.kinds().count("run_opened") == 1
    scene.check_rest()


def test_second_process_is_turned_away_and_changes_nothing(stage: MakeStage) -> None:
    """BR-09 (b), BR-12 (b): a live owner is left alone, and its run ends as it should."""
    slow = turn(step(call("bump", line="x", gate="open"), CALLS), step({"text": "x"}, STOP))
    scene = stage(play(slow))
    told = {"base": str(scene.base), "script": scene.script, "steps": [{"do": "send", "text": "g"}]}
    owner = subprocess.Popen(
        [sys.executable, str(HERE / "victim.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HERE.parents[2] / ".src")},
    )
    assert owner.stdin is not None
    assert owner.stdout is not None
    owner.stdin.write(json.dumps(told))
    owner.stdin.close()
    owner.stdout.readline()

    other = scene.live({"do": "send", "text": "me too"})
    (scene.base / "open").touch()
    rest = owner.stdout.read()
    owner.stdout.close()

    assert owner.wait() == 0
    assert other.status == 1
    assert "root_owned" in other.errors
    assert json.loads(rest)["end"] == "completed"
    assert scene.effects() == 1
    scene.check_rest()


@pytest.mark.parametrize("when", ["before", "after"])
def test_outcome_that_could_not_be_stored_lands_once_with_the_same_bytes(
    stage: MakeStage, when: str
) -> None:
    """BR-13 (a), (b): not committed, or committed with its acknowledgement lost."""
    scene = stage(play(PAY))

    life = scene.live(SEND, full_at={"order": "settle", "when": when})

    assert life.results[0]["end"] == "completed", life
    assert scene.effects() == 1
    assert scene.kinds().count("outcome") == 1
    scene.check_rest()


def test_outcome_that_never_could_be_stored_stays_unknown(stage: MakeStage) -> None:
    """BR-13 (c): the process dies with it; nobody claims to know what happened."""
    scene = stage(play(PAY))
    told = {"full_at": {"order": "settle", "when": "before", "times": -1}}
    life = scene.live({**SEND, "wait": False}, {"do": "sleep", "s": 0.6}, {"do": "die"}, **told)
    assert life.status == KILLED, life
    assert len(scene.requests()) == 1, "no step past a fact that is not durable"

    scene.check_rest()
    scene.turn()

    assert scene.result_shown("c1")["status"] == "unknown"
    assert scene.effects() == 1


def test_dispatch_that_cannot_be_stored_runs_no_tool(stage: MakeStage) -> None:
    """BR-19: T1 refused by a full disk; the run ends as a storage failure, and nothing happened."""
    scene = stage(play(PAY))

    life = scene.live(SEND, full_at={"order": "dispatch", "when": "before"})

    assert (life.results[0]["end"], life.results[0]["failure"]) == ("failed", "storage"), life
    assert scene.effects() == 0
    scene.turn()
    scene.check_rest()


def test_dispatch_that_cannot_be_stored_costs_no_sibling(stage: MakeStage) -> None:
    """OP-3: the disk was full for one call's T1 while another call was running."""
    both = turn(
        step(call("look", "c1", path="a", wait_ms=400), call("bump", "c2", line="x"), CALLS)
    )
    scene = stage(play(both))

    life = scene.live({"do": "send", "text": "go"}, full_at={"order": "dispatch", "when": "before"})

    assert life.results[0]["failure"] == "storage", life
    scene.turn()
    found = [scene.result_shown(label)["status"] for label in ("c1", "c2")]
    assert sorted(found) == ["not_started", "settled"]
    scene.check_rest()


def test_end_that_cannot_be_stored_is_not_reported(stage: MakeStage) -> None:
    """BR-19: the terminal waits for space; the run has no end before that."""
    scene = stage(play(PAY))

    life = scene.live(SEND, full_at={"order": "EndRun", "when": "before", "times": 3})

    assert life.results[0]["end"] == "completed"
    assert scene.kinds().count("run_ended") == 1
    scene.check_rest()
