"""The door through which a crash lab may stop production between two steps that are not SQL."""

from collections.abc import Callable

Probe = Callable[[str], None]
"""Called with the name of a step just passed (a rename, a sync, a lock); injected (CRASH-1)."""


def no_probe(_name: str) -> None:
    """Do nothing: production runs with this probe."""
