"""Name what has to be proven, as values that a registry lists and the runner reads."""

from collections.abc import Callable, Hashable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TypeAlias

import attrs

from .explorer import Model
from .invariant import Invariant


class Profile(StrEnum):
    """How far a run goes: `ci` fits into minutes on two cores, `deep` does all of it and more."""

    CI = "ci"
    DEEP = "deep"


# Registries hold models of many state types; `explore` never looks into a state.
AnyModel: TypeAlias = Model[Hashable]


def _no_ranges() -> Mapping[str, range]:
    return MappingProxyType({})


@attrs.frozen(kw_only=True)
class MachineProof:
    """One machine, to be walked in full over a finite quotient (PROOF-1).

    Attributes:
        module: Full name of the module that has the `TABLE`; it is looked up there each time, so
            that a mutant can be put in its place.
        states: How many states are reachable within the ranges; a run that counts another number
            fails, and says what it counted.
        ints: The values of int fields, by `Class.field` or `field`. Those of events are enumerated;
            those of states bound the walk (a step beyond is cut, a step below is a fault).
        ints_default: The values of the int fields that `ints` does not name.
        mutant_ints: Smaller ranges for mutants, where `ints` makes the space large.
        contracts: Full names of the modules whose contracts are also evaluated concretely here.
    """

    name: str
    module: str
    states: int
    invariants: tuple[Invariant, ...]
    ints: Mapping[str, range] = attrs.field(factory=_no_ranges)
    ints_default: range = range(3)
    mutant_ints: Mapping[str, range] | None = None
    contracts: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class ModelProof:
    """One composed model at one scope (PROOF-1).

    Attributes:
        build: Makes the model anew. It must read tables through their modules when it is called or
            later (`run.TABLE`), never keep one from import time: mutants are put in place there.
        states: How many states are reachable; a run that counts another number fails.
        profile: The shortest profile that includes it.
        machines: The machines whose tables it drives, by name.
        kills_mutants: Whether mutants of those machines are also tried against it: only for the
            smallest scope, which must take well under a second.
    """

    name: str
    build: Callable[[], AnyModel]
    states: int
    profile: Profile = Profile.CI
    machines: tuple[str, ...] = ()
    kills_mutants: bool = False


@attrs.frozen(kw_only=True)
class Plant:
    """A bug put in on purpose: the model must find it, or it finds nothing (H: tests must fail).

    Attributes:
        bug: One sentence: what is wrong in this variant.
        invariant: The id of the invariant that must break.
    """

    name: str
    bug: str
    invariant: str
    build: Callable[[], AnyModel]


@attrs.frozen(kw_only=True)
class ContractModule:
    """A module of contracts, and how many it holds, so that none is lost in silence (PROOF-2)."""

    module: str
    conditions: int


@attrs.frozen(kw_only=True)
class Equivalent:
    """A mutant that behaves like the original, and why that is no gap (PROOF-4)."""

    id: str
    reason: str


@attrs.frozen(kw_only=True)
class SpeedProbe:
    """Something to be timed: `run` does it once and returns how many facts it worked through."""

    name: str
    run: Callable[[], int]


@attrs.frozen(kw_only=True)
class CrashCheck:
    """A promise of the crash lab that checks some invariants after each death.

    Attributes:
        promise: The promise's id, as the lab's findings quote it.
        prefixes: What the ids of those invariants start with, up to a dot; or one whole id.
        reason: Why the promise implies them, and what of them no death can show.
    """

    promise: str
    prefixes: tuple[str, ...]
    reason: str

    def covers(self, invariant: str) -> bool:
        """Say whether the promise checks the invariant of this id."""
        return any(f"{invariant}.".startswith(f"{prefix}.") for prefix in self.prefixes)


@attrs.frozen(kw_only=True)
class Obligations:
    """Everything that `crashworthy prove` has to show, in explicit tuples."""

    invariants: tuple[Invariant, ...] = ()
    machines: tuple[MachineProof, ...] = ()
    models: tuple[ModelProof, ...] = ()
    plants: tuple[Plant, ...] = ()
    contracts: tuple[ContractModule, ...] = ()
    equivalents: tuple[Equivalent, ...] = ()
    speeds: tuple[SpeedProbe, ...] = ()
    crash_checks: tuple[CrashCheck, ...] = ()
