"""A small machine in the house form, a job with tasks, for the tests of the proof machinery."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from crashworthy.machines.facts.codes import Code
from crashworthy.machines.lifecycles.table import Table, always, deny, row


class By(StrEnum):
    OWNER = "owner"
    OTHER = "other"


class Result(StrEnum):
    GOOD = "good"
    BAD = "bad"


@attrs.frozen(kw_only=True)
class Absent:
    pass


@attrs.frozen(kw_only=True)
class Working:
    tasks: int
    troubled: bool


@attrs.frozen(kw_only=True)
class Closing:
    tasks: int


@attrs.frozen(kw_only=True)
class Ended:
    result: Result


JobState: TypeAlias = Absent | Working | Closing | Ended


@attrs.frozen(kw_only=True)
class Open:
    by: By


@attrs.frozen(kw_only=True)
class Add:
    by: By


@attrs.frozen(kw_only=True)
class Finish:
    by: By
    good: bool


@attrs.frozen(kw_only=True)
class Stop:
    by: By


@attrs.frozen(kw_only=True)
class End:
    result: Result


JobSeen: TypeAlias = Open | Add | Finish | Stop | End


def by_owner(_state: Absent | Working, seen: Open | Add | Stop) -> bool:
    return seen.by is By.OWNER


def finishes_well(state: Working, seen: Finish) -> bool:
    return state.tasks > 0 and seen.good


def finishes_badly(state: Working, seen: Finish) -> bool:
    return state.tasks > 0 and not seen.good


def drains(state: Closing, _seen: Finish) -> bool:
    return state.tasks > 0


def all_good(state: Working, seen: End) -> bool:
    return state.tasks == 0 and not state.troubled and seen.result is Result.GOOD


def drained(state: Closing, seen: End) -> bool:
    return state.tasks == 0 and seen.result is Result.BAD


# fmt: off
ROWS: Final = (
    row("JOB.T1", Absent,  Open,   by_owner,       Working, sets={"tasks": 0, "troubled": False}),
    row("JOB.T2", Working, Add,    by_owner,       Working, adds={"tasks": 1}),
    row("JOB.T3", Working, Finish, finishes_well,  Working, adds={"tasks": -1}),
    row("JOB.T4", Working, Finish, finishes_badly, Working, adds={"tasks": -1}, sets={"troubled": True}),  # noqa: E501 - a row is one line
    row("JOB.T5", Working, Stop,   always,         Closing),
    row("JOB.T6", Closing, Finish, drains,         Closing, adds={"tasks": -1}),
    row("JOB.T7", Working, End,    all_good,       Ended,   takes=("result",)),
    row("JOB.T8", Closing, End,    drained,        Ended,   takes=("result",)),
)
# fmt: on

TABLE: Final[Table[JobState, JobSeen]] = Table(
    machine="job",
    prefix="JOB",
    start=Absent(),
    states=(Absent, Working, Closing, Ended),
    events=(Open, Add, Finish, Stop, End),
    rows=ROWS,
    denials=(deny(Code.RUN_NOT_QUIET, event=End),),
    default={
        Absent: Code.NOT_OPENED,
        Working: Code.ALREADY_OPENED,
        Closing: Code.RUN_STOPPING,
        Ended: Code.RUN_SEALED,
    },
)
decide = TABLE.decide
