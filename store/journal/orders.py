"""Orders: what to write as a value, which any store carries out in one unit (STORE-13)."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Final, Generic, TypeVar

import attrs

from ...machines.facts.model import RuntimeEvent
from .append import Appended, append_unit
from .ledger import Ledger
from .records import Owner
from .shapes import NEEDS_CLEAN, Writer, refuse_misfit

T_co = TypeVar("T_co", covariant=True)

FACT_BYTES: Final = 1024
"""What a fact is taken to weigh in a batch."""


class Order(ABC, Generic[T_co]):
    """One unit of work. Carried out twice it writes once."""

    @property
    def needs_clean(self) -> bool:
        """Say whether it is a dispatch or a request, which probation refuses (STORE-9)."""
        return False

    @property
    def size_bytes(self) -> int:
        """Return roughly how much it writes, for the bound of a batch."""
        return FACT_BYTES

    @abstractmethod
    def write(self, ledger: Ledger, owner: Owner) -> T_co:
        """Write the unit; the store holds the savepoint and has asserted the owner.

        Raises:
            CrashworthyError: The unit was refused and nothing of it is kept.
        """


@attrs.frozen(kw_only=True)
class Append(Order[Appended]):
    """Append ready facts through the writer that owns their kinds."""

    writer: Writer
    facts: tuple[RuntimeEvent, ...]

    @property
    def needs_clean(self) -> bool:
        """Say whether something leaves this machine after it."""
        return self.writer in NEEDS_CLEAN

    @property
    def size_bytes(self) -> int:
        """Return a rough size; what matters is that it grows with the number of facts."""
        return FACT_BYTES * len(self.facts)

    def write(self, ledger: Ledger, owner: Owner) -> Appended:
        """Append the unit.

        Raises:
            UnitMisfitsWriterError: `unit_misfits_writer`, and the errors of `append_unit`.
        """
        return write_unit(ledger, owner, self.writer, self.facts)


def write_unit(
    ledger: Ledger, owner: Owner, writer: Writer, facts: Sequence[RuntimeEvent]
) -> Appended:
    """Append facts after checking that this writer writes such units (STORE-5).

    Raises:
        UnitMisfitsWriterError: `unit_misfits_writer`, and the errors of `append_unit`.
    """
    refuse_misfit(writer, facts)
    return append_unit(ledger, owner, facts)
