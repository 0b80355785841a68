"""`crashworthy at`: everything as it was right after one fact (PROJ-1)."""

import json
from collections.abc import Sequence
from typing import Final

from ...machines.facts.canonical import Json
from ...machines.facts.model import RuntimeEvent
from ...machines.projections.history import history
from ...machines.projections.lineage import lineage
from ...machines.projections.plain import to_json
from ...machines.projections.recovery import recovery
from ...machines.projections.status import SessionView, status
from ...machines.projections.target import Capabilities, ThinkingForm
from ...machines.projections.transcript import transcript
from ...machines.projections.usage import usage
from ...store.audit.judge import Fact
from .gist import gist
from .looking import Log, OrdinalUnknownError, events_of, open_log
from .options import add_json, add_lines, add_place, command_parser, place_of
from .pending import asked_lines
from .render import Renderer
from .show import LINES
from .terminal import Paper, Tone, moment, out, print_json, some_lines

VIEWS: Final = ("transcript", "history", "status", "usage", "recovery", "lineage")

_TARGET: Final = Capabilities(thinking=ThinkingForm.SIGNED)
"""Tools and signed thinking go as they are: a history shows what the log can give a model."""


def main(argv: Sequence[str]) -> int:
    """Show a past moment."""
    parser = command_parser(
        "at",
        "Show a session as it was right after the fact of this ordinal (see `events`).",
        "A past moment has no live owner: a run without its end is shown as unowned or\nwaiting.",
    )
    parser.add_argument(
        "ordinal", type=int, metavar="ORDINAL", help="which fact; the first of a log has 1"
    )
    parser.add_argument(
        "session",
        nargs="?",
        metavar="SESSION",
        help="its id, or the beginning; else the session of that fact",
    )
    parser.add_argument(
        "--view",
        choices=VIEWS,
        default="transcript",
        metavar="VIEW",
        help="what to show: transcript (the default), history (what a model would be sent), status,"
        " usage, recovery or lineage",
    )
    add_lines(parser, LINES)
    add_place(parser)
    add_json(parser, "one JSON document: the view")
    args = parser.parse_args(argv)
    with open_log(place_of(args)) as log:
        facts = _facts(log, args.ordinal, args.session)
    events = events_of(facts)
    if args.json:
        print_json(view_json(args.view, events))
        return log.status()
    paper = out()
    if facts:
        newest = facts[-1]
        where = f"after {newest.place.ordinal}, {moment(newest.event.ts)}"
        paper.line(paper.fit(f"{where}: {newest.event.kind.value} {gist(newest.event)}"), Tone.DIM)
    _write(args.view, events, paper, args.lines)
    return log.status()


def view_json(name: str, facts: Sequence[RuntimeEvent]) -> Json:
    """Return one view of some facts as plain JSON."""
    match name:
        case "transcript":
            return to_json(transcript(facts, live=False))
        case "history":
            return to_json(history(facts, _TARGET))
        case "status":
            return to_json(status(facts, live=False))
        case "usage":
            return to_json(usage(facts))
        case "recovery":
            return to_json(recovery(facts, live=False))
        case _:
            return to_json(lineage(facts))


def _facts(log: Log, ordinal: int, name: str | None) -> list[Fact]:
    last = log.last()
    if not 0 < ordinal <= last:
        raise OrdinalUnknownError(ordinal=ordinal, last=last)
    if name is None:
        page = log.read(lambda view: view.log(after=ordinal - 1, limit=1))
        session = page[0].place.spine.session
    else:
        session = log.find_session(name)
    return log.facts(session, upto=ordinal)


def _write(name: str, facts: Sequence[RuntimeEvent], paper: Paper, lines: int) -> None:
    renderer = Renderer(paper=paper, lines_max=lines, how="--lines 0")
    match name:
        case "transcript":
            renderer.write(transcript(facts, live=False))
        case "status":
            _write_status(status(facts, live=False), paper)
        case "history":
            for message in history(facts, _TARGET).messages:
                paper.line(message.role, Tone.BOLD)
                for line in some_lines(_pretty(message.body()), lines, "--lines 0"):
                    paper.line(f"   {line}")
        case _:
            for line in some_lines(_pretty(view_json(name, facts)), 0, ""):
                paper.line(line)


def _write_status(view: SessionView, paper: Paper) -> None:
    paper.line(f"{view.session}  {view.state.value}")
    for run in view.runs:
        paper.line(f"  {run.run}  {run.state.value}  {moment(run.opened_ts)}")
        for ask in run.pending:
            paper.line(f"    asks: {ask.ask}  {ask.purpose.value}")
            for line in asked_lines(ask.review, ask.questions):
                paper.line(f"      {line}")
        for operation in run.unsettled:
            paper.line(f"    unsettled: {operation}", Tone.RED)


def _pretty(value: Json) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
