"""Damage stays in its session: it is quarantined, and every other session goes on (STORE-8)."""

import contextlib
import sqlite3
from collections.abc import Callable, Mapping

from .rig import CALLS, KILLED, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]


def test_host_opens_over_a_damaged_session_and_serves_the_others(stage: MakeStage) -> None:
    said = turn(step(call("bump", line="x"), CALLS), step({"text": "done"}, STOP))
    scene = stage(play(said))
    told = {"kill_in_tool": "after effect"}
    assert scene.live({"do": "send", "text": "go", "in": "bad"}, **told).status == KILLED
    with contextlib.closing(sqlite3.connect(scene.root / "ledger.sqlite3")) as db:
        (found,) = db.execute("SELECT body FROM facts WHERE kind = 'dispatched'").fetchone()
        db.execute(
            "UPDATE facts SET body = ? WHERE kind = 'dispatched'",
            (found.replace(b'"local":true', b'"local":tru3'),),
        )
        db.commit()

    life = scene.live({"do": "send", "text": "what happened?", "in": "good"})

    assert life.status == 0, life.errors
    assert list(life.recovery["runs"].values()) == ["lost"], "its terminal can still be written"
    assert life.results[0]["end"] == "completed"
    assert scene.reopen().recovery["runs"] == {}
    refused = scene.live({"do": "send", "text": "go on", "in": "bad"})
    assert "refused" in refused.results[0], refused
    assert scene.effects() == 1
