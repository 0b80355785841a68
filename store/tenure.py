"""A tenure: from the owner lock to the proof that nobody of its epoch acts any more (OWN-2)."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import attrs

from ..machines.facts.asserts import demand_asserts
from ..machines.facts.chain import root_start
from ..machines.facts.ids import RootId
from ..machines.lifecycles.lease import LeaseState
from . import epochs
from .anchor import Anchor, Head, compare_anchor, open_anchor
from .audit.form import foreign_objects
from .connect import Connector, read_version
from .epochs import Opener
from .errors import AcknowledgedFactsMissingError, SchemaAlteredError
from .journal.evidence import SqlView
from .migrate import migrate
from .ownership.lock import (
    OwnerLock,
    check_named,
    check_recorded_owner,
    identity_of,
    take_owner_lock,
)
from .ownership.root import StateRoot, note_boot, open_root
from .ownership.workers import LeftWorker, WorkersProof, prove_workers_gone
from .probe import Probe
from .reader import wal_of
from .schema import MIGRATIONS, NEWEST
from .sql import fetch
from .txn import Txn, WriteDoor


@attrs.frozen(kw_only=True)
class Means:
    """What a process opens a root with; all of it is injected.

    Attributes:
        host: The host's id.
        since: When, in its own clock's words.
        new_root_id: Gives a random id to a new root; None to make none.
        pause: Waits some seconds, while ended workers disappear.
        accept_loss: A person accepts that acknowledged facts are missing (STORE-9a).
    """

    host: str
    since: str
    new_root_id: Callable[[], RootId] | None
    connector: Connector
    probe: Probe
    pause: Callable[[float], None]
    accept_loss: bool = False


@attrs.define(eq=False, kw_only=True)
class Tenure:
    """The time in which this process owns a root.

    Attributes:
        proof: Whether the epochs before this one are proven gone.
        head: The head of the log when it began.
    """

    root: StateRoot
    epoch: int
    proof: WorkersProof
    head: Head
    door: WriteDoor
    anchor: Anchor
    _lock: OwnerLock = attrs.field(alias="lock")
    _opener: Opener = attrs.field(alias="opener")
    _means: Means = attrs.field(alias="means")
    _files: tuple[tuple[Path, tuple[int, int]], ...] = attrs.field(alias="files")

    def check(self) -> None:
        """Demand that root and log are still those that are owned: nobody moved or replaced them.

        SQLite goes on in a file that was removed, or that a backup was put in the place of.

        Raises:
            LockReplacedError: `lock_replaced`.
            StorageError: `storage_*`.
        """
        self._lock.check()
        for path, known in self._files:
            check_named(path, known)

    def alone(self) -> bool:
        """Wait a little for the workers of this epoch, and say whether all have ended."""
        means = self._means
        proof = prove_workers_gone(self.root.workers_lock, (), pause=means.pause, probe=means.probe)
        return proof is WorkersProof.GONE

    def close_unit(self, txn: Txn) -> None:
        """Write the record that closes this epoch; `alone` said yes before."""
        epochs.close_epoch(txn, self.epoch, self._opener)

    def release(self) -> None:
        """Let go of the lock; again does nothing."""
        self._lock.release()


def begin_tenure(path: Path, means: Means) -> Tenure:
    """Open a root as its owner: lock, anchor, the next epoch, and proof of death where possible.

    Raises:
        RootOwnedError: `root_owned`.
        LockReplacedError: `lock_replaced`.
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`, unless `accept_loss`.
        DatabaseOfOtherRootError: `database_of_other_root`.
        SchemaAlteredError: `schema_altered`.
        AssertsDisabledError: `asserts_disabled`, before anything is touched.
        CrashworthyError: As `open_root`, `Connector.open_owner` and `migrate`.
    """
    demand_asserts()
    with ExitStack() as stack:
        root = open_root(path, new_root_id=means.new_root_id, probe=means.probe)
        lock = take_owner_lock(root.owner_lock, probe=means.probe)
        stack.callback(lock.release)
        note_boot(root, probe=means.probe)
        connection = means.connector.open_owner(root.database, newest=NEWEST)
        door = WriteDoor(connection=connection, probe=means.probe)
        stack.callback(door.close)
        anchor = open_anchor(root.anchor, probe=means.probe)
        stack.callback(anchor.close)
        try:
            head, lost = _compare(door, root, anchor, accept_loss=means.accept_loss)
        except AcknowledgedFactsMissingError:
            _close_untouched(door, root, means)
            raise
        # Named in the transaction that makes it: a database without a name is no root's, and one
        # that a kill left so could neither be opened nor looked at.
        migrate(door, MIGRATIONS, found=lambda txn: epochs.name_root(txn, root.root_id))
        _refuse_altered(door)
        opener = Opener(host=means.host, since=means.since, held=lock.held)
        state, left = door.transact(lambda txn: _open_epoch(txn, root, opener, lost))
        if lost is not None:
            anchor.write(head)
            anchor.sync()
        lock.announce(epoch=state.epoch, since=means.since)
        proof = _prove(door, root, state, left, opener, means)
        log = (root.database, wal_of(root.database))
        files = tuple((path, identity_of(path)) for path in log)
        stack.pop_all()
        return Tenure(
            root=root,
            epoch=state.epoch,
            proof=proof,
            head=head,
            door=door,
            anchor=anchor,
            lock=lock,
            opener=opener,
            means=means,
            files=files,
        )


def _refuse_altered(door: WriteDoor) -> None:
    """Refuse a database whose tables are not those of its version, before the first write.

    Raises:
        SchemaAlteredError: `schema_altered`, naming what differs.
    """
    differing = foreign_objects(lambda sql, params: fetch(door.connection, sql, params))
    if differing:
        raise SchemaAlteredError(objects=tuple(differing))


def _close_untouched(door: WriteDoor, root: StateRoot, means: Means) -> None:
    """Close the writer and leave the WAL as it was found: its frames may be all that can be mended.

    The last connection to close empties the WAL and removes it, so another one, which may only
    read, closes last.
    """
    witness = means.connector.connect(root.database, query="mode=ro")
    try:
        fetch(witness, "SELECT count(*) FROM sqlite_schema")
        door.close()
    finally:
        witness.close()


def _compare(
    door: WriteDoor, root: StateRoot, anchor: Anchor, *, accept_loss: bool
) -> tuple[Head, int | None]:
    """Return the stored head, and the anchored ordinal where a loss was accepted.

    Raises:
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`.
    """
    if read_version(door.connection, newest=NEWEST) == 0:
        stored, view = Head(ordinal=0, chain=root_start(root.root_id)), None
    else:
        view = SqlView(lambda sql, params: fetch(door.connection, sql, params))
        stored = view.last()

    def chain_at(ordinal: int) -> str | None:
        found = () if view is None else view.log(after=ordinal - 1, limit=1)
        return next((fact.root for fact in found if fact.place.ordinal == ordinal), None)

    try:
        compare_anchor(anchor.head, stored, chain_at)
    except AcknowledgedFactsMissingError as missing:
        if not accept_loss:
            raise
        return stored, missing.anchored_ordinal
    return stored, None


def _open_epoch(
    txn: Txn, root: StateRoot, opener: Opener, lost: int | None
) -> tuple[LeaseState, tuple[LeftWorker, ...]]:
    epochs.name_root(txn, root.root_id)
    recorded = epochs.recorded_owner(txn)
    if recorded is not None:
        check_recorded_owner(recorded, opener.held)
    epoch = epochs.open_epoch(txn, opener)
    if lost is not None:
        epochs.accept_loss(txn, anchored=lost, epoch=epoch)
    return SqlView(txn.run).lease(), epochs.left_workers(txn, epoch)


def _prove(
    door: WriteDoor,
    root: StateRoot,
    state: LeaseState,
    left: tuple[LeftWorker, ...],
    opener: Opener,
    means: Means,
) -> WorkersProof:
    """End what is left, and record the proof; a clean end of the former owner is proof already."""
    if state.gone >= state.epoch - 1:
        return WorkersProof.GONE
    proof = prove_workers_gone(root.workers_lock, left, pause=means.pause, probe=means.probe)
    if proof is WorkersProof.GONE:
        door.transact(lambda txn: epochs.prove_gone(txn, state.epoch, opener))
    return proof
