"""Every promise is stated once, in words that a stranger understands, and something proves it."""

import re

import pytest

from crashworthy.spec.invariant import Invariant, coverage
from crashworthy.spec.models.proofs import MODELS
from crashworthy.spec.registry import INVARIANTS, MACHINES

ID = re.compile(r"[A-Z]+\.[IS][0-9]+")
UNIQUE = tuple({invariant.id: invariant for invariant in INVARIANTS}.values())


@pytest.mark.parametrize("invariant", UNIQUE, ids=lambda invariant: invariant.id)
def test_promise_is_one_sentence_with_its_harm(invariant: Invariant) -> None:
    assert ID.fullmatch(invariant.id)
    for text in (invariant.claim, invariant.harm):
        assert text.endswith(".")
        assert text[0].isupper()


def test_every_promise_is_checked_somewhere_and_declared_once() -> None:
    checked = [
        *((f"machine:{proof.name}", proof.invariants) for proof in MACHINES),
        *((f"model:{proof.name}", proof.build().invariants) for proof in MODELS),
    ]
    covered = coverage(INVARIANTS, checked)
    assert set(covered) == {invariant.id for invariant in UNIQUE}
    assert [name for name, entry in covered.items() if not entry.proofs] == []
