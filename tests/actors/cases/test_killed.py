"""Killed in a turn: nothing twice, nothing guessed, and the next turn works (BR-01, 02, 06, 08)."""

from collections.abc import Callable, Mapping

import pytest

from .rig import CALLS, KILLED, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]

POINTS: Mapping[str, tuple[Mapping[str, object], int]] = {
    "call durable, T1 not": ({"kill_at": {"order": "dispatch", "when": "before"}}, 0),
    "T1 durable, effect not done": ({"kill_in_tool": "before effect"}, 0),
    "effect done, T2 not durable": ({"kill_in_tool": "after effect"}, 1),
    "T2 durable": ({"kill_at": {"order": "settle", "when": "after"}}, 1),
}
STATUS = {
    "call durable, T1 not": "not_started",
    "T1 durable, effect not done": "unknown",
    "effect done, T2 not durable": "unknown",
    "T2 durable": "settled",
}


@pytest.mark.parametrize("point", sorted(POINTS))
def test_kill_in_a_tool_leaves_one_explained_answer(stage: MakeStage, point: str) -> None:
    """BR-01, BR-08: the three values stay apart at every point; no effect is repeated."""
    told, effects = POINTS[point]
    said = step({"text": "I will write it"}, call("bump", line="x"), CALLS)
    scene = stage(play(turn(said, step({"text": "done"}, STOP))))

    assert scene.live({"do": "send", "text": "go"}, **told).status == KILLED
    scene.check_rest()
    scene.turn()

    assert scene.effects() == effects
    shown = scene.result_shown("c1")
    assert shown is not None
    assert shown["status"] == STATUS[point]
    if shown["status"] == "settled":
        assert shown["result"] == {"bumped": "x"}
    scene.check_rest()


@pytest.mark.parametrize("how", ["kill", "stop"])
def test_siblings_keep_their_outcomes_when_one_call_hangs(stage: MakeStage, how: str) -> None:
    """BR-02: durability belongs to the single call, and results stand in call order."""
    said = step(
        call("look", "c1", path="a"),
        call("look", "c2", path="b"),
        call("bump", "c3", line="z", gate="never"),
        CALLS,
    )
    scene = stage(play(turn(said)))
    if how == "kill":
        told = {"kill_at": {"order": "settle", "when": "after", "nth": 2}}
        assert scene.live({"do": "send", "text": "go"}, **told).status == KILLED
    else:
        life = scene.live(
            {"do": "send", "text": "go", "wait": False},
            {"do": "sleep", "s": 0.5},
            {"do": "stop"},
        )
        assert life.status == 0, life.errors
    scene.check_rest()
    scene.turn()

    assert [scene.result_shown(label)["status"] for label in ("c1", "c2", "c3")] == [
        "settled",
        "settled",
        "unknown" if scene.effects() else "not_started",
    ]
    assert [scene.result_shown(label)["result"] for label in ("c1", "c2")] == ["A", "B"]


def test_failing_sibling_changes_no_other_outcome(stage: MakeStage) -> None:
    """BR-02 (c)."""
    said = step(
        call("look", "c1", path="a"),
        call("fail", "c2", reason="no"),
        call("look", "c3", path="empty"),
        CALLS,
    )
    scene = stage(play(turn(said, step({"text": "seen"}, STOP))))

    life = scene.live({"do": "send", "text": "go"})

    assert life.results[0]["end"] == "completed", life
    assert [scene.result_shown(label)["is_error"] for label in ("c1", "c2", "c3")] == [
        False,
        True,
        False,
    ]
    scene.check_rest()


DEATHS: Mapping[str, Mapping[str, object]] = {
    "opened": {"kill_at": {"order": "OpenRun", "when": "after"}},
    "request sent": {"kill_at": {"order": "dispatch_request", "when": "after"}},
    "mid-text": {"kill_on_event": "after TextPiece"},
    "step durable": {"kill_at": {"order": "settle_step", "when": "after"}},
    "T1": {"kill_at": {"order": "dispatch", "when": "after"}},
    "T2": {"kill_at": {"order": "settle", "when": "after"}},
    "second request": {"kill_at": {"order": "dispatch_request", "when": "after", "nth": 2}},
    "before the end": {"kill_at": {"order": "EndRun", "when": "before"}},
}


@pytest.mark.parametrize("death", sorted(DEATHS))
def test_run_of_a_dead_host_is_closed_once_and_explained(stage: MakeStage, death: str) -> None:
    """BR-06: whatever the host died at, nothing says running afterwards, and a stop is a no-op."""
    said = step(
        {"text": "The first of many", "pieces": 3, "piece_delay_ms": 30},
        call("look", path="a"),
        CALLS,
    )
    scene = stage(play(turn(said, step({"text": "done"}, STOP))))

    assert scene.live({"do": "send", "text": "go"}, **DEATHS[death]).status == KILLED
    first = scene.reopen()
    (run, decided), *_ = first.recovery["runs"].items()
    assert decided in {"abandon", "lost_after_dispatch", "lost"}
    life = scene.live({"do": "stop", "run": run})
    assert life.results == [["ended"]]
    scene.check_rest()
    scene.turn()


def test_error_of_a_dead_run_neither_blocks_nor_enters_the_next_turn(stage: MakeStage) -> None:
    """BR-06, the last point: an error fact is durable, the terminal is not."""
    scene = stage(play(turn(step({"error": "billing", "message": "no money"}))))
    told = {"kill_at": {"order": "settle_request", "when": "after"}}

    assert scene.live({"do": "send", "text": "go"}, **told).status == KILLED
    scene.check_rest()
    scene.turn()

    assert "no money" not in str(scene.requests()[-1])
    assert "error_noted" in scene.kinds()


def test_interrupted_read_parks_nobody(stage: MakeStage) -> None:
    """A tool without effects was interrupted: settled as such, and nobody has to decide (OP-5)."""
    said = step(call("look", path="a"), CALLS)
    scene = stage(play(turn(said)))

    assert scene.live({"do": "send", "text": "go"}, kill_in_tool="look").status == KILLED
    life = scene.reopen()

    assert list(life.recovery["operations"].values()) == ["interrupt"]
    scene.check_rest()
    scene.turn()
    assert scene.result_shown("c1")["status"] == "settled"


def test_interrupted_payment_is_parked_for_its_key(stage: MakeStage) -> None:
    said = step(call("pay", line="x"), CALLS)
    scene = stage(play(turn(said)))

    assert scene.live({"do": "send", "text": "go"}, kill_in_tool="after effect").status == KILLED
    life = scene.reopen()

    assert list(life.recovery["operations"].values()) == ["park_by_key"]
    scene.check_rest()
    scene.turn()
    assert scene.effects() == 1


@pytest.mark.parametrize(
    ("told", "decided", "content"),
    [
        ({"kill_at": {"order": "dispatch", "when": "after"}}, "park_prior", None),
        ({"kill_at": {"order": "settle", "when": "before"}}, "finalise", "new"),
    ],
)
def test_interrupted_write_is_settled_by_what_the_file_says(
    stage: MakeStage, told: Mapping[str, object], decided: str, content: str | None
) -> None:
    """OP-6: finalised when the file is as planned, parked when nothing happened."""
    said = step(call("write", path="a.txt", content="new"), CALLS)
    scene = stage(play(turn(said)))

    assert scene.live({"do": "send", "text": "go"}, **told).status == KILLED
    life = scene.reopen()

    assert list(life.recovery["operations"].values()) == [decided], life
    path = scene.base / "workspace" / "a.txt"
    assert (path.read_text() if path.exists() else None) == content
    scene.check_rest()
    scene.turn()
