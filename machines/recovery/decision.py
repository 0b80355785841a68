"""The one reader of decision tables: the first rule that fits, and one always fits (MACH-3)."""

from collections.abc import Callable
from typing import Generic, TypeVar

import attrs

from ..lifecycles.table import TableMalformedError

Q = TypeVar("Q")  # the question: a frozen class of closed enums and bools
R = TypeVar("R")  # the answer: a closed enum


@attrs.frozen(kw_only=True)
class Rule(Generic[Q, R]):
    """One line: an append-only id, when it fits, and what it answers."""

    id: str
    when: Callable[[Q], bool]
    then: R


def anything(_question: object) -> bool:
    """Fit every question: the last rule of every table."""
    return True


@attrs.frozen(kw_only=True, eq=False)
class DecisionTable(Generic[Q, R]):
    """A decision as data. Order is meaning: an earlier rule shadows a later one."""

    name: str
    prefix: str
    rules: tuple[Rule[Q, R], ...]

    def __attrs_post_init__(self) -> None:
        """Refuse a table with doubtful ids, or one that does not answer everything.

        Raises:
            TableMalformedError: `table_malformed`.
        """
        seen: set[str] = set()
        for rule in self.rules:
            if rule.id in seen or not rule.id.startswith(f"{self.prefix}.D"):
                raise TableMalformedError(
                    machine=self.name, row=rule.id, fault="the id is not new or not this table's"
                )
            seen.add(rule.id)
        if not self.rules or self.rules[-1].when is not anything:
            raise TableMalformedError(
                machine=self.name, row="-", fault="the last rule must fit everything"
            )

    def answer(self, question: Q) -> R:
        """Return the answer of the first rule that fits. Pure and total."""
        return self.rule_for(question).then

    def rule_for(self, question: Q) -> Rule[Q, R]:
        """Return the first rule that fits, for traces and coverage."""
        return next(rule for rule in self.rules if rule.when(question))

    def with_rules(self, rules: tuple[Rule[Q, R], ...]) -> "DecisionTable[Q, R]":
        """Return a copy with other rules, for mutants and planted bugs."""
        return DecisionTable(name=self.name, prefix=self.prefix, rules=rules)
