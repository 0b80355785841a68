"""File effects that recovery can recognise: planned, written by rename, observed (OP-6).

One transform computes the new content, once for the plan whose evidence becomes part of the
dispatch fact, and once more in the execution, which refuses if it arrives anywhere else. The old
content is only ever compared, never written back.
"""

import contextlib
import errno
import os
import re
import stat
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Protocol

import attrs

from ....machines.facts.canonical import Json
from ....machines.facts.digests import Domain, digest
from ....machines.facts.model import FileEvidence, FileIdentity
from ....machines.facts.vocabulary import FileKind, Observation
from ....machines.recovery.files import FILE_OBSERVATION, FileSight, Look, compare
from ....store.platform import full_sync
from ....store.probe import Probe, no_probe
from ..boundary import Access
from ..errors import (
    FileTooLargeError,
    FileUnreadableError,
    OutcomeUncertainError,
    OwnerNotKeptError,
    ParentMissingError,
    TargetChangedError,
    TargetHardLinkedError,
    TargetNotRegularError,
    TargetSymlinkError,
    ToolRefusedError,
    TransformUnstableError,
    errno_name,
)
from ..paths import Workspace, permitted_path
from .directory import Seen, opened_parent, read_at

TEMP_PREFIX: Final = ".crashworthy-"
_TEMP_NAME: Final = TEMP_PREFIX + "{operation}.tmp"
_OPERATION: Final = re.compile(r"[A-Za-z0-9_.-]{1,200}")


class Parents(StrEnum):
    """What happens when the directory of a new file does not exist."""

    MAKE = "make"
    REFUSE = "refuse"


@attrs.frozen(kw_only=True)
class FilePolicy:
    """The stated limits of file effects.

    Attributes:
        size_bytes_max: The largest file that is read or written; also how far recovery looks.
        parents: Whether missing directories are made. They stay if the write then fails.
        new_mode: Permission bits of a file that did not exist; the umask is not asked, so that the
            plan can state the mode before the file exists.
    """

    size_bytes_max: int = 8 * 1024 * 1024
    parents: Parents = Parents.MAKE
    new_mode: int = 0o644


DEFAULT_POLICY: Final = FilePolicy()


@attrs.frozen(kw_only=True)
class Change:
    """What a transform makes of a file: its new content, and the result the model is told."""

    content: bytes
    result: Json


class Transform(Protocol):
    """A pure function from the old content (None: no file) and the arguments to the change."""

    def __call__(self, before: bytes | None, args: Mapping[str, Json]) -> Change:
        """Return the change, or raise a ToolRefusedError; the same input gives the same change."""
        ...


@attrs.frozen(kw_only=True)
class FileEffect:
    """How a tool changes one file.

    Attributes:
        target: The name of the argument that holds the path.
        transform: The one computation of plan and execution.
        version: Raised whenever the transform may give another content for the same input.
        policy: Limits.
    """

    target: str
    transform: Transform = attrs.field(eq=False)
    version: int
    policy: FilePolicy = DEFAULT_POLICY


@attrs.frozen(kw_only=True)
class Plan:
    """The evidence for T1 and the two images it names by digest, to be kept as blobs before T1."""

    evidence: FileEvidence
    before: bytes | None
    after: bytes


@attrs.frozen(kw_only=True)
class Observed:
    """What recovery saw, as a closed word and in words for a person."""

    observation: Observation
    seen: str


def plan(effect: FileEffect, args: Mapping[str, Json], workspace: Workspace) -> Plan:
    """Return what executing would do, without doing any of it.

    Raises:
        ToolRefusedError: The call cannot be done as it stands; nothing was started (OP-2).
    """
    path = _target(effect, args, workspace)
    content, status = _current(path, effect.policy)
    change = _changed(effect, path, content, args)
    mode = effect.policy.new_mode if status is None else stat.S_IMODE(status.st_mode)
    return Plan(
        evidence=FileEvidence(
            workspace=workspace.identity,
            target=path,
            before=_identity(content, mode),
            after=_identity(change.content, mode),
            transform=effect.version,
            result=change.result,
            limit_bytes=effect.policy.size_bytes_max,
        ),
        before=content,
        after=change.content,
    )


def execute(
    effect: FileEffect,
    args: Mapping[str, Json],
    workspace: Workspace,
    evidence: FileEvidence,
    operation: str,
    probe: Probe = no_probe,
) -> Json:
    """Write what was planned and return the planned result.

    The new content is written beside the target under a name that carries `operation`, made
    durable, renamed over the target, and the directory is made durable.

    Raises:
        TargetChangedError: `target_changed`, file or workspace are not what the plan saw.
        TransformUnstableError: `transform_unstable`, another content than planned came out.
        OutcomeUncertainError: `outcome_uncertain`, written, but not known to be durable.
        FileUnreadableError: `file_unreadable`, the system refused; the target is as it was.
        ToolRefusedError: As `plan`.
    """
    path = _target(effect, args, workspace)
    if path != evidence.target or workspace.identity != evidence.workspace:
        raise TargetChangedError(path=path)
    with opened_parent(path, make=effect.policy.parents is Parents.MAKE) as (directory, name):
        seen = read_at(directory, name, path, evidence.limit_bytes)
        content, status = _checked(seen, path, evidence.limit_bytes)
        mode = effect.policy.new_mode if status is None else stat.S_IMODE(status.st_mode)
        if _identity(content, mode) != evidence.before:
            raise TargetChangedError(path=path)
        change = _changed(effect, path, content, args)
        if (_identity(change.content, mode), change.result) != (evidence.after, evidence.result):
            raise TransformUnstableError(path=path)
        temp = temp_name(operation)
        probe("file.begun")
        try:
            _write_temp(directory, temp, change.content, mode, status, path, probe)
            os.rename(temp, name, src_dir_fd=directory, dst_dir_fd=directory)
        except OSError as error:
            _remove(directory, temp)
            raise FileUnreadableError(path=path, errno=errno_name(error)) from error
        except ToolRefusedError:
            _remove(directory, temp)
            raise
        probe("file.renamed")
        try:
            full_sync(directory)
        except OSError as error:
            raise OutcomeUncertainError(reason="the directory could not be synced") from error
        probe("file.durable")
    return change.result


def observe(evidence: FileEvidence, workspace_identity: str) -> Observed:
    """Return what stands at the target now, compared with the evidence; changes nothing (OP-6)."""
    if workspace_identity != evidence.workspace:
        return _judged(_ELSEWHERE, "another workspace")
    try:
        with opened_parent(evidence.target, make=False) as (directory, name):
            seen = read_at(directory, name, evidence.target, evidence.limit_bytes)
    except ParentMissingError:
        seen = None
    except (TargetSymlinkError, TargetNotRegularError):
        return _judged(_NEITHER, "no directory on the way")
    except ToolRefusedError as error:
        return _judged(_UNREAD, str(error))
    return _compared(evidence, seen)


def leftovers(target: str, operation: str) -> bool:
    """Remove the temporary file that `operation` left beside `target`; return whether it was there.

    Raises:
        FileUnreadableError: `file_unreadable`, the system refused.
    """
    try:
        with opened_parent(target, make=False) as (directory, _):
            return _removed(directory, temp_name(operation))
    except (ParentMissingError, TargetSymlinkError, TargetNotRegularError):
        return False
    except OSError as error:
        raise FileUnreadableError(path=target, errno=errno_name(error)) from error


def temp_name(operation: str) -> str:
    """Return the name of the one temporary file that `operation` may make."""
    assert _OPERATION.fullmatch(operation), operation
    return _TEMP_NAME.format(operation=operation)


def _target(effect: FileEffect, args: Mapping[str, Json], workspace: Workspace) -> str:
    path = args[effect.target]
    assert isinstance(path, str)  # The schema said so before anybody planned.
    return permitted_path(workspace, path, Access.WRITE)


def _current(path: str, policy: FilePolicy) -> tuple[bytes | None, os.stat_result | None]:
    try:
        with opened_parent(path, make=False) as (directory, name):
            return _checked(
                read_at(directory, name, path, policy.size_bytes_max), path, policy.size_bytes_max
            )
    except ParentMissingError:
        if policy.parents is Parents.REFUSE:
            raise
        return None, None


def _checked(
    seen: Seen | None, path: str, limit_bytes: int
) -> tuple[bytes | None, os.stat_result | None]:
    """Return content and status of what a write may replace.

    Raises:
        TargetSymlinkError: `target_symlink`.
        TargetNotRegularError: `target_not_regular`.
        TargetHardLinkedError: `target_hard_linked`.
        FileTooLargeError: `file_too_large`.
    """
    if seen is None:
        return None, None
    mode = seen.status.st_mode
    if stat.S_ISLNK(mode):
        raise TargetSymlinkError(path=path)
    if not stat.S_ISREG(mode):
        raise TargetNotRegularError(path=path, kind=_kind(mode))
    if seen.status.st_nlink > 1:
        raise TargetHardLinkedError(path=path, links=seen.status.st_nlink)
    if seen.content is None:
        raise FileTooLargeError(
            path=path, size_bytes=seen.status.st_size, size_bytes_max=limit_bytes
        )
    return seen.content, seen.status


def _changed(
    effect: FileEffect, path: str, content: bytes | None, args: Mapping[str, Json]
) -> Change:
    change = effect.transform(content, args)
    if len(change.content) > effect.policy.size_bytes_max:
        raise FileTooLargeError(
            path=path, size_bytes=len(change.content), size_bytes_max=effect.policy.size_bytes_max
        )
    return change


def _identity(content: bytes | None, mode: int) -> FileIdentity:
    if content is None:
        return FileIdentity(kind=FileKind.ABSENT)
    # The digest of a blob, so that the evidence names its images in the blob store by itself.
    return FileIdentity(
        kind=FileKind.FILE, digest=digest(Domain.BLOB, content), bytes=len(content), mode=mode
    )


def _write_temp(
    directory: int,
    temp: str,
    content: bytes,
    mode: int,
    replaced: os.stat_result | None,
    path: str,
    probe: Probe,
) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(temp, flags, 0o600, dir_fd=directory)
    try:
        probe("file.temp_made")
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(fd, rest) :]
        probe("file.temp_written")
        if replaced is not None:
            _keep_owner(fd, replaced, path)
        os.fchmod(fd, mode)  # After the owner: changing the owner clears bits.
        full_sync(fd)
    finally:
        os.close(fd)
    probe("file.temp_durable")


def _keep_owner(fd: int, replaced: os.stat_result, path: str) -> None:
    made = os.fstat(fd)
    if (made.st_uid, made.st_gid) == (replaced.st_uid, replaced.st_gid):
        return
    try:
        os.fchown(fd, replaced.st_uid, replaced.st_gid)
    except OSError as error:
        if error.errno != errno.EPERM:
            raise
        raise OwnerNotKeptError(path=path) from error


def _remove(directory: int, temp: str) -> None:
    # Recovery removes it by its name if we cannot; the first error is the one to tell.
    with contextlib.suppress(OSError):
        os.unlink(temp, dir_fd=directory)


def _removed(directory: int, temp: str) -> bool:
    try:
        status = os.stat(temp, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        return False  # Not what we made: we made a regular file.
    os.unlink(temp, dir_fd=directory)
    full_sync(directory)
    return True


def _compared(evidence: FileEvidence, seen: Seen | None) -> Observed:
    if seen is None:
        found, words = FileIdentity(kind=FileKind.ABSENT), "absent"
    elif not stat.S_ISREG(seen.status.st_mode):
        return _judged(_NEITHER, _kind(seen.status.st_mode))
    elif seen.content is None:
        # Both images are within the limit, so a larger file is neither of them.
        return _judged(_NEITHER, f"a file of {seen.status.st_size} bytes")
    else:
        found = _identity(seen.content, stat.S_IMODE(seen.status.st_mode))
        words = f"a file of {found.bytes} bytes, mode {found.mode:o}, digest {found.digest}"
    return _judged(compare(evidence, found, Look.READ), words)


def _judged(sight: FileSight, words: str) -> Observed:
    return Observed(observation=FILE_OBSERVATION.answer(sight), seen=words)


_NEITHER: Final = FileSight(look=Look.READ, is_after=False, is_before=False)
_ELSEWHERE: Final = FileSight(look=Look.OTHER_WORKSPACE, is_after=False, is_before=False)
_UNREAD: Final = FileSight(look=Look.UNREADABLE, is_after=False, is_before=False)


def _kind(mode: int) -> str:
    """Return the word for what is not a regular file."""
    words = {
        stat.S_IFDIR: "directory",
        stat.S_IFLNK: "symbolic link",
        stat.S_IFIFO: "pipe",
        stat.S_IFSOCK: "socket",
        stat.S_IFCHR: "device",
        stat.S_IFBLK: "device",
    }
    return words.get(stat.S_IFMT(mode), "other")
