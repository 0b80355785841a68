"""A contract is read from its docstring and evaluated only where its preconditions hold."""

import sys
from types import ModuleType

import pytest

from crashworthy.spec.contract import Contract, ContractMalformedError, contracts_of

from .places import TOY_CONTRACTS, TOY_FALSE_CONTRACTS
from .toy_machine import Add, By, End, Result, Working


def contract(name: str) -> Contract:
    return next(c for c in contracts_of(TOY_CONTRACTS) if c.name == name)


def test_contract_is_not_asked_where_its_precondition_is_false() -> None:
    """With a counter below zero the step breaks the claim, which is not about such states."""
    counters_stay = contract("counters_stay")
    lost, added = Working(tasks=-5, troubled=False), Add(by=By.OWNER)
    assert not counters_stay.holds((lost, added))
    assert not counters_stay.applies((lost, added))
    assert counters_stay.counterexample(([lost], [added])) is None


def test_first_combination_that_breaks_a_contract_is_returned() -> None:
    quiet = contract("end_is_quiet")
    done = Working(tasks=0, troubled=False)
    assert quiet.counterexample(([done], [End(result=Result.GOOD)])) is None
    false = next(c for c in contracts_of(TOY_FALSE_CONTRACTS) if c.name == "needle")
    states = [Working(tasks=n, troubled=False) for n in (0, 7_777)]
    assert false.counterexample((states, [Add(by=By.OWNER)])) == (states[1], Add(by=By.OWNER))


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ('def f(x: int) -> bool:\n    """F.\n\n    post: x > 0\n    """\n', "exactly one `post:"),
        ('def f(x: int) -> int:\n    """F.\n\n    post: __return__\n    """\n', "not return bool"),
    ],
    ids=["other post", "other result"],
)
def test_contract_outside_the_house_form_is_refused(
    monkeypatch: pytest.MonkeyPatch, source: str, fault: str
) -> None:
    module = ModuleType("badly_written")
    exec(source, module.__dict__)  # noqa: S102 - a module that no file of ours should hold
    monkeypatch.setitem(sys.modules, "badly_written", module)
    with pytest.raises(ContractMalformedError, match=fault):
        contracts_of("badly_written")
