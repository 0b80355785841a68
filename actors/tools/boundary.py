"""The sandbox boundary of a session: additive, revisioned, and pure (ASK-4).

A boundary grants file scopes and network. Asking for more has exactly three answers: it is inside
already, it needs an expansion, or it is denied. Denies and protected paths are never lifted by an
expansion. Paths here are text that `paths` has made canonical; nothing here looks at a disk.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

import attrs

from ...machines.facts import canonical
from ...machines.facts.canonical import Json
from ...machines.facts.codes import Code, CrashworthyError
from .errors import ToolRefusedError

PATH_CHARS_MAX: Final = 4096
ENTRIES_MAX: Final = 32
EXPANSION_BYTES_MAX: Final = 64 * 1024
SNAPSHOT_BYTES_MAX: Final = 1024 * 1024


class Access(StrEnum):
    """What a scope allows; writing includes reading."""

    READ = "read"
    WRITE = "write"


class Reach(StrEnum):
    """How far a scope reaches; an exact path says nothing about its children."""

    EXACT = "exact"
    SUBTREE = "subtree"


class Mode(StrEnum):
    """How a person is told about a boundary."""

    READ_ONLY = "read_only"
    SCOPED_WRITE = "scoped_write"
    FULL = "full"


class ExpansionFault(StrEnum):
    """Why an expansion is refused before anything durable exists."""

    INVALID_EXPANSION = "invalid_expansion"
    EMPTY_EXPANSION = "empty_expansion"
    TOO_MANY_ENTRIES = "too_many_entries"
    INVALID_ENTRY = "invalid_entry"
    INVALID_PATH = "invalid_path"
    PATH_TOO_LONG = "path_too_long"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    EXACT_DIRECTORY = "exact_directory"


@attrs.define(eq=False, kw_only=True)
class ExpansionInvalidError(ToolRefusedError):
    """An expansion outside the closed shape; whoever asks must state it correctly."""

    code: ClassVar[Code] = Code.EXPANSION_INVALID
    reason: ExpansionFault


@attrs.define(eq=False, kw_only=True)
class BoundaryInvalidError(CrashworthyError):
    """A stored boundary is not one complete snapshot within its size."""

    code: ClassVar[Code] = Code.BOUNDARY_INVALID
    reason: str


@attrs.frozen(kw_only=True)
class FileScope:
    """One path, or a path and all below it, with the access it grants (or, in a deny, takes)."""

    path: str
    access: Access
    reach: Reach


@attrs.frozen(kw_only=True)
class Expansion:
    """What one action needs beyond the boundary; authority is only ever added."""

    files: tuple[FileScope, ...] = ()
    network: bool = False


@attrs.frozen(kw_only=True)
class Boundary:
    """One revision of what the tools of a session may touch.

    Attributes:
        denies: A read deny hides the path altogether; a write deny only keeps it unchanged.
        protected: Subtrees that no tool may write, whatever is granted.
        fold_case: True where the file system ignores case, so that `.GIT` is `.git` here too.
    """

    revision: int = 0
    files: tuple[FileScope, ...] = ()
    network: bool = False
    denies: tuple[FileScope, ...] = ()
    protected: tuple[str, ...] = ()
    fold_case: bool = False


@attrs.frozen(kw_only=True)
class Inside:
    """Everything asked for is granted already."""


@attrs.frozen(kw_only=True)
class Needs:
    """The part that is not granted yet, and could be."""

    expansion: Expansion


@attrs.frozen(kw_only=True)
class Denied:
    """The scope that a deny or a protected path refuses, whoever approves."""

    scope: FileScope


Assessment: TypeAlias = Inside | Needs | Denied


@attrs.frozen(kw_only=True)
class BoundaryView:
    """A boundary as a person sees it: what can be read only is apart from what can be written."""

    mode: Mode
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    network: bool


@attrs.define(eq=False, kw_only=True)
class BoundaryRequiredError(ToolRefusedError):
    """The action crosses the boundary; `expansion` is exactly what it needs (ASK-4)."""

    code: ClassVar[Code] = Code.SANDBOX_BOUNDARY_REQUIRED
    expansion: Expansion

    def facts(self) -> dict[str, Json]:
        """Return the refusal with the expansion in the shape that a request for it takes."""
        return {"code": str(self.code), "required_expansion": expansion_json(self.expansion)}


def assess(boundary: Boundary, wanted: Expansion) -> Assessment:
    """Return whether `wanted` is inside the boundary, needs an expansion, or is denied."""
    for scope in wanted.files:
        if _denied(boundary, scope):
            return Denied(scope=scope)
    missing = [s for s in wanted.files if not _granted(boundary, s)]
    network = wanted.network and not boundary.network
    if not missing and not network:
        return Inside()
    return Needs(
        expansion=Expansion(files=_compact(missing, fold_case=boundary.fold_case), network=network)
    )


def expand(boundary: Boundary, expansion: Expansion) -> Boundary | Denied:
    """Return the next revision with `expansion` added, or the same one if it adds nothing.

    Raises:
        BoundaryInvalidError: `boundary_invalid`, the snapshot would be over its size.
    """
    found = assess(boundary, expansion)
    if isinstance(found, Denied):
        return found
    if isinstance(found, Inside):
        return boundary
    grown = attrs.evolve(
        boundary,
        revision=boundary.revision + 1,
        files=_compact((*boundary.files, *found.expansion.files), fold_case=boundary.fold_case),
        network=boundary.network or found.expansion.network,
    )
    _require_size(grown)
    return grown


def view(boundary: Boundary) -> BoundaryView:
    """Return the boundary in the words of a person."""
    writable = tuple(s.path for s in boundary.files if s.access is Access.WRITE)
    readable = tuple(s.path for s in boundary.files if s.access is Access.READ)
    everything = FileScope(path="/", access=Access.WRITE, reach=Reach.SUBTREE)
    if everything in boundary.files and boundary.network and not boundary.denies:
        mode = Mode.FULL
    else:
        mode = Mode.SCOPED_WRITE if writable else Mode.READ_ONLY
    return BoundaryView(mode=mode, readable=readable, writable=writable, network=boundary.network)


def expansion_json(expansion: Expansion) -> dict[str, Json]:
    """Return the one JSON form of an expansion; a network grant appears only when asked for."""
    told: dict[str, Json] = {}
    if expansion.files:
        told["files"] = [_scope_json(s) for s in expansion.files]
    if expansion.network:
        told["network"] = {"enabled": True}
    return told


def parse_expansion(value: Json) -> Expansion:
    """Return the expansion that `value` states, compacted.

    Raises:
        ExpansionInvalidError: `expansion_invalid`, with the reason; nothing may be stored.
    """
    if not isinstance(value, dict) or not value.keys() <= {"files", "network"}:
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_EXPANSION)
    files = value.get("files", [])
    network = value.get("network")
    if not isinstance(files, list) or ("network" in value and network != {"enabled": True}):
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_EXPANSION)
    if not files and network is None:
        raise ExpansionInvalidError(reason=ExpansionFault.EMPTY_EXPANSION)
    if len(files) > ENTRIES_MAX:
        raise ExpansionInvalidError(reason=ExpansionFault.TOO_MANY_ENTRIES)
    scopes = [_parse_scope(entry) for entry in files]
    if len(canonical.encode(value)) > EXPANSION_BYTES_MAX:
        raise ExpansionInvalidError(reason=ExpansionFault.PAYLOAD_TOO_LARGE)
    return Expansion(files=_compact(scopes, fold_case=False), network=network is not None)


def boundary_json(boundary: Boundary) -> dict[str, Json]:
    """Return the complete snapshot of one revision."""
    return {
        "revision": boundary.revision,
        "files": [_scope_json(s) for s in boundary.files],
        "network": boundary.network,
        "denies": [_scope_json(s) for s in boundary.denies],
        "protected": list(boundary.protected),
        "fold_case": boundary.fold_case,
    }


def parse_boundary(value: Json) -> Boundary:
    """Return the boundary of a complete snapshot.

    Raises:
        BoundaryInvalidError: `boundary_invalid`, a key is missing, unknown or of another shape.
    """
    if not isinstance(value, dict) or value.keys() != boundary_json(Boundary()).keys():
        raise BoundaryInvalidError(reason="not a complete snapshot")
    revision, network, fold_case = value["revision"], value["network"], value["fold_case"]
    files, denies, protected = value["files"], value["denies"], value["protected"]
    if type(revision) is not int or type(network) is not bool or type(fold_case) is not bool:
        raise BoundaryInvalidError(reason="scalar of another kind")
    if not isinstance(files, list) or not isinstance(denies, list):
        raise BoundaryInvalidError(reason="scopes are not a list")
    if not isinstance(protected, list):
        raise BoundaryInvalidError(reason="protected is not a list")
    try:
        boundary = Boundary(
            revision=revision,
            files=tuple(_parse_scope(entry) for entry in files),
            network=network,
            denies=tuple(_parse_scope(entry) for entry in denies),
            protected=tuple(_parse_path(path) for path in protected),
            fold_case=fold_case,
        )
    except ExpansionInvalidError as error:
        raise BoundaryInvalidError(reason=error.reason) from error
    _require_size(boundary)
    return boundary


def _require_size(boundary: Boundary) -> None:
    if len(canonical.encode(boundary_json(boundary))) > SNAPSHOT_BYTES_MAX:
        raise BoundaryInvalidError(reason="snapshot over its size")


def _scope_json(scope: FileScope) -> dict[str, Json]:
    return {"path": scope.path, "access": str(scope.access), "reach": str(scope.reach)}


def _parse_scope(entry: Json) -> FileScope:
    if not isinstance(entry, dict) or entry.keys() != {"path", "access", "reach"}:
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_ENTRY)
    access, reach = entry["access"], entry["reach"]
    if access not in tuple(Access) or reach not in tuple(Reach):
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_ENTRY)
    return FileScope(
        path=_parse_path(entry["path"]), access=Access(str(access)), reach=Reach(str(reach))
    )


def _parse_path(path: Json) -> str:
    """Return `path` if it is absolute, normalised, clean and not too long.

    Raises:
        ExpansionInvalidError: `expansion_invalid`, `invalid_path` or `path_too_long`.
    """
    if not isinstance(path, str) or not path.startswith("/") or "\0" in path:
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_PATH)
    if len(path) > PATH_CHARS_MAX:
        raise ExpansionInvalidError(reason=ExpansionFault.PATH_TOO_LONG)
    if path != "/" and any(part in {"", ".", ".."} for part in path[1:].split("/")):
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_PATH)
    if any("\ud800" <= char <= "\udfff" for char in path):
        raise ExpansionInvalidError(reason=ExpansionFault.INVALID_PATH)
    return path


def _fold(path: str, *, fold_case: bool) -> str:
    return path.casefold() if fold_case else path


def _under(path: str, base: str, *, fold_case: bool) -> bool:
    """Return whether `path` is `base` or lies below it; `/ab` is not below `/a`."""
    path, base = _fold(path, fold_case=fold_case), _fold(base, fold_case=fold_case)
    return path == base or path.startswith(base.rstrip("/") + "/")


def _covers(holder: FileScope, scope: FileScope, *, fold_case: bool) -> bool:
    if scope.access is Access.WRITE and holder.access is Access.READ:
        return False
    if holder.reach is Reach.SUBTREE:
        return _under(scope.path, holder.path, fold_case=fold_case)
    same = _fold(scope.path, fold_case=fold_case) == _fold(holder.path, fold_case=fold_case)
    return same and scope.reach is Reach.EXACT


def _granted(boundary: Boundary, scope: FileScope) -> bool:
    return any(_covers(held, scope, fold_case=boundary.fold_case) for held in boundary.files)


def _denied(boundary: Boundary, scope: FileScope) -> bool:
    """Return whether a rule takes `scope` away; one inside a wanted subtree does not take all."""
    fold_case = boundary.fold_case
    if scope.access is Access.WRITE and any(
        _under(scope.path, base, fold_case=fold_case) for base in boundary.protected
    ):
        return True
    for rule in boundary.denies:
        hits = rule.access is Access.READ or scope.access is Access.WRITE
        if hits and rule.reach is Reach.SUBTREE:
            hits = _under(scope.path, rule.path, fold_case=fold_case)
        elif hits:
            hits = _fold(scope.path, fold_case=fold_case) == _fold(rule.path, fold_case=fold_case)
        if hits:
            return True
    return False


def _compact(scopes: Iterable[FileScope], *, fold_case: bool) -> tuple[FileScope, ...]:
    """Return the scopes without those that another one covers, in a fixed order."""
    kept: list[FileScope] = []
    # Widest first: every scope that could cover another is seen before it.
    for scope in sorted(scopes, key=_width):
        if not any(_covers(held, scope, fold_case=fold_case) for held in kept):
            kept.append(scope)
    return tuple(sorted(kept, key=lambda s: (s.path, s.access, s.reach)))


def _width(scope: FileScope) -> tuple[bool, bool, int, str]:
    narrow = scope.reach is Reach.EXACT
    return (narrow, scope.access is Access.READ, len(scope.path), scope.path)
