"""The door between a path that a model wrote and a file that a tool may touch (ASK-4).

A path is made canonical first, links and `..` resolved by the system itself, and only then compared
with the boundary: what matters is which file would be touched, not how its name was spelled.
"""

import sys
from pathlib import Path
from typing import Final

import attrs

from ...machines.facts.text import is_clean
from ..workspace import FOLDER
from .boundary import (
    Access,
    Boundary,
    BoundaryRequiredError,
    Denied,
    Expansion,
    ExpansionFault,
    ExpansionInvalidError,
    FileScope,
    Needs,
    Reach,
    assess,
)
from .errors import PathDeniedError, PathInvalidError

PATH_BYTES_MAX: Final = 4096


@attrs.frozen(kw_only=True)
class Workspace:
    """The directory a session works in, as one call sees it.

    Attributes:
        root: Canonical absolute path; relative paths of tools start here.
        identity: The identity of the workspace marker (WORK-1); compared, never interpreted.
        boundary: The boundary revision this call runs under.
    """

    root: str
    identity: str
    boundary: Boundary


def workspace_boundary(root: str, *, hidden: tuple[str, ...] = ()) -> Boundary:
    """Return the first boundary of a workspace: its own files, nothing else, no network.

    Args:
        root: Canonical path of the workspace.
        hidden: Canonical paths that no tool may even read, such as the state root.
    """
    return Boundary(
        files=(FileScope(path=root, access=Access.WRITE, reach=Reach.SUBTREE),),
        denies=tuple(
            FileScope(path=path, access=Access.READ, reach=Reach.SUBTREE) for path in hidden
        ),
        # A write below .git runs code later (hooks, filters), outside of any boundary; one below
        # our folder makes the directory another workspace (WORK-1).
        protected=(f"{root.rstrip('/')}/.git", f"{root.rstrip('/')}/{FOLDER}"),
        fold_case=sys.platform == "darwin",
    )


def canonical_path(root: str, path: str, *, follow: bool) -> str:
    """Return the absolute path of the file that `path` names, seen from `root`.

    Args:
        root: Where a relative path starts.
        path: As the model wrote it.
        follow: Whether a link in the last place is followed; a write never follows one.

    Raises:
        PathInvalidError: `path_invalid`, empty, too long, a NUL, or not clean text.
    """
    if not path or "\0" in path:
        raise PathInvalidError(reason="empty or with a NUL")
    if not is_clean(path):
        raise PathInvalidError(reason="not clean text")
    if len(path.encode()) > PATH_BYTES_MAX:
        raise PathInvalidError(reason=f"longer than {PATH_BYTES_MAX} bytes")
    joined = Path(root, path)
    try:
        if follow or joined.name in {"", ".."}:
            found = str(joined.resolve())
        else:
            found = str(joined.parent.resolve() / joined.name)
    except (RuntimeError, OSError) as error:  # Python before 3.13 reports a loop as RuntimeError.
        raise PathInvalidError(reason="the links on the way go round in a circle") from error
    except UnicodeEncodeError as error:
        raise PathInvalidError(reason="no name in the encoding of this process") from error
    if not is_clean(found):
        raise PathInvalidError(reason="a directory on the way has no clean name")
    return found


def permitted_path(
    workspace: Workspace, path: str, access: Access, reach: Reach = Reach.EXACT
) -> str:
    """Return the canonical path if the workspace's boundary allows this access to it.

    Raises:
        PathInvalidError: `path_invalid`, as `canonical_path`.
        PathDeniedError: `path_denied`, by an explicit deny or a protected path.
        BoundaryRequiredError: `sandbox_boundary_required`, with the exact expansion.
    """
    found = canonical_path(workspace.root, path, follow=access is Access.READ)
    require_scope(workspace.boundary, FileScope(path=found, access=access, reach=reach))
    return found


def require_scope(boundary: Boundary, scope: FileScope) -> None:
    """Refuse an access that the boundary does not allow.

    Raises:
        PathDeniedError: `path_denied`, by an explicit deny or a protected path.
        BoundaryRequiredError: `sandbox_boundary_required`, with the exact expansion.
    """
    found = assess(boundary, Expansion(files=(scope,)))
    if isinstance(found, Denied):
        raise PathDeniedError(path=scope.path, access=scope.access)
    if isinstance(found, Needs):
        raise BoundaryRequiredError(expansion=found.expansion)


def allows(boundary: Boundary, path: str, access: Access) -> bool:
    """Tell whether one canonical path may be touched; a walk skips what it may not see."""
    scope = FileScope(path=path, access=access, reach=Reach.EXACT)
    return not isinstance(assess(boundary, Expansion(files=(scope,))), Denied | Needs)


def canonical_expansion(root: str, expansion: Expansion) -> Expansion:
    """Return the expansion with the paths that the system would really use, before it is asked for.

    Raises:
        PathInvalidError: `path_invalid`, as `canonical_path`.
        ExpansionInvalidError: `expansion_invalid`, an exact scope names a directory, which would
            say nothing about its children and is never what was meant.
    """
    scopes: list[FileScope] = []
    for scope in expansion.files:
        path = canonical_path(root, scope.path, follow=scope.access is Access.READ)
        if scope.reach is Reach.EXACT and Path(path).is_dir():
            raise ExpansionInvalidError(reason=ExpansionFault.EXACT_DIRECTORY)
        scopes.append(attrs.evolve(scope, path=path))
    return attrs.evolve(expansion, files=tuple(scopes))
