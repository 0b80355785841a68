"""What a fact is judged beside: the cells around it, authority rows, and its own unit (MACH-5c)."""

from typing import Protocol

import attrs

from ...facts.model import RuntimeEvent, Spine
from ..cells import Cell, Machine, start_cell, table_of


class Surroundings(Protocol):
    """What a store knows as of one ordinal; every question is one point read (STORE-4)."""

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        """Return the cell of an instance, or None when nothing was written about it."""
        ...

    def open_run(self, session: str, /) -> str | None:
        """Return the session's open inline run, if there is one (RUN-5)."""
        ...

    def steering(self, session: str, /) -> int:
        """Count the queued messages that are meant for the session's open run (RUN-6)."""
        ...

    def reservation(self, spine: Spine, /) -> str | None:
        """Return the claim that reserves any id of this spine (CONT-3)."""
        ...

    def sealed(self, run: str, /) -> bool:
        """Say whether a claim rests on this run (CONT-3)."""
        ...

    def gone(self) -> int:
        """Return the highest owner epoch that is proven gone; 0 when none is (OWN-2)."""
        ...

    def released(self, run: str, /) -> bool:
        """Say whether an accepted loss or an adoption released the run from waiting."""
        ...

    def foreign(self, session: str, /) -> bool:
        """Say whether the session was imported and not adopted yet (STORE-12)."""
        ...


def _cells() -> dict[tuple[Machine, str], Cell]:
    return {}


def _names() -> set[str]:
    return set()


def _touches() -> list[tuple[tuple[Machine, str], ...]]:
    return []


@attrs.define(kw_only=True)
class Scene:
    """One unit in the making: what it moved so far, on top of its surroundings.

    Attributes:
        moved: The cells as this unit leaves them.
        restless: Those of them whose state may not outlive the unit.
        touched: Which instances each fact so far changed.
        taken: Messages taken in this unit whose text has not followed yet.
        opened: Runs opened in this unit.
        abandoned: Runs that a person gave up in this unit.
        ended: Runs that ended in this unit, with their sessions.
        unqueued: How much this unit changes the number of steering messages, by session.
    """

    around: Surroundings
    moved: dict[tuple[Machine, str], Cell] = attrs.field(factory=_cells)
    restless: dict[tuple[Machine, str], Cell] = attrs.field(factory=_cells)
    touched: list[tuple[tuple[Machine, str], ...]] = attrs.field(factory=_touches)
    taken: set[str] = attrs.field(factory=_names)
    opened: set[str] = attrs.field(factory=_names)
    abandoned: set[str] = attrs.field(factory=_names)
    ended: dict[str, str] = attrs.field(factory=dict[str, str])
    steering: dict[str, int] = attrs.field(factory=dict[str, int])

    def cell(self, machine: Machine, instance: str) -> Cell:
        """Return an instance as this unit has it now; a start cell when nothing was written."""
        known = self.moved.get((machine, instance))
        if known is None:
            known = self.around.cell(machine, instance)
        return start_cell(machine) if known is None else known

    def move(self, machine: Machine, instance: str, cell: Cell) -> None:
        """Leave an instance in this state."""
        key = (machine, instance)
        self.moved[key] = cell
        if type(cell.state) in table_of(machine).transient:
            self.restless[key] = cell
        elif self.restless:
            self.restless.pop(key, None)

    def released(self, run: str, /) -> bool:
        """Say whether a person released the run, in this unit or before."""
        return run in self.abandoned or self.around.released(run)


@attrs.define(kw_only=True, eq=False)  # not frozen: one is made for every fact
class Sight:
    """One fact on its way through the machines: the body, its epoch, the scene."""

    event: RuntimeEvent
    epoch: int
    scene: Scene
