"""People decide: durably, once, for one execution, however late a restart comes (BR-14, 15, 16)."""

from collections.abc import Callable, Mapping

import pytest

from .rig import CALLS, KILLED, STOP, Stage, call, play, step, turn

MakeStage = Callable[[Mapping[str, object]], Stage]

DEPLOY = turn(
    step(call("deploy", line="prod"), CALLS),
    step({"text": "deployed"}, STOP, when={"contains": "bumped"}),
    {**step({"text": "refused"}, STOP), "or": True},
)


@pytest.mark.parametrize("decision", ["allow", "deny"])
@pytest.mark.parametrize("killed", [True, False], ids=["killed", "closed"])
def test_question_survives_its_process_and_is_asked_once(
    stage: MakeStage, decision: str, *, killed: bool
) -> None:
    """BR-14 (a), (b): pending after any restart, answered once, executed at most once."""
    scene = stage(play(DEPLOY))
    told = {"kill_at": {"order": "ask", "when": "after"}} if killed else {}
    life = scene.live({"do": "send", "text": "go", "until": "ask_opened"}, **told)
    assert life.status == (KILLED if killed else 0), life.errors
    scene.check_rest()
    seen = [scene.live({"do": "pending"}).results[0] for _ in range(2)]
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1

    answered = scene.live({"do": "answer", "decision": decision}, {"do": "pending"})
    assert answered.results[-1] == [], answered
    scene.check()
    resumed = scene.live({"do": "resume"})

    assert resumed.results == ["completed"], resumed
    assert scene.effects() == (1 if decision == "allow" else 0)
    scene.check_rest()


def test_decision_before_the_dispatch_stands_and_executes_once(stage: MakeStage) -> None:
    """BR-14 (c): killed between the durable approval and T1."""
    scene = stage(play(DEPLOY))
    told = {"kill_at": {"order": "dispatch", "when": "before"}}
    life = scene.live(
        {"do": "send", "text": "go", "until": "ask_opened"},
        {"do": "answer"},
        {"do": "sleep", "s": 5},
        **told,
    )
    assert life.status == KILLED, life

    resumed = scene.live({"do": "pending"}, {"do": "resume"})

    assert resumed.results == [[], "completed"], resumed
    assert scene.effects() == 1
    scene.check_rest()


def test_second_answer_is_refused_with_the_first(stage: MakeStage) -> None:
    """BR-15: one decision, whoever answers again and whenever."""
    scene = stage(play(DEPLOY))
    first = scene.live({"do": "send", "text": "go", "until": "ask_opened"}, {"do": "answer"})
    assert first.status == 0, first.errors
    ask = first.results[-1]

    again = scene.live(
        {"do": "answer", "ask": ask}, {"do": "answer", "ask": ask, "decision": "deny"}
    )

    assert again.results == [{"refused": "already_decided"}] * 2
    assert scene.kinds().count("ask_answered") == 1


def test_one_approval_releases_one_of_two_equal_calls(stage: MakeStage) -> None:
    """BR-15 (d)."""
    twice = turn(
        step(call("deploy", "c1", line="x"), call("deploy", "c2", line="x"), CALLS),
        step({"text": "done"}, STOP),
    )
    scene = stage(play(twice))

    life = scene.live(
        {"do": "send", "text": "go", "until": "ask_opened"},
        {"do": "sleep", "s": 0.3},
        {"do": "pending"},
        {"do": "answer"},
        {"do": "sleep", "s": 0.5},
        {"do": "pending"},
    )

    assert life.status == 0, life.errors
    before, after = life.results[2], life.results[5]
    assert len({ask for ask, _run, _ts in before}) == 2
    assert after == before[1:]
    assert scene.effects() == 1
    scene.check()


def test_answer_after_a_stop_is_refused_and_the_request_is_closed(stage: MakeStage) -> None:
    """BR-16 (b): closed atomically with the end of the run."""
    scene = stage(play(DEPLOY))
    life = scene.live(
        {"do": "send", "text": "go", "until": "ask_opened"}, {"do": "pending"}, {"do": "stop"}
    )
    assert life.status == 0, life.errors
    ((ask, _run, _ts),) = life.results[1]

    late = scene.live({"do": "pending"}, {"do": "answer", "ask": ask})

    assert late.results == [[], {"refused": "ask_closed"}]
    assert scene.effects() == 0
    assert scene.kinds()[-2:] == ["ask_closed", "run_ended"]
    scene.check_rest()


def test_expired_request_is_a_denial_even_if_it_expired_while_nobody_lived(
    stage: MakeStage,
) -> None:
    """BR-16 (c): the deadline is durable; recovery closes what passed it, and keeps waiting."""
    scene = stage(play(DEPLOY))
    told = {"ask_ms_max": 400, "kill_at": {"order": "ask", "when": "after"}}
    assert scene.live({"do": "send", "text": "go"}, **told).status == KILLED

    late = scene.live({"do": "sleep", "s": 0.5}, {"do": "pending"}, ask_ms_max=400)
    assert late.status == 0, late.errors
    again = scene.live({"do": "pending"}, {"do": "resume"}, ask_ms_max=400)

    assert again.results == [[], "completed"], again
    assert scene.effects() == 0
    assert scene.kinds().count("ask_closed") == 1
    scene.check_rest()


def test_question_is_answered_after_a_restart(stage: MakeStage) -> None:
    """Questions put to the person count as well (BR-14)."""
    asked = turn(
        step(
            {
                "call": "ask_user",
                "label": "c1",
                "args": {"questions": [{"text": "Which?", "options": ["a", "b"]}]},
            },
            CALLS,
        ),
        step({"text": "thanks"}, STOP),
    )
    scene = stage(play(asked))
    life = scene.live(
        {"do": "send", "text": "go", "until": "ask_opened"},
        {"do": "answer", "decision": "allow"},
    )
    assert life.results[-1] == {"refused": "answer_misfits"}

    answered = scene.live(
        {"do": "answer", "decision": "answer", "answers": ["b"]}, {"do": "resume"}
    )

    assert answered.results[-1] == "completed", answered
    assert scene.result_shown("c1")["result"] == {"answers": ["b"]}
    scene.check_rest()


def test_changed_profile_parks_the_run_and_leaves_it_waiting(stage: MakeStage) -> None:
    """CONT-5, ASK-3: the policy differs, so nobody goes on; with the old one it is taken up."""
    scene = stage(play(DEPLOY))
    scene.live({"do": "send", "text": "go", "until": "ask_opened"})

    other = scene.live({"do": "answer"}, {"do": "resume"}, ask_ms_max=60_000)

    assert other.results[-1] == {"refused": "profile_drift"}
    assert scene.live({"do": "resume"}).results == ["completed"]
    assert scene.effects() == 1
