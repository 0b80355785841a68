"""Read PEP 316 contracts, so that they can be counted, proven and evaluated."""

import importlib
import inspect
from collections.abc import Iterable, Sequence
from itertools import product
from types import CodeType
from typing import ClassVar, Final, Protocol, cast, get_type_hints

import attrs

from ..machines.facts.codes import Code, CrashworthyError

_PRE: Final = "pre:"
_POST: Final = "post:"
_POST_FORM: Final = "__return__"


class _Body(Protocol):
    def __call__(self, *values: object) -> object: ...


@attrs.define(eq=False, kw_only=True)
class ContractMalformedError(CrashworthyError):
    """A contract cannot be read; write it as `contracts_driver` says (PROOF-2)."""

    code: ClassVar[Code] = Code.CONTRACT_MALFORMED
    contract: str
    fault: str


@attrs.frozen(kw_only=True, eq=False)
class Contract:
    """One top-level function whose docstring demands that it returns true.

    Attributes:
        id: Last part of the module's name, then the name of the function.
        text: Its docstring; the ids of invariants that stand in it are covered by the contract.
        parameters: Names and types, in order.
        pre: The conditions under which it must hold, compiled.
    """

    id: str
    module: str
    name: str
    text: str
    parameters: tuple[tuple[str, object], ...]
    pre: tuple[CodeType, ...]
    _body: _Body = attrs.field(alias="body")
    _names: dict[str, object] = attrs.field(alias="names")

    def applies(self, values: Sequence[object]) -> bool:
        """Say whether the preconditions hold for these arguments."""
        if not self.pre:
            return True
        given = {name: value for (name, _), value in zip(self.parameters, values, strict=True)}
        # The text is a docstring of our own source, and CrossHair evaluates the same. The globals
        # are those of its module, as they are: copying them would cost more than the evaluation.
        return all(eval(condition, self._names, given) for condition in self.pre)  # noqa: S307 - our own docstrings

    def holds(self, values: Sequence[object]) -> bool:
        """Say whether the contract is kept for these arguments; they must be in its domain."""
        return bool(self._body(*values))

    def counterexample(self, domains: Iterable[Sequence[object]]) -> tuple[object, ...] | None:
        """Return the first combination of arguments for which the contract is broken."""
        for values in product(*domains):
            if self.applies(values) and not self.holds(values):
                return values
        return None


def contracts_of(module: str) -> tuple[Contract, ...]:
    """Return the contracts of a module in the order of its source.

    Raises:
        ContractMalformedError: `contract_malformed`, when a docstring is not of the house form: any
            number of `pre: EXPRESSION` and one `post: __return__`.
    """
    home = importlib.import_module(module)
    return tuple(
        _read(module, name, value, vars(home))
        for name, value in vars(home).items()
        if inspect.isfunction(value)
        and value.__module__ == module
        and _POST in (value.__doc__ or "")
    )


def _read(module: str, name: str, function: object, names: dict[str, object]) -> Contract:
    contract_id = f"{module.rpartition('.')[2]}.{name}"
    text = inspect.getdoc(function) or ""
    lines = [line.strip() for line in text.splitlines()]
    posts = [line.removeprefix(_POST).strip() for line in lines if line.startswith(_POST)]
    if posts != [_POST_FORM]:
        fault = f"it needs exactly one `{_POST} {_POST_FORM}`"
        raise ContractMalformedError(contract=contract_id, fault=fault)
    hints = get_type_hints(function)
    if hints.pop("return", None) is not bool:
        raise ContractMalformedError(contract=contract_id, fault="it does not return bool")
    pre = tuple(
        compile(line.removeprefix(_PRE).strip(), contract_id, "eval")
        for line in lines
        if line.startswith(_PRE)
    )
    return Contract(
        id=contract_id,
        module=module,
        name=name,
        text=text,
        parameters=tuple(hints.items()),
        pre=pre,
        body=cast("_Body", function),
        names=names,
    )
