"""Where this host is in its life: the production table of `host`, driven for real (OWN-3)."""

import attrs

from ..machines.lifecycles import host
from ..machines.lifecycles.table import Refused
from .errors import HostRefusedError


@attrs.define(eq=False)
class HostLife:
    """The state of one host; every change is a row of the table.

    Attributes:
        rows: The rows taken so far, in order: the recorded trace of this host's life.
        left: The operations that may still act behind a shutdown that hung.
    """

    state: host.HostState = attrs.field(factory=host.Opening)
    rows: list[str] = attrs.field(factory=list[str])
    left: tuple[str, ...] = ()

    def move(self, seen: host.HostSeen) -> None:
        """Take one step.

        Raises:
            HostRefusedError: The table's refusal: `host_not_ready`, `host_draining`, `host_closed`.
        """
        stepped = host.TABLE.step(self.state, seen)
        if isinstance(stepped, Refused):
            raise HostRefusedError(code=stepped.code, state=stepped.phase)
        self.state, row = stepped
        self.rows.append(row)

    def admit(self) -> None:
        """Demand that work is admitted now.

        Raises:
            HostRefusedError: `host_not_ready`, `host_draining` or `host_closed`.
        """
        self.move(host.Admit())

    @property
    def over(self) -> bool:
        """Say whether nothing can happen any more."""
        return isinstance(self.state, host.Closed | host.Failed)
