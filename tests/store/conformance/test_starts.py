"""Semantics of every store: a key stands for one thing for ever, a message arrives once (RUN-5)."""

import attrs

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import MessageReturned, RunOpened, RuntimeEvent
from crashworthy.machines.facts.vocabulary import Cause, Intent, Kind, ReturnReason, RunFailure
from crashworthy.store.journal import writers
from crashworthy.store.journal.ends import EndRun
from crashworthy.store.journal.orders import Append
from crashworthy.store.journal.pending import Pending
from crashworthy.store.journal.shapes import Writer
from crashworthy.store.journal.starts import QueueMessage

from ...machines.lifecycles.story import PROFILE
from ..tale import Tale, ids_of, whole_run
from .refusals import refusal

INPUT, OTHER = "1" * 64, "2" * 64


def test_start_with_a_known_key_and_input_returns_the_same_run(tale: Tale) -> None:
    first = tale.do(tale.run_order(key="k", stated_input=INPUT))
    before = ids_of(tale.store)

    again = tale.do(tale.run_order(key="k", stated_input=INPUT))

    assert (first.created, first.run) == (True, "run_1")
    assert (again.created, again.run) == (False, "run_1")
    assert ids_of(tale.store) == before


def test_start_with_a_known_key_and_other_input_is_a_conflict(tale: Tale) -> None:
    tale.do(tale.run_order(key="k", stated_input=INPUT))

    assert refusal(tale, tale.run_order(key="k", stated_input=OTHER)) is Code.START_CONFLICT


def test_key_is_kept_after_its_run_has_ended(tale: Tale) -> None:
    tale.do(tale.run_order(key="k", stated_input=INPUT))
    tale.step(1).ended()
    whole_run(tale)

    assert tale.do(tale.run_order(key="k", stated_input=INPUT)).run == "run_1"


def test_retry_of_a_start_without_key_carries_the_digest_of_the_first_call(tale: Tale) -> None:
    order = tale.run_order()
    tale.do(order)
    tale.step(1).ended()

    again = tale.do(order)

    assert not again.created
    assert again.run == order.spine.run


def test_session_key_is_unique_in_the_root(tale: Tale) -> None:
    other = Tale(store=tale.store, session="ses_2", ids=100)
    third = Tale(store=tale.store, session="ses_3", ids=200)
    assert other.do(other.session_order(key="k", title="notes")).created

    again = third.do(third.session_order(key="k", title="notes"))

    assert (again.created, again.session) == (False, "ses_2")
    assert refusal(third, third.session_order(key="k", title="other")) is Code.START_CONFLICT


def test_key_of_a_queued_message_stands_for_the_run_that_takes_it(tale: Tale) -> None:
    queued = tale.queued("msg_1", Intent.FOLLOW_UP, key="k", stated_input=INPUT)
    assert tale.do(QueueMessage(fact=queued)).created
    waiting = tale.do(tale.run_order(key="k", stated_input=INPUT))
    assert (waiting.created, waiting.run, waiting.message) == (False, None, "msg_1")

    order = tale.run_order(
        key="k", stated_input=INPUT, taken=tale.taken("msg_1", f"run_{tale.number + 1}")
    )
    started = tale.do(order)

    assert started.created
    assert tale.do(tale.run_order(key="k", stated_input=INPUT)).run == started.run
    assert tale.do(QueueMessage(fact=queued)).run == started.run


def test_second_message_with_a_known_key_is_the_first_one(tale: Tale) -> None:
    tale.do(QueueMessage(fact=tale.queued("msg_1", key="k", stated_input=INPUT)))

    again = tale.do(QueueMessage(fact=tale.queued("msg_2", key="k", stated_input=INPUT)))

    assert (again.created, again.message) == (False, "msg_1")
    conflict = QueueMessage(fact=tale.queued("msg_3", key="k", stated_input=OTHER))
    assert refusal(tale, conflict) is Code.START_CONFLICT


def test_start_may_not_borrow_the_key_of_a_message_it_does_not_take(tale: Tale) -> None:
    tale.do(QueueMessage(fact=tale.queued("msg_1", Intent.FOLLOW_UP, key="k", stated_input=INPUT)))
    tale.do(QueueMessage(fact=tale.queued("msg_2", Intent.FOLLOW_UP)))

    order = tale.run_order(key="k", stated_input=INPUT, taken=tale.taken("msg_2", "run_1"))

    found = tale.do(order)
    assert (found.created, found.message) == (False, "msg_1")


def test_steering_arrives_once_and_is_returned_by_the_end(tale: Tale) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call).called(call)
    for name in ("msg_1", "msg_2"):
        tale.do(QueueMessage(fact=tale.queued(name, Intent.STEER)))
    deliver = writers.steer(tale.taken("msg_1"), tale.steering("msg_1"))
    assert [tale.do(deliver).created, tale.do(deliver).created] == [True, False]

    again = writers.steer(tale.taken("msg_1"), tale.steering("msg_1"))
    assert refusal(tale, again) is Code.MESSAGE_NOT_QUEUED
    ended = tale.do(EndRun(end=tale.failed(RunFailure.STEP_LIMIT)))

    assert [place.kind for place in ended.places] == [Kind.MESSAGE_RETURNED, Kind.RUN_ENDED]
    assert tale.view(lambda view: view.pending(Pending.MESSAGE_STEER)) == ()


def test_message_that_was_returned_cannot_be_retracted(tale: Tale) -> None:
    tale.do(QueueMessage(fact=tale.queued("msg_1")))
    action = MessageReturned(reason=ReturnReason.STOPPED)
    back = compose.message_returned(tale.control, tale.fresh("fact"), "msg_1", action)
    tale.do(writers.return_messages(back))

    again = attrs.evolve(back, id=tale.fresh("fact"))

    assert refusal(tale, writers.return_messages(again)) is Code.MESSAGE_NOT_QUEUED


def test_messages_of_two_sessions_never_share_a_unit(tale: Tale) -> None:
    other = Tale(store=tale.store, session="ses_2", ids=100).begun()
    backs: list[RuntimeEvent] = []
    for one, name in ((tale, "msg_1"), (other, "msg_2")):
        one.do(QueueMessage(fact=one.queued(name)))
        action = MessageReturned(reason=ReturnReason.STOPPED)
        backs.append(compose.message_returned(one.control, one.fresh("fact"), name, action))

    assert refusal(tale, writers.return_messages(*backs)) is Code.SPINE_CONFLICT


def test_opening_that_borrows_a_key_is_refused_whoever_writes_it(tale: Tale) -> None:
    """The last guard below `OpenRun`, which finds what the key stands for before it comes here."""
    tale.do(QueueMessage(fact=tale.queued("msg_1", Intent.FOLLOW_UP, key="k", stated_input=INPUT)))
    order = tale.run_order()
    row = tale.view(lambda view: view.session(tale.session))
    assert row is not None
    action = RunOpened(
        protocol=1, cause=Cause.TURN, profile=PROFILE, context=row.context, key="k", input=INPUT
    )
    opening = compose.run_opened(tale.at, order.opened, action)

    unit = Append(writer=Writer.OPEN_RUN, facts=(opening, order.text))

    assert refusal(tale, unit) is Code.START_CONFLICT
