"""A puppet is a real process that holds still where it is told to."""

import time
from pathlib import Path

import pytest

from crashworthy.crashlab.puppet import PuppetFailedError, puppets


def test_puppet_returns_the_result_of_each_act(tmp_path: Path) -> None:
    with puppets(1) as (puppet,):
        assert puppet.play("toy_acts:echo", tmp_path, "one") == "one"
        assert puppet.play("toy_acts:echo", tmp_path, "two") == "two"


def test_stopped_puppet_does_nothing_until_it_is_continued(tmp_path: Path) -> None:
    tick = tmp_path / "tick"
    with puppets(1) as (puppet,):
        puppet.begin("toy_acts:tick", tmp_path)
        puppet.await_pause("ready")
        puppet.release()
        while not tick.exists():
            time.sleep(0.001)
        with puppet.stopped():
            held = tick.read_text()
            time.sleep(0.05)
            assert tick.read_text() == held
        while tick.read_text() == held:
            time.sleep(0.001)
        (tmp_path / "end").touch()
        assert puppet.result() == "ended"


def test_act_that_raises_fails_with_its_traceback(tmp_path: Path) -> None:
    with puppets(1) as (puppet,), pytest.raises(PuppetFailedError, match="RuntimeError: planted"):
        puppet.play("toy_acts:raise_error", tmp_path)


def test_act_that_ends_its_process_fails(tmp_path: Path) -> None:
    with puppets(1) as (puppet,), pytest.raises(PuppetFailedError, match="its process ended"):
        puppet.play("toy_acts:die", tmp_path)


def test_act_that_hangs_fails_and_is_ended(tmp_path: Path) -> None:
    with puppets(1, seconds_max=2.0) as (puppet,):
        with pytest.raises(PuppetFailedError, match="silent"):
            puppet.play("toy_acts:sleep_long", tmp_path)
        puppet.kill()
        assert puppet.process.returncode == -9


def test_pause_that_is_not_the_expected_one_fails(tmp_path: Path) -> None:
    with puppets(1) as (puppet,):
        puppet.begin("toy_acts:tick", tmp_path)
        with pytest.raises(PuppetFailedError, match="paused: ready"):
            puppet.await_pause("somewhere else")


def test_killed_puppet_leaves_its_act_where_it_was(tmp_path: Path) -> None:
    with puppets(1) as (puppet,):
        puppet.begin("toy_acts:tick", tmp_path)
        puppet.await_pause("ready")
        puppet.kill()
        assert not (tmp_path / "tick").exists()
