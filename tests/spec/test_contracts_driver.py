"""A contract counts as proven only when the prover says so of exactly that contract."""

import sys

import pytest

from crashworthy.spec.contract import contracts_of
from crashworthy.spec.contracts_driver import ContractsResult, prove_contracts
from crashworthy.spec.obligation import ContractModule

from .places import ROOT, TOY_CONTRACTS, TOY_FALSE_CONTRACTS

TRUE = ContractModule(module=TOY_CONTRACTS, conditions=6)


@pytest.fixture(autouse=True)
def _toys_are_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])


@pytest.fixture(scope="module")
def false_ones() -> ContractsResult:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT), *sys.path])
        return prove_contracts((ContractModule(module=TOY_FALSE_CONTRACTS, conditions=4),), cpu_s=3)


def test_true_contracts_are_all_confirmed_on_the_real_interpreter() -> None:
    calls: list[tuple[int, int]] = []
    result = prove_contracts((TRUE,), progress=lambda done, total: calls.append((done, total)))
    assert (result.total, result.confirmed, result.unproven) == (6, 6, ())
    assert calls[-1] == (6, 6)


def test_lost_contract_is_reported_when_the_count_differs() -> None:
    result = prove_contracts((ContractModule(module=TOY_FALSE_CONTRACTS, conditions=5),), cpu_s=0.1)
    assert result.unproven[0].reason == "5 contracts are stated, 4 were found"


def test_needle_is_found_and_shown(false_ones: ContractsResult) -> None:
    """Random testing would miss a bug at tasks == 7777; a symbolic search does not."""
    reasons = {entry.id: entry.reason for entry in false_ones.unproven}
    assert "Working(tasks=7777" in reasons["toy_false_contracts.needle"]
    assert "Closing(tasks=0)" in reasons["toy_false_contracts.stop_has_no_end"]


def test_unfinished_search_is_a_failure(false_ones: ContractsResult) -> None:
    reasons = {entry.id: entry.reason for entry in false_ones.unproven}
    assert reasons["toy_false_contracts.endless"].startswith("cannot_confirm")


def test_dead_prover_is_a_failure_of_that_contract_only(false_ones: ContractsResult) -> None:
    reasons = {entry.id: entry.reason for entry in false_ones.unproven}
    assert reasons["toy_false_contracts.dies"] == "the prover died over it"
    assert (false_ones.total, false_ones.confirmed, len(reasons)) == (4, 0, 4)


def test_preconditions_are_read_and_evaluated() -> None:
    counters_stay = contracts_of(TOY_CONTRACTS)[0]
    assert counters_stay.id == "toy_contracts.counters_stay"
    assert [name for name, _ in counters_stay.parameters] == ["state", "seen"]
    assert len(counters_stay.pre) == 1
