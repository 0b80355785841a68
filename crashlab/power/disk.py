"""What a disk may hold after a power loss: all that was synced, and any part of the rest.

The model, weaker than any one file system, because a store that trusts one fails on another:

- What a file holds is durable once the file was synced after it was written.
- A name (made, renamed, removed) is durable once its directory was synced after that; syncing the
  file itself does not keep its name. A rename is one step: both names or neither, as POSIX demands.
- Of everything else any part may be there, in any combination, whatever came first; a write may be
  torn at each boundary of a sector. Bytes outside of what was written are not harmed.

What lies beside the root (acknowledgements, the world) happened to somebody else, who kept it.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs

from .tape import Act, Operation

SECTOR_BYTES: Final = 512
"""What a disk writes whole or not at all."""

ROOT: Final = "root"
"""The name of the root in a home; everything else in there is the world outside."""


@attrs.frozen(eq=False, kw_only=True)
class Thing:
    """A file or directory, whatever its names and however often its inode was used before.

    Attributes:
        label: Its first path below the home.
    """

    inode: int
    label: str
    is_directory: bool

    @property
    def is_outside(self) -> bool:
        """Say whether it belongs to the world outside, which loses nothing."""
        return self.label.partition("/")[0] not in {"", ROOT}


@attrs.frozen(eq=False, kw_only=True)
class Slot:
    """A place for a name."""

    directory: Thing
    name: str


@attrs.frozen(eq=False, kw_only=True)
class Named:
    """A name was given or taken away.

    Attributes:
        slot: Where.
        thing: What is there now; None for nothing.
        was: Where the same thing was before, for a rename.
    """

    slot: Slot
    thing: Thing | None
    was: Slot | None = None


@attrs.frozen(eq=False, kw_only=True)
class Written:
    """Bytes were written."""

    thing: Thing
    at: int
    data: bytes

    def sectors(self) -> Iterator["Written"]:
        """Yield the parts that reach the disk each for itself."""
        start, end = self.at, self.at + len(self.data)
        while start < end:
            stop = min(end, (start // SECTOR_BYTES + 1) * SECTOR_BYTES)
            data = self.data[start - self.at : stop - self.at]
            yield Written(thing=self.thing, at=start, data=data)
            start = stop


@attrs.frozen(eq=False, kw_only=True)
class Resized:
    """A file was cut or grew."""

    thing: Thing
    size: int


Effect = Named | Written | Resized


@attrs.frozen(eq=False, kw_only=True)
class Change:
    """One change of the disk.

    Attributes:
        made: The number of the operation that made it.
        durable: The number of the operation that made it durable; None if none did.
    """

    effect: Effect
    made: int
    durable: int | None

    def is_durable(self, cut: int) -> bool:
        """Say whether it is durable when the first `cut` operations are done."""
        return self.durable is not None and self.durable < cut


@attrs.frozen(eq=False, kw_only=True)
class History:
    """All changes of a tape, in order.

    Attributes:
        home: The recorded directory.
    """

    home: Thing
    changes: tuple[Change, ...]

    def until(self, cut: int) -> Sequence[Change]:
        """Return what the first `cut` operations changed."""
        return [change for change in self.changes if change.made < cut]

    def pending(self, cut: int) -> tuple[Change, ...]:
        """Return what may be lost when the power goes after `cut` operations."""
        return tuple(change for change in self.until(cut) if not change.is_durable(cut))


def history_of(operations: Sequence[Operation], home_inode: int) -> History:
    """Follow the names and syncs of a tape that begins with an empty home."""
    walk = _Walk(home=Thing(inode=home_inode, label="", is_directory=True))
    for number, operation in enumerate(operations):
        walk.take(number, operation)
    changes = tuple(
        Change(effect=effect, made=made, durable=walk.durable.get(made))
        for made, effect in walk.effects.items()
    )
    return History(home=walk.home, changes=changes)


@attrs.define(eq=False, kw_only=True)
class _Walk:
    home: Thing
    effects: dict[int, Effect] = attrs.field(factory=dict[int, Effect])
    durable: dict[int, int] = attrs.field(factory=dict[int, int])
    things: dict[int, Thing] = attrs.field(init=False)
    names: dict[Thing, dict[str, Thing]] = attrs.field(init=False)
    waiting: defaultdict[Thing, list[int]] = attrs.field(init=False)
    """The changes that the next sync of a thing makes durable."""

    def __attrs_post_init__(self) -> None:
        self.things = {self.home.inode: self.home}
        self.names = defaultdict(dict[str, Thing])
        self.waiting = defaultdict(list[int])

    def take(self, number: int, operation: Operation) -> None:
        match operation.act:
            case Act.CREATE | Act.MAKE_DIRECTORY:
                made = Thing(
                    inode=operation.inode,
                    label=operation.path,
                    is_directory=operation.act is Act.MAKE_DIRECTORY,
                )
                self.things[operation.inode] = made
                self.name(number, Named(slot=self.slot(operation.path), thing=made))
            case Act.REMOVE:
                self.name(number, Named(slot=self.slot(operation.path), thing=None))
            case Act.RENAME:
                was = self.slot(operation.path)
                thing = self.names[was.directory][was.name]
                slot = self.slot(os.fsdecode(operation.data))
                self.name(number, Named(slot=slot, thing=thing, was=was))
            case Act.LINK:
                was = self.slot(operation.path)
                slot = self.slot(os.fsdecode(operation.data))
                self.name(number, Named(slot=slot, thing=self.names[was.directory][was.name]))
            case Act.WRITE:
                thing = self.things[operation.inode]
                effect = Written(thing=thing, at=operation.at, data=operation.data)
                self.change(number, effect, thing)
            case Act.RESIZE:
                thing = self.things[operation.inode]
                self.change(number, Resized(thing=thing, size=operation.at), thing)
            case Act.SYNC:
                waiting = self.waiting.pop(self.things[operation.inode], ())
                self.durable.update(dict.fromkeys(waiting, number))
            case Act.FOREIGN:
                pass  # The recording is refused because of it; no image is made.

    def slot(self, path: str) -> Slot:
        *above, name = path.split("/")
        directory = self.home
        for part in above:
            directory = self.names[directory][part]
        return Slot(directory=directory, name=name)

    def name(self, number: int, effect: Named) -> None:
        _give_name(self.names, effect)
        in_home = effect.slot.directory is self.home
        is_outside = in_home and effect.slot.name != ROOT
        self.change(number, effect, effect.slot.directory, is_outside=is_outside)

    def change(
        self, number: int, effect: Effect, keeper: Thing, *, is_outside: bool = False
    ) -> None:
        """Note a change that a sync of `keeper` makes durable, and nothing else does."""
        self.effects[number] = effect
        if is_outside or keeper.is_outside:
            self.durable[number] = number
        else:
            self.waiting[keeper].append(number)


def _give_name(names: dict[Thing, dict[str, Thing]], effect: Named) -> None:
    if effect.was is not None:
        before = names[effect.was.directory]
        # In an image, what stood there may have been lost or replaced.
        if before.get(effect.was.name) is effect.thing:
            del before[effect.was.name]
    if effect.thing is None:
        names[effect.slot.directory].pop(effect.slot.name, None)
    else:
        names[effect.slot.directory][effect.slot.name] = effect.thing


@attrs.frozen(eq=False, kw_only=True)
class Image:
    """What is found on the disk.

    Attributes:
        names: What each directory holds.
        contents: What each file holds.
    """

    home: Thing
    names: Mapping[Thing, Mapping[str, Thing]]
    contents: Mapping[Thing, bytes]

    def files(self) -> dict[str, bytes]:
        """Return the contents of all files that can be found by name, by their paths."""
        return {path: self.contents.get(t, b"") for path, t in self.walk() if not t.is_directory}

    def walk(self) -> Iterator[tuple[str, Thing]]:
        """Yield path and thing of everything that can be found, directories before their parts."""
        stack = [("", self.home)]
        while stack:
            path, thing = stack.pop()
            if path:
                yield path, thing
            for name, below in self.names.get(thing, {}).items():
                stack.append((f"{path}/{name}" if path else name, below))

    def lay_out(self, place: Path) -> None:
        """Put everything into the empty directory `place`, for its owner alone."""
        for path, thing in self.walk():
            target = place / path
            if thing.is_directory:
                target.mkdir(mode=0o700)
            else:
                target.touch(mode=0o600)
                target.write_bytes(self.contents.get(thing, b""))


def image_of(home: Thing, effects: Sequence[Effect]) -> Image:
    """Return the disk after exactly these effects, in this order."""
    names: dict[Thing, dict[str, Thing]] = defaultdict(dict[str, Thing])
    contents: dict[Thing, bytearray] = defaultdict(bytearray)
    for effect in effects:
        match effect:
            case Named():
                _give_name(names, effect)
            case Written(thing=thing, at=at, data=data):
                content = contents[thing]
                content.extend(bytes(max(0, at - len(content))))
                content[at : at + len(data)] = data
            case Resized(thing=thing, size=size):
                content = contents[thing]
                del content[size:]
                content.extend(bytes(size - len(content)))
    return Image(home=home, names=names, contents={t: bytes(c) for t, c in contents.items()})
