"""Authority rows as a fact at some ordinal saw them (MACH-5c)."""

# ruff: noqa: S608 - statements are put together from constant names of tables and columns

from bisect import bisect_left
from typing import Final

import attrs

from ...machines.facts.model import Spine
from ...machines.lifecycles.lease import Free, Held, LeaseState
from ..journal import columns as c
from ..journal.records import ClaimRecord
from ..sql import Row
from .tables import Run

_LEASES: Final = "SELECT ordinal, held, epoch, gone FROM lease ORDER BY number"
_LOSSES: Final = "SELECT ordinal FROM accepted_losses ORDER BY ordinal"
_IMPORTS: Final = "SELECT session, root FROM imports"
_CLAIMS: Final = "SELECT ordinal, claim FROM claims ORDER BY ordinal, claim"
_CLAIM: Final = f"SELECT {c.CLAIM} FROM claims WHERE claim = ?"
_SEALED: Final = "SELECT min(ordinal) FROM seals WHERE run = ?"
_RESERVED: Final = """
SELECT claim, ordinal FROM reservations WHERE word = 'invocation' AND id = ?
UNION ALL SELECT claim, ordinal FROM reservations WHERE word = 'run' AND id = ?
UNION ALL SELECT claim, ordinal FROM reservations WHERE word = 'turn' AND id = ?
""".strip()
_NOBODY: Final = Free(epoch=0, gone=0)


@attrs.define(eq=False)
class Hindsight:
    """The authority rows of a root.

    A row made at ordinal n was seen by the facts from n + 1 on, and by no earlier one. What grows
    with the number of claims is read when it is asked for.

    Attributes:
        imports: The root that each imported session's facts name.
        blind: Whether these rows cannot be read, so that nobody may be judged by them.
    """

    _run: Run
    imports: dict[str, str] = attrs.field(factory=dict[str, str], init=False)
    blind: bool = attrs.field(default=False, init=False)
    _lease_at: list[int] = attrs.field(factory=list[int], init=False)
    _leases: list[LeaseState] = attrs.field(factory=list[LeaseState], init=False)
    _losses: list[int] = attrs.field(factory=list[int], init=False)
    _claims: list[tuple[int, str]] = attrs.field(factory=list[tuple[int, str]], init=False)
    _version: object = attrs.field(default=None, init=False)
    _due: int = attrs.field(default=0, init=False)
    _given: set[str] = attrs.field(factory=set[str], init=False)
    _given_at: int = attrs.field(default=0, init=False)

    def refresh(self, version: object) -> None:
        """Read what was added since, where `version` is not what it was the last time."""
        if version != self._version and not self.blind:
            self._version = version
            self.read_again()

    def read_again(self) -> None:
        """Read what is there now; rows are only ever added.

        Raises:
            StorageError: `storage_*` or `database_damaged`.
        """
        self._lease_at.clear()
        self._leases.clear()
        for ordinal, held, epoch, gone in self._whole(_LEASES, (int, int, int, int)):
            state = Held if held else Free
            self._lease_at.append(c.integer(ordinal))
            self._leases.append(state(epoch=c.integer(epoch), gone=c.integer(gone)))
        self._losses = [c.integer(row[0]) for row in self._whole(_LOSSES, (int,))]
        self.imports = {c.text(row[0]): c.text(row[1]) for row in self._whole(_IMPORTS, (str, str))}
        claims = self._whole(_CLAIMS, (int, str))
        self._claims = [(c.integer(made), c.text(name)) for made, name in claims]
        self._due = bisect_left(self._claims, (self._given_at, ""))

    def _whole(self, sql: str, kinds: tuple[type, ...]) -> list[Row]:
        """Return the rows whose columns have their types; the authority check names the others."""
        return [row for row in self._run(sql, ()) if tuple(map(type, row)) == kinds]

    def lease_at(self, ordinal: int) -> LeaseState:
        """Return the lease as a fact at `ordinal` saw it."""
        place = bisect_left(self._lease_at, ordinal)
        return self._leases[place - 1] if place else _NOBODY

    def loss_at(self, ordinal: int) -> int:
        """Return up to which ordinal a loss was accepted, as a fact at `ordinal` saw it."""
        place = bisect_left(self._losses, ordinal)
        return self._losses[place - 1] if place else 0

    def sealed_at(self, run: str, ordinal: int) -> bool:
        """Say whether a fact at `ordinal` saw the run sealed."""
        [(made,)] = self._run(_SEALED, (run,))
        return made is not None and c.integer(made) < ordinal

    def reservation_at(self, spine: Spine, ordinal: int) -> str | None:
        """Return the claim that a fact at `ordinal` saw on any id of this spine."""
        for claim, made in self._run(_RESERVED, (spine.invocation, spine.run, spine.turn)):
            if c.integer(made) < ordinal:
                return c.text(claim)
        return None

    def due_claim(self, ordinal: int) -> str | None:
        """Return the next claim that was made before the fact at `ordinal`, each claim once."""
        while self._due < len(self._claims):
            made, name = self._claims[self._due]
            if made >= ordinal:
                return None
            self._due += 1
            if made != self._given_at:
                self._given.clear()
                self._given_at = made
            if name not in self._given:
                self._given.add(name)
                return name
        return None

    def claim(self, claim: str) -> ClaimRecord | None:
        """Return a claim.

        Raises:
            CrashworthyError: The row is not one: damage of its session.
        """
        return c.first(map(c.claim_of, self._run(_CLAIM, (claim,))))
