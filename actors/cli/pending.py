"""`crashworthy pending`: what people are asked, in every session of a log (ASK-1)."""

from collections.abc import Sequence

import attrs

from ...machines.facts.model import Question
from ...machines.projections.plain import to_json
from ...machines.projections.status import Pending, status
from ...store.journal.pending import Pending as Word
from .looking import Log, events_of, open_log
from .options import add_json, add_place, command_parser, place_of
from .place import Place
from .terminal import Tone, moment, out, print_json, tell, visible


@attrs.frozen(kw_only=True)
class Asked:
    """One open request, and the session it belongs to."""

    session: str
    request: Pending


def main(argv: Sequence[str]) -> int:
    """List the open requests."""
    parser = command_parser("pending", "List what people are asked, with what each would allow.")
    add_place(parser)
    add_json(parser, "one JSON document: a list of requests")
    args = parser.parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        asked = open_requests(log)
    if args.json:
        print_json([to_json(one) for one in asked])
        return log.status()
    if not asked:
        tell("nobody is asked anything")
    paper = out()
    for one in asked:
        request = one.request
        paper.line(f"{request.ask}  {request.purpose.value}  {moment(request.asked_ts)}", Tone.BOLD)
        paper.line(f"  run {request.run} of {one.session}", Tone.DIM)
        for line in asked_lines(request.review, request.questions):
            paper.line(f"  {line}")
        paper.line(f"  {how_to_answer(place, request.ask, request.questions)}", Tone.DIM)
    return log.status()


def asked_lines(review: str, questions: Sequence[Question]) -> list[str]:
    """Return what exactly is asked for: the action whole, or each question with its options."""
    lines = visible(review).split("\n")
    for question in questions:
        lines.append(visible(question.text))
        lines.extend(f"  - {visible(option)}" for option in question.options)
    return lines


def option_number(word: str, question: Question) -> int | None:
    """Return which option a number from 1 on means, counted from 0; None where it is none."""
    if word.isascii() and word.isdecimal() and 0 < int(word) <= len(question.options):
        return int(word) - 1
    return None


def how_to_answer(place: Place, ask: str, questions: Sequence[Question]) -> str:
    """Return a command that answers a request, with a choice to replace."""
    if not questions:
        return f"{place.command('answer', ask, 'allow')}   (or deny)"
    words = (one.options[0] if one.options else "TEXT" for one in questions)
    return f"{place.command('answer', ask, *words)}   (or what you choose)"


def open_requests(log: Log) -> list[Asked]:
    """Return the open requests of all open runs, in the order in which they were asked."""
    live = log.read(lambda view: view.pending(Word.RUN_LIVE))
    sessions = dict.fromkeys(log.session_of(run) for run in live)
    asked = [
        Asked(session=session, request=request)
        for session in sessions
        for request in status(events_of(log.facts(session)), live=False).pending
    ]
    return sorted(asked, key=lambda one: one.request.asked_ts)
