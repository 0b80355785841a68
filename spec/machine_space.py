"""Walk one machine over its whole finite quotient, with the table that production reads."""

import hashlib
import importlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from math import prod
from typing import Final, NamedTuple, cast

import attrs

from ..machines.facts.codes import Code
from ..machines.lifecycles.table import Refused, Table
from .contract import Contract, contracts_of
from .explorer import Action, Explored, Finding, Model, Violation, explore, readable
from .invariant import Invariant, Kind, Step, attainable
from .obligation import MachineProof
from .quotient import Ranges, members

AnyTable = Table[object, object]

DETERMINISM: Final = "determinism"
RANGE: Final = "range"
CODED: Final = "coded"
REACHED: Final = "reached"
ROWS: Final = "rows"
SIZE: Final = "size"
TRANSIENT: Final = "transient"
_COMBINATIONS_MAX: Final = 200_000  # arguments of one contract that are tried concretely


@attrs.frozen(kw_only=True)
class MachineResult:
    """What the walk of one machine saw."""

    states: int
    rows: int
    rows_taken: int
    violations: tuple[Violation, ...]


class _Fan(NamedTuple):
    """What one state does on some events.

    Attributes:
        actions: One for each (state after, row), because a walk needs no more.
    """

    actions: tuple[Action[int], ...]
    findings: tuple[Finding, ...]


@attrs.frozen(eq=False)
class _Found:
    """What was computed so far, by number of the state and class of the event (None: of all)."""

    fans: dict[tuple[int, type], _Fan] = attrs.field(factory=dict[tuple[int, type], _Fan])
    nodes: dict[tuple[int, type | None], _Fan] = attrs.field(
        factory=dict[tuple[int, type | None], _Fan]
    )
    digests: dict[tuple[int, type], int] = attrs.field(factory=dict[tuple[int, type], int])
    states: dict[int, tuple[Finding, ...]] = attrs.field(factory=dict[int, tuple[Finding, ...]])
    instances: dict[type, tuple[object, ...]] = attrs.field(factory=dict[type, tuple[object, ...]])


def table_of(module: str) -> AnyTable:
    """Return the table that stands in `module` now."""
    return cast("AnyTable", importlib.import_module(module).TABLE)


@contextmanager
def in_place(module: str, table: AnyTable) -> Generator[None]:
    """Put `table` in the place of the module's own, for code that reads it through the module.

    Bound methods of the old table that the module exports (`decide = TABLE.decide`) follow.
    """
    home = importlib.import_module(module)
    before = dict(vars(home))
    old = table_of(module)
    try:
        for name, value in before.items():
            if value is old:
                setattr(home, name, table)
            elif getattr(value, "__self__", None) is old:
                setattr(home, name, getattr(table, value.__name__))
        yield
    finally:
        for name, value in before.items():
            setattr(home, name, value)


@attrs.define(eq=False, kw_only=True)
class MachineSpace:
    """The states and events of one machine, and what its table makes of them.

    States are numbered, and what a state does on one class of events is computed once. A mutant
    differs from its original in one (state class, event class) only, so all other fans are shared:
    that is what makes thousands of mutants cheap.
    """

    proof: MachineProof
    ranges: Ranges
    table: AnyTable
    events: Mapping[type, tuple[object, ...]]
    changed: tuple[type, type] | None = None
    _numbers: dict[object, int] = attrs.field(factory=dict[object, int])
    _states: list[object] = attrs.field(factory=list[object])
    _found: _Found = attrs.field(factory=_Found)
    _own: _Found = attrs.field(factory=_Found)
    _reached: tuple[int, ...] = ()

    def mutated(self, table: AnyTable, changed: tuple[type, type]) -> "MachineSpace":
        """Return the space of a table whose rows differ only in `changed` (state, event class)."""
        return attrs.evolve(self, table=table, changed=changed, own=_Found(), reached=())

    def model(self) -> Model[int]:
        """Return the machine as a model over the numbers of its states."""
        lasting = attainable(
            TRANSIENT,
            "a transient state can be left",
            "a unit could end in the middle of what it began (MACH-5c)",
            self._lasting,
        )
        whole = (Kind.SOMETIMES, Kind.ATTAINABLE)
        return Model(
            name=self.proof.name,
            initial=lambda: (self.number(self.table.start),),
            actions=self._actions,
            invariants=(
                *(self._numbered(inv) for inv in self.proof.invariants if inv.kind in whole),
                lasting,
            ),
            audit=self._audit,
            show=lambda number: readable(self._states[number]),
        )

    def _lasting(self, number: int) -> bool:
        return type(self._states[number]) not in self.table.transient

    def _numbered(self, invariant: Invariant) -> Invariant:
        def holds(number: int) -> bool:
            return invariant.holds(self._states[number])

        return invariant.over(holds)

    def number(self, state: object) -> int:
        """Return the number of a state, a new one for a new state."""
        number = self._numbers.setdefault(state, len(self._states))
        if number == len(self._states):
            self._states.append(state)
        return number

    def _node(self, number: int) -> _Fan:
        """Return what a state does on all events."""
        state = self._states[number]
        if self.changed is None or self.changed[0] is not type(state):
            return self._merged(number, self._found.nodes, None)
        known = self._own.nodes.get((number, None))
        if known is None:
            # Mutants of one pair share what the state does on all other events.
            kind = self.changed[1]
            rest, own = self._merged(number, self._found.nodes, kind), self._fan(state, kind)
            known = _Fan((*rest.actions, *own.actions), (*rest.findings, *own.findings))
            self._own.nodes[number, None] = known
        return known

    def _merged(
        self, number: int, nodes: dict[tuple[int, type | None], _Fan], but: type | None
    ) -> _Fan:
        known = nodes.get((number, but))
        if known is None:
            fans = [self._shared_fan(number, kind) for kind in self.table.events if kind is not but]
            known = nodes[number, but] = _Fan(
                tuple(action for fan in fans for action in fan.actions),
                tuple(finding for fan in fans for finding in fan.findings),
            )
        return known

    def _shared_fan(self, number: int, kind: type) -> _Fan:
        known = self._found.fans.get((number, kind))
        if known is None:
            known = self._found.fans[number, kind] = self._fan(self._states[number], kind)
        return known

    def _actions(self, number: int) -> Iterable[Action[int]]:
        return self._node(number).actions

    def _audit(self, number: int) -> Iterable[Finding]:
        known = self._found.states.get(number)
        if known is None:
            known = self._found.states[number] = tuple(self._of_state(self._states[number]))
        return (*known, *self._node(number).findings)

    def _of_state(self, state: object) -> Iterable[Finding]:
        for invariant in self.proof.invariants:
            if invariant.kind is Kind.ALWAYS and not invariant.holds(state):
                yield _against(invariant, "")

    def _fan(self, state: object, kind: type) -> _Fan:
        """Return what a state does on all events of one class."""
        actions: dict[tuple[int, str], Action[int]] = {}
        findings: list[Finding] = []
        steps = [inv for inv in self.proof.invariants if inv.kind is Kind.STEP]
        for seen in self.events[kind]:
            matched = self.table.matching(state, seen)
            if not matched:
                continue
            taken = matched[0]
            if len(matched) > 1:
                rows = ", ".join(line.id for line in matched)
                claim = "at most one row admits an event (H4)"
                detail = f"{readable(state)} on {readable(seen)}: {rows}"
                findings.append(Finding(id=DETERMINISM, claim=claim, detail=detail))
            after, row_id = self.table.evolve(state, seen, taken), taken.id
            step = Step(state, seen, (row_id,), after)
            findings += [_against(inv, _shown(step)) for inv in steps if not inv.holds(step)]
            inside, low = self._placed(after)
            if low:
                claim = "no counter falls below its range"
                findings.append(Finding(id=RANGE, claim=claim, detail=_shown(step)))
            if inside:
                number = self.number(after)
                actions.setdefault((number, row_id), (_Label(seen), number, (row_id,)))
        return _Fan(tuple(actions.values()), tuple(findings))

    def _placed(self, state: object) -> tuple[bool, bool]:
        """Say whether the int fields of a state are in their ranges, and whether one is below."""
        inside, low = True, False
        kind = type(state)
        assert attrs.has(kind)
        owner = kind.__name__
        for field in attrs.fields(kind):
            value: object = getattr(state, field.name)
            if type(value) is int:
                allowed = self.ranges.of_field(owner, field.name)
                low = low or value < allowed.start
                inside = inside and value in allowed
        return inside, low

    def reachable(self) -> tuple[object, ...]:
        """Return the reachable states, in the order of a depth-first walk."""
        return tuple(self._states[number] for number in self._walk())

    def fingerprint(self) -> str:
        """Return a digest of the reachable graph, refusals and their codes included.

        The digests of all (state, event class) are added up, so the order of the walk does not
        matter. Two tables with one digest decide alike in every reachable state.
        """
        total = 0
        for number in self._walk():
            for kind in self.table.events:
                mine = self.changed == (type(self._states[number]), kind)
                digests = (self._own if mine else self._found).digests
                known = digests.get((number, kind))
                if known is None:
                    known = digests[number, kind] = self._digest(self._states[number], kind)
                total += known
        return f"{total % 2**256:064x}"

    def _digest(self, state: object, kind: type) -> int:
        lines = [repr(state)]
        lines += [f"{seen!r} {self.table.step(state, seen)!r}" for seen in self.events[kind]]
        return int.from_bytes(hashlib.sha256("\n".join(lines).encode()).digest())

    def uncoded(self) -> Iterable[Violation]:
        """Find refusals without a code, and decisions that are not the row that matches."""
        for state in self.reachable():
            for seen in chain.from_iterable(self.events.values()):
                line = self.table.decide(state, seen)
                if isinstance(line, Refused):
                    known = _is_code(line.code) and not self.table.matching(state, seen)
                else:
                    known = line in self.table.matching(state, seen)
                if not known:
                    claim = "an event is admitted by a matching row, or refused with a code"
                    yield Violation(
                        id=CODED, claim=claim, detail=f"{readable(state)} on {readable(seen)}"
                    )
                    return

    def instances(self, kind: type) -> tuple[object, ...]:
        """Return every state of one class within the ranges, reachable or not."""
        known = self._found.instances.get(kind)
        if known is None:
            known = self._found.instances[kind] = self.ranges.instances(kind)
        return known

    def domains(
        self, contract: Contract, states: Sequence[object], event: type | None = None
    ) -> list[Sequence[object]]:
        """Return the arguments on which a contract is evaluated concretely.

        A contract about one step gets `states` and the events of class `event` (all without it);
        one about several steps gets every reachable state and every event. Without a combination,
        or with too many of them, a domain is empty and the contract is left to CrossHair alone.
        """
        table = self.table
        kinds = [members(hint) for _, hint in contract.parameters]
        told = [set(kind) <= set(table.events) for kind in kinds]
        held = [set(kind) <= set(table.states) for kind in kinds]
        one_step = told.count(True) == held.count(True) == 1
        domains: list[Sequence[object]] = []
        for at, (name, hint) in enumerate(contract.parameters):
            if held[at]:
                mine = states if one_step else self.reachable()
                domains.append([state for state in mine if type(state) in kinds[at]])
            elif told[at]:
                wanted = [event] if one_step and event is not None else list(table.events)
                domains.append([e for k in wanted if k in kinds[at] for e in self.events[k]])
            else:
                domains.append(self.ranges.values(hint, contract.id, name))
        return domains if prod(map(len, domains)) <= _COMBINATIONS_MAX else [()]

    def _walk(self) -> tuple[int, ...]:
        if not self._reached:
            known: dict[int, None] = {}
            waiting = [self.number(self.table.start)]
            while waiting:
                number = waiting.pop()
                if number not in known:
                    known[number] = None
                    waiting += [after for _, after, _ in self._actions(number)]
            self._reached = tuple(known)
        return self._reached


@attrs.frozen
class _Label:
    """An event as the label of an action."""

    event: object

    def __str__(self) -> str:
        return readable(self.event)


def _shown(step: Step[object]) -> str:
    return f"{readable(step.cause)} [{', '.join(step.rows)}] -> {readable(step.after)}"


def _against(invariant: Invariant, detail: str) -> Finding:
    return Finding(id=invariant.id, claim=invariant.claim, detail=detail, harm=invariant.harm)


def _is_code(value: object) -> bool:
    return isinstance(value, Code)


def open_space(proof: MachineProof, *, for_mutants: bool = False) -> MachineSpace:
    """Return the space of the machine's table as it stands in its module now.

    Raises:
        SpaceUnboundedError: `space_unbounded`, when a field has no small finite set of values.
    """
    ints = proof.ints
    if for_mutants and proof.mutant_ints is not None:
        ints = proof.mutant_ints
    ranges = Ranges(ints=ints, default=proof.ints_default)
    table = table_of(proof.module)
    return MachineSpace(
        proof=proof,
        ranges=ranges,
        table=table,
        events={kind: ranges.instances(kind) for kind in table.events},
    )


def walk(space: MachineSpace, *, first_only: bool = False) -> tuple[Explored, list[Violation]]:
    """Explore a space and add what only the table as a whole can be blamed for (PROOF-1)."""
    explored = explore(space.model(), first_only=first_only)
    problems = list(explored.violations)
    if not explored.complete:
        return explored, problems
    table = space.table
    untaken = [line.id for line in table.rows if line.id not in explored.rows_taken]
    if untaken:
        claim = "every row of the table is taken"
        problems.append(Violation(id=ROWS, claim=claim, detail=", ".join(untaken)))
    reached = {type(state) for state in space.reachable()}
    unreached = [state.__name__ for state in table.states if state not in reached]
    if unreached:
        claim = "every state of the table is reached"
        problems.append(Violation(id=REACHED, claim=claim, detail=", ".join(unreached)))
    return explored, problems


def _broken_contracts(space: MachineSpace) -> Iterable[Violation]:
    """Evaluate each contract in every reachable state, too: a slip in its text shows in seconds."""
    states = space.reachable()
    for contract in chain.from_iterable(map(contracts_of, space.proof.contracts)):
        found = contract.counterexample(space.domains(contract, states))
        if found is not None:
            arguments = ", ".join(map(readable, found))
            claim = contract.text.partition("\n")[0]
            yield Violation(id=contract.id, claim=claim, detail=arguments)


def prove_machine(proof: MachineProof) -> MachineResult:
    """Walk one machine in full and compare its size with the stated one (PROOF-1)."""
    space = open_space(proof)
    explored, problems = walk(space)
    if explored.states != proof.states:
        problems.append(
            Violation(
                id=SIZE,
                claim=f"{proof.states} states are reachable",
                detail=f"{explored.states} were counted",
            )
        )
    problems += space.uncoded()
    problems += _broken_contracts(space)
    return MachineResult(
        states=explored.states,
        rows=len(space.table.rows),
        rows_taken=len(explored.rows_taken),
        violations=tuple(problems),
    )
