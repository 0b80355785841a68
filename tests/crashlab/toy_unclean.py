"""A workload whose import opens a connection to a file, which no fork may inherit."""

import sqlite3
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Final, cast


def _leak() -> sqlite3.Connection:
    with tempfile.TemporaryDirectory() as folder:
        return sqlite3.connect(Path(folder) / "leaked.db")


LEAKED: Final = _leak()


def workload() -> object:
    return cast("object", import_module("toy_ledger").sound())
