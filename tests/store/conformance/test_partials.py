"""Semantics of every store: one bounded snapshot a stream, gone with the stream's end (LOG-5)."""

import attrs
import pytest

from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.vocabulary import Finish, RunFailure
from crashworthy.store.journal import writers
from crashworthy.store.journal.ends import EndRun
from crashworthy.store.journal.partials import SNAPSHOT_BYTES_MAX, Kept, Lane, UpsertPartial

from ..tale import Tale, ids_of
from .conftest import TakeOver
from .refusals import refusal


@pytest.fixture
def asking(tale: Tale) -> Tale:
    """A run whose first request is open."""
    tale.running()
    tale.do(writers.dispatch_request(tale.request(1)))
    return tale


def partial(tale: Tale, text: str = "he", lane: Lane = Lane.TEXT) -> UpsertPartial:
    owner = tale.operation(1, 1) if lane is Lane.OUTPUT else tale.request_name(1)
    return UpsertPartial(
        spine=tale.at.spine,
        owner=owner,
        stream="stream_1",
        lane=lane,
        text=text,
        bytes_total=len(text.encode()),
    )


def snapshots(tale: Tale) -> list[bytes]:
    return [kept.snapshot for kept in tale.view(lambda view: view.partials(tale.run))]


def test_newest_snapshot_stands_alone_and_is_no_fact(asking: Tale) -> None:
    before = ids_of(asking.store)

    assert [asking.do(partial(asking, text)) for text in ("h", "hello")] == [Kept.KEPT] * 2

    assert snapshots(asking) == [b"hello"]
    assert ids_of(asking.store) == before


def test_step_replaces_the_snapshots_of_its_request(asking: Tale) -> None:
    asking.do(partial(asking))

    asking.do(writers.settle_step(asking.text(1), asking.settle(1)))

    assert snapshots(asking) == []
    assert asking.do(partial(asking, "late")) is Kept.LATE
    assert snapshots(asking) == []


def test_late_partial_of_a_finished_stream_is_dropped_while_its_request_is_open(
    asking: Tale,
) -> None:
    asking.do(partial(asking))
    text = asking.text(1)
    final = attrs.evolve(text, refs=attrs.evolve(text.refs, stream="stream_1"))

    asking.do(writers.add_content(final))

    assert snapshots(asking) == []
    assert asking.do(partial(asking, "late")) is Kept.LATE


def test_live_output_keeps_its_tail_and_text_its_head(asking: Tale) -> None:
    call = asking.call(1, 1)
    asking.do(partial(asking, "é" * SNAPSHOT_BYTES_MAX + "end"))
    [head] = snapshots(asking)
    asking.do(writers.settle_step(call, asking.settle(1, Finish.TOOL_CALLS)))
    asking.do(writers.dispatch(asking.dispatch(call)))
    asking.do(partial(asking, "é" * SNAPSHOT_BYTES_MAX + "end", Lane.OUTPUT))
    [tail] = snapshots(asking)

    assert head == ("é" * (SNAPSHOT_BYTES_MAX // 2)).encode()
    assert tail.endswith(b"end")
    assert len(tail) == SNAPSHOT_BYTES_MAX - 1  # the cut would have split the first character
    asking.do(writers.settle(asking.outcome(call)))
    assert snapshots(asking) == []


def test_end_of_a_run_drops_all_its_snapshots(asking: Tale) -> None:
    asking.do(partial(asking))

    asking.do(EndRun(end=asking.failed(RunFailure.BACKEND_FAILED)))

    assert snapshots(asking) == []
    assert asking.do(partial(asking)) is Kept.LATE


def test_partial_with_a_foreign_spine_is_refused(asking: Tale) -> None:
    order = partial(asking)

    moved = attrs.evolve(order, spine=attrs.evolve(order.spine, invocation="inv_other"))

    assert refusal(asking, moved) is Code.SPINE_CONFLICT


def test_partial_of_another_runs_request_is_dropped(asking: Tale) -> None:
    other = Tale(store=asking.store, session="ses_2", number=10, ids=1000).begun()
    other.running()

    order = attrs.evolve(partial(asking), spine=other.at.spine)

    assert asking.do(order) is Kept.LATE


def test_partial_under_a_later_owner_is_late(asking: Tale, take_over: TakeOver) -> None:
    asking.store = take_over()

    assert asking.do(partial(asking)) is Kept.LATE
