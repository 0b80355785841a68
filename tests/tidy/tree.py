"""The tree that the tidy checks read: which files and modules are part of the project.

Each check is a function from a root to its findings, so that it can also be shown a bad tree.
"""

import fnmatch
import os
import subprocess
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT_FOLDERS: Final = ("machines", "store", "actors", "crashlab", "spec")


def project_files(root: Path) -> tuple[str, ...]:
    """Return the paths of the project's files and links, relative to `root`.

    They are what git tracks. A tree without git (an exported archive), or one that git refuses to
    read for another user, is walked instead, less what .gitignore names.
    """
    if (root / ".git").exists():
        listing = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, check=False, text=True
        )
        if listing.returncode == 0:
            tracked = filter(None, listing.stdout.split("\0"))
            # A file that is deleted but not yet committed is no longer there to be read.
            return tuple(sorted(path for path in tracked if os.path.lexists(root / path)))
    return tuple(sorted(_walked(root)))


def _walked(root: Path) -> list[str]:
    ignored = [line.rstrip("/") for line in (root / ".gitignore").read_text("utf-8").splitlines()]
    found: list[str] = []
    for here, folders, files in os.walk(root):
        links = [name for name in folders if (Path(here) / name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name != ".git" and name not in links and not _matches(name, ignored)
        ]
        found += [
            os.path.relpath(Path(here) / name, root)
            for name in (*files, *links)
            if name != ".git" and not _matches(name, ignored)
        ]
    return found


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def product_modules(root: Path) -> tuple[str, ...]:
    """Return the paths of the modules that are installed, relative to `root`."""
    return tuple(
        path
        for path in project_files(root)
        if path.endswith(".py") and path.split("/")[0] in (*PRODUCT_FOLDERS, ".src")
    )


def write_tree(root: Path, files: dict[str, str]) -> Path:
    """Write `files` below `root`, as a small tree for a check to find fault with."""
    (root / ".gitignore").write_text("", "utf-8")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return root
