"""Where the log of a workspace lies, and how to name it again on a command line (OWN-6)."""

import hashlib
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from ...store.platform import make_directories

_NAME_CHARS_MAX: Final = 32
_DIGEST_CHARS: Final = 16
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9._-]+")


@attrs.define(eq=False, kw_only=True)
class RootUnusableError(CrashworthyError):
    """A log can neither be there nor be made there; nothing was made."""

    code: ClassVar[Code] = Code.ROOT_UNUSABLE
    path: str
    reason: str


@attrs.frozen(kw_only=True)
class Place:
    """A state root, the directory it serves, and the options that name both.

    Attributes:
        workspace: None where only the root was named: then the facts of a session say it.
        given: The options that another command needs to find the same root from here.
    """

    root: Path
    workspace: Path | None
    given: tuple[str, ...] = ()

    def command(self, *words: str) -> str:
        """Return a command line that a person can paste."""
        return shlex.join((*program(), *words, *self.given))


def program() -> tuple[str, ...]:
    """Return the words that start this program again from the same shell."""
    if shutil.which("crashworthy") is not None:
        return ("crashworthy",)
    started = sys.argv[0]
    if Path(started).name == "crashworthy":
        return (started,)
    return (sys.executable, "-m", "crashworthy")


def find_place(root: Path | None, workspace: Path | None) -> Place:
    """Return the place that options name; without options that of the working directory."""
    if root is not None:
        # The facts of a session say where its workspace is; the root alone finds it again.
        return Place(root=root, workspace=workspace, given=("--root", str(root)))
    served = Path.cwd() if workspace is None else workspace
    state = state_directory(os.environ, sys.platform)
    given = () if workspace is None else ("--workspace", str(workspace))
    return Place(root=state / root_name(served), workspace=served, given=given)


def state_directory(environ: Mapping[str, str], platform: str) -> Path:
    """Return the directory below which this user's roots lie, by the platform's convention."""
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "crashworthy"
    told = environ.get("XDG_STATE_HOME", "")
    # The convention itself says that a relative path is to be ignored.
    base = Path(told) if told.startswith("/") else Path.home() / ".local" / "state"
    return base / "crashworthy"


def root_name(workspace: Path) -> str:
    """Return the name of a workspace's root: readable, and one for each canonical path.

    The path and not the marker's identity, because a copied directory has the same marker and must
    not write into the log of its original.
    """
    path = str(workspace.resolve())
    digest = hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
    name = _UNNAMED.sub("-", Path(path).name).strip("-.")[:_NAME_CHARS_MAX] or "workspace"
    return f"{name}-{digest[:_DIGEST_CHARS]}"


def prepare(place: Place) -> None:
    """Make the directories above a default root; the root itself is made by its owner.

    Their names are durable with that, or a power loss would take them, and all logs with them.

    Raises:
        RootUnusableError: `root_unusable`.
    """
    check_kind(place)
    parent = place.root.parent
    if "--root" not in place.given:
        make_directories(parent)
    elif not parent.is_dir():
        raise RootUnusableError(path=str(place.root), reason=f"there is no directory {parent}")


def check_kind(place: Place) -> None:
    """Refuse a root that is something else than a directory.

    Raises:
        RootUnusableError: `root_unusable`.
    """
    if place.root.exists() and not place.root.is_dir():
        raise RootUnusableError(path=str(place.root), reason="it is no directory")
