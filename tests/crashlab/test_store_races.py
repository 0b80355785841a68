"""Two processes meet in one store, round after round, and never do both win (CRASH-3)."""

import random
import tempfile
from collections.abc import Generator
from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.matrix import scratch_base
from crashworthy.crashlab.puppet import puppets

ROUNDS = 200
SPREAD_US = 600


@attrs.frozen(kw_only=True)
class Contest:
    """What two sides do in sessions of a kind, and what may come of it.

    Attributes:
        good: The results that are right, either way round.
        left: How many facts of which kinds each session has in the end.
        sessions: How many sessions there are to meet about.
    """

    told: str
    sides: tuple[str, str]
    good: tuple[frozenset[str], ...]
    left: str = ""
    sessions: int = ROUNDS


def contest(told: str, sides: str, *good: str, left: str = "", sessions: int = ROUNDS) -> Contest:
    first, _, second = sides.partition(" ")
    return Contest(
        told=told,
        sides=(first, second or first),
        good=tuple(frozenset(one.split()) for one in good),
        left=left,
        sessions=sessions,
    )


CONTESTS = {
    "claim-claim": contest("unknown", "claim", "acquired existing"),
    "claim-claim-elsewhere": contest("unknown", "claim claim_elsewhere", "acquired conflict"),
    "claim-append": contest(
        "unknown", "claim verdict", "acquired sealed_by_claim", "conflict created"
    ),
    # The run's table is asked first, and it has no open request any more.
    "answer-answer": contest(
        "undecided", "allow deny", "created ask_unknown", left="ask_answered=1"
    ),
    "T1-T1": contest("undecided", "dispatch", "created found", left="dispatched=1"),
    "bundle-bundle": contest(
        "left", "settle", "interrupt nothing", left="outcome=1 recovery_decision=1"
    ),
    "completed-parked": contest(
        "left",
        "finalise park",
        "finalise nothing",
        "nothing park_diverged",
        left="reconcile_result=1 recovery_decision=1",
    ),
    "repair-repair": contest("open", "repair", "abandon nothing", left="run_ended=1"),
    "claim-repair-repair": contest("claimed", "repair_claim", "close nothing"),
    "rebuild-append": contest(
        "asking", "rebuild append", "whole created", left=f"model_text={ROUNDS}", sessions=1
    ),
}


@pytest.fixture(scope="module")
def arena() -> Generator[Path]:
    """A place in memory: what is raced is the transaction and the lock, not the disk."""
    with tempfile.TemporaryDirectory(prefix="races-", dir=scratch_base()) as place:
        yield Path(place)


def schedule() -> random.Random:
    return random.Random(1)  # noqa: S311  # a schedule, no secret


def delays(chance: random.Random) -> tuple[int, int]:
    """Let one side wait a little after the start: the overlap that matters may be anywhere."""
    wait = chance.randrange(SPREAD_US + 1)
    return (wait, 0) if chance.random() < 0.5 else (0, wait)


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTESTS)
def test_two_processes_with_one_epoch_never_both_win(arena: Path, name: str) -> None:
    held, root, chance = CONTESTS[name], arena / name, schedule()
    kinds = " ".join(word.partition("=")[0] for word in held.left.split())
    root.mkdir()
    with puppets(3) as (steward, one, two):
        steward.play("store_acts:prepare", root, f"{held.told} {held.sessions}")
        for side, act in zip((one, two), held.sides, strict=True):
            side.begin("store_acts:side", root, f"{act} {ROUNDS}")
        for number in range(ROUNDS):
            one.await_pause(str(number))
            two.await_pause(str(number))
            for side, delay in zip((one, two), delays(chance), strict=True):
                side.release(delay)
        results = list(zip(one.result().split(), two.result().split(), strict=True))
        found = steward.play("store_acts:look", root, kinds)
    assert [both for both in results if frozenset(both) not in held.good] == []
    assert found == held.left
    # Each side must have come first in some round, or they did not meet.
    assert len(set(results)) > 1 or name == "rebuild-append"


@pytest.mark.slow
def test_second_of_two_owners_gets_root_owned(arena: Path) -> None:
    root, chance = arena / "owners", schedule()
    with puppets(2) as (one, two):
        for side in (one, two):
            side.begin("store_acts:own_in_turn", root, str(ROUNDS))
        for number in range(ROUNDS):
            for side in (one, two):
                side.await_pause(f"try {number}")
            for side, delay in zip((one, two), delays(chance), strict=True):
                side.release(delay)
            for side in (one, two):
                side.await_pause(f"tried {number}")
            for side in (one, two):
                side.release()
        results = list(zip(one.result().split(), two.result().split(), strict=True))
        found = one.play("store_acts:look", root)
    assert {frozenset(both) for both in results} == {frozenset(("owned", "root_owned"))}
    assert len(set(results)) == 2
    assert found == ""


@pytest.mark.slow
def test_owner_that_was_stopped_and_succeeded_writes_nothing_more(arena: Path) -> None:
    """Its lock file was replaced while it could not look, so only the epoch can stop it (OWN-1)."""
    root = arena / "zombie"
    with puppets(2) as (zombie, successor):
        zombie.begin("store_acts:be_zombie", root, str(ROUNDS))
        for number in range(ROUNDS):
            zombie.await_pause(f"owning {number}")
            with zombie.stopped():
                assert successor.play("store_acts:take_over", root) == "taken"
            zombie.release()
        written = zombie.result().split()
        found = successor.play("store_acts:look", root, "model_text run_ended")
    assert written == ["owner_fenced"] * 3 * ROUNDS
    assert found == "model_text=0 run_ended=0"
