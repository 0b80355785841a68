"""Bounded snapshots of what streams: the first piece at once, then now and then (LOG-5)."""

import attrs
import trio

from ..machines.facts.model import Spine
from ..machines.facts.text import repair_text
from ..store.errors import StorageError
from ..store.journal.partials import SNAPSHOT_BYTES_MAX, Lane, UpsertPartial
from ..store.port import Store
from .answering import Block, BlockOf


@attrs.define(eq=False, kw_only=True)
class StreamSnapshots:
    """Keeps the snapshots of one run's streams (run.Snapshots).

    A snapshot is a convenience for whoever reopens the log; one that cannot be stored is dropped
    and counted, never a reason to end a run.
    """

    store: Store
    spine: Spine
    every_s: float
    dropped: int = 0
    _written: dict[str, float] = attrs.field(factory=dict[str, float])

    async def keep(self, stream: str, block: Block) -> None:
        """Take a stream's newest words; written at once the first time, then now and then."""
        now = trio.current_time()
        last = self._written.get(stream)
        if last is not None and now - last < self.every_s:
            return
        self._written[stream] = now
        text, _losses = repair_text(block.text)
        request, _, _number = stream.rpartition(".")
        order = UpsertPartial(
            spine=self.spine,
            owner=request,
            stream=stream,
            lane=Lane.TEXT if block.of is BlockOf.TEXT else Lane.THINKING,
            text=text[:SNAPSHOT_BYTES_MAX],
            bytes_total=len(text.encode()),
        )
        try:
            await self.store.submit(order)
        except StorageError:
            self.dropped += 1
