"""Crash images are laid out one after another, opened by the real store, and judged."""

import re
import shutil
import signal
import sys
import tempfile
import traceback
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import attrs

from ..promises import FINISHES, SURVIVES
from ..wire import decode, encode
from ..workload import Finding, Workload, load_workload, read_acks
from .disk import ROOT, Image
from .losses import left_by, parse_key
from .playing import stage_at
from .recording import Recording, read_recording

_MARKER: Final = "root.json"
_BINDING: Final = re.compile(rb'"(directory_inode|marker_inode|boot_id)":"([^"]*)"')
_OTHER_BOOT: Final = b"before-the-power-went"


@attrs.frozen(kw_only=True)
class Docket:
    """What one judge works through.

    Attributes:
        tapes: Where the recordings are.
        keys: The images, in order.
        base: A directory in which they are laid out.
        keep: Whether the files of the images stay there.
        seconds_max: Time of one image.
    """

    workload: str
    seed: int
    tapes: str
    keys: tuple[str, ...]
    base: str
    keep: bool
    seconds_max: int


@attrs.frozen(kw_only=True)
class Verdict:
    """What came of one image.

    Attributes:
        pending: How many changes were not durable.
        lost: How many of them are gone or torn in the image.
        acknowledged: How many acknowledgements had been given.
        facts: How many facts were found.
        findings: Every promise that does not hold.
    """

    key: str
    pending: int
    lost: int
    acknowledged: int
    facts: int
    findings: tuple[Finding, ...]


def serve() -> None:
    """Judge the docket that stands on standard input; one line for each image, in order."""
    docket = decode(Docket, sys.stdin.buffer.read())
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    answers = sys.stdout
    with redirect_stdout(sys.stderr):  # a workload may print
        workload = load_workload(docket.workload)
        recordings: dict[int, Recording] = {}
        for key in docket.keys:
            killed = parse_key(key).cut.killed
            if killed not in recordings:
                recordings[killed] = read_recording(Path(docket.tapes), killed)
            # The kernel's clock ends what hangs, even if Python never runs again.
            signal.alarm(docket.seconds_max)
            verdict = _judged(docket, workload, recordings[killed], key)
            signal.alarm(0)
            answers.write(f"{encode(verdict)}\n")
            answers.flush()


def _judged(docket: Docket, workload: Workload, recording: Recording, key: str) -> Verdict:
    home = Path(tempfile.mkdtemp(prefix="image-", dir=docket.base))
    left = left_by(recording.history, parse_key(key), docket.seed)
    left.image.lay_out(home)
    bind_markers(left.image, home)
    acks = read_acks(home)
    facts, findings = opened(workload, home, docket.seed)
    if not docket.keep:
        shutil.rmtree(home)
    return Verdict(
        key=key,
        pending=left.pending,
        lost=left.lost,
        acknowledged=len(acks),
        facts=facts,
        findings=findings,
    )


def opened(workload: Workload, home: Path, seed: int) -> tuple[int, tuple[Finding, ...]]:
    """Open what a power loss left as its next owner, check it, and let the work finish.

    Returns:
        How many facts were found, and every broken promise of those that power loss leaves.
    """
    acks = read_acks(home)
    stage = stage_at(home, seed)
    promise, facts = SURVIVES, 0
    findings: list[Finding] = []
    try:
        workload.recover(stage)
        facts = workload.observe(stage.root).facts
        findings += workload.check(stage.root, acks)
        promise = FINISHES
        findings += workload.finish(stage)
    except Exception:  # noqa: BLE001  # whatever is raised is the finding
        findings.append(Finding(promise=promise.id, detail=traceback.format_exc(limit=-6)))
    excused = {one.id for one in workload.promises if not one.outlives_power}
    return facts, tuple(one for one in findings if one.promise not in excused)


def bind_markers(image: Image, home: Path) -> None:
    """Let the marker of a root name the inodes of its image where it named those of its original.

    On a disk that comes back the inodes are what they were; in a copy they are not, and the root
    would be refused as one. A marker that was bound to anything else stays as it is. The boot is
    another one: only the boot of a machine that lost its power brings its disk back.
    """
    things = dict(image.walk())
    root = things.get(ROOT)
    for name in (_MARKER, f"{_MARKER}.new"):
        marker = things.get(f"{ROOT}/{name}")
        if root is None or marker is None:
            continue
        path = home / ROOT / name
        words = {
            b"directory_inode": (str(root.inode), str(path.parent.stat().st_ino)),
            b"marker_inode": (str(marker.inode), str(path.stat().st_ino)),
        }

        def renamed(found: re.Match[bytes], words: dict[bytes, tuple[str, str]] = words) -> bytes:
            old = found[2]
            if found[1] == b"boot_id":
                new = _OTHER_BOOT
            else:
                was, now = words[found[1]]
                new = now.encode() if old == was.encode() else old
            return b'"' + found[1] + b'":"' + new + b'"'

        path.write_bytes(_BINDING.sub(renamed, path.read_bytes()))
