"""Races are run by real processes that really meet."""

from pathlib import Path

from crashworthy.crashlab.races import Contest, race

FAIR = Contest(
    prepare="toy_acts:prepare",
    sides=("toy_acts:claim", "toy_acts:claim"),
    judge="toy_acts:judge",
)


def test_race_of_a_sound_claim_has_one_winner_each_round(tmp_path: Path) -> None:
    bouts = race(FAIR, rounds=40, base=tmp_path, seed=1)
    assert [bout.wrong for bout in bouts] == [""] * 40
    # Both sides must be able to win, or they do not meet.
    assert {bout.results.first for bout in bouts} == {"acquired", "existing"}


def test_race_finds_a_claim_that_looks_before_it_locks(tmp_path: Path) -> None:
    gap = Contest(
        prepare="toy_acts:prepare",
        sides=("toy_acts:claim_with_a_gap", "toy_acts:claim"),
        judge="toy_acts:judge",
    )
    bouts = race(gap, rounds=20, base=tmp_path, seed=1)
    assert any(bout.wrong == "acquired, acquired, 2 claims" for bout in bouts)


def test_race_draws_the_same_delays_from_the_same_seed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one = race(FAIR, rounds=4, base=tmp_path / "a", seed=7)
    two = race(FAIR, rounds=4, base=tmp_path / "b", seed=7)
    assert [bout.delays_us for bout in one] == [bout.delays_us for bout in two]
