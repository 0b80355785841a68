"""What holds of every projector alike: a pure fold with an upper bound that says its losses."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts import canonical
from crashworthy.machines.facts.model import RuntimeEvent
from crashworthy.machines.projections.bound import up_to, up_to_ordinal
from crashworthy.machines.projections.checker import check_history
from crashworthy.machines.projections.history import History, history
from crashworthy.machines.projections.lineage import lineage
from crashworthy.machines.projections.losses import Loss, LossEffect
from crashworthy.machines.projections.plain import to_json
from crashworthy.machines.projections.recovery import recovery
from crashworthy.machines.projections.status import status
from crashworthy.machines.projections.target import Capabilities, ThinkingForm
from crashworthy.machines.projections.transcript import transcript
from crashworthy.machines.projections.transcript_parts import (
    ErrorPart,
    FragmentPart,
    NoticePart,
    ToolPart,
    Transcript,
)
from crashworthy.machines.projections.usage import usage

from .ledgers import sessions

Facts = Sequence[RuntimeEvent]
Project = Callable[[Facts, int | None], object]

TARGETS: Final = (
    Capabilities(),
    Capabilities(thinking=ThinkingForm.SIGNED, images=True, image_bytes_max=10),
    Capabilities(thinking=ThinkingForm.SIGNED, signer="another", consecutive_users=False),
    Capabilities(
        native_tools=False, thinking=ThinkingForm.UNSIGNED, images=True, consecutive_users=False
    ),
)


def told(target: Capabilities, facts: Facts, at: int | None) -> History:
    return history(facts, target, at=at)


PROJECTORS: Final[tuple[Project, ...]] = (
    *(partial(told, target) for target in TARGETS),
    lambda facts, at: transcript(facts, live=False, at=at),
    lambda facts, at: transcript(facts, live=True, at=at),
    lambda facts, at: status(facts, live=True, at=at),
    lambda facts, at: recovery(facts, live=False, at=at),
    lambda facts, at: lineage(facts, at=at),
    lambda facts, at: usage(facts, at=at),
)


@pytest.mark.proves("PROJ-1")
@given(sessions())
def test_any_past_moment_is_the_projection_of_its_prefix(facts: list[RuntimeEvent]) -> None:
    for project in PROJECTORS:
        for end in range(0, len(facts) + 1, 3):
            assert project(facts, end) == project(facts[:end], None)


@pytest.mark.proves("PROJ-1", "LOG-7")
@given(sessions())
def test_rebuilding_gives_the_same_and_reading_twice_adds_nothing(
    facts: list[RuntimeEvent],
) -> None:
    before = [canonical.encode(to_json(fact)) for fact in facts]
    for project in PROJECTORS:
        once = project(facts, None)
        assert project(list(facts), None) == once
        assert project([*facts, *facts], None) == once
    assert [canonical.encode(to_json(fact)) for fact in facts] == before


@given(sessions())
def test_plain_form_of_every_view_is_strict_json(facts: list[RuntimeEvent]) -> None:
    for project in PROJECTORS:
        canonical.encode(to_json(project(facts, None)))


def omitted(losses: Sequence[Loss]) -> list[str]:
    return [one.event_id for one in losses if one.effect is LossEffect.OMITTED]


@pytest.mark.proves("PROJ-2", "LOG-5")
@given(sessions())
def test_every_prefix_tells_a_strict_history_to_every_target(facts: list[RuntimeEvent]) -> None:
    """Cut after every fact, inside units too: what a crash can leave is among them (BR-01, G2)."""
    for target in TARGETS:
        for end in range(len(facts) + 1):
            view = history(facts, target, at=end)
            assert check_history(view.bodies(), target) == ()


@pytest.mark.proves("PROJ-1")
@given(sessions())
def test_history_tells_or_names_every_fact_exactly_once(facts: list[RuntimeEvent]) -> None:
    for target in TARGETS:
        for end in range(0, len(facts) + 1, 2):
            assert_nothing_silent(facts[:end], history(facts, target, at=end))


def assert_nothing_silent(facts: Facts, view: History) -> None:
    present = [event for message in view.messages for event in message.events]
    assert len(present) == len(set(present))
    assert sorted(present + omitted(view.losses)) == sorted(fact.id for fact in facts)
    degraded = {one.event_id for one in view.losses if one.effect is LossEffect.DEGRADED}
    assert degraded <= set(present)


def shown(view: Transcript) -> set[str]:
    events = {event for one in view.messages for event in one.events}
    for turn in view.turns:
        events |= {*turn.bounds, *(event for one in turn.requests for event in one.events)}
        for part in turn.parts:
            if isinstance(part, ToolPart | ErrorPart):
                events.update(part.events)
            elif not isinstance(part, FragmentPart | NoticePart):
                events.add(part.event)
    return events


@pytest.mark.proves("PROJ-1")
@given(sessions())
def test_transcript_shows_or_names_every_fact(facts: list[RuntimeEvent]) -> None:
    for end in range(0, len(facts) + 1, 2):
        view = transcript(facts, live=False, at=end)
        missing = omitted(view.losses)
        assert len(missing) == len(set(missing))
        assert {*shown(view), *missing} == {fact.id for fact in facts[:end]}
        assert not shown(view) & set(missing)


@given(sessions(), st.data())
def test_every_projector_is_total_over_facts_with_holes(
    facts: list[RuntimeEvent], data: st.DataObject
) -> None:
    """Damaged rows are left out by readers; what is left must still be told strictly (STORE-8)."""
    lost = data.draw(st.sets(st.integers(0, len(facts) - 1), max_size=5))
    left = [fact for place, fact in enumerate(facts) if place not in lost]
    for project in PROJECTORS:
        canonical.encode(to_json(project(left, None)))
    for target in TARGETS:
        assert_nothing_silent(left, history(left, target))


@given(sessions())
def test_bounds_by_position_and_by_ordinal_agree(facts: list[RuntimeEvent]) -> None:
    numbered = [(10 + 2 * place, fact) for place, fact in enumerate(facts)]
    for end in range(len(facts) + 1):
        assert list(up_to_ordinal(numbered, 9 + 2 * end)) == list(up_to(facts, end))
