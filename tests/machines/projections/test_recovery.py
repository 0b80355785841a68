"""Where each call stands, by the one resolver, and what a person can do about it."""

import attrs
import pytest
from hypothesis import given

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.model import Dispatched, RuntimeEvent, VerdictGiven
from crashworthy.machines.facts.vocabulary import Verdict
from crashworthy.machines.lifecycles import operation
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.projections.recovery import recovery
from crashworthy.machines.projections.transcript import transcript
from crashworthy.machines.projections.transcript_parts import ToolPart, ToolStatus
from crashworthy.machines.recovery.operations import RESOLVER, Standing, Standpoint
from crashworthy.machines.recovery.parks import EXPLANATIONS, Park

from ..lifecycles.story import Story
from .ledgers import Recorded, recorded, sessions


@pytest.mark.proves("OP-2")
@given(recorded())
def test_standing_of_every_call_is_the_resolvers_answer_to_the_tables_state(
    book: Recorded,
) -> None:
    ended = {fact.spine.run for fact in book.facts if fact.kind.value == "run_ended"}
    views = {one.operation: one for one in recovery(book.facts, live=True).operations}
    for (machine, name), cell in book.cells.items():
        if machine is Machine.OPERATION:
            state = cell.state
            assert isinstance(state, operation.OperationState)
            view = views.pop(name)
            asked = Standpoint(state=state, open=view.run not in ended)
            assert view.standing is RESOLVER.answer(asked)
    assert views == {}


@given(sessions())
def test_every_call_that_needs_a_person_has_a_sentence_and_an_action(
    facts: list[RuntimeEvent],
) -> None:
    view = recovery(facts, live=False)
    for one in view.operations:
        stopped = one.standing in (Standing.UNKNOWN, Standing.PARKED)
        assert (one.parking is not None) == stopped
        if one.parking is not None:
            told = EXPLANATIONS[one.parking.code]
            assert (one.parking.sentence, one.parking.action) == (told.sentence, told.action)
        assert (one.operation in view.waiting) == (stopped and one.verdict is None)


@given(sessions())
def test_transcript_and_recovery_never_disagree_about_a_call(facts: list[RuntimeEvent]) -> None:
    for live in (True, False):
        standings = {one.operation: one.standing for one in recovery(facts, live=live).operations}
        for turn in transcript(facts, live=live).turns:
            for part in turn.parts:
                if isinstance(part, ToolPart):
                    standing = standings[part.operation]
                    if standing is Standing.PENDING:
                        assert part.status in (
                            ToolStatus.PENDING,
                            ToolStatus.WAITING,
                            ToolStatus.RUNNING,
                        )
                    else:
                        assert part.status.value == standing.value


def test_effect_elsewhere_is_unknown_for_its_own_reason() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    dispatch = story.dispatch(call)
    assert isinstance(dispatch.actions, Dispatched)
    remote = attrs.evolve(dispatch.actions, local=False)
    story.book.tell(attrs.evolve(dispatch, actions=remote))
    story.book.tell(story.failed())
    (view,) = recovery(story.book.facts, live=False).operations

    assert view.parking is not None
    assert view.parking.code is Park.EFFECT_NOT_LOCAL


def test_verdict_takes_a_call_off_the_list_but_hides_nothing() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    story.book.tell(story.dispatch(call))
    story.book.epoch, story.book.gone_epoch = 2, 1
    story.book.tell(story.failed())
    name = story.operation(1, 1)
    before = recovery(story.book.facts, live=False)
    for generation, verdict in enumerate((Verdict.HAPPENED, Verdict.DID_NOT_HAPPEN), start=1):
        action = VerdictGiven(run=story.run, generation=generation, verdict=verdict, note="seen")
        given = compose.verdict_given(story.control, f"fact_v{generation}", name, action)
        story.book.tell(given)
    after = recovery(story.book.facts, live=False)
    (view,) = after.operations

    assert (before.waiting, after.waiting) == ((name,), ())
    assert view.parking == before.operations[0].parking
    assert view.verdict is not None
    assert (view.verdict.verdict, view.verdict.generation, view.verdict.note) == (
        Verdict.DID_NOT_HAPPEN,
        2,
        "seen",
    )
