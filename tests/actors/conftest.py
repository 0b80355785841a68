"""Fixtures of the runtime's tests."""

from pathlib import Path

import pytest

from .scene import Scene


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """Make a fresh root whose store is watched."""
    made = Scene(place=tmp_path)
    made.watch(monkeypatch)
    return made
