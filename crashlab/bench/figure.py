"""A figure is a measured number with its target, and says itself whether it meets it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

import attrs


class Bound(StrEnum):
    """On which side of its target a figure has to be."""

    AT_MOST = "<="
    AT_LEAST = ">="


@attrs.frozen(kw_only=True)
class Target:
    """What a figure has to reach, and which target of DESIGN 15 that is."""

    bound: Bound
    value: float
    rule: str


@attrs.frozen(kw_only=True)
class Figure:
    """One measured number.

    Attributes:
        name: Stable; dots group figures.
        unit: What one of it is; `ratio` has none.
        target: What it has to reach, if that is stated.
        parts: What it was computed from, each with its unit in the name.
    """

    name: str
    value: float
    unit: str
    target: Target | None = None
    parts: Mapping[str, float] = attrs.field(factory=dict[str, float])

    @property
    def met(self) -> bool | None:
        """Say whether it meets its target; None where there is none."""
        if self.target is None:
            return None
        if self.target.bound is Bound.AT_MOST:
            return self.value <= self.target.value
        return self.value >= self.target.value


def at_most(value: float, rule: str) -> Target:
    """Return a target that a figure must not exceed."""
    return Target(bound=Bound.AT_MOST, value=value, rule=rule)


def at_least(value: float, rule: str) -> Target:
    """Return a target that a figure must reach."""
    return Target(bound=Bound.AT_LEAST, value=value, rule=rule)


def as_table(figures: Sequence[Figure]) -> str:
    """Return the figures for a terminal: each with its target and parts, misses marked."""
    width = max((len(figure.name) for figure in figures), default=0)
    lines: list[str] = []
    for figure in figures:
        goal = "" if figure.target is None else f"{figure.target.bound} {figure.target.value:g}"
        rule = "" if figure.target is None else figure.target.rule
        verdict = {None: "", True: "met", False: "MISSED"}[figure.met]
        lines.append(
            f"{figure.name:<{width}}  {_short(figure.value):>10} {figure.unit:<10}"
            f"{goal:>10}  {rule:<4}{verdict}"
        )
        lines.extend(f"{'':<{width}}  {_short(part):>10} {name}" for name, part in _told(figure))
    return "\n".join(lines) + "\n"


def as_json_value(figure: Figure) -> dict[str, object]:
    """Return a figure as a plain JSON value."""
    target = figure.target
    stated = None
    if target is not None:
        stated = {"bound": target.bound.value, "value": target.value, "rule": target.rule}
    return {
        "value": figure.value,
        "unit": figure.unit,
        "target": stated,
        "met": figure.met,
        "parts": dict(figure.parts),
    }


def _told(figure: Figure) -> list[tuple[str, float]]:
    return list(figure.parts.items())


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"  # noqa: PLR2004 - display
