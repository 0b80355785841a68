"""What must hold along a chain of runs: the invariants of the continuation model."""

from typing import Final, TypeAlias

from ....machines.lifecycles import claim, host, operation, repair, run, verdict
from ...invariant import Invariant, Step, always, attainable, each_step, sometimes
from ..act import Act
from ..takeover.promises import EPOCH_RISES, ONLY_OWNER_WRITES
from .world import World

Moment: TypeAlias = Step[World]


def _one_claimant(world: World) -> bool:
    return all(
        made == (not isinstance(state, claim.Absent))
        for made, state in zip(world.made, world.claims, strict=True)
    )


def _claimed_now(step: Moment) -> tuple[int, ...]:
    """Return the boundaries that this step claimed."""
    pairs = zip(step.before.made, step.after.made, strict=True)
    return tuple(at for at, (before, after) in enumerate(pairs) if after > before)


def _ended_source(step: Moment) -> bool:
    return all(isinstance(step.before.runs[at], run.Ended) for at in _claimed_now(step))


def _sealed(step: Moment) -> bool:
    before, after = step.before, step.after
    for at, state in enumerate(before.claims):
        if isinstance(state, claim.Absent):
            continue
        if before.runs[at] != after.runs[at] or before.abandoned[at] != after.abandoned[at]:
            return False
        spoken = "VER.T1" in step.rows or "VER.T2" in step.rows
        if at == 0 and (spoken or before.operation != after.operation):
            return False
    return True


def _rests_on_what_was_verified(step: Moment) -> bool:
    act = step.cause
    assert isinstance(act, Act)
    if not _claimed_now(step):
        return True
    plans = [owner.plan for owner in step.before.owners if owner.epoch == act.epoch]
    return [plan.control for plan in plans if plan is not None] == [step.before.control]


def _claims_what_stands(step: Moment) -> bool:
    given_up = any(step.before.abandoned[at] for at in _claimed_now(step))
    return not given_up and (not _claimed_now(step) or not step.before.superseded)


def _continues_the_newest(step: Moment) -> bool:
    return "CLM.T2" not in step.rows or not step.before.superseded


def _repair_is_silent(world: World) -> bool:
    return all(
        world.asked[at + 1] == 0
        for at, state in enumerate(world.claims)
        if not isinstance(state, claim.Admitted)
    )


def _saga_is_whole(world: World) -> bool:
    for at, state in enumerate(world.claims):
        repaired = isinstance(state, claim.Repaired)
        saga = repair.Done if repaired else repair.Idle
        if not isinstance(world.repairs[at], saga):
            return False
        if repaired and not isinstance(world.runs[at + 1], run.Ended):
            return False
    return True


def _started_by_its_claim(world: World) -> bool:
    return all(
        isinstance(state, claim.Admitted | claim.Repaired)
        == (not isinstance(world.runs[at + 1], run.Absent))
        for at, state in enumerate(world.claims)
    )


def _one_open_run(world: World) -> bool:
    return sum(not isinstance(state, run.Absent | run.Ended) for state in world.runs) <= 1


def _verdict_when_gone(step: Moment) -> bool:
    spoken = "VER.T1" in step.rows or "VER.T2" in step.rows
    before = step.before
    return not spoken or (
        isinstance(before.runs[0], run.Ended)
        and isinstance(before.operation, operation.Dispatched)
        and before.operation.epoch <= before.lease.gone
    )


def _ended_runs_stay(step: Moment) -> bool:
    pairs = zip(step.before.runs, step.after.runs, strict=True)
    return all(not isinstance(before, run.Ended) or before == after for before, after in pairs)


def _all_closed(world: World) -> bool:
    closed = all(isinstance(state, run.Absent | run.Ended) for state in world.runs)
    return closed and not any(isinstance(state, claim.Claimed) for state in world.claims)


def _epoch_rises(step: Moment) -> bool:
    opened = any(row in {"LEA.T1", "LEA.T2"} for row in step.rows)
    return step.after.lease.epoch == step.before.lease.epoch + opened


def _only_the_owner_writes(step: Moment) -> bool:
    act = step.cause
    assert isinstance(act, Act)
    return not act.writes or act.epoch == step.after.lease.epoch


ONE_CLAIMANT: Final = always(
    "CLM.I1",
    "A boundary has at most one claimant.",
    "Two continuations would grow from one history, each with its own effects.",
    _one_claimant,
)
ENDED_SOURCE: Final = each_step(
    "CLM.I2",
    "Only an ended run is claimed.",
    "Old and new owner would go on with the same run at once.",
    _ended_source,
)
SEALED: Final = each_step(
    "CLM.I3",
    "A claimed source never changes again, and nothing more is said about it.",
    "The continuation would rest on a history that is no longer the recorded one.",
    _sealed,
)
VERIFIED: Final = each_step(
    "CLM.I4",
    "A claim rests on exactly the control facts that its plan verified.",
    "A verdict given in between would be ignored.",
    _rests_on_what_was_verified,
)
STANDING: Final = each_step(
    "CLM.I5",
    "No boundary is claimed that a person gave up or a later turn superseded.",
    "The agent would go on where a person said stop.",
    _claims_what_stands,
)
CONTINUES_NEWEST: Final = each_step(
    "CLM.I6",
    "A continuation starts only while its chain is the session's newest history.",
    "The model would not see the turn that came in between.",
    _continues_the_newest,
)
STARTED_BY_CLAIM: Final = always(
    "CLM.I7",
    "A continuation has a start exactly when its claim was admitted or repaired.",
    "A start without its claim would be an execution that nobody granted.",
    _started_by_its_claim,
)
CLAIMS_CLOSE: Final = attainable(
    "CLM.I8",
    "From everywhere every claim gets a start and every run an end.",
    "A session would be sealed for ever by a claimant that died.",
    _all_closed,
)
REPAIR_IS_SILENT: Final = always(
    "REP.I1",
    "Only an admitted continuation asks its model.",
    "A repair would execute what nobody admitted.",
    _repair_is_silent,
)
SAGA_IS_WHOLE: Final = always(
    "REP.I2",
    "A repaired claim has its start and its failed end, or nothing of them.",
    "A repair start without an end would be an open run that no owner works for.",
    _saga_is_whole,
)
VERDICT_WHEN_GONE: Final = each_step(
    "VER.I1",
    "A verdict is given only about an unsettled operation of an ended run whose epoch is gone.",
    "A person would judge what is still happening.",
    _verdict_when_gone,
)
ONE_OPEN_RUN: Final = always(
    "SES.I1",
    "A session has at most one open inline run.",
    "Two runs would interleave in one conversation and one workspace.",
    _one_open_run,
)
ENDED_STAYS: Final = each_step(
    "RUN.I9",
    "An ended run stays ended.",
    "A continuation would find its source open again.",
    _ended_runs_stay,
)


def _second_from_repaired(world: World) -> bool:
    return any(
        isinstance(first, claim.Repaired) and isinstance(second, claim.Admitted)
        for first, second in zip(world.claims, world.claims[1:], strict=False)
    )


def _verdict_then_claim(world: World) -> bool:
    return isinstance(world.verdict, verdict.Judged) and isinstance(world.claims[0], claim.Admitted)


def _zombie_with_plan(world: World) -> bool:
    return any(owner.plan is not None and owner.epoch < world.lease.epoch for owner in world.owners)


def _recovery_meets_claim(world: World) -> bool:
    recovering = any(isinstance(owner.state, host.Recovering) for owner in world.owners)
    return recovering and any(isinstance(state, claim.Claimed) for state in world.claims)


REACHED: Final[tuple[Invariant, ...]] = (
    sometimes(
        "SCOPE.S5",
        "A continuation follows a repaired one.",
        "Second sources are untested.",
        _second_from_repaired,
    ),
    sometimes(
        "SCOPE.S6",
        "A judged run is continued.",
        "Verdicts before claims are untested.",
        _verdict_then_claim,
    ),
    sometimes(
        "SCOPE.S7", "A zombie holds a plan.", "Racing claimants are untested.", _zombie_with_plan
    ),
    sometimes(
        "SCOPE.S8",
        "Recovery finds a claim without a start.",
        "Claim repair is untested.",
        _recovery_meets_claim,
    ),
)

PROMISES: Final[tuple[Invariant, ...]] = (
    ONE_CLAIMANT,
    ENDED_SOURCE,
    SEALED,
    VERIFIED,
    STANDING,
    CONTINUES_NEWEST,
    STARTED_BY_CLAIM,
    CLAIMS_CLOSE,
    REPAIR_IS_SILENT,
    SAGA_IS_WHOLE,
    VERDICT_WHEN_GONE,
    ONE_OPEN_RUN,
    ENDED_STAYS,
    EPOCH_RISES.over(_epoch_rises),
    ONLY_OWNER_WRITES.over(_only_the_owner_writes),
)
