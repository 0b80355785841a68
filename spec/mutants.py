"""Break each row of each table in every plausible way, and see which promise notices (PROOF-4)."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, StrEnum
from itertools import chain
from typing import Final, get_type_hints

import attrs

from ..machines.lifecycles.table import Refused, Row, TableMalformedError, always
from .contract import Contract, contracts_of
from .explorer import Violation, explore, readable
from .invariant import Kind
from .machine_space import (
    DETERMINISM,
    REACHED,
    ROWS,
    TRANSIENT,
    AnyTable,
    MachineSpace,
    in_place,
    open_space,
    walk,
)
from .obligation import Equivalent, MachineProof, ModelProof
from .quotient import members

EQUIVALENTS_SHARE_MAX: Final = 0.05


class Killer(StrEnum):
    """Who noticed; in the order in which they are asked."""

    SHAPE = "shape"  # the table would not even load
    DETERMINISM = "determinism"  # two rows admit one event
    INVARIANT = "invariant"  # a state or step breaks a promise
    REACHABILITY = "reachability"  # a row, state or goal is out of reach
    CONTRACT = "contract"  # a contract is false for some state and event
    MODEL = "model"  # the composed model breaks, in its smallest scope


@attrs.frozen(kw_only=True)
class Mutant:
    """A table with one row changed; `row` is None where it was dropped."""

    id: str
    original: Row
    row: Row | None

    def of(self, table: AnyTable) -> AnyTable:
        """Return the mutated table.

        Raises:
            TableMalformedError: `table_malformed`, when the change contradicts itself.
        """
        rows: list[Row] = []
        for line in table.rows:
            if line.id != self.original.id:
                rows.append(line)
            elif self.row is not None:
                rows.append(self.row)
        return table.with_rows(tuple(rows))


@attrs.frozen(kw_only=True)
class Survivor:
    """A mutant that nobody noticed, and where it differs from the original."""

    id: str
    difference: str


@attrs.frozen(kw_only=True)
class MutantsResult:
    """What became of all mutants: `killed + equivalent == total`, or it is a failure.

    Attributes:
        faults: What is wrong with the list of equivalents itself.
    """

    total: int
    by: Mapping[str, int]
    equivalents: tuple[Equivalent, ...]
    survivors: tuple[Survivor, ...]
    faults: tuple[str, ...]

    @property
    def killed(self) -> int:
        """Return how many mutants were noticed."""
        return sum(self.by.values())


def mutants_of(table: AnyTable) -> Iterator[Mutant]:
    """Yield every mutant of every row of a table."""
    for line in table.rows:
        changes = chain(
            (("dropped", None),),
            _other_guards(table, line),
            _other_targets(table, line),
            _other_counters(line),
            _other_constants(line),
            _other_copies(line),
        )
        for what, changed in changes:
            yield Mutant(id=f"{line.id} {what}", original=line, row=changed)


def _other_guards(table: AnyTable, line: Row) -> Iterator[tuple[str, Row]]:
    """Widen the guard, and give the row each guard of its neighbours that its types allow."""
    seen = {always, line.guard}
    if line.guard is not always:
        yield "guard: always", attrs.evolve(line, guard=always)
    for other in table.rows:
        near = other.event is line.event or other.source is line.source
        if near and other.guard not in seen and _fits(other.guard, line):
            seen.add(other.guard)
            name: str = getattr(other.guard, "__name__", repr(other.guard))
            yield f"guard: {name}", attrs.evolve(line, guard=other.guard)


def _fits(guard: Callable[[object, object], bool], line: Row) -> bool:
    """Say whether a type checker would let the guard stand in this row."""
    hints = get_type_hints(guard)
    wanted = [members(hints[name]) for name in inspect.signature(guard).parameters]
    return all(
        object in allowed or kind in allowed
        for allowed, kind in zip(wanted, (line.source, line.event), strict=True)
    )


def _other_targets(table: AnyTable, line: Row) -> Iterator[tuple[str, Row]]:
    """Lead elsewhere; what only the old target has is left out, as a careful author would."""
    for target in table.states:
        if target is line.target:
            continue
        names = _names(target)
        yield (
            f"to: {target.__name__}",
            attrs.evolve(
                line,
                target=target,
                adds=tuple(pair for pair in line.adds if pair[0] in names),
                sets=tuple(pair for pair in line.sets if pair[0] in names),
                takes=tuple(name for name in line.takes if name in names),
            ),
        )


def _other_counters(line: Row) -> Iterator[tuple[str, Row]]:
    for at, (name, amount) in enumerate(line.adds):
        without = (*line.adds[:at], *line.adds[at + 1 :])
        yield f"adds: no {name}", attrs.evolve(line, adds=without)
        turned = (*line.adds[:at], (name, -amount), *line.adds[at + 1 :])
        yield f"adds: {name} by {-amount}", attrs.evolve(line, adds=turned)


def _other_constants(line: Row) -> Iterator[tuple[str, Row]]:
    for at, (name, value) in enumerate(line.sets):
        without = (*line.sets[:at], *line.sets[at + 1 :])
        if name in _names(line.source):
            yield f"sets: no {name}", attrs.evolve(line, sets=without)
        for other in _others(value):
            changed = (*line.sets[:at], (name, other), *line.sets[at + 1 :])
            yield f"sets: {name} to {other}", attrs.evolve(line, sets=changed)


def _others(value: object) -> tuple[object, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, Enum):
        return tuple(other for other in type(value) if other is not value)
    if isinstance(value, int):
        return (value + 1,)
    return ()


def _other_copies(line: Row) -> Iterator[tuple[str, Row]]:
    """Carry what was copied from the event, and copy from it what was carried."""
    held, told = _names(line.source), _names(line.event)
    constants = {name for name, _ in (*line.sets, *line.adds)}
    for name in line.takes:
        if name in held:
            without = tuple(other for other in line.takes if other != name)
            yield f"takes: no {name}", attrs.evolve(line, takes=without)
    for name in _names(line.target):
        if name in held and name in told and name not in constants and name not in line.takes:
            yield f"takes: {name}", attrs.evolve(line, takes=(*line.takes, name))


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else ()


def prove_mutants(
    proofs: Sequence[MachineProof],
    *,
    models: Sequence[ModelProof] = (),
    equivalents: Sequence[Equivalent] = (),
    progress: Callable[[int], None] | None = None,
) -> MutantsResult:
    """Try every mutant of every table; a copy of the table never takes part (PROOF-4).

    Args:
        proofs: The machines with their invariants and contracts.
        models: Those with `kills_mutants` are asked about the machines that they name.
        equivalents: The only mutants that may live, and they must have the original's graph.
        progress: Called with the number of mutants tried so far.
    """
    total = 0
    by: Counter[str] = Counter()
    survivors: list[Survivor] = []
    listed = {entry.id: entry for entry in equivalents}
    equal: list[Equivalent] = []
    for proof in proofs:
        hunt = _Hunt.begin(proof, models)
        for mutant in mutants_of(hunt.space.table):
            total += 1
            if progress is not None:
                progress(total)
            killer, same = hunt.judge(mutant)
            if killer is not None:
                by[killer] += 1
            elif same and mutant.id in listed:
                equal.append(listed.pop(mutant.id))
            else:
                difference = "none within the ranges" if same else hunt.difference(mutant)
                survivors.append(Survivor(id=mutant.id, difference=difference))
    living = {survivor.id for survivor in survivors}
    faults = [
        f"{entry} is listed as equivalent, but {'differs' if entry in living else 'does not live'}"
        for entry in listed
    ]
    if len(equal) > EQUIVALENTS_SHARE_MAX * total:
        faults.append(f"{len(equal)} of {total} are equivalent, over {EQUIVALENTS_SHARE_MAX:.0%}")
    return MutantsResult(
        total=total,
        by=dict(by),
        equivalents=tuple(equal),
        survivors=tuple(survivors),
        faults=tuple(faults),
    )


@attrs.frozen(kw_only=True, eq=False)
class _Hunt:
    """Everything that may notice a mutant of one machine."""

    proof: MachineProof
    space: MachineSpace
    fingerprint: str
    contracts: tuple[Contract, ...]
    models: tuple[ModelProof, ...]

    @classmethod
    def begin(cls, proof: MachineProof, models: Sequence[ModelProof]) -> "_Hunt":
        space = open_space(proof, for_mutants=True)
        return cls(
            proof=proof,
            space=space,
            fingerprint=space.fingerprint(),
            contracts=tuple(chain.from_iterable(map(contracts_of, proof.contracts))),
            models=tuple(m for m in models if m.kills_mutants and proof.name in m.machines),
        )

    def judge(self, mutant: Mutant) -> tuple[Killer | None, bool]:
        """Return who notices the mutant, or else whether its reachable graph is the same."""
        try:
            table = mutant.of(self.space.table)
        except TableMalformedError:
            return Killer.SHAPE, False
        changed = (mutant.original.source, mutant.original.event)
        space = self.space.mutated(table, changed)
        _, problems = walk(space, first_only=True)
        if problems:
            return self._killer(problems[0]), False
        with in_place(self.proof.module, table):
            broken = self._broken_contract(space, changed)
            if broken is None and any(map(_breaks, self.models)):
                return Killer.MODEL, False
        if broken is not None and broken[0].holds(broken[1]):
            return Killer.CONTRACT, False
        return None, space.fingerprint() == self.fingerprint

    def _killer(self, problem: Violation) -> Killer:
        if problem.id == DETERMINISM:
            return Killer.DETERMINISM
        whole = {
            inv.id for inv in self.proof.invariants if inv.kind in (Kind.SOMETIMES, Kind.ATTAINABLE)
        }
        if problem.id in {ROWS, REACHED, TRANSIENT, *whole}:
            return Killer.REACHABILITY
        return Killer.INVARIANT

    def _broken_contract(
        self, space: MachineSpace, changed: tuple[type, type]
    ) -> tuple[Contract, tuple[object, ...]] | None:
        """Return a contract that is false under the table in place, and its arguments."""
        near = [state for state in space.reachable() if type(state) is changed[0]]
        for states in (near, space.instances(changed[0])):
            for contract in self.contracts:
                found = contract.counterexample(space.domains(contract, states, changed[1]))
                if found is not None:
                    return contract, found
        return None

    def difference(self, mutant: Mutant) -> str:
        """Return the first reachable state and event that the mutant treats differently."""
        original, table = self.space.table, mutant.of(self.space.table)
        for state in self.space.reachable():
            if type(state) is not mutant.original.source:
                continue
            for seen in self.space.events[mutant.original.event]:
                before, after = original.step(state, seen), table.step(state, seen)
                if before != after:
                    event = f"{readable(state)} on {readable(seen)}"
                    return f"{event}: {_shown(before)}, now {_shown(after)}"
        return "only in states that the original does not reach"


def _shown(outcome: tuple[object, str] | Refused) -> str:
    if isinstance(outcome, Refused):
        return f"refused {outcome.code}"
    return f"{readable(outcome[0])} [{outcome[1]}]"


def _breaks(proof: ModelProof) -> bool:
    """Say whether the composed model no longer holds; its own asserts count, too."""
    try:
        return bool(explore(proof.build(), first_only=True).violations)
    except AssertionError:
        return True
