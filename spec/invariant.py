"""State each invariant once, with an id, a positive sentence and the harm if it were false."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import ClassVar, Generic, NamedTuple, TypeVar, cast

import attrs

from ..machines.facts.codes import Code, CrashworthyError

S = TypeVar("S")  # the state type of the space that a predicate reads

Predicate = Callable[[object], bool]


class Kind(StrEnum):
    """How the predicate of an invariant is to be read."""

    ALWAYS = "always"  # in every reachable state
    STEP = "step"  # of every step between reachable states
    SOMETIMES = "sometimes"  # in at least one reachable state
    ATTAINABLE = "attainable"  # from every reachable state a state like this can be reached (AG EF)


class Step(NamedTuple, Generic[S]):
    """One step as a step invariant sees it.

    Attributes:
        before: The state that was left.
        cause: The seen event (one machine) or the label of the action (a composed model).
        rows: The ids of the rows that admitted the step.
        after: The state that was entered.
    """

    before: S
    cause: object
    rows: tuple[str, ...]
    after: S


@attrs.frozen(kw_only=True)
class Invariant:
    """A promise about every history (MACH-6).

    Attributes:
        id: Append-only; quoted by tests, documents and the crash matrix.
        claim: One positive sentence.
        harm: What would happen to a user if the claim were false.
        holds: The predicate: over a state, or over a `Step` for `Kind.STEP`.
        crash_owed: Whether a crash check of the claim is still to be written.
        tests: Property tests that cover it, as `tests/store/test_x.py::test_y`.
    """

    id: str
    claim: str
    harm: str
    kind: Kind
    holds: Predicate = attrs.field(eq=False, repr=False)
    crash_owed: bool = True
    tests: tuple[str, ...] = ()

    def over(self, holds: Callable[[S], bool]) -> "Invariant":
        """Return the same promise, read in another space."""
        return attrs.evolve(self, holds=cast("Predicate", holds))


# The state type of a predicate is forgotten in the four functions below (and in `over`): a proof
# calls a predicate only with states of its own space, and registries hold promises about many.


def always(
    invariant_id: str,
    claim: str,
    harm: str,
    holds: Callable[[S], bool],
    *,
    crash_owed: bool = True,
) -> Invariant:
    """Promise `claim` about every reachable state."""
    return _invariant(invariant_id, claim, harm, Kind.ALWAYS, holds, crash_owed=crash_owed)


def each_step(
    invariant_id: str,
    claim: str,
    harm: str,
    holds: Callable[[Step[S]], bool],
    *,
    crash_owed: bool = True,
) -> Invariant:
    """Promise `claim` about every step between reachable states."""
    return _invariant(invariant_id, claim, harm, Kind.STEP, holds, crash_owed=crash_owed)


def sometimes(
    invariant_id: str,
    claim: str,
    harm: str,
    holds: Callable[[S], bool],
    *,
    crash_owed: bool = False,
) -> Invariant:
    """Promise that some reachable state is like this, so that other promises are not empty."""
    return _invariant(invariant_id, claim, harm, Kind.SOMETIMES, holds, crash_owed=crash_owed)


def attainable(
    invariant_id: str,
    claim: str,
    harm: str,
    holds: Callable[[S], bool],
    *,
    crash_owed: bool = True,
) -> Invariant:
    """Promise that from every reachable state a state like this can still be reached."""
    return _invariant(invariant_id, claim, harm, Kind.ATTAINABLE, holds, crash_owed=crash_owed)


def _invariant(
    invariant_id: str,
    claim: str,
    harm: str,
    kind: Kind,
    holds: Callable[[S], bool],
    *,
    crash_owed: bool,
) -> Invariant:
    return Invariant(
        id=invariant_id,
        claim=claim,
        harm=harm,
        kind=kind,
        holds=cast("Predicate", holds),
        crash_owed=crash_owed,
    )


@attrs.define(eq=False, kw_only=True)
class InvariantDisputedError(CrashworthyError):
    """One id is declared with two claims; keep one and give the other an id of its own."""

    code: ClassVar[Code] = Code.INVARIANT_DISPUTED
    invariant: str


@attrs.frozen(kw_only=True)
class Coverage:
    """What stands behind one invariant.

    Attributes:
        proofs: Who checked it: `machine:NAME`, `model:NAME`, `contract:ID`, `test:NODE`.
    """

    proofs: tuple[str, ...]
    crash_owed: bool


def coverage(
    declared: Sequence[Invariant], checked: Sequence[tuple[str, Sequence[Invariant]]]
) -> Mapping[str, Coverage]:
    """Return for each id the proofs that cover it, in the order of declaration.

    Args:
        declared: Every invariant that exists; one that only a proof names is added to them.
        checked: Pairs of the name of a proof and the invariants that it checks.

    Raises:
        InvariantDisputedError: `invariant_disputed`, when one id carries two claims (MACH-6).
    """
    words: dict[str, Invariant] = {}
    proofs: dict[str, list[str]] = {}
    for name, invariants in (("", declared), *checked):
        for invariant in invariants:
            # Not `==`: one promise may be read over two spaces and as two kinds of predicate.
            first = words.setdefault(invariant.id, invariant)
            if (first.claim, first.harm) != (invariant.claim, invariant.harm):
                raise InvariantDisputedError(invariant=invariant.id)
            covering = proofs.setdefault(invariant.id, [f"test:{node}" for node in invariant.tests])
            if name:
                covering.append(name)
    return {
        key: Coverage(proofs=tuple(covering), crash_owed=words[key].crash_owed)
        for key, covering in proofs.items()
    }
