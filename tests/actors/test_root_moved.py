"""A run whose log is moved away under it ends at once, and says so; nothing is guessed (OWN-5)."""

from pathlib import Path

import pytest

from crashworthy.store.audit.report import Status
from crashworthy.store.verify import verify

from .terminal_rig import make_desk

_MOVES = """
[[turn]]
[[turn.step]]
event = [
  { call = "shell", args = { command = "mv ../log ../moved && echo moved >> moved.txt" } },
  { finish = "tool_calls" },
]
[[turn.step]]
event = [{ text = "The log is where I put it." }, { finish = "stop" }]
"""


@pytest.mark.proves("OWN-5")
def test_run_whose_log_is_moved_ends_and_leaves_its_call_unknown(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)

    ended = desk.type("run", "Go.", "--yes", "--script", desk.script(_MOVES))

    assert ended.status not in (0, 4)
    assert "[lock_replaced]" in ended.err
    assert "Traceback" not in ended.err
    assert not desk.root.exists()
    (tmp_path / "moved").rename(desk.root)
    assert verify(desk.root).status is Status.CLEAN
    stopped = desk.type("stop")
    assert stopped.status == 0 or "no_open_run" in stopped.err
    assert "unknown" in desk.type("show").out
    assert (desk.workspace / "moved.txt").read_text("utf-8") == "moved\n"
