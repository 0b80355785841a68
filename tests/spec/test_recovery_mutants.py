"""A rule of a decision table that is dropped, moved or answers otherwise breaks a contract."""

from collections.abc import Iterator
from enum import Enum
from types import ModuleType

import attrs
import pytest

from crashworthy.machines.lifecycles.table import TableMalformedError
from crashworthy.machines.recovery import files, operations, runs
from crashworthy.machines.recovery.decision import DecisionTable, Rule
from crashworthy.spec.contract import contracts_of
from crashworthy.spec.quotient import Ranges

AnyTable = DecisionTable[object, object]

TABLES: tuple[tuple[ModuleType, str, type], ...] = (
    (operations, "RESOLVER", operations.Standpoint),
    (operations, "LEFTOVERS", operations.Leftover),
    (runs, "RUN_REPAIR", runs.Orphan),
    (runs, "CLAIM_REPAIR", runs.Claim),
    (files, "FILE_OBSERVATION", files.FileSight),
)
RANGES = Ranges(ints={"epoch": range(1), "calls": range(3)}, default=range(2))
CONTRACTS = tuple(
    contract
    for contract in contracts_of("crashworthy.spec.contracts.recovery")
    if len(contract.parameters) == 1
)
QUESTIONS = {
    contract.id: [
        value
        for value in RANGES.values(contract.parameters[0][1], contract.id, "-")
        if contract.applies((value,))
    ]
    for contract in CONTRACTS
}


def mutants(table: AnyTable) -> Iterator[tuple[str, AnyTable]]:
    rules = table.rules
    for at, rule in enumerate(rules):
        before, after = rules[:at], rules[at + 1 :]
        changed = [
            (f"{rule.id} dropped", (*before, *after)),
            (f"{rule.id} moved down", (*before, *after[:1], rule, *after[1:])),
        ]
        assert isinstance(rule.then, Enum)
        for other in type(rule.then):
            if other is not rule.then:
                answer: Rule[object, object] = attrs.evolve(rule, then=other)
                changed.append((f"{rule.id} answers {other}", (*before, answer, *after)))
        for name, mutated in changed:
            try:
                yield name, table.with_rules(mutated)
            except TableMalformedError:  # The table itself notices.
                continue


def broken() -> bool:
    return any(
        not contract.holds((value,)) for contract in CONTRACTS for value in QUESTIONS[contract.id]
    )


@pytest.mark.parametrize(("module", "name", "question"), TABLES, ids=[entry[1] for entry in TABLES])
def test_mutant_of_a_decision_table_breaks_a_contract(
    module: ModuleType, name: str, question: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The only ones that live are rules about disjoint questions in another order."""
    original: AnyTable = getattr(module, name)
    asked = [value for values in QUESTIONS.values() for value in values if type(value) is question]
    assert asked
    assert not broken()
    alive: list[str] = []
    for mutant, table in mutants(original):
        monkeypatch.setattr(module, name, table)
        same = all(table.answer(value) is original.answer(value) for value in asked)
        if not broken() and not (same and mutant.endswith("moved down")):
            alive.append(mutant)
    assert alive == []
