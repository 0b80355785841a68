"""Learn every boundary of a workload by running it undisturbed (CRASH-1)."""

from collections.abc import Iterable

import attrs

from .boundary import Passage, Point
from .kill import Outcome, Violation
from .promises import REPEATS, SEES_ALL
from .steps import Step


@attrs.frozen(kw_only=True)
class Rehearsal:
    """What two undisturbed runs showed.

    Attributes:
        passages: All boundaries of the script, in order.
        recovery: The boundaries of a recovery after an undisturbed run.
        violations: What did not hold although nobody died.
    """

    passages: tuple[Passage, ...]
    recovery: tuple[Passage, ...]
    violations: tuple[Violation, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """Return every place where the script's process can die, in order."""
        return tuple(p for passage in self.passages for p in passage.boundary.points)


def compare_rehearsals(first: Outcome, second: Outcome) -> Rehearsal:
    """Return the rehearsal that two runs agree on, with a violation where they do not."""
    violations = list(first.violations)
    violations.extend(v for v in second.violations if v not in first.violations)
    for name, one, two in (
        ("script", first.script, second.script),
        ("recovery", first.recovery, second.recovery),
    ):
        moved = _first_difference(one, two)
        if moved:
            step = Step.SCRIPT if name == "script" else Step.RECOVER
            detail = f"two rehearsals of the {name} differ: {moved}"
            violations.append(Violation(promise=REPEATS.id, step=step, detail=detail))
    if not first.script:
        # A matrix without a death would look clean.
        nothing = "the script passed no boundary"
        violations.append(Violation(promise=SEES_ALL.id, step=Step.SCRIPT, detail=nothing))
    return Rehearsal(passages=first.script, recovery=first.recovery, violations=tuple(violations))


def _first_difference(one: Iterable[Passage], two: Iterable[Passage]) -> str:
    first, second = [p.boundary.key for p in one], [p.boundary.key for p in two]
    if first == second:
        return ""
    for here, there in zip(first, second, strict=False):
        if here != there:
            return f"{here!r} is {there!r} in the other"
    return f"{len(first)} boundaries are {len(second)} in the other"
