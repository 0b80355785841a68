"""Which part of the unsynced is lost, decided by the key of an image and nothing else."""

import random
import re
from collections.abc import Sequence
from enum import StrEnum
from typing import ClassVar, Final

import attrs

from ...machines.facts.codes import Code, CrashworthyError
from .disk import Change, Effect, History, Image, Named, Written, image_of

WHOLE: Final = 0
"""Stands for the recording that nobody killed."""


class Loss(StrEnum):
    """What becomes of the changes that are not durable."""

    ALL = "all"  # none of them is there
    NAMES = "names"  # files are written, but their names are as they were
    DATA = "data"  # names are there, but files hold what they held
    FIRST = "first"  # those up to some change are there, and a part of that one
    SOME = "some"  # each is there or not
    TORN = "torn"  # each is there or not, and each sector of a write for itself


@attrs.define(eq=False, kw_only=True)
class ImageUnknownError(CrashworthyError):
    """No image has such a key; `--list` shows the keys of a run."""

    code: ClassVar[Code] = Code.IMAGE_UNKNOWN
    key: str


@attrs.frozen(kw_only=True)
class Cut:
    """Where the power goes.

    Attributes:
        killed: After how many operations the first process was killed, and a second one went on in
            what it left; `WHOLE` if nobody was killed.
        after: How many operations are done, those of both processes counted.
    """

    killed: int
    after: int


_KEY: Final = re.compile(r"killed=(\d+) after=(\d+) lost=([a-z]+) draw=(\d+)")


@attrs.frozen(kw_only=True)
class Key:
    """What tells one image from all others; with the seed of the run it makes it again.

    Attributes:
        draw: Tells images of one cut and loss apart.
    """

    cut: Cut
    loss: Loss
    draw: int = 0

    def __str__(self) -> str:
        cut = self.cut
        return f"killed={cut.killed} after={cut.after} lost={self.loss} draw={self.draw}"


def parse_key(text: str) -> Key:
    """Return the key that is written so.

    Raises:
        ImageUnknownError: `image_unknown`.
    """
    found = _KEY.fullmatch(text)
    if found is None or found[3] not in set(Loss):
        raise ImageUnknownError(key=text)
    cut = Cut(killed=int(found[1]), after=int(found[2]))
    return Key(cut=cut, loss=Loss(found[3]), draw=int(found[4]))


@attrs.frozen(kw_only=True, eq=False)
class Left:
    """What a power loss left.

    Attributes:
        pending: How many changes were not durable.
        lost: How many of them are gone or torn.
    """

    image: Image
    pending: int
    lost: int


def left_by(history: History, key: Key, seed: int) -> Left:
    """Return the disk of one image: what is durable, and its part of the rest."""
    chance = random.Random(f"{seed} {key}")  # noqa: S311  # a sample, no secret
    cut = key.cut.after
    pending = history.pending(cut)
    drawn = _drawn(pending, key.loss, chance)
    effects: list[Effect] = []
    for change in history.until(cut):
        effects += drawn.get(change.made, [change.effect])
    whole = sum(drawn[change.made] == [change.effect] for change in pending)
    image = image_of(history.home, effects)
    return Left(image=image, pending=len(pending), lost=len(pending) - whole)


def _drawn(pending: Sequence[Change], loss: Loss, chance: random.Random) -> dict[int, list[Effect]]:
    """Return what is left of each pending change, by the number of its operation."""
    last = chance.randrange(len(pending)) if pending else 0
    drawn: dict[int, list[Effect]] = {}
    for place, change in enumerate(pending):
        effect = change.effect
        part: list[Effect] = []
        match loss:
            case Loss.ALL:
                pass
            case Loss.NAMES:
                part = [] if isinstance(effect, Named) else [effect]
            case Loss.DATA:
                part = [effect] if isinstance(effect, Named) else []
            case Loss.FIRST:
                part = [effect] if place < last else _torn(effect, chance) if place == last else []
            case Loss.SOME:
                part = [effect] if chance.random() < 1 / 2 else []
            case Loss.TORN:
                part = _torn(effect, chance)
        drawn[change.made] = part
    return drawn


def _torn(effect: Effect, chance: random.Random) -> list[Effect]:
    """Keep each sector of a write or not; anything else is there or not."""
    parts = list(effect.sectors()) if isinstance(effect, Written) else [effect]
    kept = [part for part in parts if chance.random() < 1 / 2]
    return [effect] if len(kept) == len(parts) else kept
