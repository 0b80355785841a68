"""What requests cost: keyed by request, and never made up."""

import attrs
import pytest

from crashworthy.machines.facts.model import RequestSettled, RuntimeEvent, Usage
from crashworthy.machines.facts.vocabulary import Finish, RequestResult
from crashworthy.machines.projections.usage import usage

from ..lifecycles.story import Story


def settled(story: Story, step: int, cost: Usage | None, attempt: int = 1) -> RuntimeEvent:
    fact = story.settle(step, Finish.STOP, attempt)
    assert isinstance(fact.actions, RequestSettled)
    return attrs.evolve(fact, actions=attrs.evolve(fact.actions, usage=cost))


def turn(story: Story, cost: Usage | None) -> None:
    story.opened()
    story.book.tell(story.request(1))
    story.book.tell(story.text(1), settled(story, 1, cost))
    story.book.tell(story.completed())


@pytest.mark.proves("LOG-7")
def test_totals_are_per_run_and_in_all_and_rereading_adds_nothing() -> None:
    story = Story()
    for given in ((100, 20), (110, 5), (120, 6)):
        turn(story, Usage(input=given[0], output=given[1]))
    facts = story.book.facts
    view = usage(facts)

    assert [(one.totals.input, one.totals.output) for one in view.runs] == [
        (100, 20),
        (110, 5),
        (120, 6),
    ]
    assert (view.totals.input, view.totals.output, view.totals.requests) == (330, 31, 3)
    assert usage([*facts, *facts]) == view


def test_usage_and_cost_that_nobody_stated_are_unknown_and_not_zero() -> None:
    story = Story()
    turn(story, None)
    silent = usage(story.book.facts)
    turn(story, Usage(input=1, output=1, cost_micros=7, cache_read=3))
    turn(story, Usage(input=1, output=1))
    view = usage(story.book.facts)

    assert (silent.requests[0].usage, silent.totals.cost_micros) == (None, None)
    assert (view.totals.requests, view.totals.reported, view.totals.priced) == (3, 2, 1)
    assert (view.totals.cost_micros, view.totals.cache_read) == (7, 3)


def test_each_attempt_is_a_request_of_its_own() -> None:
    story = Story().opened()
    story.book.tell(story.request(1))
    story.book.tell(story.settle(1, None, result=RequestResult.FAILED))
    story.book.tell(story.request(1, 2, story.request_name(1)))
    story.book.tell(settled(story, 1, Usage(input=5, output=1), attempt=2))
    view = usage(story.book.facts)

    assert [(one.step, one.attempt) for one in view.requests] == [(1, 1), (1, 2)]
    assert (view.totals.requests, view.totals.reported, view.totals.input) == (2, 1, 5)
