"""Semantics of every store: what a unit is, and what is refused with nothing kept."""

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.chain import chain_next, chain_start, root_next, root_start
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import NO_REFS, RuntimeEvent, Text
from crashworthy.machines.facts.vocabulary import AnswerDecision, Kind, RunFailure
from crashworthy.machines.lifecycles import run
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.store.journal import writers
from crashworthy.store.journal.dicts import pages
from crashworthy.store.journal.ends import AbandonRun, EndRun, Stop, Stopped
from crashworthy.store.journal.orders import Append
from crashworthy.store.journal.pending import Pending
from crashworthy.store.journal.shapes import Writer
from crashworthy.store.port import Store

from ...machines.facts.facts_by_hand import EVENTS
from ..tale import ROOT, Tale, ids_of, whole_run
from .refusals import refusal


def test_every_fact_chains_in_its_ledger_and_in_its_root(tale: Tale) -> None:
    whole_run(whole_run(tale))

    chains: dict[str, str] = {}
    root = root_start(ROOT)
    for ordinal, stored in enumerate(tale.view(lambda view: list(pages(view))), start=1):
        place, stamp = stored.place, stored.stamped()
        before = chains.get(place.spine.invocation, chain_start(place.spine))
        chains[place.spine.invocation] = chain_next(before, stored.body, stored.stamp)
        root = root_next(root, ordinal, place.chain)
        assert (place.ordinal, place.chain) == (ordinal, chains[place.spine.invocation])
        assert stored.root == root
        assert (stamp.seq, stamp.root, stamp.epoch) == (place.seq, ROOT, place.epoch)


def test_stamp_names_the_rows_that_admitted_the_fact(tale: Tale) -> None:
    tale.running().step(1).ended()

    rows = [stored.stamped().rows for stored in tale.view(lambda view: view.log())]
    assert rows == [
        ("SES.T1",),
        ("RUN.T1",),
        ("RUN.T4",),
        ("RUN.T6", "REQ.T1"),
        ("RUN.T7", "REQ.T2"),
        ("RUN.T9", "REQ.T3"),
        ("RUN.T35",),
    ]


def test_exact_retry_of_a_unit_is_success_without_effect(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    order = writers.settle_step(tale.text(1), tale.settle(1))
    first = tale.do(order)
    before = ids_of(tale.store)

    again = tale.do(order)

    assert (first.created, again.created) == (True, False)
    assert again.places == first.places
    assert ids_of(tale.store) == before


def test_same_id_with_other_bytes_is_a_conflict(tale: Tale) -> None:
    tale.running()
    request = tale.request(1)
    tale.do(writers.dispatch_request(request))

    moved = writers.dispatch_request(attrs.evolve(request, ts=request.ts + 1))

    assert refusal(tale, moved) is Code.FACT_CONFLICT


def test_half_of_a_stored_unit_with_something_new_is_a_conflict(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    text, settled = tale.text(1), tale.settle(1)
    tale.do(writers.settle_step(text, settled))

    other = writers.settle_step(text, tale.settle(1))

    assert refusal(tale, other) is Code.FACT_CONFLICT


def test_dispatch_is_created_once_so_the_tool_runs_once(tale: Tale) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    order = writers.dispatch(tale.dispatch(call))

    assert [tale.do(order).created for _ in range(3)] == [True, False, False]


@pytest.mark.parametrize("field", ["run", "turn", "invocation"])
def test_fact_with_one_foreign_identity_is_refused(tale: Tale, field: str) -> None:
    """ID-1 in both directions: neither an invocation nor a run may get a second spine."""
    whole_run(tale).running()
    request = tale.request(1)
    moved = attrs.evolve(request.spine, **{field: f"{field}_other"})

    code = refusal(tale, writers.dispatch_request(attrs.evolve(request, spine=moved)))

    assert code is Code.SPINE_CONFLICT


def test_second_invocation_of_a_run_is_refused(tale: Tale) -> None:
    whole_run(tale)
    order = tale.run_order()
    spine = attrs.evolve(order.spine, run="run_1")
    text = attrs.evolve(order.text, spine=spine)

    assert refusal(tale, attrs.evolve(order, spine=spine, text=text)) is Code.SPINE_CONFLICT


def test_control_fact_in_a_run_and_run_fact_in_control_are_refused(tale: Tale) -> None:
    tale.running()
    at = tale.at
    queued = compose.message_taken(at, "fact_x", "msg_1", "run_1")
    stop = attrs.evolve(tale.stop(), spine=compose.control_spine(tale.session))

    assert refusal(tale, Append(writer=Writer.RETURN_MESSAGE, facts=(queued,))) is (
        Code.UNIT_MISFITS_WRITER
    )
    assert refusal(tale, Append(writer=Writer.STOP, facts=(stop,))) is Code.SPINE_CONFLICT


def test_run_in_a_session_that_was_never_opened_is_refused(store: Store) -> None:
    assert refusal(Tale(store=store), Tale(store=store).run_order()) is Code.NOT_OPENED


def test_session_has_one_open_run(tale: Tale) -> None:
    tale.running()

    assert refusal(tale, tale.run_order()) is Code.SESSION_BUSY


def test_generic_writer_writes_content_of_an_open_run_and_nothing_else(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))

    assert tale.do(writers.add_content(tale.text(1))).created
    assert refusal(tale, writers.add_content(tale.settle(1))) is Code.RESERVED_FACT


CONTENT = {
    *(Kind.MODEL_TEXT, Kind.MODEL_THINKING, Kind.ERROR_NOTED),
    *(Kind.ARTIFACT_ADDED, Kind.CHECKPOINT_MADE),
}


@pytest.mark.parametrize("kind", sorted(set(Kind) - CONTENT))
def test_generic_writer_refuses_every_kind_with_a_writer_of_its_own(tale: Tale, kind: Kind) -> None:
    tale.running()

    assert refusal(tale, writers.add_content(EVENTS[kind])) is Code.RESERVED_FACT


@pytest.mark.parametrize("writer", [w for w in Writer if w not in {Writer.CONTENT, Writer.STOP}])
def test_each_writer_refuses_a_unit_that_is_not_its_own(tale: Tale, writer: Writer) -> None:
    tale.running()

    code = refusal(tale, Append(writer=writer, facts=(tale.stop(),)))

    assert code is Code.UNIT_MISFITS_WRITER


def test_nothing_follows_the_one_terminal(tale: Tale) -> None:
    whole_run(tale)

    assert refusal(tale, EndRun(end=tale.failed())) is Code.RUN_SEALED
    assert refusal(tale, writers.dispatch_request(tale.request(3))) is Code.RUN_SEALED
    assert tale.stopped() is Stopped.ENDED


def test_end_of_a_run_settles_closes_and_returns_what_is_open(tale: Tale) -> None:
    """LOG-4a, whoever writes the terminal: here an open request, then an open ask and a stop."""
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    tale.do(EndRun(end=tale.failed(RunFailure.BACKEND_FAILED)))
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    _ask, opened = tale.ask(call)
    tale.do(writers.ask(opened))
    assert tale.stopped() is Stopped.REQUESTED
    assert tale.stopped() is Stopped.ALREADY

    ended = tale.do(EndRun(end=tale.aborted()))

    kinds = [stored.place.kind for stored in tale.view(lambda view: view.log())]
    assert kinds[4:6] == [Kind.REQUEST_SETTLED, Kind.RUN_ENDED]
    assert [place.kind for place in ended.places] == [Kind.ASK_CLOSED, Kind.RUN_ENDED]
    assert tale.view(lambda view: view.pending(Pending.ASK_OPEN)) == ()


def test_exact_retry_of_an_end_is_success_though_its_closings_are_written(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    order = EndRun(end=tale.failed(RunFailure.BACKEND_FAILED))

    assert [tale.do(order).created, tale.do(order).created] == [True, False]


def test_approval_is_used_once_and_denial_is_told(tale: Tale) -> None:
    tale.running()
    first, second = tale.call(1, 1, x="a"), tale.call(1, 2, x="b")
    tale.step(1, first, second)
    asks = [tale.ask(first), tale.ask(second)]
    tale.do(writers.ask(*(fact for _name, fact in asks)))
    tale.do(writers.answer(tale.answer(asks[0][0])))
    tale.do(writers.answer(tale.answer(asks[1][0], AnswerDecision.DENY)))

    assert refusal(tale, writers.dispatch(tale.dispatch(second, ask=asks[0][0]))) is (
        Code.GRANT_MISSING
    )
    tale.do(writers.dispatch(tale.dispatch(first, ask=asks[0][0])))
    assert tale.view(lambda view: view.pending(Pending.ASK_DECIDED)) == (asks[1][0],)


def test_opening_carries_the_digest_of_the_runs_closed_before_it(tale: Tale) -> None:
    whole_run(tale)
    order = tale.run_order()
    assert tale.do(order).created

    opening = tale.view(lambda view: view.fact(order.opened))
    session = tale.view(lambda view: view.session(tale.session))

    assert opening is not None
    assert session is not None
    assert getattr(opening.event().actions, "context", None) == session.context


def test_state_that_is_kept_is_the_one_the_tables_give(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))

    cell = tale.view(lambda view: view.cell(Machine.RUN, tale.run))

    assert cell is not None
    assert isinstance(cell.state, run.Active)
    assert cell.state.last is run.Last.OPEN


def test_two_sessions_in_one_unit_are_refused(tale: Tale) -> None:
    other = Tale(store=tale.store, session="ses_2", number=10, ids=1000).begun()
    texts: list[RuntimeEvent] = []
    for one in (tale, other):
        one.running()
        one.do(writers.dispatch_request(one.request(1)))
        texts.append(one.text(1))

    assert refusal(tale, writers.add_content(*texts)) is Code.SPINE_CONFLICT


def test_illegal_body_is_refused_before_anything_is_read(tale: Tale) -> None:
    tale.running()
    hollow: RuntimeEvent = attrs.evolve(tale.text(1), content=Text(text="x"), refs=NO_REFS)

    assert refusal(tale, writers.add_content(hollow)) is Code.FACT_ILLEGAL


def test_stop_of_an_unknown_run_is_a_typed_no_op(tale: Tale) -> None:
    tale.number = 7

    assert tale.do(Stop(fact=tale.stop())) is Stopped.UNKNOWN


def test_facts_of_two_stored_units_are_not_the_retry_of_one(tale: Tale) -> None:
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    first, second = tale.text(1), tale.text(1)
    tale.do(writers.add_content(first))
    tale.do(writers.add_content(second))

    assert refusal(tale, writers.add_content(second, first)) is Code.FACT_CONFLICT


def test_unit_with_one_fact_too_many_is_refused(tale: Tale) -> None:
    tale.running()
    facts = (tale.request(1), tale.stop())

    order = Append(writer=Writer.DISPATCH_REQUEST, facts=facts)

    assert refusal(tale, order) is Code.UNIT_MISFITS_WRITER


def test_instance_keeps_the_ordinal_of_the_fact_that_made_it(tale: Tale) -> None:
    tale.running().step(1)

    row = tale.view(lambda view: view.cell_row(Machine.RUN, tale.run))
    opening = tale.view(lambda view: view.opening(tale.run))

    assert row is not None
    assert opening is not None
    assert (row.made, row.moved) == (opening.ordinal, tale.view(lambda view: view.last().ordinal))


def test_only_what_leaves_the_machine_needs_a_clean_store(tale: Tale) -> None:
    """STORE-9: on probation no T1 and no request is admitted; everything else is."""
    call = tale.call(1, 1)
    assert writers.dispatch(tale.dispatch(call)).needs_clean
    assert writers.dispatch_request(tale.request(1)).needs_clean
    assert not writers.settle(tale.outcome(call)).needs_clean
    assert not tale.run_order().needs_clean


def test_run_given_up_by_a_person_ends_in_one_unit_that_can_be_retried(tale: Tale) -> None:
    tale.running()
    call = tale.call(1, 1)
    tale.step(1, call)
    tale.do(writers.ask(tale.ask(call)[1]))
    abandoned = compose.run_abandoned(tale.control, tale.fresh("fact"), tale.run)
    order = AbandonRun(abandoned=abandoned, end=tale.failed(RunFailure.ABANDONED_BY_PERSON))

    first, again = tale.do(order), tale.do(order)

    assert [place.kind for place in first.places] == [
        Kind.RUN_ABANDONED,
        Kind.ASK_CLOSED,
        Kind.RUN_ENDED,
    ]
    assert (first.created, again.created) == (True, False)
