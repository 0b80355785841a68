"""How a call ended is settled or unknown by the tool's own contract, never by hope (OP-2, OP-5)."""

import pytest

from crashworthy.actors.tools.builtin.asking import check_answers, escaped, read_questions
from crashworthy.actors.tools.builtin.files import write
from crashworthy.actors.tools.builtin.looking import read
from crashworthy.actors.tools.builtin.shell import shell
from crashworthy.actors.tools.contract import OutputRule, Tool
from crashworthy.actors.tools.errors import QuestionInvalidError
from crashworthy.actors.tools.outcome import Settled, Unknown, settle
from crashworthy.actors.tools.output import OutputRecord, Window
from crashworthy.actors.tools.runner import (
    Ending,
    Finish,
    NotRepresentable,
    NotStarted,
    Raised,
    Refused,
    Returned,
    TimedOut,
    Uncertain,
    WorkerDied,
)
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.vocabulary import OutcomeResult


def printed(data: bytes, rule: OutputRule | None = None) -> OutputRecord:
    window = Window(rule or OutputRule())
    window.write(data)
    return window.close(None)


@pytest.mark.parametrize("tool", [shell, write], ids=lambda tool: tool.name)
@pytest.mark.parametrize(
    ("finish", "code"),
    [
        (WorkerDied(exit_code=-9, detail=""), Code.WORKER_DIED),
        (TimedOut(timeout_ms=5), Code.TOOL_TIMED_OUT),
        (Uncertain(reason="half-way"), Code.OUTCOME_UNCERTAIN),
    ],
    ids=str,
)
@pytest.mark.proves("OP-5", "OP-8")
def test_ended_worker_leaves_an_effect_unknown(tool: Tool, finish: Finish, code: Code) -> None:
    found = settle(tool, Ending(finish=finish))
    assert isinstance(found, Unknown)
    assert found.code is code


@pytest.mark.parametrize(
    ("finish", "result"),
    [
        (WorkerDied(exit_code=-9, detail=""), OutcomeResult.ERROR),
        (TimedOut(timeout_ms=5), OutcomeResult.TIMED_OUT),
    ],
    ids=str,
)
@pytest.mark.proves("OP-5")
def test_ended_worker_settles_what_is_free_of_effects(
    finish: Finish, result: OutcomeResult
) -> None:
    found = settle(read, Ending(finish=finish))
    assert isinstance(found, Settled)
    assert (found.result, found.is_error) == (result, True)


@pytest.mark.parametrize(
    ("finish", "result", "code"),
    [
        (Refused(facts={"code": "path_denied"}), OutcomeResult.ERROR, "path_denied"),
        (Raised(error="ValueError", message="m"), OutcomeResult.ERROR, "tool_failed"),
        (NotStarted(reason="r"), OutcomeResult.ERROR, "worker_unavailable"),
        (
            NotRepresentable(reason="r"),
            OutcomeResult.NOT_REPRESENTABLE,
            "result_not_representable",
        ),
    ],
    ids=str,
)
@pytest.mark.proves("OP-2", "BYTE-1a")
def test_answered_call_is_settled_for_every_tool(
    finish: Finish, result: OutcomeResult, code: str
) -> None:
    found = settle(shell, Ending(finish=finish))
    assert isinstance(found, Settled)
    assert isinstance(found.content, dict)
    assert (found.result, found.content["code"]) == (result, code)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ({"exit_code": 0}, {"exit_code": 0, "output": "hi"}),
        ("text", {"value": "text", "output": "hi"}),
        ({"output": 1}, {"value": {"output": 1}, "output": "hi"}),
    ],
    ids=str,
)
def test_printed_output_stands_beside_the_value(value: Json, content: Json) -> None:
    found = settle(shell, Ending(finish=Returned(value=value), output=printed(b"hi")))
    assert isinstance(found, Settled)
    assert (found.content, found.is_error) == (content, False)


def test_empty_output_is_one_result() -> None:
    found = settle(read, Ending(finish=Returned(value="")))
    assert isinstance(found, Settled)
    assert (found.content, found.result) == ("", OutcomeResult.OK)


@pytest.mark.proves("OP-7")
def test_two_cuts_are_both_told() -> None:
    rule = OutputRule(head_bytes=1, tail_bytes=1)
    found = settle(
        shell,
        Ending(
            finish=Returned(value=None, whole=printed(b"value", rule)),
            output=printed(b"output", rule),
        ),
    )
    assert isinstance(found, Settled)
    assert found.cut is not None
    assert found.cut.bytes_total == 5
    assert isinstance(found.content, dict)
    assert found.content["output_cut"] == {"bytes_total": 6, "blob": None}


def question(text: str = "Which?", *options: str) -> dict[str, Json]:
    return {"questions": [{"text": text, "options": list(options)}]}


@pytest.mark.parametrize(
    "args",
    [
        question("é" * 513),
        question("Which?", "only"),
        question("Which?", "a", "A "),
        question("Which?", "a\u202e", "a\\u{202e}"),
        question("Which?", "a" * 257, "b"),
    ],
    ids=lambda args: str(args)[:60],
)
@pytest.mark.proves("ASK-1")
def test_question_over_its_bounds_is_refused_without_its_text(args: dict[str, Json]) -> None:
    with pytest.raises(QuestionInvalidError) as refused:
        read_questions(args)
    assert "Which" not in str(refused.value)


def test_hidden_characters_of_a_question_are_spelled_out() -> None:
    assert read_questions(question("a\u202eb", "x", "y"))[0].text == "a\\u{202e}b"
    assert escaped("line\nnext") == "line\nnext"


def test_answers_fit_their_questions_one_by_one() -> None:
    asked = read_questions(question())
    check_answers(asked, (None,))
    check_answers(asked, ("yes",))
    for answers in ((), ("",), ("a", "b"), ("a" * 2049,)):
        with pytest.raises(QuestionInvalidError):
            check_answers(asked, answers)
