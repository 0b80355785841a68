"""`crashworthy verify`: check a whole root, change nothing, and tell scripts what came of it."""

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, TextIO

from ...store.audit.findings import FINDINGS_MAX, Finding
from ...store.audit.report import Report, Status
from ...store.reports import add_reports, words, write_report
from ...store.verify import Progress, no_progress, verify
from .options import add_place
from .place import find_place
from .terminal import counted

_SHOWN: Final = 50
_STEP_S: Final = 0.2

_STATUS_HELP: Final = """\
exit status:
  0  clean: every row is what it says, follows from what stands before it, and
     is admitted by the lifecycle tables; projections, authority rows and the
     anchor agree
  1  findings: each bad row is named once, with its ordinal, its session and
     the check it fails
  2  wrong usage; nothing was touched
  3  there is nothing to verify, or it cannot be read; the message begins with
     the code
  4  facts that were acknowledged are missing, whatever else was found: the
     next owner refuses to write until a person accepts the loss
"""

_VERDICTS: Final = {
    Status.CLEAN: "clean",
    Status.FINDINGS: "findings",
    Status.FACTS_MISSING: "acknowledged facts are missing",
}


def main(argv: Sequence[str]) -> int:
    """Verify a root and return its status."""
    parser = _parser()
    args = parser.parse_args(argv)
    if args.path is not None and (args.root is not None or args.workspace is not None):
        parser.error("name the log once: ROOT, --root or --workspace")
    watched = sys.stderr.isatty()
    report = verify(
        find_place(args.path or args.root, args.workspace).root,
        progress=_progress() if watched else no_progress,
        blobs=args.blobs,
        file_check=not args.no_file_check,
    )
    if watched:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    _print(report, words(args))
    write_report(args, "json", report.to_bytes().decode())
    return report.status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crashworthy verify",
        description="Check everything that a state root says against everything else it says.\n"
        "Takes no lock and changes nothing, also beside a live owner.",
        epilog=_STATUS_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "path",
        nargs="?",
        type=Path,
        metavar="ROOT",
        help="the state root, as --root; by default that of the working directory",
    )
    add_place(parser)
    add_reports(parser, "json")
    parser.add_argument(
        "--blobs", action="store_true", help="read every blob that a fact names, too"
    )
    parser.add_argument(
        "--no-file-check",
        action="store_true",
        help="do without SQLite's own check of its file, which holds one long snapshot",
    )
    return parser


def _print(report: Report, out: TextIO) -> None:
    """Tell a person: one line a finding, then what it all came to."""
    say = partial(print, file=out)
    for finding in report.findings[:_SHOWN]:
        say(_line(finding))
    if report.total > _SHOWN:
        kept = "" if report.total <= FINDINGS_MAX else f" the first {FINDINGS_MAX} of"
        say(f"... {counted(report.total - _SHOWN, 'more finding')}; --json lists{kept} them")
    for session, ordinal in sorted(report.doubtful.items()):
        say(f"session {session}: not folded beyond ordinal {ordinal}")
    if report.problem is not None:
        say(f"nobody can own this root as it is: [{report.problem}]")
    if report.anchored is None:
        say("the anchor says nothing: a loss of the newest facts could not be seen")
    blobs = "" if report.blobs is None else f", {counted(report.blobs, 'blob')}"
    read = f"{counted(report.facts, 'fact')} in {counted(report.sessions, 'session')}{blobs}"
    say(f"{_VERDICTS[report.status]}: {read}")
    say(f"head: ordinal {report.head.ordinal}, root chain {report.head.chain}")


def _line(finding: Finding) -> str:
    place = "-" if finding.ordinal is None else str(finding.ordinal)
    parts = [f"ordinal {place}", finding.check.value, f"[{finding.code}]", finding.detail]
    if finding.fact is not None:
        parts.append(f"fact {finding.fact}")
    if finding.session is not None:
        parts.append(f"session {finding.session}")
    return "  ".join(parts)


def _progress() -> Progress:
    """Return what keeps one line of a terminal up to date."""
    began = time.monotonic()
    shown = [began]

    def tell(done: int, total: int) -> None:
        now = time.monotonic()
        if now - shown[0] < _STEP_S:
            return
        shown[0] = now
        share = min(done / total, 1) if total else 1
        rate = done / (now - began)
        line = f"\r{done} of {total} facts, {share:.0%}, {rate:.0f}/s\x1b[K"
        print(line, end="", file=sys.stderr, flush=True)

    return tell
