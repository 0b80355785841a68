"""Partials: one bounded snapshot a stream, gone when its final fact is there (LOG-5)."""

from enum import StrEnum
from typing import Final

import attrs

from ...machines.facts.model import Spine
from ...machines.lifecycles import operation, request, run
from ...machines.lifecycles.cells import Machine
from .errors import SpineConflictError
from .ledger import Ledger
from .orders import Order
from .records import Owner, Partial

SNAPSHOT_BYTES_MAX: Final = 64 * 1024
"""What is kept of one stream; the whole reaches the log with its final fact."""


class Lane(StrEnum):
    """What streams."""

    TEXT = "text"
    THINKING = "thinking"
    ARGUMENTS = "arguments"
    OUTPUT = "output"  # live tool output, of which the tail is kept


class Kept(StrEnum):
    """What became of a partial."""

    KEPT = "kept"
    LATE = "late"  # its stream is finished: dropped, and for the caller to count


@attrs.frozen(kw_only=True)
class UpsertPartial(Order[Kept]):
    """Keep the newest snapshot of a stream, cut to `SNAPSHOT_BYTES_MAX`.

    Attributes:
        owner: The request, or for `output` the operation, whose settlement ends the stream.
        text: Everything the stream gave so far, or its last part if it is longer than the cap.
        bytes_total: How many bytes the stream gave so far.
    """

    spine: Spine
    owner: str
    stream: str
    lane: Lane
    text: str
    bytes_total: int

    @property
    def size_bytes(self) -> int:
        """Return roughly how much it writes."""
        return min(len(self.text), SNAPSHOT_BYTES_MAX)

    def write(self, ledger: Ledger, owner: Owner) -> Kept:
        """Keep the snapshot, or drop it where its stream is finished.

        Raises:
            SpineConflictError: `spine_conflict`, the run has another spine or was never opened.
        """
        opening = ledger.opening(self.spine.run)
        if opening is None or opening.spine != self.spine:
            raise SpineConflictError(field="run", found=self.spine.run)
        if not self._open(ledger, owner):
            return Kept.LATE
        known = ledger.partial(self.owner, self.stream)
        if known is not None and known.finished:
            return Kept.LATE
        ledger.put_partial(
            Partial(
                owner=self.owner,
                stream=self.stream,
                spine=self.spine,
                lane=self.lane,
                snapshot=bounded(self.text, tail=self.lane is Lane.OUTPUT),
                bytes_total=self.bytes_total,
            )
        )
        return Kept.KEPT

    def _open(self, ledger: Ledger, owner: Owner) -> bool:
        """Say whether the stream can still get a final fact from this owner."""
        cell = ledger.cell(Machine.RUN, self.spine.run)
        state = None if cell is None else cell.state
        if not isinstance(state, run.Active | run.Stopping) or state.epoch != owner.epoch:
            return False
        machine = Machine.OPERATION if self.lane is Lane.OUTPUT else Machine.REQUEST
        source = ledger.cell_row(machine, self.owner)
        if source is None or source.scope != self.spine.run:
            return False
        return isinstance(source.cell.state, operation.Dispatched | request.Open)


def bounded(text: str, *, tail: bool) -> bytes:
    """Return the head or the tail of `text` as UTF-8 within the cap, cut between code points."""
    data = text.encode()
    if len(data) <= SNAPSHOT_BYTES_MAX:
        return data
    cut = data[-SNAPSHOT_BYTES_MAX:] if tail else data[:SNAPSHOT_BYTES_MAX]
    return cut.decode(errors="ignore").encode()
