"""A workload whose import opens a connection, which no fork may inherit."""

import sqlite3
from importlib import import_module
from typing import Final, cast

LEAKED: Final = sqlite3.connect(":memory:")


def workload() -> object:
    return cast("object", import_module("toy_ledger").sound())
