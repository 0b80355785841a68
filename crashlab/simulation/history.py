"""One whole history: each owner in a process of its own, which dies there or lives to its end."""

import gc
import os
import shutil
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import attrs

from ..promises import DIES_THERE, SURVIVES
from ..steps import redirect_output
from ..wire import decode
from ..workload import Finding
from ..workloads.runtime_views import log_of
from .life import EPOCH_TS, Ended, ended_path, live
from .model import old_files
from .plot import Plot, draw

_LOG: Final = "log"
_LAST_WORDS: Final = 2_000


@attrs.frozen(kw_only=True)
class History:
    """What came of one seed.

    Attributes:
        owners: How each owner ended, in order.
        facts: How many facts there were at the end.
        digest: Identifies them; the same seed gives the same.
        deaths: How many owners were killed.
        told: The codes that people were told.
        rows: The rows of the lifecycle tables that were taken.
        findings: Every promise that was broken.
        story: The facts, one a line, where a promise was broken.
    """

    seed: int
    owners: tuple[str, ...]
    facts: int
    digest: str
    deaths: int
    told: tuple[str, ...]
    rows: tuple[str, ...]
    findings: tuple[Finding, ...]
    story: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Say whether every promise was kept."""
        return not self.findings


def run_history(seed: int, home: Path, *, seconds_max: int = 60) -> History:
    """Let the history of a seed happen in a new directory, up to the first broken promise.

    This process must be single-threaded and hold no connection: its children are copies of it.

    Args:
        seed: Which history.
        home: Where; kept, for whoever wants to look.
        seconds_max: After so long the kernel ends the process of one owner (SIGALRM).
    """
    plot = draw(seed)
    _furnish(home, plot)
    ended = Ended(place="", now_ts=EPOCH_TS, left=())
    words: list[Ended] = []
    findings: list[Finding] = []
    for number in range(len(plot.lives)):
        status = _lived(home, plot, number, ended, seconds_max)
        findings += _misfits(home, number, status)
        path = ended_path(home, number)
        if path.exists():
            ended = decode(Ended, path.read_bytes())
            words.append(ended)
            findings += ended.findings
        if findings:
            break
    return History(
        seed=seed,
        owners=tuple(f"died at {one.place}" if one.place else "lived to its end" for one in words),
        facts=ended.facts,
        digest=ended.digest,
        deaths=sum(bool(one.place) for one in words),
        told=tuple(code for one in words for code in one.told),
        rows=ended.rows,
        findings=tuple(findings),
        story=story_of(home / "root") if findings else (),
    )


def story_of(root: Path) -> tuple[str, ...]:
    """Return the facts of a root as a person reads them, one a line."""
    lines: list[str] = []
    for fact in log_of(root):
        event, place = fact.event, fact.place
        at = f"{place.ordinal} +{event.ts - EPOCH_TS} ms, owner {place.epoch}: {event.kind}"
        about = [name for name in (event.spine.run, event.refs.operation, event.refs.ask) if name]
        lines.append(" ".join([at, *about, str(event.actions)]))
    return tuple(lines)


def remove(home: Path) -> None:
    """Remove what a history left."""
    shutil.rmtree(home)


def _furnish(home: Path, plot: Plot) -> None:
    """Make the workspace, with an identity that follows from the seed."""
    folder = home / "workspace" / ".crashworthy"
    folder.mkdir(parents=True)
    (folder / ".gitignore").write_text("*\n")
    (folder / "workspace").write_text(f"ws_{plot.seed}\n")
    for name, content in old_files(plot).items():
        (home / "workspace" / name).write_text(content)


def _lived(home: Path, plot: Plot, number: int, former: Ended, seconds_max: int) -> int:
    """Fork an owner, wait for it, and return the wait status of its process."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds_max)
            redirect_output(str(home / _LOG))
            gc.disable()  # It would copy pages of the parent, in a process that ends soon.
            live(home, plot, number, former)
            status = 0
        finally:
            # Not even an exception may reach the parent's code: the child is a copy of it.
            os._exit(status)
    return os.waitpid(child, 0)[1]


def _misfits(home: Path, number: int, status: int) -> Sequence[Finding]:
    """Return why the end of a process is not the one that its owner wrote down."""
    path = ended_path(home, number)
    died = path.exists() and bool(decode(Ended, path.read_bytes()).place)
    if died and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return ()
    if status == 0 and path.exists():
        return ()
    log = home / _LOG
    said = log.read_text(errors="replace")[-_LAST_WORDS:] if log.exists() else ""
    promise = DIES_THERE if died else SURVIVES
    detail = f"owner {number} ended with wait status {status}; its last words: {said}"
    return (Finding(promise=promise.id, detail=detail),)
