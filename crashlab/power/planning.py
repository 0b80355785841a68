"""Where in the recordings the power goes, and what is lost there: a sample by its seed."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from .losses import Cut, Key, Loss
from .recording import Recording


@attrs.frozen(kw_only=True)
class Extent:
    """How much a profile tries.

    Attributes:
        images: How many crash images are judged.
        kills_each: At how many places of each kind the first process is killed before a second one
            goes on.
    """

    images: int
    kills_each: int


EXTENTS: Final[Mapping[str, Extent]] = MappingProxyType(
    {"ci": Extent(images=400, kills_each=1), "deep": Extent(images=20_000, kills_each=6)}
)
"""How much each profile tries."""

_WHOLE_SHARE: Final = 1 / 2


def places_to_kill(groups: Sequence[Sequence[int]], kills_each: int, seed: int) -> tuple[int, ...]:
    """Return at most so many places of each group, its first always.

    What is made first is used again by whoever comes later, so most depends on it.
    """
    chance = random.Random(f"kills {seed}")  # noqa: S311  # a sample, no secret
    places: list[int] = []
    for first, *others in groups:
        places += [first, *chance.sample(others, min(kills_each - 1, len(others)))]
    return tuple(sorted(places))


def drawn_keys(recordings: Sequence[Recording], images: int, seed: int) -> tuple[Key, ...]:
    """Return the keys of so many images: half of the whole recording, half of the killed ones.

    Everything unsynced is lost at the end of each killed recording, and right before and right
    behind each sync, as far as the number goes; that alone finds each missing sync. The others are
    drawn: a place, a kind of loss, its parts.
    """
    chance = random.Random(f"images {seed}")  # noqa: S311  # a sample, no secret
    whole, *killed = recordings
    share = round(images * _WHOLE_SHARE) if killed else images
    keys = _drawn([whole], share, chance)
    if killed:
        keys += _drawn(killed, images - share, chance)
    return tuple(keys)


def _drawn(recordings: Sequence[Recording], images: int, chance: random.Random) -> list[Key]:
    ends = [all_lost(recording, len(recording.operations)) for recording in recordings]
    keys = _spread(ends, images // 2)
    keys += _spread(list(_around_syncs(recordings)), images // 2 - len(keys))
    while len(keys) < images:
        recording = chance.choice(recordings)
        after = chance.choice(recording.cuts())
        cut = Cut(killed=recording.note.killed, after=after)
        loss = chance.choice([loss for loss in Loss if loss is not Loss.ALL])
        keys.append(Key(cut=cut, loss=loss, draw=len(keys)))
    return keys


def all_lost(recording: Recording, after: int) -> Key:
    """Return the image in which nothing is left but what was synced by then."""
    return Key(cut=Cut(killed=recording.note.killed, after=after), loss=Loss.ALL)


def _around_syncs(recordings: Iterable[Recording]) -> Iterator[Key]:
    for recording in recordings:
        for sync in recording.syncs():
            # The end of the recording is among them already.
            for after in (sync, *({sync + 1} - {len(recording.operations)})):
                yield all_lost(recording, after)


def _spread(keys: Sequence[Key], number: int) -> list[Key]:
    """Return at most so many of them, evenly over all."""
    if len(keys) <= number:
        return list(keys)
    return [keys[place * len(keys) // number] for place in range(number)]
