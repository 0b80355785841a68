"""Explore every state of a model, breadth first, and show the shortest way to what must not be."""

import gc
import re
from array import array
from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from contextlib import contextmanager
from typing import Final, Generic, TypeAlias, TypeVar

import attrs

from .invariant import Invariant, Kind, Step

S = TypeVar("S", bound=Hashable)
# A model's functions take states as well, yet nobody but `explore` calls them, and only with states
# that the same model made. So a list of models of many state types is a list of Model[Hashable].
S_co = TypeVar("S_co", bound=Hashable, covariant=True)

STATES_MAX: Final = 2_000_000
_REPORT_EVERY: Final = 20_000  # states between two calls of `progress`
_MEMBER: Final = re.compile(r"<(\w+\.\w+): [^<>]*>")
_ROOT: Final = -1  # the parent of an initial state

# A label (with a readable str), the state after, the ids of the rows that admitted the step.
Action: TypeAlias = tuple[Hashable, S, tuple[str, ...]]
Progress = Callable[[int], None]


@attrs.frozen(kw_only=True)
class Finding:
    """Something wrong with a state that needs more than its predicate to explain."""

    id: str
    claim: str
    detail: str
    harm: str = ""


def readable(value: object) -> str:
    """Return the repr of a value with its enum members written as in source: `Last.OPEN`."""
    return _MEMBER.sub(r"\1", repr(value))


def _nothing(_state: object) -> Iterable[Finding]:
    return ()


@attrs.frozen(kw_only=True, eq=False)
class Model(Generic[S_co]):
    """A finite transition system: where it starts, and everything that may happen in a state.

    States are hashable values (frozen attrs classes or NamedTuples; the latter are faster).

    Attributes:
        actions: Yields every action of a state, in an order that is always the same.
        canonical: Maps a state to the representative of its symmetry class. A step invariant still
            sees the state that the action named; traces show representatives.
        audit: Findings about a state beside the invariants; each id is reported once.
        may_rest: When given, a state without actions for which it is false is a deadlock.
    """

    name: str
    initial: Callable[[], Iterable[S_co]]
    actions: Callable[[S_co], Iterable[Action[S_co]]]
    invariants: tuple[Invariant, ...]
    canonical: Callable[[S_co], S_co] | None = None
    audit: Callable[[S_co], Iterable[Finding]] = _nothing
    may_rest: Callable[[S_co], bool] | None = None
    show: Callable[[S_co], str] = readable


@attrs.frozen(kw_only=True)
class TraceStep:
    """One line of a counterexample: what happened, by which rows, and the state it led to."""

    label: str
    rows: tuple[str, ...]
    state: str


@attrs.frozen(kw_only=True)
class Violation:
    """A promise that does not hold, and the shortest history that shows it.

    Attributes:
        trace: Begins with an initial state; empty when no single history shows it.
    """

    id: str
    claim: str
    detail: str = ""
    harm: str = ""
    trace: tuple[TraceStep, ...] = ()

    @property
    def trace_length(self) -> int:
        """Return the number of actions in the trace."""
        return max(len(self.trace) - 1, 0)

    def lines(self) -> tuple[str, ...]:
        """Return the violation as text, one line per action."""
        head = [f"{self.id} is broken: {self.claim}"]
        if self.harm:
            head.append(f"  harm: {self.harm}")
        if self.detail:
            head.append(f"  seen: {self.detail}")
        for number, step in enumerate(self.trace):
            rows = f" [{', '.join(step.rows)}]" if step.rows else ""
            head += [f"  {number:>3}  {step.label}{rows}", f"       -> {step.state}"]
        return tuple(head)


@attrs.frozen(kw_only=True)
class Explored:
    """What an exploration saw.

    Attributes:
        depth: Actions on the longest of the shortest histories.
        complete: False when it ended early, at the bound or at the first violation.
    """

    states: int
    edges: int
    depth: int
    rows_taken: frozenset[str]
    violations: tuple[Violation, ...]
    complete: bool


def explore(
    model: Model[S],
    *,
    states_max: int = STATES_MAX,
    first_only: bool = False,
    until: str = "",
    progress: Progress | None = None,
) -> Explored:
    """Visit every reachable state once and check every invariant there (PROOF-1).

    Args:
        model: What to explore.
        states_max: More states than this end the search with a violation `bound`.
        first_only: Stop at the first violation; else the first one of each invariant is kept.
        until: Stop when the invariant with this id is broken.
        progress: Called now and then with the number of states found.
    """
    with _without_collector():
        search = _Search(model=model, states_max=states_max, first_only=first_only, until=until)
        return search.run(progress)


def _same(state: S) -> S:
    return state


@contextmanager
def _without_collector() -> Generator[None]:
    """Pause the cycle collector: millions of states without a cycle would be scanned in vain."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


@attrs.define(eq=False, kw_only=True)
class _Search(Generic[S]):
    """One exploration; states are numbered in the order in which they are found.

    A history is kept as two numbers per state (parent, index of its cause), and the graph as the
    targets of each state one after another, because a million states must fit in memory.
    """

    model: Model[S]
    states_max: int
    first_only: bool
    until: str
    numbers: dict[S, int] = attrs.field(init=False, factory=dict[S, int])
    parents: "array[int]" = attrs.field(init=False, factory=lambda: array("i"))
    causes: "array[int]" = attrs.field(init=False, factory=lambda: array("i"))
    cause_numbers: dict[tuple[Hashable, tuple[str, ...]], int] = attrs.field(
        init=False, factory=dict[tuple[Hashable, tuple[str, ...]], int]
    )
    offsets: "array[int]" = attrs.field(init=False, factory=lambda: array("q", [0]))
    targets: "array[int]" = attrs.field(init=False, factory=lambda: array("i"))
    violations: dict[str, Violation] = attrs.field(init=False, factory=dict[str, Violation])
    unmet: dict[str, Invariant] = attrs.field(init=False)
    watched: tuple[Invariant, ...] = attrs.field(init=False)
    steps: tuple[Invariant, ...] = attrs.field(init=False)
    goals: tuple[tuple[Invariant, bytearray], ...] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Sort the invariants by the moment at which they are looked at."""
        self.unmet = {inv.id: inv for inv in self._of(Kind.SOMETIMES)}
        self.watched = self._of(Kind.ALWAYS)
        self.steps = self._of(Kind.STEP)
        self.goals = tuple((inv, bytearray()) for inv in self._of(Kind.ATTAINABLE))

    def _of(self, kind: Kind) -> tuple[Invariant, ...]:
        return tuple(inv for inv in self.model.invariants if inv.kind is kind)

    def run(self, progress: Progress | None) -> Explored:
        canonical = self.model.canonical or _same
        frontier: list[S] = []
        for raw in self.model.initial():
            state = canonical(raw)
            if state not in self.numbers:
                self._found(state, _ROOT, "start", ())
                frontier.append(state)
        edges, depth, source = 0, 0, 0
        row_sets: set[tuple[str, ...]] = set()
        while frontier and not self._done():
            following: list[S] = []
            for state in frontier:
                edges += self._expand(state, source, row_sets, following)
                source += 1
                if self._done():
                    break
                if progress is not None and source % _REPORT_EVERY == 0:
                    progress(len(self.numbers))
            depth += bool(following)
            frontier = following
        complete = not self._done()
        if complete:
            self._check_whole()
        return Explored(
            states=len(self.numbers),
            edges=edges,
            depth=depth,
            rows_taken=frozenset(row for rows in row_sets for row in rows),
            violations=tuple(self.violations.values()),
            complete=complete,
        )

    def _done(self) -> bool:
        if len(self.numbers) > self.states_max:
            self._broken("bound", f"at most {self.states_max} states are reachable", None)
            return True
        return (self.first_only and bool(self.violations)) or self.until in self.violations

    def _expand(
        self,
        state: S,
        source: int,
        row_sets: set[tuple[str, ...]],
        following: list[S],
    ) -> int:
        """Take every action of one state; return how many there are."""
        canonical, numbers, keep = self.model.canonical, self.numbers, bool(self.goals)
        steps = self.steps
        count = 0
        for label, raw, rows in self.model.actions(state):
            count += 1
            after = raw if canonical is None else canonical(raw)
            number = numbers.get(after)
            if number is None:
                number = len(numbers)
                self._found(after, source, label, rows)
                following.append(after)
            if keep:
                self.targets.append(number)
            if rows not in row_sets:
                row_sets.add(rows)
            moment = Step(state, label, rows, raw)
            for invariant in steps:
                if not invariant.holds(moment) and invariant.id not in self.violations:
                    last = TraceStep(label=str(label), rows=rows, state=self.model.show(raw))
                    self._against(invariant, "", source, last)
        self.offsets.append(len(self.targets))
        for finding in self.model.audit(state):
            self._broken(
                finding.id, finding.claim, source, detail=finding.detail, harm=finding.harm
            )
        may_rest = self.model.may_rest
        if not count and may_rest is not None and not may_rest(state):
            self._broken("deadlock", "something may happen in every state but the last", source)
        return count

    def _found(self, state: S, parent: int, label: Hashable, rows: tuple[str, ...]) -> None:
        number = len(self.numbers)
        self.numbers[state] = number
        self.parents.append(parent)
        self.causes.append(self.cause_numbers.setdefault((label, rows), len(self.cause_numbers)))
        for invariant in self.watched:
            if not invariant.holds(state):
                self._against(invariant, "", number, None)
                self.watched = tuple(inv for inv in self.watched if inv.id != invariant.id)
        if self.unmet:
            for invariant in tuple(self.unmet.values()):
                if invariant.holds(state):
                    del self.unmet[invariant.id]
        for invariant, marks in self.goals:
            marks.append(invariant.holds(state))

    def _check_whole(self) -> None:
        """Judge what only the whole graph can tell: never reached, no longer attainable."""
        for invariant in self.unmet.values():
            self._against(invariant, "no reachable state is like this", None, None)
        if not self.goals:
            return
        firsts, sources = _reverse(len(self.numbers), self.offsets, self.targets)
        for invariant, marks in self.goals:
            lost = _first_lost(marks, firsts, sources)
            if lost is not None:
                self._against(invariant, "unattainable from the last state below", lost, None)

    def _against(
        self, invariant: Invariant, detail: str, number: int | None, last: TraceStep | None
    ) -> None:
        self._broken(
            invariant.id, invariant.claim, number, detail=detail, harm=invariant.harm, last=last
        )

    def _broken(
        self,
        what: str,
        claim: str,
        number: int | None,
        *,
        detail: str = "",
        harm: str = "",
        last: TraceStep | None = None,
    ) -> None:
        if what in self.violations:  # Found breadth first: the earlier trace is the shorter one.
            return
        trace = () if number is None else self._trace(number)
        self.violations[what] = Violation(
            id=what,
            claim=claim,
            detail=detail,
            harm=harm,
            trace=(*trace, last) if last is not None else trace,
        )

    def _trace(self, number: int) -> tuple[TraceStep, ...]:
        states, causes = list(self.numbers), list(self.cause_numbers)
        steps: list[TraceStep] = []
        while number != _ROOT:
            label, rows = causes[self.causes[number]]
            shown = self.model.show(states[number])
            steps.append(TraceStep(label=str(label), rows=rows, state=shown))
            number = self.parents[number]
        return tuple(reversed(steps))


def _reverse(
    count: int, offsets: "Sequence[int]", targets: "Sequence[int]"
) -> tuple["array[int]", "array[int]"]:
    """Turn the graph round: where the predecessors of each state begin, and the predecessors."""
    firsts = array("q", bytes(8 * (count + 1)))
    for target in targets:
        firsts[target + 1] += 1
    for number in range(count):
        firsts[number + 1] += firsts[number]
    places = array("q", firsts)
    sources = array("i", bytes(4 * len(targets)))
    for source in range(count):
        for at in range(offsets[source], offsets[source + 1]):
            target = targets[at]
            sources[places[target]] = source
            places[target] += 1
    return firsts, sources


def _first_lost(marks: bytearray, firsts: Sequence[int], sources: Sequence[int]) -> int | None:
    """Return the first state from which no marked one can be reached."""
    able = bytearray(marks)
    waiting = array("i", (number for number, mark in enumerate(marks) if mark))
    while waiting:
        number = waiting.pop()
        for at in range(firsts[number], firsts[number + 1]):
            source = sources[at]
            if not able[source]:
                able[source] = 1
                waiting.append(source)
    lost = able.find(0)
    return None if lost == _ROOT else lost
