"""Two processes meet at one point, round after round, and a third one judges (CRASH-3)."""

import random
from pathlib import Path
from typing import Final

import attrs

from .puppet import puppets
from .wire import decode, encode


@attrs.frozen(kw_only=True)
class Contest:
    """The acts of a race, each a `module:function` for a puppet.

    Attributes:
        prepare: Makes the root that both sides meet in.
        sides: What each does; it opens what it needs, calls `pause(START)` and then acts. Its
            result says how that went.
        judge: Is given the results (`decode_results`); returns what is wrong, or nothing.
    """

    prepare: str
    sides: tuple[str, str]
    judge: str


@attrs.frozen(kw_only=True)
class Results:
    """What the two sides returned, in the order of `Contest.sides`."""

    first: str
    second: str


@attrs.frozen(kw_only=True)
class Bout:
    """One round.

    Attributes:
        number: From 0.
        delays_us: How long each side waited after the start, in microseconds.
        results: What the sides returned.
        wrong: The judge's complaint; empty if there is none.
    """

    number: int
    delays_us: tuple[int, int]
    results: Results
    wrong: str


START: Final = "start"


def race(
    contest: Contest, *, rounds: int, base: Path, seed: int, spread_us: int = 400
) -> tuple[Bout, ...]:
    """Run so many rounds, each in a fresh directory under `base`, and return them all.

    Each side opens before the start, so that only the transaction itself is raced. One of them
    waits up to `spread_us` after it: two processes that always start together meet in one place
    only, and the overlap that matters may be elsewhere.

    Raises:
        PuppetFailedError: `puppet_failed`, when an act raises, hangs or does not pause at `START`.
    """
    chance = random.Random(seed)  # noqa: S311  # a schedule, no secret
    bouts: list[Bout] = []
    with puppets(3) as (steward, *sides):
        for number in range(rounds):
            root = base / f"round-{number}"
            root.mkdir(mode=0o700)
            steward.play(contest.prepare, root)
            for side, act in zip(sides, contest.sides, strict=True):
                side.begin(act, root)
            for side in sides:
                side.await_pause(START)
            wait = chance.randrange(spread_us + 1)
            delays = (wait, 0) if chance.random() < 0.5 else (0, wait)  # noqa: PLR2004  # a coin
            for side, delay in zip(sides, delays, strict=True):
                side.release(delay)
            first, second = (side.result() for side in sides)
            results = Results(first=first, second=second)
            wrong = steward.play(contest.judge, root, encode(results))
            bouts.append(Bout(number=number, delays_us=delays, results=results, wrong=wrong))
    return tuple(bouts)


def decode_results(argument: str) -> Results:
    """Return what a judge's `argument` holds."""
    return decode(Results, argument)
