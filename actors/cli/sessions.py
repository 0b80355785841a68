"""`crashworthy sessions`: which conversations this log holds, the newest first."""

from collections.abc import Sequence
from typing import Final

import attrs

from ...machines.facts.model import SessionOpened, Text
from ...machines.projections.plain import to_json
from ...machines.projections.status import SessionState, status
from .looking import Log, events_of, open_log
from .options import add_json, add_limit, add_place, command_parser, place_of
from .terminal import counted, left_out, moment, out, print_json, tell, visible

_SHOWN: Final = 20


@attrs.frozen(kw_only=True)
class SessionLine:
    """One session in the list.

    Attributes:
        words: Its title, or else the first words that were said in it.
        newest_ts: When its newest fact was written, for display.
    """

    session: str
    state: SessionState
    runs: int
    pending: int
    newest_ts: int
    words: str


def main(argv: Sequence[str]) -> int:
    """List sessions."""
    parser = command_parser("sessions", "List the sessions of a log, the newest first.")
    add_limit(parser, _SHOWN, "sessions")
    add_place(parser)
    add_json(parser, "one JSON document: a list of sessions")
    args = parser.parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        names = log.sessions()[::-1]
        shown = names[: args.limit] if args.limit else names
        live = log.live()
        lines = [_line(log, name, live=live) for name in shown]
    if args.json:
        print_json([to_json(line) for line in lines])
        return log.status()
    if not lines:
        tell("no session yet")
        return log.status()
    paper = out()
    for line in lines:
        runs = counted(line.runs, "run")
        paper.line(f"{line.session}  {line.state.value}, {runs}, {moment(line.newest_ts)}")
        paper.line(paper.fit(f"  {line.words}"))
    if len(shown) < len(names):
        tell(left_out(len(names) - len(shown), "older session"))
    return log.status()


def _line(log: Log, name: str, *, live: bool) -> SessionLine:
    facts = events_of(log.facts(name))
    view = status(facts, live=live)
    title = next((f.actions.title for f in facts if isinstance(f.actions, SessionOpened)), None)
    said = (f.content.text for f in facts if isinstance(f.content, Text))
    return SessionLine(
        session=name,
        state=view.state,
        runs=len(view.runs),
        pending=len(view.pending),
        newest_ts=facts[-1].ts if facts else 0,
        words=visible(title or next(said, "")),
    )
