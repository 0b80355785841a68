"""What a successor writes about what a gone owner left; a second pass writes nothing (OWN-4).

The decision tables of `machines.recovery` decide; here their questions are asked by indexed reads,
and asked again inside the transaction that writes. Looking at files is the caller's: nothing here
touches a workspace.
"""

from typing import Final, cast

import attrs

from ...machines.facts import ids
from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code
from ...machines.facts.model import Dispatched, FileEvidence, FunctionCall, RuntimeEvent
from ...machines.facts.vocabulary import Observation
from ...machines.lifecycles import operation, run
from ...machines.lifecycles.cells import Cell, Machine
from ...machines.recovery.operations import LEFTOVERS, Leftover, Settlement, Sight
from ...machines.recovery.runs import RUN_REPAIR, Orphan, Repair
from ...machines.recovery.units import Interrupted, bundle, closing_unit, expiry_unit
from .ends import open_run_of
from .errors import UnitRefusedError
from .ledger import Ledger, View
from .orders import Order, write_unit
from .pending import Pending
from .records import Owner
from .shapes import Writer

_SIGHTS: Final = {
    Observation.MATCHES_EXPECTED_STATE: Sight.EXPECTED,
    Observation.MATCHES_PRIOR_STATE: Sight.PRIOR,
    Observation.DIVERGED: Sight.DIVERGED,
    Observation.UNREADABLE: Sight.UNREADABLE,
}
_UNWRITTEN: Final = frozenset(
    (
        Settlement.NOTHING,
        Settlement.WORKER_ALIVE,
        Settlement.KEEP_UNKNOWN,
        Settlement.OBSERVE,
    )
)


@attrs.frozen(kw_only=True)
class LeftOperation:
    """An operation with T1 and nothing after it, in a run without terminal.

    Attributes:
        settlement: What recovery will write; `observe` first asks the caller to look.
        evidence: What to look at, where there is something to see.
    """

    operation: str
    run: str
    tool: str
    settlement: Settlement
    evidence: FileEvidence | None


@attrs.frozen(kw_only=True)
class Seen:
    """What the caller saw of an operation's effect (OP-6).

    Attributes:
        observed: Digest of what was seen.
    """

    observation: Observation
    observed: str


# --- what was left: lists as long as what they find ---


def startless_claims(view: View) -> tuple[str, ...]:
    """Return the claims that have no start, oldest first."""
    return view.pending(Pending.CLAIM_STARTLESS)


def unfinished_runs(view: View) -> tuple[str, ...]:
    """Return the runs without terminal that may be repaired here, oldest first.

    Those of an imported session are unfinished elsewhere, until it is adopted (STORE-12).
    """
    runs = view.pending(Pending.RUN_LIVE)
    return tuple(run for run in runs if not view.foreign(_session_of(view, run)))


def left_operations(view: View, run: str) -> tuple[LeftOperation, ...]:
    """Return the dispatched operations of a run in the order of their calls.

    In a quarantined session there are none to look at: nothing repairs it by itself (STORE-8).

    Raises:
        CrashworthyError: A stored fact cannot be read: damage of the run's session.
    """
    opening = view.opening(run)
    if opening is None or view.quarantine(opening.spine.session) is not None:
        return ()
    found: list[LeftOperation] = []
    for name in view.pending(Pending.OPERATION_DISPATCHED, run):
        cell = view.cell(Machine.OPERATION, name)
        assert cell is not None
        action = _dispatch_of(view, cell)
        found.append(
            LeftOperation(
                operation=name,
                run=run,
                tool=action.tool,
                settlement=LEFTOVERS.answer(_leftover(view, cell, Sight.NOT_YET)),
                evidence=action.evidence,
            )
        )
    return tuple(found)


# --- what is written ---


@attrs.frozen(kw_only=True)
class SettleLeft(Order[Settlement]):
    """Settle or park one operation of a gone owner, as one unit (OP-4).

    Attributes:
        seen: What was seen, for an operation whose settlement was `observe`.
    """

    operation: str
    seen: Seen | None = None

    def write(self, ledger: Ledger, owner: Owner) -> Settlement:
        """Write what the decision table says of the operation as it is now, and return that.

        In a quarantined session it stays unknown, whatever was seen (STORE-8).

        Raises:
            UnitRefusedError: `operation_not_called`, and the other refusals of the tables.
        """
        cell = ledger.cell(Machine.OPERATION, self.operation)
        if cell is None:
            raise UnitRefusedError(
                code=Code.OPERATION_NOT_CALLED,
                index=0,
                machine=Machine.OPERATION,
                phase="Absent",
                event="recovery",
            )
        if ledger.quarantine(str(cell.memo["session"])) is not None:
            return Settlement.KEEP_UNKNOWN
        sight = Sight.NOT_YET if self.seen is None else _SIGHTS[self.seen.observation]
        settlement = LEFTOVERS.answer(_leftover(ledger, cell, sight))
        if settlement not in _UNWRITTEN:
            facts = bundle(self._interrupted(ledger, cell), settlement)
            write_unit(ledger, owner, Writer.RECOVER_OPERATION, facts)
        return settlement

    def _interrupted(self, view: View, cell: Cell) -> Interrupted:
        action = _dispatch_of(view, cell)
        dispatch = view.fact(ids.dispatch_fact_id(self.operation))
        call = _call_of(view, self.operation)
        assert dispatch is not None
        result: Json = None if action.evidence is None else action.evidence.result
        return Interrupted(
            spine=dispatch.place.spine,
            operation=self.operation,
            label=call.label,
            tool=call.name,
            ts=dispatch.event().ts,
            observed="" if self.seen is None else self.seen.observed,
            result=result,
        )


@attrs.frozen(kw_only=True)
class RepairRun(Order[Repair]):
    """Close a run of a gone owner, after its operations were settled (CONT-7, LOG-4a).

    Attributes:
        now_ts: Milliseconds since 1970: which deadlines of open requests have passed (ASK-3).
    """

    run: str
    now_ts: int

    def write(self, ledger: Ledger, owner: Owner) -> Repair:
        """Write what the decision table says of the run as it is now, and return that.

        `expire` closes the overdue requests only: carry the order out again.

        Raises:
            UnitRefusedError: The refusals of the tables.
        """
        overdue = self._overdue(ledger)
        decided = RUN_REPAIR.answer(_orphan(ledger, self.run, due=bool(overdue)))
        if decided in {Repair.NOTHING, Repair.ALIVE, Repair.KEEP_WAITING}:
            return decided
        opened = open_run_of(ledger, self.run)
        assert opened is not None, "a run that is to be closed is open"
        if decided is Repair.EXPIRE:
            facts = expiry_unit(opened.spine, overdue)
            write_unit(ledger, owner, Writer.EXPIRE_ASKS, facts)
        else:
            write_unit(ledger, owner, Writer.REPAIR_RUN, closing_unit(opened, decided))
        return decided

    def _overdue(self, view: View) -> tuple[tuple[str, int], ...]:
        found: list[tuple[str, int]] = []
        for ask in view.pending(Pending.ASK_OPEN, self.run):
            cell = view.cell(Machine.INTERACTION, ask)
            deadline = None if cell is None else cell.memo.get("deadline")
            if isinstance(deadline, int) and deadline <= self.now_ts:
                found.append((ask, deadline))
        return tuple(found)


# --- the tables' questions, asked of the rows ---


def _leftover(view: View, cell: Cell, sight: Sight) -> Leftover:
    state = cast("operation.OperationState", cell.state)
    epoch = state.epoch if isinstance(state, operation.Dispatched) else 0
    return Leftover(state=state, gone=epoch <= view.gone(), sight=sight)


def _orphan(view: View, name: str, *, due: bool) -> Orphan:
    cell = view.cell(Machine.RUN, name)
    state: run.RunState = run.Absent() if cell is None else cast("run.RunState", cell.state)
    epoch = state.epoch if isinstance(state, run.Active | run.Stopping) else 0
    return Orphan(
        state=state,
        gone=epoch <= view.gone(),
        due=due,
        released=view.released(name),
        continuation=cell is not None and "claim" in cell.memo,
    )


def _session_of(view: View, run: str) -> str:
    row = view.cell_row(Machine.RUN, run)
    assert row is not None, "an instance that is listed is stored"
    return row.session


def _dispatch_of(view: View, cell: Cell) -> Dispatched:
    stored = view.fact(str(cell.memo["dispatch"]))
    assert stored is not None
    action = stored.event().actions
    assert isinstance(action, Dispatched)
    return action


def _call_of(view: View, name: str) -> FunctionCall:
    stored = view.fact(ids.call_fact_id(name))
    assert stored is not None
    event: RuntimeEvent = stored.event()
    assert isinstance(event.content, FunctionCall)
    return event.content
