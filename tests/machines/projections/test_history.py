"""Any ledger, cut at any fact, tells a model a strict history (BR-01, BR-03, G2)."""

from hypothesis import given

from crashworthy.machines.facts.model import RuntimeEvent
from crashworthy.machines.projections.history import history
from crashworthy.machines.projections.target import Capabilities

from .ledgers import sessions

NATIVE = Capabilities()


@given(sessions())
def test_every_prefix_tells_a_strict_history(facts: list[RuntimeEvent]) -> None:
    for end in range(len(facts) + 1):
        history(facts, NATIVE, at=end)
