"""Every module promises something in its first line and keeps no state, notes or prints.

Source is parsed, never matched by layout: a check must not forbid formatting.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from .tree import PRODUCT_FOLDERS, ROOT, product_modules, project_files, write_tree

PROMISE_WORDS_MIN: Final = 4
# Text leaves the program here and nowhere else.
RENDERING: Final = ("actors/cli/", "crashlab/main.py", "crashlab/bench/", "spec/prove")
NOTES: Final = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MUTABLE_MAKERS: Final = frozenset({
    "Counter", "OrderedDict", "WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "bytearray",
    "defaultdict", "deque", "dict", "list", "set",
})  # fmt: skip
# Module state that has to be, each with its reason.
ALLOWED_STATE: Final[Mapping[str, str]] = {
    "store/forks.py": "the system offers one at-fork hook per process, for ever",
}
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
    """Return `path:line` of each module-level value that is there to be changed.

    What starts empty is a cache or a registry; a filled container is a constant if it is Final.
    """
    findings: list[str] = []
    for path, tree in _parsed(root):
        findings += [f"{path}:{n.lineno}" for n in tree.body if _is_state(n)]
        findings += [f"{path}:{n.lineno}" for n in ast.walk(tree) if isinstance(n, ast.Global)]
    return findings


def absolute_imports(root: Path) -> list[str]:
    """Return `path:line` of each import that names a folder other than HOUSE-2 says.

    A bare `store` is whatever the user's working directory holds (HOUSE-1); across folders the
    product imports relatively and tests import `crashworthy.store`.
    """
    findings: list[str] = []
    for path in project_files(root):
        if not path.endswith(".py"):
            continue
        tree = ast.parse((root / path).read_text("utf-8"), path)
        for node in ast.walk(tree):
            if not isinstance(node, (ast.Import, ast.ImportFrom)):
                continue
            for name in _imported(node):
                first, *deeper = name.split(".")
                in_product = not path.startswith("tests/")
                if first in PRODUCT_FOLDERS or (first == "crashworthy" and deeper and in_product):
                    findings.append(f"{path}:{node.lineno}")
    return findings


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    return [node.module] if node.level == 0 and node.module is not None else []


def _is_state(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return False
        case ast.Assign(value=value):
            return _is_container(value)
        case ast.AnnAssign(annotation=annotation, value=ast.expr() as value):
            return _is_container(value) and (_name(annotation) != "Final" or _is_empty(value))
        case _:
            return False


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return _name(value.func) in MUTABLE_MAKERS
    return isinstance(value, (ast.Dict, ast.List, ast.Set, ast.DictComp, ast.ListComp, ast.SetComp))


def _is_empty(value: ast.expr) -> bool:
    match value:
        case ast.Call(func=func, args=args, keywords=keywords):
            return (not args and not keywords) or _name(func) == "defaultdict"
        case ast.Dict(values=items) | ast.List(elts=items):
            return not items
        case _:
            return False


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
    found = module_state(ROOT)
    assert {finding.partition(":")[0] for finding in found} == set(ALLOWED_STATE), found


def test_folders_are_imported_relatively_or_through_the_package() -> None:
    assert absolute_imports(ROOT) == []


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
        "A = [1]\n"
        "B: Final = {}\n"
        "C: Final = defaultdict(list)\n"
        "D: Final[dict[str, int]] = dict[str, int]()\n"
        "def f() -> None:\n"
        "    global E\n"
        "__all__ = ['A']\n"
        "F: Final[Mapping[str, int]] = {'a': 1}\n"
        "G: Final = frozenset({1})\n"
        "H: Final = (1, 2)\n"
        "I: dict[str, int] = {'a': 1}\n"
        "J: Final = weakref.WeakSet()\n"
    )
    tree = write_tree(tmp_path, {"store/x.py": source})
    assert module_state(tree) == [f"store/x.py:{line}" for line in (1, 2, 3, 4, 11, 12, 6)]


def test_imports_that_name_a_folder_are_reported(tmp_path: Path) -> None:
    good = "from ..machines import facts\nfrom crashworthy import __version__\nimport storehouse\n"
    bad = "import store\nfrom machines.facts import x\n"
    through = "from crashworthy.store import x\n"
    tree = write_tree(
        tmp_path,
        {
            "actors/a.py": good,
            "actors/b.py": bad,
            "actors/c.py": through,
            "tests/d.py": through + bad,
        },
    )
    reported = absolute_imports(tree)
    assert reported == [
        "actors/b.py:1",
        "actors/b.py:2",
        "actors/c.py:1",
        "tests/d.py:2",
        "tests/d.py:3",
    ]
