"""The one interpreter of transition tables: pure, total, and the only code that reads a table."""

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar, cast

import attrs

from ..facts.codes import Code, CrashworthyError

S = TypeVar("S")  # the union of a machine's state classes
E = TypeVar("E")  # the union of a machine's seen-event classes
A = TypeVar("A")  # one state class
B = TypeVar("B")  # one seen-event class

Guard = Callable[[object, object], bool]


@attrs.define(eq=False, kw_only=True)
class TableMalformedError(CrashworthyError):
    """A transition table contradicts itself; it fails at import, before anything runs."""

    code = Code.TABLE_MALFORMED
    machine: str
    row: str
    fault: str


@attrs.frozen(kw_only=True)
class Row:
    """One line of a table: where from, on what, under which guard, to where, and what it changes.

    Attributes:
        id: Append-only; stored in the stamp of every fact that the row admitted (MACH-4).
        adds: Counters of the state that move, by how much.
        sets: Fields of the target that get this constant.
        takes: Fields of the target that are copied from the event.
    """

    id: str
    source: type
    event: type
    guard: Guard
    target: type
    adds: tuple[tuple[str, int], ...]
    sets: tuple[tuple[str, object], ...]
    takes: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Denial:
    """Why a pair that no row accepts is refused; read in order, after the rows."""

    source: type | None
    event: type | None
    guard: Guard
    code: Code


@attrs.frozen(kw_only=True)
class Refused:
    """A refusal as a value: the stable code, and who said it about what."""

    code: Code
    machine: str
    phase: str
    event: str


def always(_state: object, _seen: object) -> bool:
    """Hold for every state and event."""
    return True


def row(
    row_id: str,
    source: type[A],
    event: type[B],
    guard: Callable[[A, B], bool],
    target: type,
    *,
    adds: Mapping[str, int] | None = None,
    sets: Mapping[str, object] | None = None,
    takes: tuple[str, ...] = (),
) -> Row:
    """Build one row.

    The guard's parameter types are forgotten here, in this one place: `Table` calls a guard only
    with exactly the state and event class of its own row.
    """
    return Row(
        id=row_id,
        source=source,
        event=event,
        guard=cast("Guard", guard),
        target=target,
        adds=tuple((adds or {}).items()),
        sets=tuple((sets or {}).items()),
        takes=takes,
    )


def deny(
    code: Code,
    *,
    source: type[A] | None = None,
    event: type[B] | None = None,
    when: Callable[[A, B], bool] = always,
) -> Denial:
    """Build one denial; without `source` or `event` it speaks of all of them."""
    return Denial(source=source, event=event, guard=cast("Guard", when), code=code)


Plan = tuple[tuple[str, str, object], ...]
"""Per field of a row's target: its name, where it comes from, and the constant or the change."""


def _no_plans() -> dict[str, Plan | None]:
    return {}


@attrs.frozen(kw_only=True, eq=False)
class Table(Generic[S, E]):
    """A machine as data (MACH-1): its states, events, rows, and why it refuses the rest.

    Attributes:
        prefix: What every row id starts with, before the dot.
        default: The code of a state for events that nothing else answers.
        transient: States that may not outlive the unit that entered them (MACH-5c).
    """

    machine: str
    prefix: str
    start: S
    states: tuple[type[S], ...]
    events: tuple[type[E], ...]
    rows: tuple[Row, ...]
    denials: tuple[Denial, ...]
    default: Mapping[type[S], Code]
    transient: frozenset[type[S]] = frozenset()
    _index: dict[tuple[type, type], tuple[Row, ...]] = attrs.field(
        init=False, repr=False, factory=dict[tuple[type, type], tuple[Row, ...]]
    )
    _plans: dict[str, Plan | None] = attrs.field(init=False, repr=False, factory=_no_plans)

    def __attrs_post_init__(self) -> None:
        """Check the table's shape and compile each row's field plan."""
        defaults: frozenset[type] = frozenset(self.default)
        _check_shape(self.machine, self.prefix, self.states, self.events, self.rows, defaults)
        for line in self.rows:
            key = (line.source, line.event)
            self._index[key] = (*self._index.get(key, ()), line)
            plan = _plan(self.machine, line)
            still = line.source is line.target and all(how == "carry" for _, how, _ in plan)
            self._plans[line.id] = None if still else plan  # A row that changes nothing is free.

    def decide(self, state: S, seen: E) -> Row | Refused:
        """Return the row that admits `seen` in `state`, or the refusal. Pure and total (MACH-1)."""
        for line in self._index.get((type(state), type(seen)), ()):
            if line.guard(state, seen):
                return line
        return self._refusal(state, seen)

    def _refusal(self, state: S, seen: E) -> Refused:
        code = self.default[type(state)]
        for denial in self.denials:
            if denial.source not in (None, type(state)) or denial.event not in (None, type(seen)):
                continue
            if denial.guard(state, seen):
                code = denial.code
                break
        return Refused(
            code=code,
            machine=self.machine,
            phase=type(state).__name__,
            event=type(seen).__name__,
        )

    def evolve(self, state: S, seen: E, line: Row) -> S:
        """Return the next state: the row's target with its declared fields (MACH-5b)."""
        plan = self._plans[line.id]
        if plan is None:
            return state
        values: dict[str, object] = {}
        for name, how, what in plan:
            if how == "set":
                values[name] = what
            elif how == "take":
                values[name] = getattr(seen, name)
            elif how == "add":
                values[name] = getattr(state, name) + cast("int", what)
            else:
                values[name] = getattr(state, name)
        return cast("S", line.target(**values))

    def step(self, state: S, seen: E) -> tuple[S, str] | Refused:
        """Take one step: the next state and the row id, or a refusal."""
        line = self.decide(state, seen)
        if isinstance(line, Refused):
            return line
        return self.evolve(state, seen, line), line.id

    def matching(self, state: S, seen: E) -> tuple[Row, ...]:
        """Return every row whose guard holds: proofs demand that there is at most one (H4)."""
        pair = self._index.get((type(state), type(seen)), ())
        return tuple(line for line in pair if line.guard(state, seen))

    def with_rows(self, rows: tuple[Row, ...]) -> "Table[S, E]":
        """Return a copy with other rows, for mutants and planted bugs."""
        return Table(
            machine=self.machine,
            prefix=self.prefix,
            start=self.start,
            states=self.states,
            events=self.events,
            rows=rows,
            denials=self.denials,
            default=self.default,
            transient=self.transient,
        )

    def final(self) -> frozenset[type[S]]:
        """Return the states that no row leaves for another state."""
        leaving = {line.source for line in self.rows if line.target is not line.source}
        return frozenset(state for state in self.states if state not in leaving)


def _check_shape(
    machine: str,
    prefix: str,
    states: tuple[type, ...],
    events: tuple[type, ...],
    rows: tuple[Row, ...],
    default: frozenset[type],
) -> None:
    def fault(row_id: str, text: str) -> TableMalformedError:
        return TableMalformedError(machine=machine, row=row_id, fault=text)

    ids: set[str] = set()
    for line in rows:
        if line.id in ids:
            raise fault(line.id, "the id stands twice")
        ids.add(line.id)
        if not line.id.startswith(f"{prefix}.T"):
            raise fault(line.id, f"the id does not start with {prefix}.T")
        if line.source not in states or line.target not in states:
            raise fault(line.id, "source or target is not a state of this machine")
        if line.event not in events:
            raise fault(line.id, "the event is not one of this machine")
    for state in states:
        if state not in default:
            raise fault("-", f"{state.__name__} has no default refusal")


_NO_FIELDS: Final[tuple[str, ...]] = ()


def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else _NO_FIELDS


def _plan(machine: str, line: Row) -> Plan:
    """Say where each field of the target comes from.

    Raises:
        TableMalformedError: `table_malformed`, when nothing gives a field, or a change names none.
    """
    sets, adds = dict(line.sets), dict(line.adds)
    held, told, wanted = _names(line.source), _names(line.event), _names(line.target)
    plan: list[tuple[str, str, object]] = []
    for name in wanted:
        if name in sets:
            plan.append((name, "set", sets[name]))
        elif name in line.takes and name in told:
            plan.append((name, "take", None))
        elif name in adds and name in held:
            plan.append((name, "add", adds[name]))
        elif name in held:
            plan.append((name, "carry", None))
        else:
            raise TableMalformedError(
                machine=machine, row=line.id, fault=f"nothing gives the field {name!r}"
            )
    for name in (*sets, *adds, *line.takes):
        if name not in wanted:
            raise TableMalformedError(
                machine=machine, row=line.id, fault=f"the target has no field {name!r}"
            )
    return tuple(plan)
