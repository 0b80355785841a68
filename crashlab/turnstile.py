"""Counts every boundary that a process passes and kills the process at one of them."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Never

import attrs

from .boundary import Boundary, Kind, Moment, Passage, Point, Role
from .counting import Site


@attrs.define(eq=False, kw_only=True)
class Turnstile:
    """What one process passed so far, and where it is to die.

    Attributes:
        target: Where to die; `None` only counts.
        note_path: The file that receives the key of the point right before the kill.
        passages: All boundaries passed, in order, where nobody is to die.
        bypasses: What SQLite ran without the wrapper seeing it.
        writer: The label of the unit under way.
        look: Is told the name of each boundary right before it is passed, whoever is to die.
    """

    target: Point | None
    note_path: str
    passages: list[Passage] = attrs.field(factory=list[Passage])
    bypasses: list[str] = attrs.field(factory=list[str])
    writer: str = "-"
    look: Callable[[str], None] | None = None
    _visits: Counter[tuple[Kind, str, Role]] = attrs.field(
        init=False, factory=Counter[tuple[Kind, str, Role]]
    )
    # Sampled runs use real threads; a lost count would move every later occurrence.
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)

    def door(self, role: Role) -> "Door":
        """Return the watcher and probe of one role."""
        return Door(turnstile=self, role=role)

    def count(self, kind: Kind, name: str, role: Role) -> Boundary | None:
        """Count one visit and return which boundary it is, or None where it cannot matter.

        A victim dies at one name, and a matrix passes millions of others on the way there.
        """
        if self.look is not None:
            self.look(name)
        if self.target is not None and self.target.boundary.name != name:
            return None
        with self._lock:
            self._visits[kind, name, role] += 1
            occurrence = self._visits[kind, name, role]
            boundary = Boundary(kind=kind, name=name, role=role, occurrence=occurrence)
            if self.target is None:
                self.passages.append(Passage(boundary=boundary, writer=self.writer))
        return boundary

    def stand(self, boundary: Boundary | None, moment: Moment) -> None:
        """Die here if this is the target."""
        target = self.target
        if target is not None and target.moment is moment and target.boundary == boundary:
            _die(self.note_path, target.key)


@attrs.frozen(kw_only=True, eq=False)
class Door:
    """One role's way through a turnstile: a watcher for SQL and a probe for other steps."""

    turnstile: Turnstile
    role: Role

    @property
    def tracing(self) -> bool:
        """Compare with SQLite's trace wherever nobody is to die: counting must be complete."""
        return self.turnstile.target is None

    def crossing(self, site: Site) -> AbstractContextManager[None]:
        """Count the site; die before or after it if that is the target."""
        return _Crossing(self.turnstile, site, self.role)

    def note_bypass(self, what: str) -> None:
        """Keep what the wrapper did not see."""
        self.turnstile.bypasses.append(what)

    def probe(self, name: str) -> None:
        """Count a named step; die at it if that is the target."""
        boundary = self.turnstile.count(Kind.PROBE, name, self.role)
        self.turnstile.stand(boundary, Moment.AT)


@attrs.define(eq=False)
class _Crossing(AbstractContextManager[None]):
    """The frame of one site; a class, because a matrix passes millions of them."""

    _turnstile: Turnstile
    _site: Site
    _role: Role
    _boundary: Boundary | None = None

    def __enter__(self) -> None:
        site = self._site
        self._boundary = self._turnstile.count(site.kind, site.name, self._role)
        self._turnstile.stand(self._boundary, Moment.BEFORE)

    def __exit__(self, *_: object) -> None:
        # Also after a statement that raised: what it left behind is a state like any other.
        self._turnstile.stand(self._boundary, Moment.AFTER)


def _die(note_path: str, key: str) -> Never:
    note = os.open(note_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(note, f"{key}\n".encode())
    os.kill(os.getpid(), signal.SIGKILL)
    while True:  # Another thread may have taken the signal; this one must not go on.
        time.sleep(1)
