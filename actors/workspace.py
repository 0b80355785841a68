"""A directory as a workspace: an identity that moves with it, and nothing else in it (WORK-1)."""

import os
import uuid
from pathlib import Path
from typing import ClassVar, Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..store.platform import full_sync, sync_directory

FOLDER: Final = ".crashworthy"
_MARKER: Final = "workspace"
_IGNORE: Final = "*\n"
_MARKER_BYTES_MAX: Final = 128


@attrs.define(eq=False, kw_only=True)
class WorkspaceUnusableError(CrashworthyError):
    """A directory cannot serve as a workspace; nothing was left in it."""

    code: ClassVar[Code] = Code.WORKSPACE_UNUSABLE
    path: str
    reason: str


@attrs.define(eq=False, kw_only=True)
class RootNotApartError(CrashworthyError):
    """The log and the files that an agent works on lie one inside the other: nothing was opened.

    Its tools could then change the log that says what they did.
    """

    code: ClassVar[Code] = Code.ROOT_NOT_APART
    root: str
    workspace: str


def keep_apart(root: Path, workspace: Path) -> None:
    """Refuse a state root inside of its workspace, and a workspace inside of its root.

    Directories are compared by what they are, not by how they are spelled; the root need not exist.

    Raises:
        RootNotApartError: `root_not_apart`.
    """
    log, files = root.resolve(), workspace.resolve()
    if _is_within(log, files) or _is_within(files, log):
        raise RootNotApartError(root=str(log), workspace=str(files))


def _is_within(path: Path, folder: Path) -> bool:
    """Say whether a canonical path is a directory, or lies below it, on any kind of file system."""
    try:
        there = folder.stat()
    except OSError:
        return path == folder or folder in path.parents
    for one in (path, *path.parents):
        try:
            here = one.stat()
        except OSError:
            continue
        if os.path.samestat(here, there):
            return True
    return False


def attach(path: Path) -> tuple[str, str]:
    """Return the canonical path and identity of a workspace, marking it the first time.

    The marker lies in a folder of its own that ignores itself, so that Git stays clean. Two
    processes that mark one directory at once agree: the first marker stays.

    Raises:
        WorkspaceUnusableError: `workspace_unusable`, no directory, or it cannot be written.
    """
    try:
        root = path.resolve(strict=True)
        known = _read(root)
        if known is None:
            _mark(root)
            known = _read(root)
    except OSError as error:
        raise WorkspaceUnusableError(
            path=str(path), reason=os.strerror(error.errno or 0)
        ) from error
    if known is None:
        raise WorkspaceUnusableError(path=str(path), reason="its marker cannot be read")
    return str(root), known


def identity_near(target: str) -> str:
    """Return the identity of the workspace that a path lies in; empty when it lies in none."""
    for folder in Path(target).parents:
        try:
            known = _read(folder)
        except OSError:
            continue
        if known is not None:
            return known
    return ""


def _read(root: Path) -> str | None:
    try:
        fd = os.open(
            root / FOLDER / _MARKER, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        text = os.read(fd, _MARKER_BYTES_MAX).decode("ascii", "replace").strip()
    finally:
        os.close(fd)
    return text or None


def _mark(root: Path) -> None:
    folder = root / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / ".gitignore").write_text(_IGNORE)
    aside = folder / f"{_MARKER}.{uuid.uuid4().hex}"
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, f"ws_{uuid.uuid4().hex}\n".encode())
        full_sync(fd)
    finally:
        os.close(fd)
    try:
        os.link(aside, folder / _MARKER)  # Atomic, and fails if another process was first.
    except FileExistsError:
        pass
    finally:
        aside.unlink()
    # Effects are told apart by this identity: it must not be another one after a power loss.
    sync_directory(folder)
    sync_directory(root)
