"""What the runtime hands to a tool for one call: where it works, who it is, where output goes."""

from typing import Protocol

import attrs

from .errors import PathInvalidError
from .paths import Workspace


@attrs.frozen
class Failed:
    """What a tool returns to say that it ran and did not succeed, without raising."""

    value: object


class Outlet(Protocol):
    """Where a running tool's output and artifacts leave it; may block while the host is busy."""

    def write(self, data: bytes) -> None:
        """Pass on a piece of output."""
        ...

    def artifact(self, name: str, media_type: str, content: bytes) -> None:
        """Pass on one whole artifact."""
        ...


@attrs.frozen(kw_only=True)
class CallContext:
    """One call, as the tool that runs it sees it.

    Attributes:
        operation: The identity of this side effect (ID-2).
        key: What an idempotent remote side must be given; a retry carries the first one's.
        workspace: Directory, and the boundary revision of this call.
        outlet: Where output goes, piece by piece.
    """

    operation: str
    key: str | None
    workspace: Workspace
    outlet: Outlet = attrs.field(repr=False)

    def write(self, text: str) -> None:
        """Stream a piece of output: shown at once, recorded within the output rule (OP-7)."""
        self.outlet.write(text.encode("utf-8", "surrogateescape"))

    def artifact(self, name: str, media_type: str, content: bytes) -> None:
        """Add a file for a person to keep; the tool's artifact rule bounds number and size (OP-7).

        Raises:
            PathInvalidError: `path_invalid`, a name that is not one plain file name.
        """
        if not name or "/" in name or "\0" in name or name in {".", ".."}:
            raise PathInvalidError(reason="an artifact has one plain file name")
        self.outlet.artifact(name, media_type, content)
