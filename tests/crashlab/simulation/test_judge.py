"""What a log tells is held against what happened, and each lie is found."""

import pytest

from crashworthy.crashlab.simulation.judge import failed_inside, misrepresented, misused
from crashworthy.machines.facts import compose
from crashworthy.machines.facts.model import (
    AskAnswered,
    Dispatched,
    FunctionCall,
    Outcome,
    RunEnded,
    RuntimeEvent,
    Spine,
)
from crashworthy.machines.facts.vocabulary import (
    AnswerDecision,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    RecoveryMode,
    RunFailure,
    RunStatus,
)

AT = compose.At(spine=Spine(session="ses_1", invocation="inv_1", run="run_1", turn="turn_1"), ts=1)
OP = "op_1"


def started(tool: str, ask: str | None = None, operation: str = OP) -> RuntimeEvent:
    action = Dispatched(
        tool=tool, args_digest="0" * 64, recovery=RecoveryMode.NEVER_AUTO_RETRY, local=True
    )
    return compose.dispatched(AT, operation, action, ask)


def told(state: OutcomeState, result: OutcomeResult, by: OutcomeBy) -> RuntimeEvent:
    content = compose.response(FunctionCall(label="c", name="bump", args={}), "done")
    return compose.outcome(AT, OP, content, Outcome(state=state, result=result, by=by))


SETTLED = told(OutcomeState.SETTLED, OutcomeResult.OK, OutcomeBy.TOOL)
RECOVERED = told(OutcomeState.SETTLED, OutcomeResult.INTERRUPTED_NO_EFFECT, OutcomeBy.RECOVERY)
REFUSED = told(OutcomeState.NOT_STARTED, OutcomeResult.DENIED, OutcomeBy.REFUSAL)


@pytest.mark.parametrize(
    ("facts", "effects", "alive", "wrong"),
    [
        ([started("bump"), SETTLED], [OP], [], False),
        ([started("bump"), SETTLED], [], [], True),
        ([started("look"), SETTLED], [], [], False),
        ([started("look"), RECOVERED], [], [], False),
        ([started("look"), RECOVERED], [], [OP], True),
        ([REFUSED], [], [], False),
        ([started("bump"), REFUSED], [OP], [], True),
    ],
)
def test_call_that_is_told_otherwise_than_it_went_is_found(
    *, facts: list[RuntimeEvent], effects: list[str], alive: list[str], wrong: bool
) -> None:
    assert bool(misrepresented(facts, effects, alive)) is wrong


def answered(ask: str, decision: AnswerDecision) -> RuntimeEvent:
    return compose.ask_answered(AT, f"fact_{ask}", ask, AskAnswered(decision=decision))


ALLOWED = answered("ask_1", AnswerDecision.ALLOW)
DENIED = answered("ask_1", AnswerDecision.DENY)


@pytest.mark.parametrize(
    ("facts", "wrong"),
    [
        ([ALLOWED, started("deploy", "ask_1")], False),
        ([DENIED], False),
        ([DENIED, started("deploy", "ask_1")], True),
        ([ALLOWED, ALLOWED, started("deploy", "ask_1")], True),
        ([ALLOWED, started("deploy", "ask_1"), started("deploy", "ask_1", "op_2")], True),
        ([started("deploy")], True),
        ([started("bump")], False),
    ],
)
@pytest.mark.proves("ASK-2")
def test_decision_that_is_used_twice_or_against_its_word_is_found(
    *, facts: list[RuntimeEvent], wrong: bool
) -> None:
    assert bool(misused(facts)) is wrong


def test_run_that_failed_inside_of_the_runtime_is_found() -> None:
    ends = [
        compose.run_ended(AT, "fact_end", RunEnded(status=RunStatus.FAILED, failure=failure))
        for failure in (RunFailure.DEADLINE, RunFailure.INTERNAL)
    ]
    assert failed_inside(ends) == ["run_1 failed as internal"]
