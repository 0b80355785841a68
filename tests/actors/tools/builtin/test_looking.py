"""Reading tools are bounded, honest about it, and blind to what is denied (ASK-4, OP-7)."""

from pathlib import Path
from typing import cast

import pytest

from crashworthy.actors.tools.boundary import Access, BoundaryRequiredError, FileScope, Reach
from crashworthy.actors.tools.builtin import looking
from crashworthy.actors.tools.builtin.looking import glob, grep, read
from crashworthy.actors.tools.context import CallContext
from crashworthy.actors.tools.contract import Tool
from crashworthy.actors.tools.errors import (
    FileNotTextError,
    FileTooLargeError,
    PatternInvalidError,
    TargetMissingError,
    TargetNotRegularError,
    ToolRefusedError,
)
from crashworthy.actors.tools.paths import Workspace, workspace_boundary
from crashworthy.machines.facts.canonical import Json, encode


class NoOutlet:
    def write(self, data: bytes) -> None:
        raise AssertionError(data)

    def artifact(self, name: str, media_type: str, content: bytes) -> None:
        raise AssertionError((name, media_type, content))


def look(tool: Tool, root: Path, **args: Json) -> dict[str, Json]:
    found = str(root.resolve())
    boundary = workspace_boundary(found, hidden=(f"{found}/hidden",))
    place = Workspace(root=found, identity="w", boundary=boundary)
    context = CallContext(operation="op-1", key=None, workspace=place, outlet=NoOutlet())
    return cast("dict[str, Json]", tool.function(context=context, **tool_args(tool, args)))


def tool_args(tool: Tool, args: dict[str, Json]) -> dict[str, Json]:
    return tool.check(args)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.py", "sub/b.py", "sub/deep/c.py", "hidden/d.py", ".git/e.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"needle in {name}\n")
    (tmp_path / "outside-link.py").symlink_to("/etc/passwd")
    return tmp_path


@pytest.mark.proves("ASK-4")
def test_walk_lists_what_may_be_seen_in_a_fixed_order(root: Path) -> None:
    assert look(glob, root, pattern="**/*.py") == {
        "paths": ["a.py", "sub/b.py", "sub/deep/c.py"],
        "complete": True,
    }
    matches = cast("list[dict[str, Json]]", look(grep, root, pattern="needle")["matches"])
    assert [match["path"] for match in matches] == ["a.py", "sub/b.py", "sub/deep/c.py"]


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ["a.py"]),
        ("sub/*.py", ["sub/b.py"]),
        ("**/c.p?", ["sub/deep/c.py"]),
        ("**/[a-b].py", ["a.py", "sub/b.py"]),
        ("**/[!a-b].py", ["sub/deep/c.py"]),
        ("sub/**", ["sub/b.py", "sub/deep/c.py"]),
        ("nothing", []),
    ],
)
def test_pattern_crosses_directories_only_where_it_says_so(
    root: Path, pattern: str, paths: list[str]
) -> None:
    assert look(glob, root, pattern=pattern)["paths"] == paths


@pytest.mark.proves("OP-7")
def test_results_over_their_bound_say_that_they_are_incomplete(root: Path) -> None:
    (root / "many").write_text("needle\n" * 10_000)
    (root / "wide").write_text(("needle" + "x" * 5000 + "\n") * 100)
    for path in ("many", "wide"):
        found = look(grep, root, pattern="needle", path=path)
        assert found["complete"] is False
        assert len(encode(found)) < 64 * 1024
        shown = look(read, root, path=path)
        assert cast("int", shown["lines"]) < cast("int", shown["lines_total"])
        assert len(encode(shown)) < 64 * 1024
    assert look(read, root, path="wide")["lines_cut"] == look(read, root, path="wide")["lines"]


def test_walk_that_sees_too_much_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looking, "VISITS_MAX", 3)
    assert look(glob, root, pattern="**")["complete"] is False


@pytest.mark.proves("BYTE-3")
def test_unclean_bytes_are_replaced_and_counted(root: Path) -> None:
    (root / "mixed").write_bytes(b"ok \xff\xfe\nnext")
    shown = look(read, root, path="mixed")
    assert (shown["text"], shown["replaced"]) == ("ok \ufffd\ufffd\nnext", 2)


@pytest.mark.parametrize(
    ("path", "refusal"),
    [
        ("missing", TargetMissingError),
        ("sub", TargetNotRegularError),
        ("binary", FileNotTextError),
        ("huge", FileTooLargeError),
        ("outside-link.py", BoundaryRequiredError),
        ("a.py/below", TargetNotRegularError),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_reason(
    root: Path, path: str, refusal: type[ToolRefusedError]
) -> None:
    (root / "binary").write_bytes(b"\0")
    with (root / "huge").open("wb") as file:
        file.truncate(looking.FILE_BYTES_MAX + 1)
    with pytest.raises(refusal):
        look(read, root, path=path)


@pytest.mark.parametrize("pattern", ["", "/abs", "[b-a]", "x" * 2000])
def test_pattern_that_means_nothing_is_refused(root: Path, pattern: str) -> None:
    with pytest.raises(PatternInvalidError):
        look(glob, root, pattern=pattern)


def test_expression_that_does_not_compile_is_refused(root: Path) -> None:
    with pytest.raises(PatternInvalidError):
        look(grep, root, pattern="(")


@pytest.mark.proves("ASK-4")
def test_needs_are_told_before_a_call_runs(root: Path) -> None:
    found = str(root.resolve())
    place = Workspace(root=found, identity="w", boundary=workspace_boundary(found))
    assert read.needed({"path": "sub/../a.py"}, place).files == (
        FileScope(path=f"{found}/a.py", access=Access.READ, reach=Reach.EXACT),
    )
    assert glob.needed({"pattern": "*"}, place).files == (
        FileScope(path=found, access=Access.READ, reach=Reach.SUBTREE),
    )
