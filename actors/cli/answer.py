"""`crashworthy answer`: records a person's decision, and executes nothing (ASK-1, ASK-3)."""

import argparse
from collections.abc import Sequence

from ...machines.facts.canonical import encode
from ...machines.facts.model import Question
from ...machines.facts.vocabulary import AnswerDecision, Purpose
from ..host import Host
from .exits import Exit
from .looking import open_log
from .options import add_json, add_place, command_parser, place_of
from .owning import decide
from .pending import open_requests, option_number
from .terminal import print_json, tell


def main(argv: Sequence[str]) -> int:
    """Record an answer."""
    args = _parser().parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        ask = log.find_ask(args.ask)
        asked = next((one for one in open_requests(log) if one.request.ask == ask), None)
    question = asked is not None and asked.request.purpose is Purpose.QUESTION
    words = args.words if asked is None else picked(args.words, asked.request.questions)
    decision, answers = _decision(words, question=question)

    async def record(host: Host) -> None:
        await host.people.answer(ask, decision, answers)

    decide(place, record)
    run = None if asked is None else asked.request.run
    if args.json:
        print_json({"ask": ask, "run": run, "decision": decision.value, "answers": list(answers)})
    else:
        tell(f"recorded: {decision.value}. Nothing was executed; to go on:")
        tell(f"  {place.command('resume', run or 'RUN', '--script', 'FILE')}")
    return Exit.DONE


def _parser() -> argparse.ArgumentParser:
    parser = command_parser(
        "answer",
        "Record what a person decides about one request; the first decision counts.",
        "Approvals take `allow` or `deny`. Questions take one text each, in quotes if it\n"
        "has blanks, or the number of an option, or `-` to pass it over; or one `deny`\n"
        "for all. The run goes on when somebody resumes it.",
    )
    parser.add_argument("ask", metavar="ASK", help="the request's id, or the beginning")
    parser.add_argument("words", nargs="+", metavar="allow|deny|TEXT", help="the decision")
    add_place(parser)
    add_json(parser, "one JSON document")
    return parser


def picked(words: Sequence[str], questions: Sequence[Question]) -> list[str]:
    """Return the words, each number of an option as that option; an option's own text is itself."""
    told = list(words)
    for at, (word, question) in enumerate(zip(words, questions, strict=False)):
        number = option_number(word, question)
        if number is not None and word not in question.options:
            told[at] = question.options[number]
    return told


def _decision(
    words: Sequence[str], *, question: bool
) -> tuple[AnswerDecision, tuple[str | None, ...]]:
    plain = (AnswerDecision.DENY,) if question else (AnswerDecision.ALLOW, AnswerDecision.DENY)
    if len(words) == 1 and words[0] in plain:
        return AnswerDecision(words[0]), ()
    for word in words:
        encode(word)  # Unclean words are refused, never changed (BYTE-3).
    return AnswerDecision.ANSWER, tuple(None if word == "-" else word for word in words)
