"""Ends: a stop intent, and the unit that closes what is open before its terminal (LOG-4a)."""

from enum import StrEnum

import attrs

from ...machines.facts.codes import CrashworthyError
from ...machines.facts.model import RuntimeEvent
from ...machines.lifecycles import run
from ...machines.lifecycles.cells import Machine
from ...machines.recovery.runs import Repair
from ...machines.recovery.units import OpenRun, closing_unit
from .append import Appended, append_unit
from .ledger import Ledger, View
from .orders import Order, write_unit
from .pending import Pending
from .records import Owner
from .shapes import Writer


class Stopped(StrEnum):
    """What a stop found."""

    REQUESTED = "requested"  # the intent is durable now
    ALREADY = "already"  # an earlier intent stands
    ENDED = "ended"  # there is nothing to stop
    UNKNOWN = "unknown"  # there is no such run


@attrs.frozen(kw_only=True)
class Stop(Order[Stopped]):
    """Make a stop intent durable; on a run that is stopping or over it writes nothing (RUN-4)."""

    fact: RuntimeEvent

    def write(self, ledger: Ledger, owner: Owner) -> Stopped:
        """Write the intent, or say why there is no need.

        Raises:
            UnitRefusedError: `run_not_attached`, when a later owner has the run.
        """
        cell = ledger.cell(Machine.RUN, self.fact.spine.run)
        if cell is None:
            return Stopped.UNKNOWN
        if isinstance(cell.state, run.Ended):
            return Stopped.ENDED
        if isinstance(cell.state, run.Stopping):
            return Stopped.ALREADY
        write_unit(ledger, owner, Writer.STOP, (self.fact,))
        return Stopped.REQUESTED


@attrs.frozen(kw_only=True)
class EndRun(Order[Appended]):
    """End a run: settle its request, close its asks, return its steering, then the terminal.

    Attributes:
        end: The fact `run_ended`.
    """

    end: RuntimeEvent

    def write(self, ledger: Ledger, owner: Owner) -> Appended:
        """Write the unit that the run's present state calls for.

        Raises:
            UnitRefusedError: `run_sealed`, `run_not_finished`, and the other refusals.
        """
        return _end(ledger, owner, Writer.END_RUN, (), self.end)


@attrs.frozen(kw_only=True)
class AbandonRun(Order[Appended]):
    """Give up a waiting run on a person's word, in one unit with its end (ASK-3).

    Attributes:
        abandoned: The fact `run_abandoned`.
        end: The fact `run_ended`, failed as `abandoned_by_person`.
    """

    abandoned: RuntimeEvent
    end: RuntimeEvent

    def write(self, ledger: Ledger, owner: Owner) -> Appended:
        """Write the unit.

        Raises:
            UnitRefusedError: `run_not_waiting`, and the other refusals of the tables.
        """
        return _end(ledger, owner, Writer.ABANDON_RUN, (self.abandoned,), self.end)


def _end(
    ledger: Ledger,
    owner: Owner,
    writer: Writer,
    before: tuple[RuntimeEvent, ...],
    end: RuntimeEvent,
) -> Appended:
    if ledger.fact(end.id) is not None:
        # What it closed is closed: only its own bytes tell an exact retry from a conflict.
        return append_unit(ledger, owner, (end,))
    opened = open_run_of(ledger, end.spine.run)
    closings = () if opened is None else closings_of(opened)
    return write_unit(ledger, owner, writer, (*before, *closings, end))


def open_run_of(view: View, name: str) -> OpenRun | None:
    """Return what is open in a run without terminal, or None for any other (LOG-4a)."""
    row = view.cell_row(Machine.RUN, name)
    opening = view.opening(name)
    if row is None or opening is None or not isinstance(row.cell.state, run.Active | run.Stopping):
        return None
    requests = view.pending(Pending.REQUEST_OPEN, name)
    stop = row.cell.memo.get("stop")
    return OpenRun(
        spine=opening.spine,
        ts=_newest_ts(view, opening.spine.invocation),
        request=requests[0] if requests else None,
        asks=view.pending(Pending.ASK_OPEN, name),
        steering=view.pending(Pending.MESSAGE_STEER, opening.spine.session),
        stop=stop if isinstance(stop, str) else None,
    )


def _newest_ts(view: View, invocation: str) -> int:
    """Return the time that closings repeat: that of the ledger's newest fact (BYTE-5a).

    Where that fact is damaged it is 0 for every author: a damaged session can still be ended, and
    `ts` is for display only (STORE-8, LOG-9).
    """
    head = view.head(invocation)
    newest = None if head is None else view.at(invocation, head.seq)
    assert newest is not None
    try:
        return newest.event().ts
    except CrashworthyError:
        return 0


def closings_of(opened: OpenRun) -> tuple[RuntimeEvent, ...]:
    """Return what the end of a run closes first: recovery's own unit without its terminal.

    One builder serves every writer of an end, so that two of them state the same bodies (BYTE-5a).
    """
    repair = Repair.LOST if opened.stop is None else Repair.ABORT
    return closing_unit(opened, repair)[:-1]
