"""Walk one machine over its whole finite quotient, with the table that production reads."""

import hashlib
import importlib
import types
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from enum import Enum
from itertools import product
from typing import ClassVar, Final, NamedTuple, Union, cast, get_args, get_origin, get_type_hints

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..machines.lifecycles.table import Refused, Table
from .explorer import Action, Explored, Finding, Model, Violation, explore
from .invariant import Invariant, Kind, Step, attainable
from .obligation import MachineProof

AnyTable = Table[object, object]

DETERMINISM: Final = "determinism"
RANGE: Final = "range"
CODED: Final = "coded"
REACHED: Final = "reached"
ROWS: Final = "rows"
SIZE: Final = "size"
TRANSIENT: Final = "transient"


@attrs.define(eq=False, kw_only=True)
class SpaceUnboundedError(CrashworthyError):
    """A field is neither enum, bool nor int, so that its values cannot be listed (MACH-5b)."""

    code: ClassVar[Code] = Code.SPACE_UNBOUNDED
    owner: str
    field: str


@attrs.frozen(kw_only=True)
class MachineResult:
    """What the walk of one machine saw."""

    states: int
    rows: int
    rows_taken: int
    violations: tuple[Violation, ...]


class _Fan(NamedTuple):
    """What one state does on all events of one class.

    Attributes:
        actions: One for each (state after, row), because a walk needs no more.
        digest: Sums over fans to a fingerprint of the graph.
    """

    actions: tuple[Action[int], ...]
    findings: tuple[Finding, ...]
    digest: int


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


def members(hint: object) -> tuple[object, ...]:
    """Return the alternatives of a union, or the one type."""
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


@attrs.frozen(kw_only=True)
class Ranges:
    """Which values a field may take: all of an enum or bool, a stated range of an int."""

    ints: Mapping[str, range]
    default: range

    def of_field(self, owner: str, field: str) -> range:
        """Return the range of an int field."""
        return self.ints.get(f"{owner}.{field}", self.ints.get(field, self.default))

    def instances(self, kind: type) -> tuple[object, ...]:
        """Return every value of an attrs class within the ranges.

        Raises:
            SpaceUnboundedError: `space_unbounded`, when it is none or a field is not finite.
        """
        if not attrs.has(kind):
            raise SpaceUnboundedError(owner=kind.__name__, field="-")
        hints = get_type_hints(kind)
        names = [field.name for field in attrs.fields(kind)]
        choices = [self.values(hints[name], kind.__name__, name) for name in names]
        return tuple(kind(**dict(zip(names, row, strict=True))) for row in product(*choices))

    def values(self, hint: object, owner: str, field: str) -> tuple[object, ...]:
        """Return every value of a type; `owner` and `field` find the range of an int.

        Raises:
            SpaceUnboundedError: `space_unbounded`, when the type has no small finite set of values.
        """
        found: list[object] = []
        for one in members(hint):
            if one is bool:
                found += (False, True)
            elif one is int:
                found += self.of_field(owner, field)
            elif one is types.NoneType:
                found.append(None)
            elif isinstance(one, type) and issubclass(one, Enum):
                found += one
            elif isinstance(one, type) and attrs.has(one):
                found += self.instances(one)
            else:
                raise SpaceUnboundedError(owner=owner, field=field)
        return tuple(found)


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
    _shared: dict[tuple[int, type], _Fan] = attrs.field(factory=dict[tuple[int, type], _Fan])
    _own: dict[tuple[int, type], _Fan] = attrs.field(factory=dict[tuple[int, type], _Fan])
    _state_findings: dict[int, tuple[Finding, ...]] = attrs.field(
        factory=dict[int, tuple[Finding, ...]]
    )

    def mutated(self, table: AnyTable, changed: tuple[type, type]) -> "MachineSpace":
        """Return the space of a table whose rows differ only in `changed` (state, event class)."""
        return attrs.evolve(self, table=table, changed=changed, own={})

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
            show=lambda number: repr(self._states[number]),
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

    def fan(self, number: int, kind: type) -> _Fan:
        """Return what a state does on all events of one class."""
        mine = self.changed == (type(self._states[number]), kind)
        fans = self._own if mine else self._shared
        found = fans.get((number, kind))
        if found is None:
            found = fans[number, kind] = self._fan(self._states[number], kind)
        return found

    def _actions(self, number: int) -> Iterable[Action[int]]:
        for kind in self.table.events:
            yield from self.fan(number, kind).actions

    def _audit(self, number: int) -> Iterable[Finding]:
        known = self._state_findings.get(number)
        if known is None:
            known = self._state_findings[number] = tuple(self._of_state(self._states[number]))
        yield from known
        for kind in self.table.events:
            yield from self.fan(number, kind).findings

    def _of_state(self, state: object) -> Iterable[Finding]:
        for invariant in self.proof.invariants:
            if invariant.kind is Kind.ALWAYS and not invariant.holds(state):
                yield _against(invariant, "")

    def _fan(self, state: object, kind: type) -> _Fan:
        actions: dict[tuple[int, str], Action[int]] = {}
        findings: list[Finding] = []
        lines: list[str] = [repr(state)]
        steps = [inv for inv in self.proof.invariants if inv.kind is Kind.STEP]
        for seen in self.events[kind]:
            matched = self.table.matching(state, seen)
            if len(matched) > 1:
                rows = ", ".join(line.id for line in matched)
                findings.append(
                    Finding(
                        id=DETERMINISM,
                        claim="at most one row admits an event (H4)",
                        detail=f"{state!r} on {seen!r}: {rows}",
                    )
                )
            outcome = self.table.step(state, seen)
            if isinstance(outcome, Refused):
                lines.append(f"{seen!r} {outcome.code}")
                if not _is_code(outcome.code):
                    findings.append(
                        Finding(
                            id=CODED,
                            claim="every refusal has a code",
                            detail=f"{state!r} on {seen!r}",
                        )
                    )
                continue
            after, row_id = outcome
            lines.append(f"{seen!r} {row_id} {after!r}")
            shown = f"{seen!r} [{row_id}] -> {after!r}"
            step = Step(state, seen, (row_id,), after)
            findings += [_against(inv, shown) for inv in steps if not inv.holds(step)]
            inside, low = self._placed(after)
            if low:
                claim = "no counter falls below its range"
                findings.append(Finding(id=RANGE, claim=claim, detail=shown))
            if inside:
                number = self.number(after)
                actions.setdefault((number, row_id), (_Shown(seen), number, (row_id,)))
        digest = hashlib.sha256("\n".join(lines).encode()).digest()
        return _Fan(tuple(actions.values()), tuple(findings), int.from_bytes(digest))

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

        The digests of all fans are added up, so the order of the walk does not matter.
        """
        total = 0
        for number in self._walk():
            total += sum(self.fan(number, kind).digest for kind in self.table.events)
        return f"{total % 2**256:064x}"

    def _walk(self) -> tuple[int, ...]:
        known: dict[int, None] = {}
        waiting = [self.number(self.table.start)]
        while waiting:
            number = waiting.pop()
            if number not in known:
                known[number] = None
                waiting += [after for _, after, _ in self._actions(number)]
        return tuple(known)


@attrs.frozen
class _Shown:
    """An event as the label of an action: equal by its text, and read as such."""

    event: object

    def __str__(self) -> str:
        return repr(self.event)


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


def prove_machine(proof: MachineProof) -> tuple[MachineResult, MachineSpace]:
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
    return MachineResult(
        states=explored.states,
        rows=len(space.table.rows),
        rows_taken=len(explored.rows_taken),
        violations=tuple(problems),
    ), space
