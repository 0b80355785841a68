"""Why a state root, its lock or its workers are refused (OWN-1, OWN-2, OWN-5, OWN-7)."""

from typing import ClassVar

import attrs

from ...machines.facts.codes import Code, CrashworthyError


@attrs.define(eq=False, kw_only=True)
class RootOwnedError(CrashworthyError):
    """Another process owns the root, or may; a root has one owner at a time.

    Attributes:
        pid: The owner's process, if it said so.
        epoch: The owner's epoch, if it said so.
        since: When it became the owner, in its own clock's words, if it said so.
    """

    code: ClassVar[Code] = Code.ROOT_OWNED
    pid: int | None
    epoch: int | None
    since: str | None


@attrs.define(eq=False, kw_only=True)
class LockReplacedError(CrashworthyError):
    """A path of the root names another file than the one in use: somebody moved or swapped it."""

    code: ClassVar[Code] = Code.LOCK_REPLACED
    path: str


@attrs.define(eq=False, kw_only=True)
class RootPermissionsError(CrashworthyError):
    """Others may reach the root or a file in it, or it is not ours; `chmod` it (OWN-7)."""

    code: ClassVar[Code] = Code.ROOT_PERMISSIONS
    path: str
    found: str


@attrs.define(eq=False, kw_only=True)
class RootMarkerInvalidError(CrashworthyError):
    """The directory has no marker of ours."""

    code: ClassVar[Code] = Code.ROOT_MARKER_INVALID
    path: str
    reason: str


@attrs.define(eq=False, kw_only=True)
class RootCopiedError(CrashworthyError):
    """This directory is not the one that its marker was made in, so it may not be owned (OWN-5)."""

    code: ClassVar[Code] = Code.ROOT_COPIED
    root_id: str


@attrs.define(eq=False, kw_only=True)
class RootReplacedError(CrashworthyError):
    """The marker in this directory is another file than the one that was made here (OWN-5)."""

    code: ClassVar[Code] = Code.ROOT_REPLACED
    root_id: str
