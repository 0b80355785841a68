"""The command `crashworthy bench`: measure the store beside raw SQLite, and say what is missed."""

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import attrs

from ...store.reports import add_reports, words, write_report
from ...store.sqlite import SqliteStore
from ..workloads.teller import Teller
from .appends import End, measure_budget, measure_growth
from .claims import measure_bundles, measure_claims
from .figure import Figure, as_json_value, as_table
from .ground import QUICK, Sizes, fill, opened
from .groups import measure_ceiling_share, measure_gain
from .hosts import measure_hosts
from .reading import Task, measure_load, measure_openings, measure_task
from .syncs import measure_syncs

MET, MISSED, USAGE = 0, 1, 2
_HELP: Final = """\
exit status:
  0  all targets are met
  1  one is missed; with --quick that says nothing about the store
  2  wrong usage
  3  the environment failed
"""


class _Options(argparse.Namespace):
    facts: int | None
    rounds: int | None
    quick: bool
    place: Path | None
    json: str | None

    def sizes(self) -> Sizes:
        sizes = QUICK if self.quick else Sizes()
        if self.facts is not None:
            sizes = attrs.evolve(sizes, facts=self.facts)
        return sizes if self.rounds is None else attrs.evolve(sizes, rounds=self.rounds)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0 where all targets are met, 1 where one is missed, 2 for usage."""
    try:
        options = _parser().parse_args(argv, namespace=_Options())
    except SystemExit as stop:  # argparse has told its reason already
        return stop.code if isinstance(stop.code, int) else USAGE
    with tempfile.TemporaryDirectory(prefix="crashworthy-bench-", dir=options.place) as place:
        figures = measure_all(Path(place), options.sizes(), told=_tell)
    print(as_table(figures), end="", file=words(options))
    write_report(options, "json", _as_json(figures, options))
    return MISSED if any(figure.met is False for figure in figures) else MET


def measure_all(place: Path, sizes: Sizes, *, told: Callable[[str], None]) -> list[Figure]:
    """Measure everything in `place`, which must be empty and on the disk to be measured."""
    figures: list[Figure] = []
    told("single facts beside raw SQLite")
    figures += measure_budget(_room(place, "budget"), sizes)
    told(f"{sizes.facts} facts being written")
    room = _room(place, "growth")
    with opened(room, name="short") as short, opened(room, name="long") as long:
        ends = (_filled(short, sizes.few), _filled(long, sizes.facts))
        told("facts at the end of a log")
        figures += measure_growth(*ends, sizes)
        figures.append(measure_load(long))
    told("the whole log")
    figures.append(measure_openings(room / "short", room / "long"))
    for task in Task:
        figures += measure_task(task, room / "long")
    told("many runs at once")
    figures.append(measure_ceiling_share(_room(place, "share"), sizes))
    figures.append(measure_gain(_room(place, "gain"), sizes))
    told("claims and recovery")
    figures += measure_claims(_room(place, "claims"), sizes)
    figures.append(measure_bundles(_room(place, "bundles"), sizes))
    figures.append(measure_syncs(_room(place, "syncs"), min(sizes.rounds, 20)))
    told("hosts that open")
    figures += measure_hosts(_room(place, "hosts"), sizes)
    return figures


def _filled(store: SqliteStore, facts: int) -> End:
    teller = Teller(session="ses")
    store.write(teller.open_session())
    fill(store, teller, facts)
    return End(store=store, teller=teller)


def _room(place: Path, name: str) -> Path:
    room = place / name
    room.mkdir(mode=0o700)
    return room


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crashworthy bench",
        description="Measure the store beside raw SQLite on the same disk.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--facts", type=_positive, metavar="N", help="facts of the long log (100000)")
    add("--rounds", type=_positive, metavar="N", help="measured commits of each kind (300)")
    add("--quick", action="store_true", help="small sizes: shows that it runs, measures nothing")
    add("--place", type=Path, metavar="DIR", help="a directory on the disk to be measured")
    add_reports(parser, "json")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _tell(what: str) -> None:
    if sys.stderr.isatty():
        print(f"measuring {what}", file=sys.stderr)


def _as_json(figures: Sequence[Figure], options: _Options) -> str:
    load = os.getloadavg()[0]
    report = {
        "figures": {figure.name: as_json_value(figure) for figure in figures},
        "sizes": attrs.asdict(options.sizes()),
        "machine": {
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
            "system": platform.system(),
            "cores": os.cpu_count(),
            "load_1min": load,
        },
    }
    return json.dumps(report, indent=2) + "\n"
