"""`crashworthy abandon`: gives up a run that waits for a person (ASK-3)."""

from collections.abc import Sequence

from ..host import Host
from .exits import Exit
from .looking import open_log
from .options import add_json, add_place, command_parser, place_of
from .owning import decide
from .terminal import print_json, tell


def main(argv: Sequence[str]) -> int:
    """Give up a waiting run."""
    parser = command_parser(
        "abandon",
        "Give up a run that waits for a person: it ends as failed, abandoned_by_person.",
    )
    parser.add_argument("run", metavar="RUN", help="its id, or the beginning")
    add_place(parser)
    add_json(parser, "one JSON document")
    args = parser.parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        run = log.find_run(args.run)

    async def give_up(host: Host) -> None:
        await host.kernel.abandon(run)

    decide(place, give_up)
    if args.json:
        print_json({"run": run, "abandoned": True})
    else:
        tell(f"{run} is given up")
    return Exit.DONE
