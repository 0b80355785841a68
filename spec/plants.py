"""Bugs put in on purpose, one guard or row each: an exploration that misses one proves nothing."""

from typing import Final, TypeVar, cast

import attrs

from ..machines.lifecycles import interaction, operation, run
from ..machines.lifecycles.table import Row, Table, always, row
from ..machines.recovery.decision import DecisionTable
from ..machines.recovery.operations import Settlement
from ..machines.recovery.runs import Orphan, Repair
from .models.continuation import model as continuation
from .models.continuation import world as chain
from .models.law import Law
from .models.messages import model as messages
from .models.messages import world as queue
from .models.takeover import model as takeover
from .models.takeover import world as owners
from .obligation import AnyModel, Plant

S = TypeVar("S")
E = TypeVar("E")

_Mode = operation.Mode


def _one(mode: operation.Mode, *, asked: int = 0) -> owners.Scope:
    """Return the smallest scope in which one operation meets a second owner."""
    return owners.Scope(modes=(mode,), asked=asked, epochs=2, requests=1)


_CHAIN: Final = chain.Scope(continuations=1, epochs=2, control=1)


def _with(law: Law[S, E], *rows: Row) -> Law[S, E]:
    """Return the law with rows replaced by their id, or added."""
    changed = {line.id: line for line in rows}
    kept = tuple(changed.pop(line.id, line) for line in law.table.rows)
    return Law(law.table.with_rows((*kept, *changed.values())))


def _row(table: Table[S, E], row_id: str) -> Row:
    return next(line for line in table.rows if line.id == row_id)


def _any(model: object) -> AnyModel:
    """Forget the type of a model's states, which nobody but the model looks into."""
    return cast("AnyModel", model)


def _takeover(scope: owners.Scope, laws: owners.Laws) -> AnyModel:
    return _any(takeover.takeover(scope, laws))


def _no_fence() -> AnyModel:
    laws = owners.production()
    writes = attrs.evolve(_row(laws.lease.table, "LEA.T3"), guard=always)
    return _takeover(_one(_Mode.NEVER), attrs.evolve(laws, lease=_with(laws.lease, writes)))


def _epoch_not_raised() -> AnyModel:
    laws = owners.production()
    opens = attrs.evolve(_row(laws.lease.table, "LEA.T2"), takes=())
    return _takeover(_one(_Mode.NEVER), attrs.evolve(laws, lease=_with(laws.lease, opens)))


def _retrying(laws: owners.Laws, settlement: Settlement) -> owners.Laws:
    """Return laws under which recovery runs an operation a second time."""
    again = row(
        "OP.T16",
        operation.Dispatched,
        operation.Dispatch,
        always,
        operation.Dispatched,
        takes=("epoch", "mode", "local"),
    )
    return attrs.evolve(
        laws, operation=_with(laws.operation, again), retries=frozenset((settlement,))
    )


def _blind_retry() -> AnyModel:
    laws = _retrying(owners.production(), Settlement.KEEP_UNKNOWN)
    return _takeover(_one(_Mode.NEVER), laws)


def _retry_while_orphan_worker_lives() -> AnyModel:
    laws = _retrying(owners.production(), Settlement.PARK_PRIOR)
    return _takeover(_one(_Mode.RECONCILE), attrs.evolve(laws, waits_for_the_dead=False))


def _reconcile_before_epoch_gone() -> AnyModel:
    laws = attrs.evolve(owners.production(), waits_for_the_dead=False)
    return _takeover(_one(_Mode.RECONCILE), laws)


def _grant_not_consumed() -> AnyModel:
    laws = owners.production()
    kept = attrs.evolve(_row(laws.interaction.table, "ASK.T6"), target=interaction.Granted)
    changed = attrs.evolve(laws, interaction=_with(laws.interaction, kept))
    return _takeover(_one(_Mode.NEVER, asked=1), changed)


def _answering(
    table: DecisionTable[Orphan, Repair], answer: Repair, instead: Repair
) -> DecisionTable[Orphan, Repair]:
    """Return the decision table with one answer replaced by another."""
    return table.with_rules(
        tuple(
            attrs.evolve(rule, then=instead) if rule.then is answer else rule
            for rule in table.rules
        )
    )


def _fails_whatever_waits(state: run.Active, seen: run.Ending) -> bool:
    return seen.status is run.Status.FAILED and run.closable(state)


def _closes_whatever_waits(state: run.Active, _seen: run.Closing) -> bool:
    return state.asks > 0


def _repair_of_waiting_run() -> AnyModel:
    laws = owners.production()
    fails = row("RUN.T36", run.Active, run.Ending, _fails_whatever_waits, run.Ended)
    closes = row(
        "RUN.T27",
        run.Active,
        run.Closing,
        _closes_whatever_waits,
        run.Active,
        adds={"asks": -1},
    )
    repairing = _answering(laws.run_repair, Repair.KEEP_WAITING, Repair.LOST)
    changed = attrs.evolve(laws, run=_with(laws.run, fails, closes), run_repair=repairing)
    return _takeover(_one(_Mode.NEVER, asked=1), changed)


def _stopped_run_kept_waiting() -> AnyModel:
    laws = owners.production()
    keeping = _answering(laws.run_repair, Repair.ABORT, Repair.KEEP_WAITING)
    return _takeover(_one(_Mode.NEVER, asked=1), attrs.evolve(laws, run_repair=keeping))


def _second_terminal() -> AnyModel:
    laws = owners.production()
    again = row("RUN.T39", run.Ended, run.Ending, always, run.Ended)
    return _takeover(_one(_Mode.NEVER), attrs.evolve(laws, run=_with(laws.run, again)))


def _claim_of_living_source() -> AnyModel:
    laws = attrs.evolve(chain.production(), waits_for_the_end=False)
    return _any(continuation.continuation(_CHAIN, laws))


def _verdict_changes_sealed_source() -> AnyModel:
    laws = attrs.evolve(chain.production(), looks_at_the_seal=False)
    return _any(continuation.continuation(_CHAIN, laws))


def _steering_not_returned() -> AnyModel:
    laws = attrs.evolve(queue.production(), hands_back=False)
    scope = queue.Scope(messages=1, turns=1, epochs=2)
    return _any(messages.messages(scope, laws))


PLANTS: Final[tuple[Plant, ...]] = (
    Plant(
        name="no_fence",
        bug="A write is admitted whatever its epoch is.",
        invariant="LEA.I2",
        build=_no_fence,
    ),
    Plant(
        name="epoch_not_raised",
        bug="An owner that takes over from a living one keeps its epoch.",
        invariant="LEA.I1",
        build=_epoch_not_raised,
    ),
    Plant(
        name="blind_retry",
        bug="Recovery runs an operation again that it knows nothing of.",
        invariant="OP.I2",
        build=_blind_retry,
    ),
    Plant(
        name="retry_while_orphan_worker_lives",
        bug="Recovery runs again what it saw undone, without proof that the first worker is gone.",
        invariant="OP.I2",
        build=_retry_while_orphan_worker_lives,
    ),
    Plant(
        name="grant_not_consumed",
        bug="T1 leaves the approval it uses as it was.",
        invariant="ASK.I1",
        build=_grant_not_consumed,
    ),
    Plant(
        name="reconcile_before_epoch_gone",
        bug="Recovery judges an effect without proof that its epoch is gone.",
        invariant="OP.I6",
        build=_reconcile_before_epoch_gone,
    ),
    Plant(
        name="repair_of_waiting_run",
        bug="Run repair closes a run that waits for a person as lost.",
        invariant="RUN.I6",
        build=_repair_of_waiting_run,
    ),
    Plant(
        name="stopped_run_kept_waiting",
        bug="Run repair keeps a stopped run instead of aborting it.",
        invariant="RUN.I5",
        build=_stopped_run_kept_waiting,
    ),
    Plant(
        name="second_terminal",
        bug="An ended run admits another end.",
        invariant="RUN.I1",
        build=_second_terminal,
    ),
    Plant(
        name="claim_of_living_source",
        bug="A claim is not told whether its source has ended.",
        invariant="CLM.I2",
        build=_claim_of_living_source,
    ),
    Plant(
        name="verdict_changes_sealed_source",
        bug="A verdict is not told that a claim seals its run.",
        invariant="CLM.I3",
        build=_verdict_changes_sealed_source,
    ),
    Plant(
        name="steering_not_returned",
        bug="The unit that ends a run leaves its queued steering in the queue.",
        invariant="MSG.I4",
        build=_steering_not_returned,
    ),
)
