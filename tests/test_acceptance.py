"""The acceptance file is complete, says what is owed, and names only tests that exist."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "acceptance.toml"
GROUPS = {
    "core-facts 12.1": [str(n) for n in range(1, 30)],
    "core-facts 12.2": [str(n) for n in range(30, 50)],
    "core-facts 12.3": [str(n) for n in range(50, 60)],
    "core-facts 12.4": [str(n) for n in range(60, 90)],
    "core-facts 12.5": [str(n) for n in range(90, 120)],
    "core-facts 12.6": [str(n) for n in range(120, 143)],
    "core-facts 12.7": [str(n) for n in range(143, 158)],
    "core-facts 12.8": [str(n) for n in range(158, 184)],
    "core-facts 12.9": [str(n) for n in range(184, 206)],
    "core-facts 12.10": [str(n) for n in range(206, 249)],
    "core-facts 12.11": [str(n) for n in range(249, 276)],
    "core-facts 12.12": [str(n) for n in range(276, 298)],
    "core-facts 12.13": [str(n) for n in range(298, 323)],
    "authority-facts X1": [*(str(n) for n in range(1, 35)), "34a"],
    "authority-facts X2": [str(n) for n in range(35, 57)],
    "authority-facts X3": [str(n) for n in range(57, 76)],
    "authority-facts X4": [str(n) for n in range(76, 126)],
    "authority-facts X5": [str(n) for n in range(126, 140)],
    "authority-facts X6": [str(n) for n in range(140, 155)],
    "authority-facts X7": [str(n) for n in range(155, 167)],
    "authority-facts X8": [str(n) for n in range(167, 188)],
    "authority-facts X13": [str(n) for n in range(267, 281)],
    "authority-facts X15": [str(n) for n in range(291, 306)],
    "authority-facts X16": [str(n) for n in range(306, 313)],
    "authority-facts X19": [str(n) for n in range(358, 364)],
}
RULE = re.compile(r"(LOG|ID|BYTE|MACH|OP|ASK|STORE|OWN|RUN|CONT|PROJ|HOUSE|BACK|WORK)-\d+[a-d]?")
WORK = {"store", "runtime", "continuation", "control", "interchange", "workspace", "providers"}


def entries() -> Iterator[tuple[str, str, dict[str, object]]]:
    for group, lines in tomllib.loads(FILE.read_text(encoding="utf-8")).items():
        for line, entry in lines.items():
            yield group, line, entry


@cache
def names_in(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


def faults(entry: dict[str, object]) -> Iterator[str]:
    """Yield what is wrong with one entry."""
    kinds = [kind for kind in ("test", "void", "owed") if kind in entry]
    if len(kinds) != 1:
        yield "needs exactly one of test, void, owed"
        return
    (kind,) = kinds
    value = entry[kind]
    if kind == "test":
        for name in cast("list[object]", value) if isinstance(value, list) and value else ["::"]:
            path, _, function = str(name).partition("::")
            if not (ROOT / path).is_file() or function not in names_in(path):
                yield f"no test {name}"
        return
    if not entry.get("why"):
        yield "says no why"
    if kind == "void" and not RULE.fullmatch(str(value)):
        yield f"no rule {value}"
    if kind == "owed" and value not in WORK:
        yield f"no work {value}"


@pytest.mark.parametrize("group", sorted(GROUPS))
def test_group_lists_each_of_its_lines_once(group: str) -> None:
    assert [line for name, line, _entry in entries() if name == group] == GROUPS[group]


def test_no_group_is_unknown() -> None:
    assert {group for group, _line, _entry in entries()} == set(GROUPS)


def test_every_line_has_a_disposition_that_holds() -> None:
    found = [
        f"{group} {line}: {fault}" for group, line, entry in entries() for fault in faults(entry)
    ]

    assert found == []


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"test": [], "owed": "store"},
        {"test": []},
        {"test": ["tests/test_acceptance.py::test_that_is_not_there"]},
        {"void": "LOG-2a"},
        {"void": "because", "why": "it is"},
        {"owed": "somebody", "why": "later"},
    ],
)
def test_bad_entry_is_noticed(bad: dict[str, object]) -> None:
    assert list(faults(bad))
