"""What counts is the file that would be touched, however its name is spelled (ASK-4)."""

from pathlib import Path

import pytest

from crashworthy.actors.tools.boundary import (
    Access,
    BoundaryRequiredError,
    Expansion,
    ExpansionInvalidError,
    FileScope,
    Reach,
    expand,
)
from crashworthy.actors.tools.errors import PathDeniedError, PathInvalidError
from crashworthy.actors.tools.paths import (
    Workspace,
    canonical_expansion,
    permitted_path,
    workspace_boundary,
)


@pytest.fixture
def place(tmp_path: Path) -> Workspace:
    root = (tmp_path / "work").resolve()
    for directory in (root / "sub", root / ".git", tmp_path / "outside", tmp_path / "state"):
        directory.mkdir(parents=True)
    (tmp_path / "outside" / "file").write_text("x")
    (root / "file").write_text("x")
    (root / "link").symlink_to(tmp_path / "outside" / "file")
    (root / "door").symlink_to(tmp_path / "outside")
    (root / "loop").symlink_to(root / "loop")
    return Workspace(
        root=str(root),
        identity="w",
        boundary=workspace_boundary(str(root), hidden=(str((tmp_path / "state").resolve()),)),
    )


@pytest.mark.parametrize("spelled", ["file", "./file", "sub/../file", "sub/.././file"])
def test_spellings_of_one_file_are_one_path(place: Workspace, spelled: str) -> None:
    assert permitted_path(place, spelled, Access.READ) == f"{place.root}/file"
    assert permitted_path(place, f"{place.root}/{spelled}", Access.WRITE) == f"{place.root}/file"


@pytest.mark.parametrize("spelled", ["../outside/file", "link", "door/file", "sub/../door/file"])
@pytest.mark.proves("ASK-4")
def test_escape_is_refused_with_the_exact_expansion(place: Workspace, spelled: str) -> None:
    outside = str(Path(place.root).parent / "outside" / "file")
    with pytest.raises(BoundaryRequiredError) as refused:
        permitted_path(place, spelled, Access.READ)
    needed = Expansion(files=(FileScope(path=outside, access=Access.READ, reach=Reach.EXACT),))
    assert refused.value.expansion == needed
    assert refused.value.facts() == {
        "code": "sandbox_boundary_required",
        "required_expansion": {
            "files": [{"path": outside, "access": "read", "reach": "exact"}],
        },
    }
    grown = expand(place.boundary, needed)
    allowed = Workspace(root=place.root, identity="w", boundary=grown)  # type: ignore[arg-type]  # not denied
    assert permitted_path(allowed, spelled, Access.READ) == outside


def test_write_names_the_link_itself_and_not_what_it_points_to(place: Workspace) -> None:
    assert permitted_path(place, "link", Access.WRITE) == f"{place.root}/link"


@pytest.mark.proves("ASK-4")
def test_hidden_and_protected_paths_are_denied_however_reached(place: Workspace) -> None:
    for path, access in [
        ("../state/x", Access.READ),
        (".git/config", Access.WRITE),
        ("sub/../.git/hooks/pre-commit", Access.WRITE),
        (".crashworthy/workspace", Access.WRITE),
    ]:
        with pytest.raises(PathDeniedError):
            permitted_path(place, path, access)
    assert permitted_path(place, ".git/config", Access.READ)


@pytest.mark.parametrize("path", ["", "a\0b", "a" * 5000, "\ud800", "loop/x"])
@pytest.mark.proves("BYTE-3")
def test_path_that_no_file_can_have_is_refused(place: Workspace, path: str) -> None:
    with pytest.raises(PathInvalidError):
        permitted_path(place, path, Access.WRITE)


def test_expansion_is_made_canonical_before_it_is_asked_for(place: Workspace) -> None:
    asked = FileScope(path=f"{place.root}/door/file", access=Access.READ, reach=Reach.EXACT)
    found = canonical_expansion(place.root, Expansion(files=(asked,)))
    assert found.files[0].path == str(Path(place.root).parent / "outside" / "file")
    directory = FileScope(path=f"{place.root}/sub", access=Access.READ, reach=Reach.EXACT)
    with pytest.raises(ExpansionInvalidError):
        canonical_expansion(place.root, Expansion(files=(directory,)))
