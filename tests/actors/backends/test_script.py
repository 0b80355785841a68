"""Scripts are read strictly, and the fault is named where it stands."""

from pathlib import Path

import pytest

from crashworthy.actors.backends.script import Say, ScriptMalformedError, parse_script, read_script


def one_event(event: dict[str, object]) -> dict[str, object]:
    return {"turn": [{"step": [{"event": [event]}]}]}


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({}, "turn"),
        ({"turn": 1}, "turn"),
        ({"model": 1, "turn": []}, "model"),
        ({"turns": []}, "script"),
        ({"turn": [{"user": 1}]}, "turn[0].user"),
        ({"turn": [{"step": [{"or": True}]}]}, "turn[0].step[0]"),
        ({"turn": [{"step": [{"or": 1}]}]}, "turn[0].step[0].or"),
        ({"turn": [{"step": [{"when": {"x": "y"}}]}]}, "turn[0].step[0].when"),
        (one_event({}), "turn[0].step[0].event[0]"),
        (one_event({"text": "a", "finish": "stop"}), "turn[0].step[0].event[0]"),
        (one_event({"text": 1}), "turn[0].step[0].event[0].text"),
        (one_event({"finish": "done"}), "turn[0].step[0].event[0]"),
        (one_event({"error": "broken"}), "turn[0].step[0].event[0]"),
        (one_event({"text": "a", "color": "red"}), "turn[0].step[0].event[0]"),
    ],
)
def test_script_of_another_form_is_refused_with_its_place(
    data: dict[str, object], path: str
) -> None:
    with pytest.raises(ScriptMalformedError) as caught:
        parse_script(data)

    assert caught.value.path == path


def test_script_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(
        """
        model = "m1"
        [[turn]]
        [[turn.step]]
        event = [{ call = "read", args = '{"path": "a", "limit": null}' },
                 { finish = "tool_calls" }]
        [[turn.step]]
        when = { tool = "read", contains = "x" }
        event = [{ text = "found" }, { finish = "stop" }]
        [[turn.step]]
        or = true
        event = [{ text = "not found" }, { finish = "stop" }]
        """
    )

    script = read_script(path)

    assert script.model == "m1"
    assert [len(step) for step in script.turns[0].steps] == [1, 2]
    call = script.turns[0].steps[0][0].events[0]
    assert (call.say, call.more["args"]) == (Say.CALL, {"path": "a", "limit": None})


@pytest.mark.parametrize("content", [b"turn = [", b"\xff\xfe"])
def test_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "agent.toml"
    path.write_bytes(content)

    with pytest.raises(ScriptMalformedError) as caught:
        read_script(path)
    assert caught.value.path == str(path), "as it was named, for there are many agent.toml"


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScriptMalformedError, match="cannot be read"):
        read_script(tmp_path / "none.toml")
