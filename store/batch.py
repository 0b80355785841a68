"""Many units become one commit, and none of them pays for another's refusal (STORE-3)."""

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

import attrs

from ..machines.facts.codes import CrashworthyError
from .anchor import Anchor, Head
from .errors import CommitOutcomeUnknownError, StorageError, StoreOnProbationError
from .txn import Health, Txn, WriteDoor

T = TypeVar("T")


class Memory(Protocol):
    """Heads and caches in memory that must say what the last COMMIT says (STORE-9).

    The four calls nest as the transaction does, and none of them may raise.
    """

    def unit_begun(self) -> None:
        """Remember the present state: a unit begins under its savepoint."""
        ...

    def unit_undone(self) -> None:
        """Return to the state that `unit_begun` remembered: the unit was refused."""
        ...

    def committed(self) -> None:
        """Keep the present state: COMMIT returned."""
        ...

    def reverted(self) -> None:
        """Return to the state of the last COMMIT: this transaction did not commit."""
        ...


def no_fence(_txn: Txn) -> None:
    """Let every transaction through: there is no epoch yet (migrations, tests)."""


def no_head() -> Head | None:
    """Have nothing to anchor."""
    return None


class Piece(Protocol):
    """One unit as the batch sees it, whatever its result's type."""

    @property
    def needs_clean(self) -> bool:
        """Whether it is a dispatch or a request, which probation refuses."""
        ...

    def attempt(self, txn: Txn) -> None:
        """Run the unit and keep its result, which counts only once the batch has committed."""
        ...

    def fail(self, error: Exception) -> None:
        """Keep `error` in place of a result."""
        ...


@attrs.define(eq=False)
class Ticket(Generic[T]):
    """One unit with its result or error.

    Attributes:
        work: Runs inside the transaction, under a savepoint of its own; may run only once.
        needs_clean: Whether it is a dispatch (T1) or a request, which probation refuses.
    """

    work: Callable[[Txn], T]
    needs_clean: bool = False
    _value: tuple[T] | None = None
    _error: Exception | None = None

    def attempt(self, txn: Txn) -> None:
        """Run the unit and keep its result."""
        self._value = (self.work(txn),)

    def fail(self, error: Exception) -> None:
        """Keep `error` in place of a result."""
        self._error = error

    def result(self) -> T:
        """Return the result, or raise the error that the unit or its batch ended with."""
        if self._error is not None:
            raise self._error
        assert self._value is not None, "asked before it was answered"
        return self._value[0]


@attrs.define(eq=False, kw_only=True)
class Batcher:
    """Commits pieces together; synchronous, and called by one caller at a time.

    Attributes:
        fence: Runs first in every transaction and refuses it when the epoch is not ours (OWN-1).
        memories: Told of every unit and every commit, in this order.
        anchor: Written after COMMIT returned and before anybody is answered (STORE-9a).
        head: The head to anchor, asked after `memories` were told of the commit.
    """

    door: WriteDoor
    fence: Callable[[Txn], None] = no_fence
    memories: tuple[Memory, ...] = ()
    anchor: Anchor | None = None
    head: Callable[[], Head | None] = no_head

    def commit(self, pieces: Sequence[Piece]) -> None:
        """Commit all pieces that are not refused; afterwards each has its result or its error.

        A refusal may rest on what a neighbour wrote, so when the batch fails everybody, the
        refused included, gets the batch's error.
        """
        try:
            admitted = self._admitted(pieces)
            if admitted:
                self._transact(admitted)
        except CrashworthyError as error:
            for piece in pieces:
                # A copy each: an exception object collects the tracebacks of all who raise it.
                own = attrs.evolve(error)
                own.__cause__ = error
                piece.fail(own)

    def _admitted(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        """Return what may go on, after a probe commit if the last commit failed."""
        self.door.check()
        if self.door.health is not Health.PROBATION:
            return pieces
        try:
            self.door.probe_commit()
        except StorageError as error:
            refusal = StoreOnProbationError(probe_code=error.code)
            for piece in pieces:
                if piece.needs_clean:
                    piece.fail(refusal)
            return [piece for piece in pieces if not piece.needs_clean]
        return pieces

    def _transact(self, pieces: Sequence[Piece]) -> None:
        try:
            self.door.transact(lambda txn: self._run_units(txn, pieces))
        except BaseException:
            for memory in self.memories:
                memory.reverted()
            raise
        try:
            self._acknowledge()
        except BaseException as error:
            # Durable, but memory or anchor no longer say so: nobody may go on from here.
            self.door.poison()
            if isinstance(error, StorageError):
                raise CommitOutcomeUnknownError(cause=error.cause) from error
            raise

    def _run_units(self, txn: Txn, pieces: Sequence[Piece]) -> None:
        self.fence(txn)
        for piece in pieces:
            for memory in self.memories:
                memory.unit_begun()
            try:
                txn.unit(piece.attempt)
            except StorageError:
                raise
            except Exception as error:  # noqa: BLE001 - belongs to this unit's caller alone
                for memory in self.memories:
                    memory.unit_undone()
                piece.fail(error)

    def _acknowledge(self) -> None:
        for memory in self.memories:
            memory.committed()
        head = self.head()
        if self.anchor is not None and head is not None:
            self.anchor.write(head)
