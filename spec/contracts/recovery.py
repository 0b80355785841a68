"""The contracts of recovery: one answer to each question, admitted by the tables."""

from typing import Final

from ...machines.facts.vocabulary import Observation
from ...machines.lifecycles import claim as claim_machine
from ...machines.lifecycles import operation, run
from ...machines.lifecycles.table import Refused
from ...machines.recovery import files, operations, runs
from ...machines.recovery.files import FileSight, Look
from ...machines.recovery.operations import Leftover, Settlement, Sight, Standing, Standpoint
from ...machines.recovery.runs import Claim, ClaimRepair, Orphan, Repair
from . import run_state
from .reached import reached


def standing_is_what_is_known(at: Standpoint) -> bool:
    """RES.C1: Settled, parked and not started follow from facts; T1 alone is unknown.

    post: __return__
    """
    started = isinstance(at.state, operation.Dispatched | operation.Observed)
    known: Standing | None = None
    if isinstance(at.state, operation.Settled | operation.Recovered):
        known = Standing.SETTLED
    if isinstance(at.state, operation.Interrupted | operation.Finalised):
        known = Standing.SETTLED
    if isinstance(at.state, operation.Parked):
        known = Standing.PARKED
    if isinstance(at.state, operation.Refused):
        known = Standing.NOT_STARTED
    if known is None and not at.open:
        known = Standing.UNKNOWN if started else Standing.NOT_STARTED
    return operations.RESOLVER.answer(at) is (known or Standing.PENDING)


def nothing_is_concluded_while_alive(left: Leftover) -> bool:
    """REC.C1: Until its epoch is proven gone, an operation is left exactly as it is (OWN-2).

    pre: not left.gone
    post: __return__
    """
    started = isinstance(left.state, operation.Dispatched)
    expected = Settlement.WORKER_ALIVE if started else Settlement.NOTHING
    return operations.LEFTOVERS.answer(left) is expected


def contract_of_the_tool_decides(left: Leftover) -> bool:
    """REC.C2: Once gone, exactly the tool's contract and what was seen decide (OP-5, OP-6).

    pre: left.gone
    post: __return__
    """
    expected = Settlement.NOTHING
    if isinstance(left.state, operation.Dispatched):
        expected = Settlement.KEEP_UNKNOWN
        if left.state.mode is operation.Mode.REPLAY_SAFE:
            expected = Settlement.INTERRUPT
        if left.state.mode is operation.Mode.IDEMPOTENT:
            expected = Settlement.PARK_BY_KEY
        if left.state.mode is operation.Mode.RECONCILE and left.state.local:
            expected = _BY_SIGHT[left.sight]
    return operations.LEFTOVERS.answer(left) is expected


_BY_SIGHT: Final = {
    Sight.NOT_YET: Settlement.OBSERVE,
    Sight.EXPECTED: Settlement.FINALISE,
    Sight.PRIOR: Settlement.PARK_PRIOR,
    Sight.DIVERGED: Settlement.PARK_DIVERGED,
    Sight.UNREADABLE: Settlement.PARK_UNREADABLE,
}


def operation_admits_what_recovery_writes(left: Leftover) -> bool:
    """REC.C3: The unit that recovery writes for an operation is admitted whole, and rests (OP-4).

    post: __return__
    """
    state = left.state
    for seen in _facts(operations.LEFTOVERS.answer(left), gone=left.gone):
        done = operation.TABLE.step(state, seen)
        if isinstance(done, Refused):
            return False
        state = done[0]
    return state is left.state or isinstance(state, operation.Recovered | operation.Parked)


def _facts(settlement: Settlement, *, gone: bool) -> tuple[operation.OperationSeen, ...]:
    """Return the facts of a settlement as the operation sees them."""
    match settlement:
        case Settlement.INTERRUPT:
            return (
                operation.Outcome(epoch=0, via=operation.Via.INTERRUPTED, gone=gone),
                _decides(operation.Verdict.COMPLETED, gone=gone),
            )
        case Settlement.PARK_BY_KEY:
            return (_decides(operation.Verdict.BY_KEY, gone=gone),)
        case Settlement.FINALISE:
            return (
                operation.Observation(sight=operation.Sight.EXPECTED, gone=gone),
                operation.Outcome(epoch=0, via=operation.Via.RECONCILED, gone=gone),
                _decides(operation.Verdict.COMPLETED, gone=gone),
            )
        case Settlement.PARK_PRIOR:
            return (
                operation.Observation(sight=operation.Sight.PRIOR, gone=gone),
                _decides(operation.Verdict.PRIOR, gone=gone),
            )
        case Settlement.PARK_DIVERGED:
            return (
                operation.Observation(sight=operation.Sight.DIVERGED, gone=gone),
                _decides(operation.Verdict.DIVERGED, gone=gone),
            )
        case Settlement.PARK_UNREADABLE:
            return (
                operation.Observation(sight=operation.Sight.UNREADABLE, gone=gone),
                _decides(operation.Verdict.UNREADABLE, gone=gone),
            )
        case (
            Settlement.NOTHING
            | Settlement.WORKER_ALIVE
            | Settlement.KEEP_UNKNOWN
            | Settlement.OBSERVE
        ):
            return ()


def _decides(verdict: operation.Verdict, *, gone: bool) -> operation.Decision:
    return operation.Decision(verdict=verdict, gone=gone, evidence=operation.Match.SAME)


def open_run_has_one_repair(orphan: Orphan) -> bool:
    """FIX.C1: A gone owner's run is aborted, released, kept, abandoned or lost, in order.

    pre: run_state.valid(orphan.state)
    post: __return__
    """
    expected = Repair.NOTHING
    state = orphan.state
    if isinstance(state, run.Active | run.Stopping) and not orphan.gone:
        expected = Repair.ALIVE
    elif isinstance(state, run.Stopping):
        expected = Repair.ABORT
    elif isinstance(state, run.Active):
        expected = _repair(orphan, state)
    return runs.RUN_REPAIR.answer(orphan) is expected


def _repair(orphan: Orphan, state: run.Active) -> Repair:
    """Return what an unstopped run of a gone owner needs, by the words of CONT-7 and ASK-3."""
    if orphan.released:
        return Repair.RELEASE
    if state.asks > 0 and orphan.due:
        return Repair.EXPIRE
    if run_state.waiting(state):
        return Repair.KEEP_WAITING
    if state.last is run.Last.NEVER:
        return Repair.ABANDON_CONTINUATION if orphan.continuation else Repair.ABANDON
    return Repair.LOST_AFTER_DISPATCH if state.last is run.Last.OPEN else Repair.LOST


def run_admits_its_repair(orphan: Orphan, epoch: int) -> bool:
    """FIX.C2: A successor's repair is admitted by the run to its last fact, and leaves it ended.

    pre: run_state.valid(orphan.state) and isinstance(orphan.state, run.Active | run.Stopping)
    pre: epoch > orphan.state.epoch and orphan.state.asks <= 2
    post: __return__
    """
    repair = runs.RUN_REPAIR.answer(orphan)
    if repair in (Repair.ALIVE, Repair.EXPIRE, Repair.KEEP_WAITING):
        return True
    assert isinstance(orphan.state, run.Active | run.Stopping)
    state: run.RunState = orphan.state
    closing: list[run.RunSeen] = []
    if orphan.state.last is run.Last.OPEN:
        closing.append(run.Settlement(epoch=epoch, request=run.Named.SAME, end=run.End.LOST))
    released = repair is Repair.RELEASE
    closing += [run.Closing(epoch=epoch, released=released)] * orphan.state.asks
    status = run.Status.ABORTED if repair is Repair.ABORT else run.Status.FAILED
    closing.append(run.Ending(epoch=epoch, status=status, source=run.Named.SAME, released=released))
    for seen in closing:
        done = run.TABLE.step(state, seen)
        if isinstance(done, Refused):
            return False
        state = done[0]
    return isinstance(state, run.Ended)


def dead_claims_are_closed(found: Claim) -> bool:
    """CRP.C1: A claim without a start is closed exactly when its claimer is gone, else left alone.

    post: __return__
    """
    expected = ClaimRepair.NOTHING
    if isinstance(found.state, claim_machine.Claimed):
        expected = ClaimRepair.CLOSE if found.gone else ClaimRepair.LEAVE
    return runs.CLAIM_REPAIR.answer(found) is expected


def claim_admits_its_repair(found: Claim, epoch: int) -> bool:
    """CRP.C2: What claim repair closes, a later owner may start as a repair, and never as a run.

    pre: isinstance(found.state, claim_machine.Claimed) and epoch > found.state.epoch
    post: __return__
    """
    repairs, admits = (
        reached(
            claim_machine.TABLE.step(
                found.state,
                claim_machine.Begin(epoch=epoch, kind=kind, binding=claim_machine.Binding.SAME),
            )
        )
        for kind in (claim_machine.Kind.REPAIR, claim_machine.Kind.ADMISSION)
    )
    return isinstance(repairs, claim_machine.Repaired) and admits is None


def file_is_what_it_looks_like(sight: FileSight) -> bool:
    """OBS.C1: A file that was read is as expected, else as before, else diverged.

    post: __return__
    """
    expected = Observation.UNREADABLE
    if sight.look is Look.READ:
        expected = Observation.MATCHES_PRIOR_STATE if sight.is_before else Observation.DIVERGED
        if sight.is_after:
            expected = Observation.MATCHES_EXPECTED_STATE
    return files.FILE_OBSERVATION.answer(sight) is expected
