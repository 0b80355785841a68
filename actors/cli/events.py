"""`crashworthy events`: the facts themselves, in commit order, one a line."""

from collections.abc import Sequence
from typing import Final

from ...machines.facts import canonical
from ...machines.facts.canonical import Json
from ...machines.facts.codec import encode_body
from ...store.audit.judge import Fact
from .gist import gist
from .looking import open_log
from .options import add_json, add_limit, add_place, command_parser, place_of
from .show import name_of
from .terminal import left_out, moment, out, print_json, table, tell

_SHOWN: Final = 200


def main(argv: Sequence[str]) -> int:
    """List the facts of a session or run."""
    parser = command_parser(
        "events",
        "List the facts of a session, or of one run: ordinal, time, kind, and what each says.",
        "with --json: one object a line, {ordinal, seq, epoch, chain, rows, body}; the body is the "
        "stored one.",
    )
    parser.add_argument(
        "name", nargs="?", metavar="SESSION|RUN", help="its id, or the beginning; else the newest"
    )
    add_limit(parser, _SHOWN, "facts, counted from the newest,")
    add_place(parser)
    add_json(parser, "JSON lines")
    args = parser.parse_args(argv)
    with open_log(place_of(args)) as log:
        session, run = name_of(log, args.name)
        facts = [one for one in log.facts(session) if run in (None, one.event.spine.run)]
    shown = facts[-args.limit :] if args.limit else facts
    if args.json:
        for one in shown:
            print_json(fact_json(one))
        return log.status()
    if len(shown) < len(facts):
        tell(left_out(len(facts) - len(shown), "older fact"))
    rows = [
        (str(one.place.ordinal), moment(one.event.ts), one.event.kind.value, gist(one.event))
        for one in shown
    ]
    for row in table(rows, out()):
        print(row)
    return log.status()


def fact_json(one: Fact) -> Json:
    """Return a fact with its place: the stored body, not another form of it (BYTE-2)."""
    place = one.place
    return {
        "ordinal": place.ordinal,
        "seq": place.seq,
        "epoch": place.epoch,
        "chain": place.chain,
        "rows": list(one.stamp.rows),
        "body": canonical.parse(encode_body(one.event)),
    }
