"""The tree has the shape that DESIGN 2a states, and says nothing about the machine it grew on."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from .tree import PRODUCT_FOLDERS, ROOT, project_files, write_tree

# HOUSE-5: a new entry needs a reason that a stranger would accept.
TOP_LEVEL: Final = frozenset({
    *PRODUCT_FOLDERS, "tests",
    "README.md", "LICENSE", "pyproject.toml",
    ".ci", ".github", ".gitignore", ".src",
})  # fmt: skip
VAGUE_NAMES: Final = frozenset({"common", "helper", "helpers", "manager", "misc", "util", "utils"})

# Written in pieces, so that this file does not contain what it forbids.
_SLASH: Final = "/"
_MACHINE_FOLDERS: Final = ("home", "opt", "private/var", "root", "tmp", "Users", "work")
MACHINE_WORDS: Final = re.compile(
    "|".join((
        rf"(?<![\w.{_SLASH}-])/(?:{'|'.join(_MACHINE_FOLDERS)})/[\w.$-]",
        r"(?:extra-)?index" + r"-url\b",
        r"https?://[^\s/]*(?:pypi|python" + r"hosted|artifactory|nexus|devpi|registry)",
        r"https?://[^\s]*/simple\b",
        r"https?://(?:10|127|172|192)\.\d",
    ))
)  # fmt: skip


def strange_top_level(paths: Iterable[str]) -> list[str]:
    """Return the top-level entries that HOUSE-5 does not know, and those that are missing."""
    seen = {path.split("/")[0] for path in paths}
    return sorted(seen ^ TOP_LEVEL)


def vague_names(paths: Iterable[str]) -> list[str]:
    """Return the modules and folders whose name says nothing about what they own."""
    return [
        p
        for p in paths
        if VAGUE_NAMES & {part.lstrip("_") for part in Path(p).with_suffix("").parts}
    ]


def machine_words(root: Path) -> list[str]:
    """Return `path:line: word` for each machine path or registry host in a text file."""
    findings: list[str] = []
    for name in project_files(root):
        path = root / name
        if path.is_symlink():
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        findings += [
            f"{name}:{number}: {found.group()}"
            for number, line in enumerate(text.splitlines(), start=1)
            for found in MACHINE_WORDS.finditer(line)
        ]
    return findings


def test_top_level_is_exactly_the_house() -> None:
    assert strange_top_level(project_files(ROOT)) == []


def test_import_package_is_one_relative_link_per_folder() -> None:
    """HOUSE-1: an absolute link would work on one machine only."""
    view = ROOT / ".src/crashworthy"
    links = {e.name: str(Path(e.path).readlink()) for e in os.scandir(view) if e.is_symlink()}
    files = {e.name for e in os.scandir(view) if e.is_file()}
    assert links == {folder: f"../../{folder}" for folder in PRODUCT_FOLDERS}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def test_module_names_say_what_they_own() -> None:
    assert vague_names(project_files(ROOT)) == []


def test_files_name_no_machine_path_and_no_registry() -> None:
    assert machine_words(ROOT) == []


def test_unknown_and_missing_top_level_entries_are_reported() -> None:
    paths = [*(f"{name}/x" for name in TOP_LEVEL - {"store"}), "scratch/notes.txt"]
    assert strange_top_level(paths) == ["scratch", "store"]


def test_vague_module_names_are_reported() -> None:
    bad = ["store/utils.py", "machines/_helpers/rows.py"]
    assert vague_names([*bad, "store/journal.py"]) == bad


@pytest.mark.parametrize(
    "line",
    [
        "see /" + "work/shared/notes.md",
        "python = '/" + "opt/tools/bin/python'",
        "path=/" + "tmp/journal.db",
        "pip install --index" + "-url somewhere",
        "https://mirror.example/pypi" + "/simple",
        "https://reg" + "istry.example.org/x",
        "http://10" + ".0.0.7:8080/",
    ],
)
def test_machine_words_are_reported(line: str, tmp_path: Path) -> None:
    tree = write_tree(tmp_path, {"store/journal.py": f"first line\n# {line}\n"})
    assert [f.partition(": ")[0] for f in machine_words(tree)] == ["store/journal.py:2"]


@pytest.mark.parametrize(
    "line",
    ["#!/usr/bin/env bash", "from /dev/null", "a/tmp/b", "https://www.apache.org/licenses/", "w/o"],
)
def test_ordinary_text_is_not_reported(line: str, tmp_path: Path) -> None:
    assert machine_words(write_tree(tmp_path, {"README.md": line})) == []
