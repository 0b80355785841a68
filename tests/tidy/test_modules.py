"""Every module promises something in its first line and keeps no state, notes or prints.

Source is parsed, never matched by layout: a check must not forbid formatting.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .tree import ROOT, product_modules, write_tree

PROMISE_WORDS_MIN: Final = 4
# Text leaves the program here and nowhere else.
RENDERING: Final = ("actors/cli/", "crashlab/main.py", "crashlab/bench/", "spec/prove")
NOTES: Final = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MUTABLE_MAKERS: Final = frozenset({
    "Counter", "OrderedDict", "WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "bytearray",
    "defaultdict", "deque", "dict", "list", "set",
})  # fmt: skip
# Annotations under which both type checkers refuse a change.
READ_ONLY_TYPES: Final = ("Mapping", "Sequence", "Collection", "AbstractSet", "Set")
# What machines may not even call without an import (HOUSE-3).
IMPURE_CALLS: Final = frozenset({"__import__", "breakpoint", "eval", "exec", "input", "open"})


def missing_promises(root: Path) -> list[str]:
    """Return the modules whose first line is not one sentence."""
    return [path for path, tree in _parsed(root) if not _promises(ast.get_docstring(tree))]


def _promises(docstring: str | None) -> bool:
    first = (docstring or "").split("\n")[0]
    return first.endswith(".") and len(first.split()) >= PROMISE_WORDS_MIN


def notes(root: Path) -> list[str]:
    """Return `path:line` of each comment that postpones work."""
    findings: list[str] = []
    for path in product_modules(root):
        source = io.StringIO((root / path).read_text("utf-8"))
        findings += [
            f"{path}:{token.start[0]}"
            for token in tokenize.generate_tokens(source.readline)
            if token.type == tokenize.COMMENT and NOTES.search(token.string)
        ]
    return findings


def prints(root: Path) -> list[str]:
    """Return `path:line` of each print outside the modules that render."""
    return [
        f"{path}:{call.lineno}"
        for path, tree in _parsed(root)
        if not path.startswith(RENDERING)
        for call in _calls(tree)
        if _name(call.func) == "print"
    ]


def impure_calls(root: Path) -> list[str]:
    """Return `path:line` of each built-in in machines that reaches outside."""
    return [
        f"{path}:{call.lineno}"
        for path, tree in _parsed(root)
        if path.startswith("machines/")
        for call in _calls(tree)
        if isinstance(call.func, ast.Name) and call.func.id in IMPURE_CALLS
    ]


def module_state(root: Path) -> list[str]:
    """Return `path:line` of each module-level value that code could change."""
    findings: list[str] = []
    for path, tree in _parsed(root):
        findings += [f"{path}:{n.lineno}" for n in tree.body if _is_mutable_state(n)]
        findings += [f"{path}:{n.lineno}" for n in ast.walk(tree) if isinstance(n, ast.Global)]
    return findings


def _is_mutable_state(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return False
        case ast.Assign(value=value):
            return _is_mutable(value)
        case ast.AnnAssign(annotation=annotation, value=value):
            read_only = any(
                _name(node) in READ_ONLY_TYPES
                for node in ast.walk(annotation)
                if isinstance(node, (ast.Name, ast.Attribute))
            )
            return value is not None and _is_mutable(value) and not read_only
        case _:
            return False


def _is_mutable(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _name(value.func) in MUTABLE_MAKERS
    return isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp))


def _parsed(root: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in product_modules(root):
        yield path, ast.parse((root / path).read_text("utf-8"), path)


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Subscript(value=ast.Name(id=name)):
            return name
        case _:
            return ""


def test_every_module_promises_something_in_its_first_line() -> None:
    assert missing_promises(ROOT) == []


def test_product_code_postpones_nothing() -> None:
    assert notes(ROOT) == []


def test_only_rendering_modules_print() -> None:
    assert prints(ROOT) == []


def test_machines_call_no_built_in_that_reaches_outside() -> None:
    assert impure_calls(ROOT) == []


def test_modules_keep_no_mutable_state() -> None:
    """What a function needs it is given; module state outlives runs, roots and tests."""
    assert module_state(ROOT) == []


def test_missing_and_empty_promises_are_reported(tmp_path: Path) -> None:
    tree = write_tree(
        tmp_path,
        {
            "store/good.py": '"""The one place where a transaction begins."""\n',
            "store/late.py": 'import os\n"""A docstring after an import is none at all."""\n',
            "store/none.py": "",
            "store/word.py": '"""store"""\n',
        },
    )
    assert missing_promises(tree) == ["store/late.py", "store/none.py", "store/word.py"]


def test_notes_are_reported_in_comments_only(tmp_path: Path) -> None:
    word = "TO" + "DO"
    tree = write_tree(tmp_path, {"store/x.py": f'A = "{word}"\nB = 1  # {word}: later\n'})
    assert notes(tree) == ["store/x.py:2"]


def test_prints_are_reported_outside_rendering_modules(tmp_path: Path) -> None:
    line = "print(1)\n"
    tree = write_tree(
        tmp_path, {"store/x.py": line, "actors/cli/x.py": line, "spec/prove.py": line}
    )
    assert prints(tree) == ["store/x.py:1"]


def test_impure_calls_are_reported_in_machines(tmp_path: Path) -> None:
    line = "f = open('x')\n"
    tree = write_tree(tmp_path, {"machines/x.py": line, "store/x.py": line})
    assert impure_calls(tree) == ["machines/x.py:1"]


def test_mutable_state_is_reported(tmp_path: Path) -> None:
    source = (
        "A = []\n"
        "B: Final = {}\n"
        "C = defaultdict(list)\n"
        "D: Final[dict[str, int]] = dict[str, int]()\n"
        "def f() -> None:\n"
        "    global E\n"
        "__all__ = ['A']\n"
        "F: Final[Mapping[str, int]] = {}\n"
        "G: Final = frozenset({1})\n"
        "H: Final = (1, 2)\n"
    )
    tree = write_tree(tmp_path, {"store/x.py": source})
    assert module_state(tree) == [f"store/x.py:{line}" for line in (1, 2, 3, 4, 6)]
