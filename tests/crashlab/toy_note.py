"""A note in one file, renamed into place, with one missing step each; loaded by name.

Small enough that each image can be worked out by hand.
"""

import mmap
import os
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs

from crashworthy.crashlab.workload import Finding, Observation, Promise, Stage

KEPT: Final = Promise(
    id="NOTE.I1", claim="What was acknowledged can be read.", why="Somebody wrote it down."
)
ANCHORED: Final = Promise(
    id="NOTE.I2",
    claim="The unsynced copy is there.",
    why="It outlives a process.",
    outlives_power=False,
)


class Lapse(StrEnum):
    """What is left out or done otherwise."""

    NONE = "none"
    ROOT_NAME = "root_name"
    CONTENT = "content"
    NAME = "name"
    TRUSTS_ROOT = "trusts_root"
    LINKS = "links"
    MAPS = "maps"
    WRITES_ELSEWHERE = "writes_elsewhere"
    RAISES = "raises"
    ENDS_ITS_JUDGE = "ends_its_judge"
    HANGS = "hangs"


def sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@attrs.frozen
class Note:
    """Writes two notes; each is acknowledged."""

    lapse: Lapse = Lapse.NONE

    @property
    def name(self) -> str:
        return f"note ({self.lapse})"

    @property
    def promises(self) -> tuple[Promise, ...]:
        return (KEPT, ANCHORED)

    def script(self, stage: Stage) -> None:
        root = stage.root
        is_new = not root.exists()
        root.mkdir(exist_ok=True)
        trusts = self.lapse is Lapse.TRUSTS_ROOT and not is_new
        if self.lapse is not Lapse.ROOT_NAME and not trusts:
            sync(root.parent)
        self._stray(root)
        for name in ("first", "second"):
            self._keep(root, name)
            stage.ack(name)

    def _keep(self, root: Path, name: str) -> None:
        with (root / "aside").open("w", encoding="ascii") as aside:
            aside.write(name * 500)
            aside.flush()
            if self.lapse is not Lapse.CONTENT:
                os.fsync(aside.fileno())
        (root / "aside").rename(root / name)
        if self.lapse is not Lapse.NAME:
            sync(root)
        (root / "copy").write_text(name, "ascii")

    def _stray(self, root: Path) -> None:
        match self.lapse:
            case Lapse.LINKS:
                (root / "one").touch()
                (root / "two").symlink_to(root / "one")
            case Lapse.MAPS:
                with (root / "map").open("w+b") as file:
                    file.truncate(10)
                    with mmap.mmap(file.fileno(), 10) as view:
                        view[0:1] = b"x"
            case Lapse.WRITES_ELSEWHERE:
                os.posix_spawn("/bin/sh", ["sh", "-c", f"echo x > {root}/unseen"], {})
                while not (root / "unseen").exists() or not (root / "unseen").stat().st_size:
                    time.sleep(0.01)
            case Lapse.RAISES:
                raise RuntimeError("planted")
            case _:
                pass

    def recover(self, stage: Stage) -> None:
        if self.lapse is Lapse.ENDS_ITS_JUDGE and (stage.root / "first").exists():
            os._exit(3)
        if self.lapse is Lapse.HANGS and (stage.root / "second").exists():
            time.sleep(60)

    def observe(self, root: Path) -> Observation:
        facts = len(list(root.glob("[fs]*")))
        return Observation(
            facts=facts, facts_digest="", projections_digest="", requests=0, effects=0
        )

    def check(self, root: Path, acks: Sequence[str]) -> Sequence[Finding]:
        lost = [name for name in acks if not _holds(root / name, name * 500)]
        found = [Finding(promise=KEPT.id, detail=name) for name in lost]
        if acks and not _holds(root / "copy", acks[-1]):
            found.append(Finding(promise=ANCHORED.id, detail=acks[-1]))
        return found

    def rebuild(self, root: Path) -> None:
        """Nothing is made from the notes."""

    def finish(self, stage: Stage) -> Sequence[Finding]:
        self.script(stage)
        return ()


def _holds(path: Path, text: str) -> bool:
    return path.exists() and path.read_text("ascii") == text


def sound() -> Note:
    return Note()


def root_name() -> Note:
    return Note(Lapse.ROOT_NAME)


def content() -> Note:
    return Note(Lapse.CONTENT)


def file_name() -> Note:
    return Note(Lapse.NAME)


def trusts_root() -> Note:
    return Note(Lapse.TRUSTS_ROOT)


def links() -> Note:
    return Note(Lapse.LINKS)


def maps() -> Note:
    return Note(Lapse.MAPS)


def writes_elsewhere() -> Note:
    return Note(Lapse.WRITES_ELSEWHERE)


def raises() -> Note:
    return Note(Lapse.RAISES)


def ends_its_judge() -> Note:
    return Note(Lapse.ENDS_ITS_JUDGE)


def hangs() -> Note:
    return Note(Lapse.HANGS)
