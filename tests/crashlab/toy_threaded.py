"""A workload whose import leaves a thread behind, which no fork may lose."""

import threading
from importlib import import_module
from typing import Final, cast

STRAY: Final = threading.Thread(target=threading.Event().wait, daemon=True)
STRAY.start()


def workload() -> object:
    return cast("object", import_module("toy_ledger").sound())
