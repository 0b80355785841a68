"""Payloads at every door: unclean text, NUL, floods (BR-17, BR-18)."""

from collections.abc import Callable, Mapping

import pytest

from .rig import CALLS, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]


@pytest.mark.parametrize("text", ["ok \ud83d", "\udc00x"])
def test_unclean_user_text_is_refused_at_the_door(stage: MakeStage, text: str) -> None:
    scene = stage(play())

    life = scene.live({"do": "session"}, {"do": "send", "text": text})

    assert life.results[-1] == {"refused": "unclean_text"}, life.errors
    assert scene.kinds() == ["session_opened", "workspace_attached"]


def test_nul_and_its_spelling_stay_different_through_every_lane(stage: MakeStage) -> None:
    real, spelled = "a\u0000b", "a\\u0000b"
    scene = stage(
        play(
            turn(
                step(
                    {"text": real},
                    call("bump", "c1", line=real),
                    call("bump", "c2", line=spelled),
                    CALLS,
                ),
                step({"text": spelled}, STOP),
            )
        )
    )

    life = scene.live({"do": "send", "text": real})

    assert life.results[0]["end"] == "completed", life
    scene.turn()
    assert scene.result_shown("c1")["result"] == {"bumped": real}
    assert scene.result_shown("c2")["result"] == {"bumped": spelled}
    scene.check_rest()


def test_unclean_words_of_the_model_are_repaired_and_its_calls_not_started(
    stage: MakeStage,
) -> None:
    bad = "x\ud83d"
    scene = stage(
        play(
            turn(
                step({"text": bad}, call("bump", "c1", line=bad), CALLS),
                step({"text": "so"}, STOP),
            )
        )
    )

    life = scene.live({"do": "send", "text": "go"})

    assert life.results[0]["end"] == "completed", life.errors
    assert scene.effects() == 0
    shown = scene.result_shown("c1")
    assert (shown["status"], shown["result"]["code"]) == ("not_started", "unclean_text")
    said = next(fact for fact in scene.facts() if fact.kind.value == "model_text")
    assert said.content is not None
    assert getattr(said.content, "text", None) == "x\ufffd"
    assert getattr(said.content, "losses", ()) != ()
    scene.check_rest()


def test_unclean_output_of_a_tool_is_brought_in_with_a_loss(stage: MakeStage) -> None:
    scene = stage(
        play(
            turn(
                step(call("fail", "c1", reason="a\ufffdb"), CALLS),
                step({"text": "x"}, STOP),
            )
        )
    )

    assert scene.live({"do": "send", "text": "go"}).results[0]["end"] == "completed"
    scene.check_rest()


def test_flood_of_pieces_adds_no_rows(stage: MakeStage) -> None:
    """BR-18 (c): the number of facts follows the blocks, never the pieces."""
    words = "0123456789" * 2000
    few = stage(play(turn(step({"text": words}, STOP))))
    many = stage(play(turn(step({"text": words, "pieces": 20_000}, STOP))))

    for scene in (few, many):
        assert scene.live({"do": "send", "text": "go"}).results[0]["end"] == "completed"

    assert many.kinds() == few.kinds()
    said = [fact.content for fact in many.facts() if fact.kind.value == "model_text"]
    assert [getattr(content, "text", "") for content in said] == [words]
    many.check_rest()
