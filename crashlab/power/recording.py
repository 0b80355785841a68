"""A workload is recorded: once undisturbed, and once for each way to be killed and go on.

A kill loses nothing by itself, so what the first process did not come to sync is there for the
second one, which may take it for durable. Only a power loss after both shows whether it was.
"""

import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from queue import SimpleQueue
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from ..launch import Ending
from ..promises import REPEATS, SEES_ALL
from ..wire import decode, encode
from ..workload import Finding
from .disk import Change, History, Named, Thing, history_of, image_of
from .losses import WHOLE
from .playing import Life, Part, Player
from .tape import Act, Operation, read_tape

_HOME: Final = "home"
_TAPE: Final = "tape"
_NOTE: Final = "tape.json"
_LOG: Final = "log"


@attrs.define(eq=False, kw_only=True)
class RecordingFailedError(CrashworthyError):
    """The workload did not come to its end, or did not die where it should; nothing is judged."""

    code: ClassVar[Code] = Code.RECORDING_FAILED
    killed: int
    ended: str
    said: str


@attrs.frozen(kw_only=True)
class Note:
    """What of a recording is not on its tape.

    Attributes:
        killed: After how many operations the first process was killed; `WHOLE` for not at all.
        home_inode: The inode of the recorded home.
    """

    killed: int
    home_inode: int


@attrs.frozen(kw_only=True, eq=False)
class Recording:
    """A tape and what it means."""

    note: Note
    operations: tuple[Operation, ...]
    history: History

    def cuts(self) -> range:
        """Return the numbers of operations after which the power may go."""
        return range(self.note.killed, len(self.operations) + 1)

    def syncs(self) -> tuple[int, ...]:
        """Return the numbers of the syncs among them."""
        return tuple(
            number
            for number in range(self.note.killed, len(self.operations))
            if self.operations[number].act is Act.SYNC
        )


@attrs.frozen(kw_only=True)
class Studio:
    """Where and what is recorded.

    Attributes:
        place: A private directory for the tapes and the homes.
        players: Processes under the recorder that nobody is using.
        seconds_max: Time of one process.
    """

    place: Path
    players: "SimpleQueue[Player]"
    seed: int
    seconds_max: int

    def record(self, killed: int = WHOLE) -> tuple[Recording, tuple[Finding, ...]]:
        """Record the workload, keep the tape, and say what is wrong with it.

        Raises:
            RecordingFailedError: `recording_failed`.
        """
        place = self.place / str(killed)
        home = place / _HOME
        home.mkdir(parents=True)
        note = Note(killed=killed, home_inode=home.stat().st_ino)
        player = self.players.get()
        try:
            self._live(player, place, Part.SCRIPT, killed)
            if killed != WHOLE:
                self._live(player, place, Part.GO_ON, WHOLE)
        finally:
            self.players.put(player)
        (place / _NOTE).write_text(encode(note))
        recording = read_recording(self.place, killed)
        findings = _unseen(recording, home)
        shutil.rmtree(home)
        return recording, findings

    def _live(self, player: Player, place: Path, part: Part, killed: int) -> None:
        life = Life(
            home=str(place / _HOME),
            tape=str(place / _TAPE),
            log=str(place / _LOG),
            seed=self.seed,
            part=part,
            killed=killed,
            seconds_max=self.seconds_max,
        )
        ending = player.play(life)
        wanted = Ending(signal=0 if killed == WHOLE else signal.SIGKILL, status=0)
        if ending != wanted:
            log = place / _LOG
            said = log.read_text(errors="replace")[-2000:] if log.exists() else ""
            how = "its player is gone" if ending is None else str(ending)
            raise RecordingFailedError(killed=killed, ended=how, said=said)


def read_recording(place: Path, killed: int) -> Recording:
    """Return a recording that was kept in `place`."""
    kept = place / str(killed)
    note = decode(Note, (kept / _NOTE).read_bytes())
    operations = read_tape(kept / _TAPE)
    history = history_of(operations, note.home_inode)
    return Recording(note=note, operations=operations, history=history)


def _unseen(recording: Recording, home: Path) -> tuple[Finding, ...]:
    """Compare what the tape says with what is there: whatever was not recorded shows (CRASH.I8)."""
    foreign = {one.path for one in recording.operations if one.act is Act.FOREIGN}
    found = [f"the recorder cannot put down: {what}" for what in sorted(foreign)]
    history = recording.history
    told = image_of(history.home, [change.effect for change in history.changes]).files()
    there = _files(home)
    found += [
        f"{name} is not what the tape says"
        for name in sorted(told.keys() | there.keys())
        if told.get(name) != there.get(name)
    ]
    return tuple(Finding(promise=SEES_ALL.id, detail=detail) for detail in found)


def _files(home: Path) -> Mapping[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and not path.name.endswith("-shm")
    }


def deviation(whole: Recording, other: Recording) -> tuple[Finding, ...]:
    """Say where a killed script did something else than the whole one before it died."""
    killed = other.note.killed
    for number in range(killed):
        was, now = whole.operations[number], other.operations[number]
        if (was.act, _word(was.path)) != (now.act, _word(now.path)):
            detail = f"operation {number} was {was.act} {was.path}, then {now.act} {now.path}"
            return (Finding(promise=REPEATS.id, detail=detail),)
    return ()


def ways_to_be_killed(whole: Recording) -> tuple[tuple[int, ...], ...]:
    """Return the places right before a sync, grouped by what would be left without it.

    In a group are those in which the same kinds of change wait for the same kind of file to be
    synced: whoever opens afterwards finds them alike.
    """
    groups: dict[tuple[str, frozenset[str]], list[int]] = {}
    for number in whole.syncs():
        waiting = [c for c in whole.history.pending(number) if c.durable == number]
        if waiting and number > WHOLE:
            left = frozenset(_kind(change) for change in waiting)
            groups.setdefault((_keeper(waiting[0]), left), []).append(number)
    return tuple(tuple(places) for places in groups.values())


def _keeper(change: Change) -> str:
    effect = change.effect
    return _word(effect.slot.directory.label if isinstance(effect, Named) else effect.thing.label)


def _kind(change: Change) -> str:
    effect = change.effect
    thing: Thing | None = effect.thing
    return f"{type(effect).__name__} {_word(thing.label) if thing is not None else 'removed'}"


def _word(label: str) -> str:
    """Return a path without what differs from run to run or from file to file."""
    return re.sub(r"\b[0-9a-f]{2}\b|[0-9a-f]{32,}|\d+", "*", label)
