"""Bounded snapshots of what streams: the first piece at once, then now and then (LOG-5)."""

from contextlib import suppress

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

    def tail(self, operation: str) -> "OutputTail":
        """Return what keeps the tail of a call's live output."""
        return OutputTail(
            store=self.store, spine=self.spine, operation=operation, every_s=self.every_s
        )


@attrs.define(eq=False, kw_only=True)
class OutputTail:
    """Keeps the tail of one call's live output (calls.Tail)."""

    store: Store
    spine: Spine
    operation: str
    every_s: float
    _text: str = ""
    _bytes: int = 0
    _kept: int = 0

    def add(self, text: str) -> None:
        """Take a piece; memory stays within the cap of a snapshot."""
        self._bytes += len(text.encode("utf-8", "replace"))
        self._text = (self._text + text)[-SNAPSHOT_BYTES_MAX:]

    async def keep(self) -> None:
        """Store what came, now and then, until cancelled."""
        while True:
            await trio.sleep(self.every_s)
            if self._bytes == self._kept:
                continue
            self._kept = self._bytes
            order = UpsertPartial(
                spine=self.spine,
                owner=self.operation,
                stream=f"{self.operation}.output",
                lane=Lane.OUTPUT,
                text=self._text,
                bytes_total=self._bytes,
            )
            with suppress(StorageError):  # The outcome carries the whole; this is for a crash.
                await self.store.submit(order)
