"""Where runs and sessions stand, and what people are asked."""

import pytest
from hypothesis import given

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.model import RunEnded, VerdictGiven
from crashworthy.machines.facts.vocabulary import (
    CloseReason,
    OutcomeResult,
    RunFailure,
    RunStatus,
    Verdict,
)
from crashworthy.machines.lifecycles import interaction, run
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.projections.endings import FAILURES, EndClass, classify, ending_of
from crashworthy.machines.projections.status import RunState, SessionState, SessionView, status

from ..lifecycles.story import Story
from .ledgers import Recorded, recorded


def stand(story: Story, *, live: bool) -> SessionView:
    return status(story.book.facts, live=live)


def test_session_without_a_run_is_new() -> None:
    assert status([], live=False).state is SessionState.NEW


@pytest.mark.proves("OWN-6")
def test_open_run_is_running_only_while_a_live_owner_answers() -> None:
    story = Story().opened()

    assert stand(story, live=True).state is SessionState.RUNNING
    assert stand(story, live=False).state is SessionState.UNOWNED


def test_stopped_run_is_stopping_until_its_end() -> None:
    story = Story().opened()
    story.book.tell(story.stop("ui"))
    (open_run,) = stand(story, live=True).runs
    story.book.tell(story.aborted("ui"))
    (ended,) = stand(story, live=True).runs

    assert (open_run.state, open_run.stop) == (RunState.STOPPING, "ui")
    assert ended.state is RunState.ABORTED
    assert ended.terminal is not None
    assert (ended.terminal.source, ended.terminal.meaning) == ("ui", EndClass.STOPPED)
    assert stand(story, live=True).state is SessionState.IDLE


@pytest.mark.proves("ASK-3")
def test_run_waits_through_owners_and_lists_exactly_what_is_open() -> None:
    """BR-14: the same id, tool, arguments and asking time, whoever owns the root."""
    story = Story().opened()
    first, second = story.call(1, 1, env="prod"), story.call(1, 2, env="test")
    story.stepped(1, first, second)
    _one, opened_one = story.ask(first)
    two, opened_two = story.ask(second)
    story.book.tell(opened_one)
    story.book.tell(opened_two)
    views = [stand(story, live=live) for live in (True, False)]
    story.book.tell(story.answer(two))
    after = stand(story, live=False)

    for view in views:
        assert view.state is SessionState.WAITING
        assert [one.ask for one in view.pending] == [opened_one.refs.ask, two]
        assert (view.pending[0].tool, view.pending[0].args) == ("bump", {"env": "prod"})
        assert view.pending[0].asked_ts == opened_one.ts
    assert after.state is SessionState.WAITING
    assert [one.ask for one in after.pending] == [opened_one.refs.ask]


@pytest.mark.proves("ASK-3")
def test_expired_request_is_no_longer_pending_but_its_denial_is_still_to_be_told() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    name, opened = story.ask(call, deadline=story.clock + 50)
    story.book.tell(opened)
    story.book.tell(story.close(name, CloseReason.EXPIRED, ts=story.clock + 50))
    expired = stand(story, live=True)
    story.book.tell(story.refusal(call, OutcomeResult.DENIED, name))

    assert (expired.state, expired.pending) == (SessionState.WAITING, ())
    assert stand(story, live=True).state is SessionState.RUNNING


@given(recorded())
def test_waiting_and_pending_agree_with_the_tables_after_every_unit(book: Recorded) -> None:
    for end, cells in book.states:
        view = status(book.facts[:end], live=True)
        for one in view.runs:
            state = cells[(Machine.RUN, one.run)].state
            waiting = isinstance(state, run.Active) and run.waits(state)
            assert (one.state is RunState.WAITING) == waiting
            assert (one.terminal is not None) == isinstance(state, run.Ended)
        opened = {
            name
            for (machine, name), cell in cells.items()
            if machine is Machine.INTERACTION and isinstance(cell.state, interaction.Open)
        }
        assert {one.ask for one in view.pending} == opened
        order = [fact.refs.ask for fact in book.facts if fact.refs.ask in opened]
        assert [one.ask for one in view.pending] == list(dict.fromkeys(order))


def test_unknown_call_is_unsettled_until_a_person_judges_it() -> None:
    story = Story().opened()
    call = story.call(1, 1)
    story.stepped(1, call)
    story.book.tell(story.dispatch(call))
    story.book.epoch, story.book.gone_epoch = 2, 1
    story.book.tell(story.failed())
    (before,) = stand(story, live=False).runs
    action = VerdictGiven(run=story.run, generation=1, verdict=Verdict.HAPPENED)
    name = story.operation(1, 1)
    story.book.tell(compose.verdict_given(story.control, "fact_v", name, action))
    (after,) = stand(story, live=False).runs

    assert (before.unsettled, after.unsettled) == ((name,), ())


def test_every_failure_has_a_class_and_a_sentence() -> None:
    assert set(FAILURES) == set(RunFailure)
    assert all(ending.notice for ending in FAILURES.values())
    assert EndClass.SUCCESS not in {ending.meaning for ending in FAILURES.values()}


def test_completed_alone_is_success_and_needs_no_words() -> None:
    story = Story().opened().stepped(1)
    end = story.completed()
    story.book.tell(end)
    (view,) = stand(story, live=False).runs

    assert view.terminal is not None
    assert (view.terminal.status, view.terminal.meaning) == (
        RunStatus.COMPLETED,
        EndClass.SUCCESS,
    )
    assert isinstance(end.actions, RunEnded)
    assert classify(end.id, end.actions) == view.terminal
    assert ending_of(end.actions).notice is None
