"""The command `crashworthy crash`: kill a workload at every boundary, and say what broke."""

import argparse
import inspect
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final, TextIO

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..store.reports import (
    add_reports,
    check_reports,
    refuse_reports,
    words,
    write_report,
)
from . import moments
from .boundary import Point
from .crew import LabProcessLostError
from .kill import Death, Outcome
from .launch import Mode, default_mode
from .matrix import (
    PROFILES,
    Plan,
    Progress,
    die_once,
    rehearse,
    run_matrix,
    scratch_base,
)
from .pages import as_html, as_json, as_junit
from .power import report as power_report
from .power import running
from .power.losses import ImageUnknownError, parse_key
from .power.planning import EXTENTS, Extent
from .power.recorder import RecorderUnavailableError
from .power.recording import RecordingFailedError
from .report import as_text
from .simulation import hands, told
from .simulation.history import History
from .workload import BUILT_IN, WorkloadUnknownError

CLEAN, BROKEN, USAGE, ENVIRONMENT = 0, 1, 2, 3
_LINE_S: Final = 15.0
"""Seconds between two lines of progress where nobody watches."""
_HELP: Final = """\
a workload of your own: module:factory names a function without arguments that
returns an object with the methods of crashworthy.crashlab.workload.Workload
(`pydoc` that name); the module is imported with the working directory on the
path. crashlab/workloads/store.py is a whole one.

exit status:
  0  clean
  1  a promise is broken, or a death was not reached
  2  wrong usage
  3  the environment failed
"""


@attrs.define(eq=False, kw_only=True)
class DeathUnknownError(CrashworthyError):
    """The rehearsal passes no such point; `--list` shows all that it passes."""

    code: ClassVar[Code] = Code.DEATH_UNKNOWN
    death: str


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    0 is clean, 1 broken or unreached, 2 wrong usage, 3 that nothing can be checked here.
    """
    try:
        parser = _parser()
        options = parser.parse_args(argv, namespace=_Options())
        _check(parser, options)
    except SystemExit as stop:  # argparse has told its reason already
        return stop.code if isinstance(stop.code, int) else USAGE
    if options.moments is not None:
        return _moments(options)
    if options.power is not None:
        return _power(options)
    if options.simulate is not None:
        return _simulate(options)
    plan = options.plan()
    try:
        if options.list_only:
            return _list(plan)
        if options.at:
            return _die_at(plan, options.at)
        return _matrix(plan, options)
    except (WorkloadUnknownError, DeathUnknownError) as error:
        _tell(error)
        return USAGE
    except LabProcessLostError as error:
        _tell(error)
        return BROKEN


def _tell(error: CrashworthyError) -> None:
    meaning = (inspect.getdoc(type(error)) or "").split("\n\n", maxsplit=1)[0]
    print(f"crashworthy crash: {error}\n  {' '.join(meaning.split())}", file=sys.stderr)


class _Options(argparse.Namespace):
    workload: str
    moments: int | None
    power: int | None
    simulate: int | None
    profile: str
    seed: int
    jobs: int
    mode: str
    shard: tuple[int, int]
    seconds_max: int
    json: str | None
    junit: str | None
    html: str | None
    at: str
    list_only: bool

    def plan(self) -> Plan:
        return Plan(
            workload=self.workload,
            profile=PROFILES[self.profile],
            seed=self.seed,
            jobs=self.jobs,
            mode=Mode(self.mode),
            shard=self.shard,
            seconds_max=self.seconds_max,
        )

    def power_course(self) -> running.Course:
        extent = EXTENTS[self.profile]
        return running.Course(
            workload=self.workload or running.DEFAULT_WORKLOAD,
            profile=self.profile,
            extent=Extent(images=self.power or extent.images, kills_each=extent.kills_each),
            seed=self.seed,
            shard=self.shard,
            jobs=self.jobs,
            seconds_max=self.seconds_max,
        )


def _parser() -> argparse.ArgumentParser:
    known = ", ".join(BUILT_IN) or "none yet"
    parser = argparse.ArgumentParser(
        prog="crashworthy crash",
        description="Kill a workload at each boundary, reopen it, and check every promise.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add(
        "--workload",
        default="",
        metavar="NAME",
        help=f"what is killed: a built-in name ({known}) or module:factory",
    )
    add(
        "--moments",
        type=_positive,
        nargs="?",
        const=0,
        metavar="N",
        help="kill the demo's host, with real workers, at N random moments instead; without N as "
        "many as the profile says. Each has a seed of its own, which repeats it: the same delay "
        "behind the same fact; what the processes do within the delay is not repeated",
    )
    add(
        "--power",
        type=_positive,
        nargs="?",
        const=0,
        metavar="N",
        help="record every write and sync of a workload instead (by default of "
        f"{running.DEFAULT_WORKLOAD}), lose or tear what was not synced, and open N of such disks; "
        "without N as many as the profile says. Needs Linux and a C compiler",
    )
    add(
        "--simulate",
        type=_positive,
        nargs="?",
        const=0,
        metavar="N",
        help="let N whole histories of the runtime happen instead, under a virtual clock and a "
        "seeded scheduler, with people, faults and owners that die anywhere; without N as many as "
        "the profile says. Each has a seed of its own, which repeats it exactly",
    )
    add(
        "--profile",
        choices=sorted(PROFILES),
        default="ci",
        help="how many of the deaths in recovery and in new interpreters are sampled: some"
        " (the default), or all; and how many moments and histories",
    )
    add("--seed", type=int, default=1, metavar="N", help="of the workload and of the samples; 1")
    add(
        "--jobs",
        type=_positive,
        default=os.cpu_count() or 1,
        metavar="N",
        help="deaths side by side; by default one a core",
    )
    add(
        "--mode",
        choices=[m.value for m in Mode],
        default=default_mode().value,
        help="how processes are started; here %(default)s by default",
    )
    add("--shard", type=_shard, default=(1, 1), metavar="I/N", help="run one part of N")
    add("--seconds-max", type=_positive, default=60, metavar="S", help="time of one process; 60")
    add_reports(parser, "json", "junit", "html")
    add("--at", default="", metavar="KEY", help="one death, told in full; its files are kept")
    add("--list", dest="list_only", action="store_true", help="print the key of every death")
    return parser


def _check(parser: argparse.ArgumentParser, options: _Options) -> None:
    """End the command as used wrongly where its options do not go together."""
    modes = {
        "--moments": options.moments,
        "--power": options.power,
        "--simulate": options.simulate,
    }
    asked = [word for word, number in modes.items() if number is not None]
    if not options.workload and not asked:
        parser.error("name a --workload, or ask for --moments, --power or --simulate")
    if len(asked) > 1:
        parser.error(f"{' and '.join(asked)} are two runs")
    if asked:
        refuse_reports(parser, options, ("junit", "html"), f"{asked[0]} writes JSON only")
    whole = options.moments is not None or options.simulate is not None
    if not whole and (options.at or options.list_only):
        forms = ("json", "junit", "html")
        refuse_reports(parser, options, forms, "only a whole run writes a report")
    check_reports(parser, options)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


def _shard(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with 1 <= I <= N")
    return int(part), int(parts)


def _matrix(plan: Plan, options: _Options) -> int:
    report = run_matrix(plan, progress=shown_on(sys.stderr))
    print(as_text(report), end="", file=words(options))
    for form, render in (("json", as_json), ("junit", as_junit), ("html", as_html)):
        write_report(options, form, render(report))
    return CLEAN if report.clean else BROKEN


def _moments(options: _Options) -> int:
    """Kill at random moments; each is told as soon as it is judged."""
    course = moments.Course(
        moments=options.moments or moments.MOMENTS[options.profile],
        seed=options.seed,
        jobs=options.jobs,
        seconds_max=options.seconds_max,
    )
    killings: list[moments.Killing] = []
    try:
        for killing in moments.run_moments(course):
            killings.append(killing)
            print(killing.line, file=words(options), flush=True)
    except moments.RehearsalFailedError as error:
        _tell(error)
        return BROKEN
    print(moments.as_text(killings), file=words(options))
    write_report(options, "json", moments.as_json(killings))
    return CLEAN if all(killing.clean for killing in killings) else BROKEN


def _power(options: _Options) -> int:
    """Take the power away, or tell what would be tried, or try one image again."""
    course = options.power_course()
    try:
        if options.list_only:
            return _list_images(course)
        if options.at:
            return _lose_power_at(course, options.at)
        report = running.run_power(course, progress=shown_on(sys.stderr, "images"))
    except (WorkloadUnknownError, ImageUnknownError) as error:
        _tell(error)
        return USAGE
    except RecordingFailedError as error:
        _tell(error)
        return BROKEN
    except RecorderUnavailableError as error:
        _tell(error)
        return ENVIRONMENT
    print(power_report.as_text(report), end="", file=words(options))
    write_report(options, "json", power_report.as_json(report))
    return CLEAN if report.clean else BROKEN


def _list_images(course: running.Course) -> int:
    with running.recorded(course, running.by_profile(course)) as session:
        for key in session.images():
            print(key)
        return BROKEN if session.findings else CLEAN


def _lose_power_at(course: running.Course, key: str) -> int:
    """Make one image again; its files are kept as the judge left them."""
    parsed = parse_key(key)
    base = Path(tempfile.mkdtemp(prefix="crashlab-at-", dir=scratch_base()))
    verdict = running.judge_one(course, parsed, base)
    print(f"image {verdict.key}: {verdict.lost} of {verdict.pending} unsynced changes lost")
    print(f"  {verdict.acknowledged} acknowledgements before it, {verdict.facts} facts in it")
    for one in verdict.findings:
        print(f"BROKEN {one.promise}: {one.detail}")
    print("clean" if not verdict.findings else "NOT clean")
    print(f"files: {base}")
    return CLEAN if not verdict.findings else BROKEN


def _simulate(options: _Options) -> int:
    """Let histories happen; one that breaks a promise is told as soon as it is over."""
    course = hands.Course(
        histories=options.simulate or hands.HISTORIES[options.profile],
        seed=options.seed,
        jobs=options.jobs,
        seconds_max=options.seconds_max,
    )
    histories: list[History] = []
    broken, seconds = 0, 0.0
    show = shown_on(sys.stderr, "histories")
    began = time.monotonic()
    for history in hands.run_histories(course):
        histories.append(history)
        if not history.clean:
            broken += 1
            print(told.as_lines(history), file=words(options), flush=True)
        seconds = time.monotonic() - began
        show(
            Progress(
                done=len(histories), total=course.histories, violations=broken, seconds=seconds
            )
        )
    print(told.as_text(histories, seconds), file=words(options))
    write_report(options, "json", told.as_json(histories, seconds))
    return BROKEN if broken else CLEAN


def _list(plan: Plan) -> int:
    rehearsal = rehearse(plan)
    for point in rehearsal.points:
        print(point.key)
    return BROKEN if rehearsal.violations else CLEAN


def _die_at(plan: Plan, key: str) -> int:
    """Run one death; `A => B` dies at A, and at B in the recovery that follows."""
    first_key, arrow, then_key = key.partition(" => ")
    death = Death(point=_find(rehearse(plan).points, first_key))
    base = Path(tempfile.mkdtemp(prefix="crashlab-at-", dir=scratch_base()))
    if arrow:
        recovery = die_once(plan, death, base / "first").recovery
        points = [p for passage in recovery for p in passage.boundary.points]
        death = Death(point=death.point, then=_find(points, then_key))
    outcome = die_once(plan, death, base / "death")
    print(_told(outcome, death), end="")
    print(f"files: {base}")
    return CLEAN if outcome.reached and not outcome.violations else BROKEN


def _find(points: Sequence[Point], key: str) -> Point:
    for point in points:
        if point.key == key:
            return point
    raise DeathUnknownError(death=key)


def _told(outcome: Outcome, death: Death) -> str:
    lines = [f"death at {death.key}: {'reached' if outcome.reached else 'NOT reached'}"]
    lines += [f"  recovery passed {p.boundary.key} ({p.writer})" for p in outcome.recovery]
    lines += [f"BROKEN {v.promise} in step {v.step}: {v.detail}" for v in outcome.violations]
    return "\n".join([*lines, "clean" if not outcome.violations else "NOT clean"]) + "\n"


def shown_on(stream: TextIO, what: str = "deaths") -> Callable[[Progress], None]:
    """Return what shows progress: one line of a terminal, or a new line now and then elsewhere.

    Who reads a log of a job that runs for minutes wants to know that it lives; a short job says
    nothing before its result.
    """
    if stream.isatty():
        stream.write("starting")
        stream.flush()

        def keep(now: Progress) -> None:
            end = "\n" if now.done == now.total else ""
            stream.write(f"\x1b[2K\r{_progress_line(now, what)} {end}")
            stream.flush()

        return keep
    told_s = [0.0]

    def add(now: Progress) -> None:
        if now.seconds - told_s[0] >= _LINE_S:
            told_s[0] = now.seconds
            stream.write(f"{_progress_line(now, what)}\n")
            stream.flush()

    return add


def _progress_line(now: Progress, what: str) -> str:
    rate = now.done / max(now.seconds, 0.001)
    return f"{now.done}/{now.total} {what}, {now.violations} violations, {rate:.0f}/s"
