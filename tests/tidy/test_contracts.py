"""Each import contract of HOUSE-3 holds, and each has been seen to refuse a bad sample."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

import attrs
import pytest

from .tree import PRODUCT_FOLDERS, ROOT, write_tree


@attrs.frozen(kw_only=True)
class Sample:
    """One line that one contract must refuse.

    Attributes:
        contract: The id of the contract in pyproject.toml.
        module: Path of the module that holds the line.
        line: The bad import.
        reported: What the report must name as the broken edge.
    """

    contract: str
    module: str
    line: str
    reported: str


def _sample(contract: str, module: str, line: str, imported: str) -> Sample:
    importer = f"crashworthy.{module.removesuffix('.py').replace('/', '.')}"
    return Sample(
        contract=contract, module=module, line=line, reported=f"{importer} -> {imported} (l.2)"
    )


BAD_SAMPLES: Final = (
    _sample("layers", "machines/up_store.py", "from .. import store", "crashworthy.store"),
    _sample("layers", "store/up_actors.py", "from ..actors import x", "crashworthy.actors"),
    _sample("layers", "spec/up_actors.py", "from .. import actors", "crashworthy.actors"),
    _sample("layers", "actors/up_lab.py", "from .. import crashlab", "crashworthy.crashlab"),
    _sample(
        "production-without-spec", "actors/proof.py", "from .. import spec", "crashworthy.spec"
    ),
    _sample(
        "production-without-spec", "store/proof.py", "from ..spec import x", "crashworthy.spec"
    ),
    _sample("pure-core", "machines/clock.py", "import time", "time"),
    _sample("pure-core", "machines/today.py", "from datetime import date", "datetime"),
    _sample("pure-core", "machines/dice.py", "import random", "random"),
    _sample("pure-core", "machines/disk.py", "from pathlib import Path", "pathlib"),
    _sample("pure-core", "machines/place.py", "import os.path", "os"),
    _sample("pure-core", "machines/table.py", "import sqlite3", "sqlite3"),
    _sample("pure-core", "machines/tasks.py", "import trio", "trio"),
    _sample("pure-core", "machines/thread.py", "from anyio import to_thread", "anyio"),
    _sample("sql-in-store", "actors/query.py", "import sqlite3", "sqlite3"),
    _sample("sql-in-store", "crashlab/peek.py", "from sqlite3 import connect", "sqlite3"),
    _sample("sql-in-store", "spec/query.py", "import sqlite3", "sqlite3"),
    _sample("store-has-no-scheduler", "store/tasks.py", "import trio", "trio"),
    _sample("store-has-no-scheduler", "store/loop.py", "import asyncio", "asyncio"),
    _sample("store-has-no-scheduler", "store/thread.py", "from threading import Lock", "threading"),
)

# What the contracts must leave alone, so that a refusal above is due to its one bad line.
GOOD_TREE: Final = {
    "machines/facts.py": "import enum, hashlib\nimport attrs\n",
    "store/journal.py": "import sqlite3\nimport anyio\nfrom ..machines import facts\n",
    "spec/promise.py": "from ..store import journal\nfrom ..machines import facts\n",
    "actors/run.py": "import trio\nfrom ..store import journal\n",
    "crashlab/counting.py": "import sqlite3\nfrom ..spec import promise\n",
    "crashlab/main.py": "from . import counting\nfrom ..actors import run\n",
    "crashlab/bench/raw.py": "import sqlite3\n",
}


def _contracts() -> dict[str, str]:
    """Return the contracts of pyproject.toml: name by id."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return {c["id"]: c["name"] for c in table["tool"]["importlinter"]["contracts"]}


def _small_tree(root: Path, modules: dict[str, str]) -> Path:
    files = {f"{folder}/__init__.py": "" for folder in PRODUCT_FOLDERS}
    files |= {"crashlab/bench/__init__.py": "", **modules}
    files = {f".src/crashworthy/{name}": text for name, text in files.items()}
    files |= {".src/crashworthy/__init__.py": ""}
    return write_tree(
        root, files | {"pyproject.toml": (ROOT / "pyproject.toml").read_text("utf-8")}
    )


def _lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    # Not the console script, which need not be on PATH; no cache, which would land in the tree.
    program = "import sys; from importlinter.cli import lint_imports_command as c; sys.exit(c())"
    return subprocess.run(
        [sys.executable, "-c", program, "--no-cache", "--no-logo", "pyproject.toml"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / ".src"), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """Lint one tree that holds every bad sample at once."""
    modules = {s.module: f'"""A bad sample of {s.contract}."""\n{s.line}\n' for s in BAD_SAMPLES}
    return _lint_imports(_small_tree(tmp_path_factory.mktemp("bad"), GOOD_TREE | modules))


def test_every_contract_has_a_bad_sample() -> None:
    assert {s.contract for s in BAD_SAMPLES} == set(_contracts())


def test_contracts_hold_for_the_project() -> None:
    run = _lint_imports(ROOT)
    assert run.returncode == 0, run.stdout


def test_contracts_accept_a_good_tree(tmp_path: Path) -> None:
    run = _lint_imports(_small_tree(tmp_path, GOOD_TREE))
    assert run.returncode == 0, run.stdout
    assert f"Contracts: {len(_contracts())} kept, 0 broken." in run.stdout


@pytest.mark.parametrize("sample", BAD_SAMPLES, ids=lambda s: f"{s.contract}:{s.module}")
def test_contract_refuses_its_bad_sample(
    sample: Sample, refusals: subprocess.CompletedProcess[str]
) -> None:
    name = _contracts()[sample.contract]
    assert refusals.returncode == 1
    assert f"{name} BROKEN" in refusals.stdout
    # The report has one section per broken contract, headed by its name and a line of dashes.
    section = refusals.stdout.split(f"\n{name}\n---", 1)[1].split("\nHOUSE-", 1)[0]
    assert sample.reported in section
