"""The upper bound that every projector takes: any past moment is a prefix (PROJ-1)."""

from collections.abc import Iterable, Sequence

from ..facts.model import RuntimeEvent


def up_to(facts: Sequence[RuntimeEvent], at: int | None) -> Sequence[RuntimeEvent]:
    """Return the first `at` facts, or all: in the ledger of one run `at` is a `seq`."""
    assert at is None or at >= 0
    return facts if at is None else facts[:at]


def up_to_ordinal(
    numbered: Iterable[tuple[int, RuntimeEvent]], ordinal: int
) -> Sequence[RuntimeEvent]:
    """Return the facts whose ordinal is at most `ordinal`, of facts in commit order."""
    return [event for number, event in numbered if number <= ordinal]
