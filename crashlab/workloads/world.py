"""The world outside the store: a line for each request that left and each effect that happened."""

from enum import StrEnum
from pathlib import Path


class Deed(StrEnum):
    """What touches the world."""

    REQUEST = "request"
    EFFECT = "effect"


def note(root: Path, deed: Deed, name: str) -> None:
    """Let it happen: nothing that comes later can undo it."""
    with _path(root, deed).open("a", encoding="ascii") as world:
        world.write(f"{name}\n")


def happened(root: Path, deed: Deed) -> tuple[str, ...]:
    """Return the names of everything that happened, in order."""
    path = _path(root, deed)
    return tuple(path.read_text("ascii").splitlines()) if path.exists() else ()


def _path(root: Path, deed: Deed) -> Path:
    return root.parent / f"world.{deed}"
