"""The lab's own processes import the toys of this folder by name."""

import sys
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def toys_on_the_import_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parent), *sys.path])
