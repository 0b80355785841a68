"""States by their bytes: what was read or written once is not decoded again (STORE-4).

A cell is a pure function of its bytes, so nothing here can be stale: a rolled back unit leaves at
most an entry that nobody asks for.
"""

from typing import Final

import attrs

from ...machines.facts import canonical
from ...machines.lifecycles.cells import Cell, Machine, cell_from_json, cell_to_json

KNOWN_MAX: Final = 4096
"""How many states are remembered; then it starts over."""


@attrs.define(eq=False)
class KnownCells:
    """The states that a store met lately."""

    _cells: dict[tuple[Machine, bytes], Cell] = attrs.field(
        factory=dict[tuple[Machine, bytes], Cell], init=False
    )

    def cell_of(self, machine: Machine, data: bytes) -> Cell:
        """Return the state of these bytes.

        Raises:
            CrashworthyError: `cell_malformed`, or not canonical JSON.
        """
        known = self._cells.get((machine, data))
        if known is None:
            known = cell_from_json(machine, canonical.decode(data))
            self._keep(machine, data, known)
        return known

    def bytes_of(self, machine: Machine, cell: Cell) -> bytes:
        """Return the bytes of a state, and remember them: it is read next."""
        data = canonical.encode_trusted(cell_to_json(cell))
        self._keep(machine, data, cell)
        return data

    def _keep(self, machine: Machine, data: bytes, cell: Cell) -> None:
        if len(self._cells) >= KNOWN_MAX:
            self._cells.clear()
        self._cells[machine, data] = cell
