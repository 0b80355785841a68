"""The ask_user tool: its schema and the limits of a question; the kernel asks (ASK-1)."""

import unicodedata
from typing import Final, NoReturn

from ....machines.facts import canonical
from ....machines.facts.canonical import Json
from ....machines.facts.model import Question
from ..contract import OutcomeUnknown, Permission, Place, Tool
from ..errors import QuestionInvalidError

QUESTIONS_MAX: Final = 3
OPTIONS_MIN: Final = 2
OPTIONS_MAX: Final = 3
QUESTION_BYTES_MAX: Final = 1024
OPTION_BYTES_MAX: Final = 256
ANSWER_BYTES_MAX: Final = 2048
REQUEST_BYTES_MAX: Final = 16 * 1024

_INVISIBLE: Final = frozenset({"Cf", "Cc", "Zl", "Zp"})
"""Kinds of characters that can reorder or hide what a person reads."""


def _asked_elsewhere(*_args: object, **_kwargs: object) -> NoReturn:
    # Never run: the kernel answers by the person's facts.
    raise AssertionError


ask_user: Final = Tool(
    name="ask_user",
    description=(
        "Ask the person one to three questions, each with two or three short options or, without "
        "options, for a free answer. The answers come in order; null where one was left open."
    ),
    schema={
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": QUESTIONS_MAX,
                "items": {
                    "type": "object",
                    "properties": {
                        "text": {"type": "string", "minLength": 1},
                        "options": {
                            "type": "array",
                            "maxItems": OPTIONS_MAX,
                            "items": {"type": "string", "minLength": 1},
                        },
                    },
                    "required": ["text"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["questions"],
        "additionalProperties": False,
    },
    # Asked before its T1 and settled right after it: there is no effect to be in doubt of (ASK-3).
    recovery=OutcomeUnknown(),
    local=True,
    permission=Permission.FREE,
    place=Place.KERNEL,
    entry=f"{__name__}:ask_user",
    function=_asked_elsewhere,
)


def read_questions(args: dict[str, Json]) -> tuple[Question, ...]:
    """Return the questions of a call whose arguments the schema accepted.

    Raises:
        QuestionInvalidError: `question_invalid`, over its bounds, or options that look alike.
    """
    if len(canonical.encode(args)) > REQUEST_BYTES_MAX:
        raise QuestionInvalidError(field="questions", reason=f"over {REQUEST_BYTES_MAX} bytes")
    asked = args["questions"]
    assert isinstance(asked, list)
    return tuple(_question(item, position) for position, item in enumerate(asked))


def check_answers(questions: tuple[Question, ...], answers: tuple[str | None, ...]) -> None:
    """Refuse answers that do not fit the questions one by one.

    Raises:
        QuestionInvalidError: `question_invalid`, too many, too few, empty or too long.
    """
    if len(answers) != len(questions):
        raise QuestionInvalidError(field="answers", reason=f"{len(questions)} are wanted")
    for position, answer in enumerate(answers):
        if answer is not None and not 0 < len(answer.encode()) <= ANSWER_BYTES_MAX:
            reason = f"empty or over {ANSWER_BYTES_MAX} bytes"
            raise QuestionInvalidError(field=f"answers[{position}]", reason=reason)


def escaped(text: str) -> str:
    """Return `text` with every character that could hide or reorder others spelled out."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in _INVISIBLE else _spelled(char)
        for char in text
    )


def _spelled(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def _question(item: Json, position: int) -> Question:
    assert isinstance(item, dict)
    text, options = item["text"], item.get("options", [])
    assert isinstance(text, str)
    assert isinstance(options, list)
    place = f"questions[{position}]"
    if len(text.encode()) > QUESTION_BYTES_MAX:
        reason = f"over {QUESTION_BYTES_MAX} bytes"
        raise QuestionInvalidError(field=f"{place}.text", reason=reason)
    if options and len(options) < OPTIONS_MIN:
        raise QuestionInvalidError(field=f"{place}.options", reason="one option is no choice")
    labels = tuple(escaped(str(option)) for option in options)
    if any(len(label.encode()) > OPTION_BYTES_MAX for label in labels):
        reason = f"over {OPTION_BYTES_MAX} bytes"
        raise QuestionInvalidError(field=f"{place}.options", reason=reason)
    if len({label.strip().casefold() for label in labels}) != len(labels):
        raise QuestionInvalidError(field=f"{place}.options", reason="two options look alike")
    return Question(text=escaped(text), options=labels)
