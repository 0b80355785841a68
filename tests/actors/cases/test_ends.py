"""How a run ends: once, by its first accepted end; a stated finish completes (BR-03, 04, 07)."""

from collections.abc import Callable, Mapping

import pytest

from .rig import CALLS, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]
RATE = {"error": "rate_limit", "message": "slow down"}


def test_runs_without_content_leave_only_their_user_words(stage: MakeStage) -> None:
    """BR-03: stopped, thinking only, empty words, an error: none of them makes a message."""
    scene = stage(
        play(
            turn(step({"delay_ms": 60_000}), user="first"),
            turn(step({"think": "plan"}, {"delay_ms": 60_000}), user="second"),
            turn(step({"text": ""}, STOP), user="third"),
            turn(step(RATE), user="fourth"),
        )
    )
    for text in ("first", "second"):
        life = scene.live(
            {"do": "send", "text": text, "until": "request_dispatched"}, {"do": "stop"}
        )
        assert life.status == 0, life.errors
    third = scene.live({"do": "send", "text": "third"})
    assert third.results[0]["end"] == "completed"
    for _ in range(3):
        fourth = scene.live({"do": "send", "text": "fourth"})
        assert (fourth.results[0]["end"], fourth.results[0]["failure"]) == (
            "failed",
            "backend_failed",
        )
    scene.turn()
    scene.check_rest()

    messages = scene.requests()[-1]["messages"]
    assert {message["role"] for message in messages} == {"user"}
    words = [block["text"] for message in messages for block in message["content"]]
    assert sum(text == "fourth" for text in words) == 3


@pytest.mark.parametrize(
    ("events", "failure"),
    [
        (({"think": "step 1"}, {"eof": True}), "missing_terminal_event"),
        (({"text": "The answer is 4"}, {"eof": True}), "missing_terminal_event"),
        (
            (
                {"text": "half"},
                {"call": "bump", "args": {"line": "x"}, "cut_after_bytes": 10},
                {"eof": True},
            ),
            "missing_terminal_event",
        ),
        (({"text": "long..."}, {"finish": "length"}), "length"),
    ],
)
def test_silence_never_completes_a_run(
    stage: MakeStage, events: tuple[Mapping[str, object], ...], failure: str
) -> None:
    """BR-04."""
    scene = stage(play(turn(step(*events))))

    life = scene.live({"do": "send", "text": "go"})

    assert (life.results[0]["end"], life.results[0]["failure"]) == ("failed", failure)
    scene.turn()
    assert scene.effects() == 0
    shown = str(scene.requests()[-1]["messages"])
    assert "step 1" not in shown
    assert ("The answer is 4" in shown) is False
    assert ("half" in shown) is False
    scene.check_rest()


def test_late_words_of_a_deaf_backend_change_nothing(stage: MakeStage) -> None:
    """BR-07 (a): the stop is durable first; what the backend says afterwards is nobody's."""
    deaf = step({"text": "a"}, {"ignore_cancel_ms": 300}, {"text": "b"}, STOP)
    scene = stage(play(turn(deaf)))

    life = scene.live(
        {"do": "send", "text": "go", "until": "request_dispatched"},
        {"do": "sleep", "s": 0.1},
        {"do": "stop"},
    )

    assert life.results[-1] == ["requested"], life
    scene.turn()
    kinds = scene.kinds()
    assert kinds.count("run_ended") == 2
    assert "'b'" not in str(scene.requests()[-1]["messages"])
    scene.check_rest()


def test_stop_after_the_end_is_a_typed_no_op(stage: MakeStage) -> None:
    """BR-07 (b)."""
    scene = stage(play(turn(step({"text": "done"}, STOP))))
    life = scene.live({"do": "send", "text": "go"})

    again = scene.live({"do": "stop", "run": life.results[0]["run"]})

    assert again.results == [["ended"]]
    assert scene.kinds().count("run_ended") == 1


def test_error_is_not_masked_by_a_later_finish(stage: MakeStage) -> None:
    """BR-07 (c): the stream failed; nothing that a backend could still say makes it complete."""
    scene = stage(play(turn(step(RATE, STOP))))

    life = scene.live({"do": "send", "text": "go"})

    assert life.results[0]["end"] == "failed"
    assert scene.kinds().count("request_dispatched") == 2, "one retry, and it is visible"
    scene.check_rest()


@pytest.mark.parametrize("until", ["request_dispatched", "dispatched", "ask_opened"])
def test_close_of_the_host_stops_what_runs_and_keeps_what_waits(
    stage: MakeStage, until: str
) -> None:
    """OWN-3: nothing is left hanging, and a person's question outlives the process."""
    steps = {
        "request_dispatched": step({"delay_ms": 60_000}),
        "dispatched": step(call("bump", line="x", gate="never"), CALLS),
        "ask_opened": step(call("deploy", line="x"), CALLS),
    }
    scene = stage(play(turn(steps[until])))

    life = scene.live({"do": "send", "text": "go", "until": until})

    assert life.status == 0, life.errors
    ended = "run_ended" in scene.kinds()
    assert ended is (until != "ask_opened")
    first = scene.reopen()
    assert set(first.recovery["runs"].values()) <= {"keep_waiting"}
    scene.check()


def test_follow_up_opens_the_next_turn_but_not_of_a_closing_host(stage: MakeStage) -> None:
    """RUN-6: taken once, by the next opening; a host that closes opens nothing any more."""
    slow = turn(step({"delay_ms": 400}, {"text": "one"}, STOP), user="go")
    more = turn(step({"text": "two"}, STOP), user="more")
    scene = stage(play(slow, more))
    sent = {"do": "send", "text": "go", "until": "request_dispatched"}

    closed = scene.live(sent, {"do": "follow_up", "text": "more"})
    assert closed.status == 0, closed.errors
    assert scene.kinds().count("run_opened") == 1
    assert scene.kinds().count("message_returned") == 1, "a stop takes it off the queue"
    scene.check_rest()

    live = scene.live(sent, {"do": "follow_up", "text": "more"}, {"do": "sleep", "s": 1.5})
    assert live.status == 0, live.errors
    assert scene.kinds().count("run_opened") == 3
    assert scene.kinds().count("message_taken") == 1
    scene.check_rest()
