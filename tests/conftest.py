"""Hypothesis runs by profile: `ci` repeats itself exactly, `deep` searches anew each time.

`ci` is the default, so that a red run is red again on every machine. Take the other one with
`pytest --hypothesis-profile=deep`. And no test names a clock that pytest-trio would not use.
"""

import os

import pytest
from hypothesis import settings

from crashworthy.store import platform

# No deadlines: on a busy two-core machine they measure the neighbours, not the code.
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=60, stateful_step_count=30, print_blob=True
)
settings.register_profile(
    "deep", deadline=None, max_examples=2000, stateful_step_count=80, print_blob=True
)
settings.load_profile("ci")

_CLOCKS = frozenset(("autojump_clock", "mock_clock"))


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the inodes of whatever the store syncs from here on; nothing really is."""
    inodes: list[int] = []

    def note(fd: int) -> None:
        inodes.append(os.fstat(fd).st_ino)

    monkeypatch.setattr(platform, "full_sync", note)
    return inodes


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a clock that a test only names: pytest-trio takes it from an argument, or not at all.

    Such a test runs in real time, and fails now and then on a busy machine.
    """
    for item in items:
        for mark in item.iter_markers("usefixtures"):
            if _CLOCKS & set(mark.args):
                message = f"{item.nodeid}: take the clock as an argument"
                raise pytest.UsageError(message)
