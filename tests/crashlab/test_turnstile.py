"""A turnstile numbers visits per place and role, so that each boundary has one name."""

import os
from pathlib import Path

import pytest

from crashworthy.crashlab.boundary import Role
from crashworthy.crashlab.turnstile import Turnstile


def test_visits_are_numbered_per_name_and_role(tmp_path: Path) -> None:
    turnstile = Turnstile(target=None, note_path=str(tmp_path / "note"))
    host, worker = turnstile.door(Role.HOST), turnstile.door(Role.WORKER)
    for door, name in ((host, "a"), (worker, "a"), (host, "b"), (host, "a")):
        door.probe(name)
    assert [passage.boundary.key for passage in turnstile.passages] == [
        "host:probe:a#1", "worker:probe:a#1", "host:probe:b#1", "host:probe:a#2",
    ]  # fmt: skip


def test_target_is_noted_before_the_kill(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The note is what tells a death at the target from any other SIGKILL."""
    note = tmp_path / "note"
    rehearsal = Turnstile(target=None, note_path=str(note))
    rehearsal.door(Role.HOST).probe("renamed")
    (target,) = rehearsal.passages[0].boundary.points
    assert not note.exists()

    class KilledError(Exception):
        """Stands for the end of the process."""

    def killed(pid: int, number: int) -> None:
        assert (pid, number) == (os.getpid(), 9)
        assert note.read_text() == f"{target.key}\n"
        raise KilledError

    monkeypatch.setattr(os, "kill", killed)
    with pytest.raises(KilledError):
        Turnstile(target=target, note_path=str(note)).door(Role.HOST).probe("renamed")
