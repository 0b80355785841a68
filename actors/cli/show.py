"""`crashworthy show`: a session as a person reads it."""

from collections.abc import Sequence
from typing import Final

from ...machines.projections.plain import to_json
from ...machines.projections.status import RunState
from ...machines.projections.transcript import transcript
from .looking import Log, events_of, is_run, open_log
from .options import add_json, add_lines, add_place, command_parser, place_of
from .render import Renderer
from .terminal import out, print_json, tell

LINES: Final = 12
_UNOWNED: Final = (
    "unowned: the process that worked on the run is gone. The next `run`, `resume`, `answer` or\n"
    "`stop` in this log settles what it left, executing none of it; then `show` says how it ended."
)


def main(argv: Sequence[str]) -> int:
    """Show a session or one run of it."""
    parser = command_parser("show", "Show what was said and done in a session, or in one run.")
    parser.add_argument(
        "name", nargs="?", metavar="SESSION|RUN", help="its id, or the beginning; else the newest"
    )
    add_lines(parser, LINES)
    add_place(parser)
    add_json(parser, "one JSON document: the transcript, with what it leaves out")
    args = parser.parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        session, run = name_of(log, args.name)
        facts = events_of(log.facts(session))
        view = transcript(
            [fact for fact in facts if run in (None, fact.spine.run)],
            live=log.live(),
            fragments=[one for one in log.fragments(session) if run in (None, one.run)],
        )
    if args.json:
        print_json(to_json(view))
    else:
        Renderer(paper=out(), lines_max=args.lines, how="--lines 0").write(view)
        if any(turn.state is RunState.UNOWNED for turn in view.turns):
            tell(_UNOWNED)
    return log.status()


def name_of(log: Log, name: str | None) -> tuple[str, str | None]:
    """Return the session that a name means, and the run if it means one.

    Raises:
        SessionUnknownError: `session_unknown`.
        RunUnknownError: `run_unknown`.
        NameAmbiguousError: `name_ambiguous`.
    """
    if name is not None and is_run(name):
        run = log.find_run(name)
        return log.session_of(run), run
    return log.find_session(name), None
