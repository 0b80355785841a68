"""Snapshots of streams: the first piece at once, then now and then, never in the way (LOG-5)."""

from typing import TypeVar, cast

import attrs
import pytest
import trio

from crashworthy.actors.answering import Block, BlockOf
from crashworthy.actors.snapshots import StreamSnapshots
from crashworthy.machines.facts.model import Spine
from crashworthy.store.errors import StorageFullError
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.partials import UpsertPartial
from crashworthy.store.port import Store

T = TypeVar("T")
SPINE = Spine(session="ses_1", invocation="inv_1", run="run_1", turn="turn_1")


@attrs.define
class Desk:
    """What snapshots are written to."""

    texts: list[str] = attrs.field(factory=list[str])
    full: bool = False

    async def submit(self, order: Order[T]) -> T | None:
        await trio.lowlevel.checkpoint()
        if self.full:
            raise StorageFullError(stage="commit", cause="SQLITE_FULL")
        assert isinstance(order, UpsertPartial)
        self.texts.append(order.text)
        return None


def snapshots(desk: Desk) -> StreamSnapshots:
    return StreamSnapshots(store=cast("Store", desk), spine=SPINE, every_s=1)


@pytest.mark.trio
@pytest.mark.proves("LOG-5")
async def test_first_piece_is_kept_at_once_and_later_ones_now_and_then(
    autojump_clock: trio.testing.MockClock,
) -> None:
    desk, block = Desk(), Block(number=1, of=BlockOf.TEXT)
    kept = snapshots(desk)

    for _ in range(20):
        block.parts.append("x")
        await kept.keep("req_1.1", block)
        await trio.sleep(0.25)

    assert [len(text) for text in desk.texts] == [1, 5, 9, 13, 17]
    assert autojump_clock.autojump_threshold == 0


@pytest.mark.trio
async def test_snapshot_that_cannot_be_stored_is_dropped_and_counted() -> None:
    kept = snapshots(Desk(full=True))

    await kept.keep("req_1.1", Block(number=1, of=BlockOf.TEXT, parts=["x"]))

    assert kept.dropped == 1
