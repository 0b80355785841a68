"""The repeat-failure gate blocks exactly the third identical failure in a row (OP-1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.actors.tools.gate import Attempt, AttemptResult, blocks, failures_in_row

F, S, B = AttemptResult.FAILURE, AttemptResult.SUCCESS, AttemptResult.BLOCKED


def attempts(*steps: tuple[str, AttemptResult]) -> tuple[Attempt, ...]:
    return tuple(Attempt(tool="t", args_digest=args, result=result) for args, result in steps)


@pytest.mark.parametrize(
    ("steps", "blocked"),
    [
        ((), False),
        ((("a", F),), False),
        ((("a", F), ("a", F)), True),
        ((("a", F), ("a", F), ("a", B)), True),
        ((("a", F), ("a", F), ("a", B), ("a", B)), True),
        ((("a", F), ("a", S), ("a", F)), False),
        ((("a", F), ("b", F), ("a", F)), False),
        ((("a", F), ("a", F), ("b", S)), False),
        ((("a", F), ("a", F), ("a", B), ("b", F), ("a", F)), False),
    ],
)
@pytest.mark.proves("OP-1")
def test_gate_blocks_the_third_identical_failure(
    steps: tuple[tuple[str, AttemptResult], ...], *, blocked: bool
) -> None:
    assert blocks(attempts(*steps), "t", "a") is blocked


def test_gate_tells_tools_apart_when_arguments_are_equal() -> None:
    assert not blocks(attempts(("a", F), ("a", F)), "other", "a")


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from([F, S, B])), max_size=12))
def test_blocks_never_change_the_count(steps: list[tuple[str, AttemptResult]]) -> None:
    without = [step for step in steps if step[1] is not B]
    assert failures_in_row(attempts(*steps), "t", "a") == failures_in_row(
        attempts(*without), "t", "a"
    )
