"""`crashworthy stop`: ends an open run durably, whoever left it (RUN-4)."""

from collections.abc import Sequence
from typing import Final

from ...store.journal.ends import Stopped
from ..host import Host
from .exits import Exit
from .looking import open_log
from .options import add_json, add_place, command_parser, place_of
from .owning import decide
from .terminal import print_json, tell

_SOURCE: Final = "user"


def main(argv: Sequence[str]) -> int:
    """Stop a run."""
    parser = command_parser(
        "stop",
        "Stop a run: it ends as aborted, its open requests are closed, nothing is executed.",
        "Stopping a run that is over changes nothing and says so.",
    )
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="its id, or the beginning; else the one that is open"
    )
    add_place(parser)
    add_json(parser, "one JSON document")
    args = parser.parse_args(argv)
    place = place_of(args)
    with open_log(place) as log:
        run = log.find_run(args.run)

    async def stop(host: Host) -> Stopped:
        return await host.kernel.stop(run, _SOURCE)

    found = decide(place, stop)
    if args.json:
        print_json({"run": run, "stopped": found.value})
    elif found is Stopped.ENDED:
        tell(f"{run} was over already")
    else:
        tell(f"{run} is stopped")
    return Exit.DONE
