"""Quarantine: damage is one session's, by a durable record that keeps the head it saw (STORE-8)."""

import attrs

from .ledger import Ledger
from .orders import Order
from .records import Owner, Quarantine


@attrs.frozen(kw_only=True)
class QuarantineSession(Order[bool]):
    """Refuse a session's tools from now on, because facts of it are damaged.

    Attributes:
        cause: The code of the damage.
        first_bad: Ordinal of the first bad row.
        invocation: The ledger that holds it.
    """

    session: str
    cause: str
    first_bad: int
    invocation: str

    def write(self, ledger: Ledger, owner: Owner) -> bool:
        """Write the record, and say whether it is new: the first damage found stands."""
        del owner  # Damage is no one's; the transaction has asserted who writes.
        if ledger.quarantine(self.session) is not None:
            return False
        head = ledger.head(self.invocation)
        ledger.add_quarantine(
            Quarantine(
                session=self.session,
                code=self.cause,
                first_bad=self.first_bad,
                head_seq=0 if head is None else head.seq,
                head_chain="" if head is None else head.chain,
                ordinal=ledger.last().ordinal,
            )
        )
        return True
