"""What a call may reach grows by a person's word alone, durably, for the session (ASK-4)."""

from pathlib import Path

import pytest

from crashworthy.actors.permission import Approvals, Policy
from crashworthy.actors.runtime import RunHandle, Runtime
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.vocabulary import AnswerDecision, Kind, OutcomeState

from .scene import Meanwhile, Scene, call, until

ASK = Policy(approvals=Approvals.ASK)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text("seen\n", "utf-8")
    return path


def decide(decision: AnswerDecision, expansions: list[Json]) -> Meanwhile:
    async def meanwhile(runtime: Runtime, run: RunHandle) -> None:
        await until(runtime, run, Kind.ASK_OPENED)
        [asked] = runtime.pending()
        expansions.append(asked.action.expansion)
        assert run.waits
        await runtime.answer(asked.ask, decision)

    return meanwhile


@pytest.mark.proves("ASK-4", "ASK-1")
def test_granted_expansion_is_exact_and_holds_for_the_session(scene: Scene, outside: Path) -> None:
    reading, expansions = [call("read", path=str(outside))], list[Json]()

    scene.turn(reading, reading, meanwhile=decide(AnswerDecision.ALLOW, expansions), policy=ASK)

    wanted = {"files": [{"path": str(outside), "access": "read", "reach": "exact"}]}
    assert expansions == [wanted]
    assert [state for state, _result in scene.outcomes()] == [OutcomeState.SETTLED] * 2
    assert "seen" in str(scene.outcomes()[0][1])
    assert scene.kinds()[Kind.ASK_OPENED] == 1
    changed = [fact for fact in scene.shown if fact.kind is Kind.BOUNDARY_CHANGED]
    assert len(changed) == 1
    scene.turn(reading, policy=ASK)
    assert scene.kinds()[Kind.ASK_OPENED] == 0, "the next owner reads what was granted"
    assert "seen" in str(scene.outcomes()[0][1])


def test_denied_expansion_starts_nothing_and_grants_nothing(scene: Scene, outside: Path) -> None:
    reading = [call("read", path=str(outside))]

    scene.turn(reading, meanwhile=decide(AnswerDecision.DENY, []), policy=ASK)

    assert scene.outcomes() == [(OutcomeState.NOT_STARTED, {"code": "approval_denied"})]
    assert [fact for fact in scene.shown if fact.kind is Kind.BOUNDARY_CHANGED] == []
