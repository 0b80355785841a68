"""What must hold whoever dies and whoever comes back: the invariants of the takeover model."""

from typing import Final, TypeAlias

from ....machines.lifecycles import host, interaction, operation, request, run
from ....machines.recovery.operations import Sight
from ...invariant import Invariant, Step, always, attainable, each_step, sometimes
from ..act import Act, bit
from .world import Owner, World

Moment: TypeAlias = Step[World]

_STARTED = operation.Dispatched | operation.Settled | operation.Recovered | operation.Parked


def _act(step: Moment) -> Act:
    assert isinstance(step.cause, Act)
    return step.cause


def _actor(step: Moment) -> Owner | None:
    """Return the owner that acted, as it was before."""
    epoch = _act(step).epoch
    return next((owner for owner in step.before.owners if owner.epoch == epoch), None)


def _ends_once(world: World) -> bool:
    return world.ends == isinstance(world.run, run.Ended)


def _nothing_follows(step: Moment) -> bool:
    ended = isinstance(step.before.run, run.Ended)
    return not ended or not any(
        row.startswith(("RUN.", "REQ.", "OP.", "ASK.")) for row in step.rows
    )


def _counts_agree(world: World) -> bool:
    state = world.run
    if not isinstance(state, run.Active | run.Stopping):
        return True
    unstarted = sum(
        isinstance(work.state, operation.Called | operation.Asked) for work in world.works
    )
    # A parked operation has a T1 and no outcome: for its run it stays open.
    started = sum(
        isinstance(work.state, operation.Dispatched | operation.Parked) for work in world.works
    )
    asks = sum(isinstance(work.ask, interaction.Open) for work in world.works)
    grants = sum(
        isinstance(work.ask, interaction.Granted | interaction.Denied) for work in world.works
    )
    counted = (state.calls, state.operations, state.asks, state.grants)
    return counted == (unstarted, started, asks, grants) and (
        (state.last is run.Last.OPEN) == isinstance(world.request, request.Open)
    )


def _closed_means_closed(world: World) -> bool:
    if not isinstance(world.run, run.Ended):
        return True
    asks = any(isinstance(work.ask, interaction.Open) for work in world.works)
    return not asks and not isinstance(world.request, request.Open)


def _stop_ends(step: Moment) -> bool:
    state, gone = step.before.run, step.before.lease.gone
    left = isinstance(state, run.Stopping) and state.epoch <= gone
    return "HST.T2" not in step.rows or not left


def _waiting_is_left_alone(step: Moment) -> bool:
    actor, state = _actor(step), step.before.run
    recovering = actor is not None and isinstance(actor.state, host.Recovering)
    if not recovering or not isinstance(state, run.Active) or not run.waits(state):
        return True
    expiry = "RUN.T26" in step.rows and step.before.due
    return step.after.run == state or expiry


def _recovery_asks_no_model(step: Moment) -> bool:
    if step.after.sent == step.before.sent:
        return True
    return _may_execute(step)


def _may_execute(step: Moment) -> bool:
    """Say whether the actor is the ready owner to which the run is attached."""
    actor, state = _actor(step), step.before.run
    return (
        actor is not None
        and isinstance(actor.state, host.Ready)
        and isinstance(state, run.Active)
        and state.epoch == actor.epoch == step.before.lease.epoch
    )


def _only_attached_starts(step: Moment) -> bool:
    pairs = zip(step.before.works, step.after.works, strict=True)
    started = any(after.starts > before.starts for before, after in pairs)
    return not started or _may_execute(step)


def _one_t1(world: World) -> bool:
    return all(work.starts <= 1 for work in world.works)


def _one_effect(world: World) -> bool:
    return all(work.effects <= 1 for work in world.works)


def _effect_needs_t1(world: World) -> bool:
    return all(work.starts > 0 or work.effects == 0 for work in world.works)


def _outcome_needs_t1(world: World) -> bool:
    return all((work.starts > 0) == isinstance(work.state, _STARTED) for work in world.works)


def _settled_happened(world: World) -> bool:
    return all(
        work.effects > 0
        for work in world.works
        if work.seen is Sight.EXPECTED or isinstance(work.state, operation.Settled)
    )


def _prior_stays_prior(world: World) -> bool:
    return all(work.seen is not Sight.PRIOR or work.effects == 0 for work in world.works)


def _judged_when_gone(step: Moment) -> bool:
    for before, after in zip(step.before.works, step.after.works, strict=True):
        judged = isinstance(after.state, operation.Recovered | operation.Parked)
        if not judged or after.state == before.state:
            continue
        acting = step.before.workers & bit(before.epoch) or before.hands
        if acting or step.before.lease.gone < before.epoch:
            return False
    return True


def _unknown_stays_unknown(step: Moment) -> bool:
    for before, after in zip(step.before.works, step.after.works, strict=True):
        if not isinstance(before.state, operation.Dispatched) or after.state == before.state:
            continue
        by_tool = isinstance(after.state, operation.Settled) and before.done & bit(before.epoch)
        recovered = isinstance(after.state, operation.Recovered | operation.Parked)
        if not by_tool and not (recovered and before.state.mode is not operation.Mode.NEVER):
            return False
    return True


def _grant_is_used_up(world: World) -> bool:
    open_or_decided = interaction.Open | interaction.Granted | interaction.Denied
    return all(
        work.starts == 0 or not isinstance(work.ask, open_or_decided) for work in world.works
    )


def _asked_start_granted(step: Moment) -> bool:
    for before, after in zip(step.before.works, step.after.works, strict=True):
        asked = not isinstance(before.ask, interaction.Absent | interaction.Closed)
        granted = isinstance(before.ask, interaction.Granted)
        if after.starts > before.starts and asked and not granted:
            return False
    return True


def _epoch_rises(step: Moment) -> bool:
    opened = any(row in {"LEA.T1", "LEA.T2"} for row in step.rows)
    return step.after.lease.epoch == step.before.lease.epoch + opened


def _only_the_owner_writes(step: Moment) -> bool:
    act = _act(step)
    return not act.writes or act.epoch == step.after.lease.epoch


def _gone_cannot_act(world: World) -> bool:
    gone = bit(world.lease.gone + 1) - 1
    return not world.workers & gone and not any(work.hands & gone for work in world.works)


def _over(world: World) -> bool:
    return isinstance(world.run, run.Ended)


ENDS_ONCE: Final = always(
    "RUN.I1",
    "A run ends once.",
    "Two ends would let a person and a program act on different outcomes.",
    _ends_once,
)
NOTHING_FOLLOWS: Final = each_step(
    "RUN.I2",
    "Nothing follows the end of a run in its ledger.",
    "A continuation would rest on a history that still changes.",
    _nothing_follows,
)
COUNTS_AGREE: Final = always(
    "RUN.I3",
    "A run's own counts equal the states of its request, operations and asks.",
    "The run would end, wait or go on with something open that it does not know of.",
    _counts_agree,
)
CLOSED_MEANS_CLOSED: Final = always(
    "RUN.I4",
    "An ended run has no open request and no open ask.",
    "A person would be asked for a run that cannot use the answer.",
    _closed_means_closed,
)
STOP_ENDS: Final = each_step(
    "RUN.I5",
    "A stopped run of a gone owner is ended before its successor is ready.",
    "A run that a person stopped would linger, and its session with it.",
    _stop_ends,
)
WAITING_LEFT_ALONE: Final = each_step(
    "RUN.I6",
    "Recovery writes nothing to a waiting run but the denial of an expired ask.",
    "A person's pending decision would be lost by a restart.",
    _waiting_is_left_alone,
)
RECOVERY_ASKS_NO_MODEL: Final = each_step(
    "RUN.I7",
    "Only the ready owner of an attached, unstopped run sends a model request.",
    "A restart would spend money and continue without anybody's wish.",
    _recovery_asks_no_model,
)
RUN_CAN_END: Final = attainable(
    "RUN.I8",
    "From everywhere a run can still be ended.",
    "A session would be blocked for ever by a run that nobody can close.",
    _over,
)
ONE_T1: Final = always(
    "OP.I1",
    "An operation has at most one T1.",
    "The runtime itself would do the same thing twice.",
    _one_t1,
)
ONE_EFFECT: Final = always(
    "OP.I2",
    "The runtime causes an operation's effect at most once.",
    "A card would be charged twice.",
    _one_effect,
)
EFFECT_NEEDS_T1: Final = always(
    "OP.I3",
    "No effect happens before its T1 is durable.",
    "An effect would exist that no log knows of.",
    _effect_needs_t1,
)
OUTCOME_NEEDS_T1: Final = always(
    "OP.I4",
    "An operation is settled, recovered or parked exactly after a T1, not started exactly without.",
    "History would tell the model of results that nothing produced.",
    _outcome_needs_t1,
)
SETTLED_HAPPENED: Final = always(
    "OP.I5",
    "An operation that is settled, or completed by evidence, has happened.",
    "The model would build on an effect that is not there.",
    _settled_happened,
)
PRIOR_STAYS: Final = always(
    "OP.I6",
    "An effect that recovery saw as not done never happens later.",
    "A person would repeat what a forgotten worker is about to do.",
    _prior_stays_prior,
)
ONLY_ATTACHED_STARTS: Final = each_step(
    "OP.I7",
    "Only the ready owner to which the run is attached starts an operation.",
    "Two owners would act for one run.",
    _only_attached_starts,
)
JUDGED_WHEN_GONE: Final = each_step(
    "OP.I8",
    "Recovery judges an operation only when its epoch is gone and no worker of it acts.",
    "An observation would be overtaken by the effect it denies.",
    _judged_when_gone,
)
UNKNOWN_STAYS: Final = each_step(
    "OP.I9",
    "An unknown operation becomes known only by its own worker or by what recovery may prove.",
    "Unknown would silently turn into done, or into not done.",
    _unknown_stays_unknown,
)
GRANT_USED_UP: Final = always(
    "ASK.I1",
    "An approval is used up by the T1 it allows.",
    "One approval would execute twice.",
    _grant_is_used_up,
)
ASKED_START_GRANTED: Final = each_step(
    "ASK.I2",
    "An operation that a person was asked about starts only when granted.",
    "A denied action would be carried out.",
    _asked_start_granted,
)
EPOCH_RISES: Final = each_step(
    "LEA.I1",
    "Every owner has an epoch of its own, one above the last.",
    "A fence could not tell the new owner from the old one.",
    _epoch_rises,
)
ONLY_OWNER_WRITES: Final = each_step(
    "LEA.I2",
    "Only the newest epoch writes.",
    "A host that was stopped for an hour would wake up and write over its successor.",
    _only_the_owner_writes,
)
GONE_CANNOT_ACT: Final = always(
    "LEA.I3",
    "No worker of an epoch that is proven gone can act.",
    "Recovery would settle what somebody is still doing.",
    _gone_cannot_act,
)


def _zombie(world: World) -> bool:
    return any(owner.epoch < world.lease.epoch for owner in world.owners)


def _late_effect(world: World) -> bool:
    return isinstance(world.run, run.Ended) and any(work.hands for work in world.works)


def _waits_under_successor(world: World) -> bool:
    state = world.run
    return (
        isinstance(state, run.Active)
        and run.waits(state)
        and any(
            isinstance(owner.state, host.Ready) and owner.epoch > state.epoch
            for owner in world.owners
        )
    )


def _reattached(world: World) -> bool:
    state = world.run
    return isinstance(state, run.Active) and any(
        0 < work.epoch == state.epoch > 1 for work in world.works
    )


REACHED: Final[tuple[Invariant, ...]] = (
    sometimes("SCOPE.S1", "A zombie believes it owns.", "The fence is untested.", _zombie),
    sometimes(
        "SCOPE.S2",
        "A worker may act after its run ended.",
        "Late effects are untested.",
        _late_effect,
    ),
    sometimes(
        "SCOPE.S3",
        "A run waits under a ready successor.",
        "Waiting over owners is untested.",
        _waits_under_successor,
    ),
    sometimes(
        "SCOPE.S4", "A successor starts an operation.", "Re-attach is untested.", _reattached
    ),
)

PROMISES: Final[tuple[Invariant, ...]] = (
    ENDS_ONCE,
    NOTHING_FOLLOWS,
    COUNTS_AGREE,
    CLOSED_MEANS_CLOSED,
    STOP_ENDS,
    WAITING_LEFT_ALONE,
    RECOVERY_ASKS_NO_MODEL,
    RUN_CAN_END,
    ONE_T1,
    ONE_EFFECT,
    EFFECT_NEEDS_T1,
    OUTCOME_NEEDS_T1,
    SETTLED_HAPPENED,
    PRIOR_STAYS,
    ONLY_ATTACHED_STARTS,
    JUDGED_WHEN_GONE,
    UNKNOWN_STAYS,
    GRANT_USED_UP,
    ASKED_START_GRANTED,
    EPOCH_RISES,
    ONLY_OWNER_WRITES,
    GONE_CANNOT_ACT,
)
