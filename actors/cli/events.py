"""`crashworthy events`: the facts themselves, or how things went, in order, one a line."""

from collections.abc import Sequence
from typing import Final

from ...machines.facts import canonical
from ...machines.facts.canonical import Json
from ...machines.facts.codec import encode_body
from ...store.audit.judge import Fact
from ...store.operational import OperationalRecord, read_operational
from .exits import Exit
from .gist import gist
from .looking import Log, open_log
from .options import add_json, add_limit, add_place, command_parser, place_of
from .show import name_of
from .terminal import counted, left_out, moment, out, print_json, table, tell, visible

_SHOWN: Final = 200


def main(argv: Sequence[str]) -> int:
    """List the facts of a session or run."""
    parser = command_parser(
        "events",
        "List the facts of a session, or of one run: ordinal, time, kind, and what each says.",
        "The facts of a call bear the time of the call; how long it took is told by\n"
        "`show` and by --operational.\n\n"
        "with --json, one object a line:\n"
        "  {ordinal, seq, epoch, chain, rows, body}   the body is the stored one\n"
        "  {run, id, ts, kind, details}               with --operational",
    )
    parser.add_argument(
        "name", nargs="?", metavar="SESSION|RUN", help="its id, or the beginning; else the newest"
    )
    parser.add_argument(
        "--operational",
        action="store_true",
        help="show how things went instead: timings, retries, late errors, of all runs or of "
        "RUN; bounded and redacted, kept apart from the log, and no decision reads them",
    )
    add_limit(parser, _SHOWN, "facts or records, counted from the newest,")
    add_place(parser)
    add_json(parser, "JSON lines")
    args = parser.parse_args(argv)
    with open_log(place_of(args)) as log:
        if args.operational:
            run = None if args.name is None else log.find_run(args.name)
            return _operational(log, run, limit=args.limit, as_json=args.json)
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


def _operational(log: Log, run: str | None, *, limit: int, as_json: bool) -> Exit:
    """Show how things went; what cannot be read is counted and changes no exit status (LOG-10)."""
    reading = read_operational(log.root.operational, run)
    shown = reading.records[-limit:] if limit else reading.records
    if reading.damaged:
        tell(f"{counted(reading.damaged, 'operational record')} unreadable; nothing depends on it")
    if as_json:
        for one in shown:
            print_json(record_json(one))
        return log.status()
    if len(shown) < len(reading.records):
        tell(left_out(len(reading.records) - len(shown), "older record"))
    about: str | None = None
    for one in shown:
        if one.run != about:
            about = one.run
            print(f"run {about}" if about else "host")
        print(f"  {moment(one.ts)}  {one.kind}  {_details(one)}".rstrip())
    return log.status()


def _details(one: OperationalRecord) -> str:
    words = " ".join(f"{name}={value}" for name, value in one.details.items())
    return " ".join(visible(words).split())


def record_json(one: OperationalRecord) -> Json:
    """Return a record with its place."""
    return {
        "run": one.run,
        "id": one.id,
        "ts": one.ts,
        "kind": one.kind,
        "details": dict(one.details),
    }


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
