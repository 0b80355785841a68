"""Every event of every machine has a contract, and CrossHair confirms them all."""

import re

import attrs
import pytest

from crashworthy.machines.lifecycles import lease, run
from crashworthy.machines.lifecycles.table import Row, always
from crashworthy.spec.contract import Contract, contracts_of
from crashworthy.spec.contracts_driver import prove_contracts
from crashworthy.spec.machine_space import in_place, open_space, table_of
from crashworthy.spec.obligation import MachineProof
from crashworthy.spec.quotient import members
from crashworthy.spec.registry import CONTRACT_MODULES, MACHINES

CONTRACTS = tuple(
    contract for module in CONTRACT_MODULES for contract in contracts_of(module.module)
)
HEAD = re.compile(r"[A-Z]+\.C[0-9]+: [A-Z].*\.")


def row(table_rows: tuple[Row, ...], row_id: str) -> Row:
    return next(line for line in table_rows if line.id == row_id)


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.id)
def test_contract_begins_with_its_id_and_one_sentence(contract: Contract) -> None:
    assert HEAD.fullmatch(contract.text.splitlines()[0])


def test_contract_ids_are_unique() -> None:
    ids = [contract.text.partition(":")[0] for contract in CONTRACTS]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("proof", MACHINES, ids=lambda proof: proof.name)
def test_every_event_of_a_machine_is_spoken_of(proof: MachineProof) -> None:
    told = {
        kind
        for module in proof.contracts
        for contract in contracts_of(module)
        for _, hint in contract.parameters
        for kind in members(hint)
    }
    assert set(table_of(proof.module).events) <= told


@pytest.mark.slow
def test_crosshair_confirms_every_contract_over_all_paths() -> None:
    result = prove_contracts(CONTRACT_MODULES)
    assert result.unproven == ()
    assert result.confirmed == result.total == sum(module.conditions for module in CONTRACT_MODULES)


def test_contract_is_broken_by_a_lease_that_fences_nobody() -> None:
    proof = next(proof for proof in MACHINES if proof.name == "lease")
    widened = attrs.evolve(row(lease.TABLE.rows, "LEA.T3"), guard=always)
    rows = tuple(widened if line.id == "LEA.T3" else line for line in lease.TABLE.rows)
    assert broken(proof, rows) == {
        "lease.only_the_newest_epoch_writes",
        "lease.stale_owner_is_fenced",
    }


def test_contract_is_broken_by_a_run_whose_calls_may_stay_without_a_finish() -> None:
    proof = next(proof for proof in MACHINES if proof.name == "run")
    kept = attrs.evolve(
        row(run.TABLE.rows, "RUN.T8"), target=run.Active, sets=(), adds=(("calls", 1),)
    )
    rows = tuple(kept if line.id == "RUN.T8" else line for line in run.TABLE.rows)
    assert "run.places_calls_while_asking" in broken(proof, rows)


def broken(proof: MachineProof, rows: tuple[Row, ...]) -> set[str]:
    """Return the contracts that some state and event break when `rows` stand in the table."""
    table = table_of(proof.module).with_rows(rows)
    space = open_space(proof)
    states = space.reachable()
    with in_place(proof.module, table):
        return {
            contract.id
            for module in proof.contracts
            for contract in contracts_of(module)
            if contract.counterexample(space.domains(contract, states)) is not None
        }
