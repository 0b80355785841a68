"""What a seed draws: the whole history as a plan, before anything of it happens (CRASH-6).

Everything is drawn here and up front, so that a seed means the same whatever becomes of it: an
owner that dies early takes nothing from the draws of the next one.
"""

import random
from enum import StrEnum
from typing import Final

import attrs

from ..boundary import Kind
from ..faults import Fault, Illness, Truth

DEATHS_MAX: Final = 5
"""Owners that end before their work does, at most; one more brings it to its end."""

_TURNS_MAX: Final = 4
_STEPS: Final = (0, 1, 1, 2, 2, 3)
"""Steps with calls in a turn."""
_CALLS_MAX: Final = 3
_ACTS_MAX: Final = 8
_SPAN_MS: Final = 6_000
_BOUNDARIES: Final = (200, 500, 1_000)
_TASK_STEPS: Final = (40, 100, 250)
"""Deaths are spread over several ranges: some owners do much, and most do little."""
_AFTER_MS: Final = (100, 1_000, 3_000)
"""Deaths in time follow an act by so much, at most: while what it began goes on."""
_OPENING: Final = 500
"""Boundaries that a first opening passes; later ones pass fewer, and die at work instead."""


class Deed(StrEnum):
    """What people do to a runtime."""

    SEND = "send"
    FOLLOW_UP = "follow_up"
    STEER = "steer"
    ALLOW = "allow"
    DENY = "deny"
    STOP = "stop"
    ABANDON = "abandon"
    RESUME = "resume"


class End(StrEnum):
    """How an owner ends."""

    KILLED = "killed"
    """At a statement or a probe."""
    KILLED_AT_STEP = "killed_at_step"
    """Right before a step of some task."""
    KILLED_IN_TIME = "killed_in_time"
    """At a time, in the middle of whatever takes time then: calls, answers, waits."""
    KILLED_IN_CALL = "killed_in_call"
    """So long after a worker got its order: it may live on, and act, under the next owner."""
    LEAVES = "leaves"
    CANCELLED = "cancelled"
    FAILS = "fails"
    FINISHES = "finishes"
    """Only the last one: it brings the work to its end."""


@attrs.frozen(kw_only=True)
class Act:
    """One thing that somebody does.

    Attributes:
        at_ms: Since the owner was ready.
        which: Picks a session, a run or a request among those that there are then.
        text: What is said, if anything is.
    """

    at_ms: int
    deed: Deed
    which: int
    text: str = ""


@attrs.frozen(kw_only=True)
class LifePlan:
    """One owner.

    Attributes:
        gap_ms: Between the end of the former owner and its beginning.
        end: How it ends.
        at: Which boundary, step or call it dies at; beyond its last one it leaves instead.
        after_ms: How long after that call it dies.
        opening: Whether these are counted from the very beginning, and not since it was ready.
        leaves_ms: When it ends by itself, or dies in time, since it was ready.
        twice: Whether another owner comes and goes before it and does nothing.
        fault: What fails under it.
        acts: What people do, in any order.
    """

    gap_ms: int
    end: End
    at: int
    after_ms: int
    opening: bool
    leaves_ms: int
    twice: bool
    fault: Fault | None
    acts: tuple[Act, ...]


@attrs.frozen(kw_only=True)
class CallPlan:
    """One call of a model: a tool, and words that nothing else in the history has."""

    tool: str
    words: str


@attrs.frozen(kw_only=True)
class StepPlan:
    """One answer of a model.

    Attributes:
        delay_ms: Before the first piece.
        pieces: How many pieces the text comes in; 0 for no text.
        calls: What it calls; without any the turn ends here.
        breaks: The error that the answer ends with instead; empty for a stated finish.
    """

    delay_ms: int
    pieces: int
    calls: tuple[CallPlan, ...]
    breaks: str


@attrs.frozen(kw_only=True)
class TurnPlan:
    """What a model answers to one text of a user.

    Attributes:
        text: What the user says.
        steps: The answers, in order.
        steps_max: How many of them the user lets it have; None for all.
        ms_max: How long the user lets it take; None for ever.
    """

    text: str
    steps: tuple[StepPlan, ...]
    steps_max: int | None
    ms_max: int | None


@attrs.frozen(kw_only=True)
class Plot:
    """One history.

    Attributes:
        sessions: How many conversations there are.
        ask_ms_max: How long a question to a person stays open; None for ever.
        turns: What people may say, and what the model does about it.
        lives: The owners; the last one lives, and brings the work to its end.
    """

    seed: int
    sessions: int
    ask_ms_max: int | None
    turns: tuple[TurnPlan, ...]
    lives: tuple[LifePlan, ...]


_ENDS: Final = (End.KILLED, End.KILLED_AT_STEP, End.LEAVES, End.CANCELLED, End.FAILS)
_WEIGHTS: Final = (8, 4, 2, 1, 1)
_RARELY: Final = 0.15
_OFTEN: Final = 0.25

TOOLS: Final = (
    *("bump", "bump", "pay", "brew", "look", "look", "look", "peek", "write", "write", "edit"),
    *("deploy", "deploy", "deploy", "ask_user", "ask_user"),
)
"""What is called, by how often it should be."""

_BREAKS: Final = (*("",) * 27, "eof", "network", "protocol")
_FAULTS: Final = (
    (Illness.FULL, Truth.NOT_DONE, Kind.INSERT),
    (Illness.FULL, Truth.ROLLED_BACK, Kind.INSERT),
    (Illness.FULL, Truth.NOT_DONE, Kind.COMMIT),
    (Illness.IOERR_WRITE, Truth.ROLLED_BACK, Kind.COMMIT),
    (Illness.IOERR_FSYNC, Truth.DONE, Kind.COMMIT),
    (Illness.IOERR_READ, Truth.NOT_DONE, Kind.SELECT),
    (Illness.BUSY, Truth.NOT_DONE, Kind.BEGIN),
)


def draw(seed: int) -> Plot:
    """Return the history of a seed; the same one on every machine."""
    rng = random.Random(seed)  # noqa: S311  # a sample, no secret
    turns = tuple(_turn(rng, number) for number in range(rng.randint(1, _TURNS_MAX)))
    sessions = rng.randint(1, 2)
    texts = [turn.text for turn in turns]
    ends = [rng.choices(_ENDS, weights=_WEIGHTS)[0] for _ in range(_deaths(rng))]
    ends.append(End.FINISHES)
    lives = tuple(_life(rng, texts, number, end) for number, end in enumerate(ends))
    return Plot(
        seed=seed,
        sessions=sessions,
        ask_ms_max=rng.choice((None, None, None, 2_000)),
        turns=turns,
        lives=lives,
    )


def _deaths(rng: random.Random) -> int:
    """Return how many owners end before the last: mostly one, for most faults need no more."""
    return min(DEATHS_MAX, 1 + int(rng.expovariate(1.5)))


def _turn(rng: random.Random, number: int) -> TurnPlan:
    text = f"Turn {number}."
    steps = [_step(rng, f"{number}.{step}") for step in range(rng.choice(_STEPS))]
    last = StepPlan(delay_ms=_delay(rng), pieces=rng.randint(1, 3), calls=(), breaks="")
    return TurnPlan(
        text=text,
        steps=(*steps, last),
        steps_max=rng.choice((*(None,) * 7, 1)),
        ms_max=rng.choice((*(None,) * 7, 1_000)),
    )


def _step(rng: random.Random, name: str) -> StepPlan:
    calls = tuple(
        CallPlan(tool=rng.choice(TOOLS), words=f"{name}.{call}")
        for call in range(rng.randint(1, _CALLS_MAX))
    )
    pieces = rng.choice((0, 0, 2))
    return StepPlan(delay_ms=_delay(rng), pieces=pieces, calls=calls, breaks=rng.choice(_BREAKS))


def _delay(rng: random.Random) -> int:
    return rng.choice((0, 0, 0, 20, 500))


def _life(rng: random.Random, texts: list[str], number: int, end: End) -> LifePlan:
    span = rng.choice((_SPAN_MS // 6, _SPAN_MS))
    acts = [_act(rng, texts, span) for _ in range(rng.randint(2, _ACTS_MAX))]
    if number == 0:
        acts[0] = Act(at_ms=0, deed=Deed.SEND, which=0, text=texts[0])
    follows = rng.choice(acts).at_ms + rng.randint(0, rng.choice(_AFTER_MS))
    opening = rng.random() < _OFTEN
    return LifePlan(
        gap_ms=rng.choice((0, 0, 1, 1_000, 60_000)),
        end=end,
        at=_place(rng, end, opening=opening),
        after_ms=rng.randint(0, rng.choice(_AFTER_MS)),
        opening=opening,
        leaves_ms=follows if end is End.KILLED_IN_TIME else rng.randint(span // 4, span),
        twice=rng.random() < _RARELY,
        fault=_fault(rng) if rng.random() < _RARELY and end is not End.FINISHES else None,
        acts=tuple(acts),
    )


def _place(rng: random.Random, end: End, *, opening: bool) -> int:
    """Return at which boundary, step or call an owner dies."""
    match end:
        case End.KILLED:
            return rng.randint(1, _OPENING if opening else rng.choice(_BOUNDARIES))
        case End.KILLED_AT_STEP:
            return rng.randint(1, rng.choice(_TASK_STEPS))
        case _:
            return rng.randint(1, _CALLS_MAX)


def _act(rng: random.Random, texts: list[str], span: int) -> Act:
    deed = rng.choices(tuple(Deed), weights=(5, 2, 2, 8, 2, 2, 1, 4))[0]
    text = ""
    if deed in (Deed.SEND, Deed.FOLLOW_UP):
        # A text is always said in the same way: the other way it would be other input (RUN-5).
        number = rng.randrange(len(texts))
        deed, text = (Deed.FOLLOW_UP if number % 3 == 1 else Deed.SEND), texts[number]
    elif deed is Deed.STEER:
        text = f"And mind this, {rng.randrange(1_000_000)}."
    return Act(at_ms=rng.randint(0, span), deed=deed, which=rng.randrange(60), text=text)


def _fault(rng: random.Random) -> Fault:
    illness, truth, kind = rng.choice(_FAULTS)
    return Fault(
        illness=illness,
        truth=truth,
        kind=kind,
        occurrence=rng.randint(1, rng.choice((10, 60, 200))),
        times=rng.choice((1, 1, 5, 40)),
    )
