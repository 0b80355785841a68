"""Owner epochs as rows: the lease's table admits each opening, proof and closing (OWN-1)."""

from typing import Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..machines.lifecycles import lease
from ..machines.lifecycles.table import Refused
from .journal.columns import integer, text
from .journal.errors import OwnerFencedError, UnitRefusedError
from .journal.evidence import LEASE, SqlView, lease_of
from .ownership.lock import LockHeld
from .ownership.workers import LeftWorker
from .platform import ProcessIdentity
from .txn import Txn

_ADD: Final = (
    "INSERT INTO lease (event, held, epoch, gone, row, ordinal, host, since, pid, boot_id, started,"
    " device, inode) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
)
_NEWEST: Final = (
    "SELECT event, pid, boot_id, started, device, inode FROM lease WHERE event != 'gone'"
    " ORDER BY number DESC LIMIT 1"
)
_ROOT: Final = "SELECT root_id FROM root"
_ADD_ROOT: Final = "INSERT INTO root (one, root_id, ordinal) VALUES (1, ?, 0)"
_ADD_WORKER: Final = (
    "INSERT INTO workers (worker, epoch, pid, boot_id, started, process_group, ordinal)"
    " VALUES (?,?,?,?,?,?,?)"
)
_END_WORKER: Final = "UPDATE workers SET ended = ? WHERE worker = ? AND ended IS NULL"
_LEFT: Final = (
    "SELECT pid, boot_id, started, process_group FROM workers WHERE ended IS NULL AND epoch < ?"
    " ORDER BY worker"
)
_ADD_LOSS: Final = "INSERT INTO accepted_losses (anchored, ordinal, epoch) VALUES (?,?,?)"


@attrs.define(eq=False, kw_only=True)
class DatabaseOfOtherRootError(CrashworthyError):
    """The database in this root names another root: somebody put a foreign file there."""

    code = Code.DATABASE_OF_OTHER_ROOT
    expected: str
    found: str


@attrs.frozen(kw_only=True)
class Opener:
    """Who opens a root.

    Attributes:
        host: The host's id.
        since: When, in its own clock's words; shown, never compared.
        held: The process and the lock file it holds.
    """

    host: str
    since: str
    held: LockHeld


def name_root(txn: Txn, root_id: str) -> None:
    """Write the root's id into a new database, or demand that it is the one there.

    Raises:
        DatabaseOfOtherRootError: `database_of_other_root`.
    """
    known = [text(row[0]) for row in txn.run(_ROOT)]
    if not known:
        txn.run(_ADD_ROOT, (root_id,))
    elif known != [root_id]:
        raise DatabaseOfOtherRootError(expected=root_id, found=known[0])


def recorded_owner(txn: Txn) -> LockHeld | None:
    """Return what the newest opening says of its process and lock file, unless it was closed."""
    for event, pid, boot, started, device, inode in txn.run(_NEWEST):
        if event == "close":
            return None  # Its owner wrote that as its last word; the process may live on.
        process = ProcessIdentity(pid=integer(pid), boot_id=text(boot), started=text(started))
        return LockHeld(process=process, device=int(text(device)), inode=int(text(inode)))
    return None


def open_epoch(txn: Txn, opener: Opener) -> int:
    """Insert the next epoch and return it; the caller holds the owner lock (LEA.T1, LEA.T2).

    Raises:
        UnitRefusedError: `epoch_not_next` or `lease_held`.
    """
    epoch = SqlView(txn.run).lease().epoch + 1
    _record(txn, "open", lease.Open(epoch=epoch, locked=True), opener)
    return epoch


def prove_gone(txn: Txn, epoch: int, opener: Opener) -> None:
    """Record that every epoch before `epoch` is gone; the workers' lock was had (LEA.T4).

    Raises:
        UnitRefusedError: `owner_fenced`, or `epoch_not_next` where that is known already.
    """
    _record(txn, "gone", lease.Gone(epoch=epoch, gone=epoch - 1, workers=False), opener)


def close_epoch(txn: Txn, epoch: int, opener: Opener) -> None:
    """Record that `epoch` has let go and that its workers ended (LEA.T5).

    Raises:
        UnitRefusedError: `owner_fenced`.
    """
    _record(txn, "close", lease.Close(epoch=epoch, gone=epoch, workers=False), opener)


def assert_epoch(txn: Txn, epoch: int) -> None:
    """Refuse a transaction of any other epoch than the current one (LEA.T3).

    Raises:
        OwnerFencedError: `owner_fenced`.
    """
    # Every transaction comes by here, so the row is read without the rest of a view.
    state = lease_of(txn.run(LEASE))
    if isinstance(lease.TABLE.step(state, lease.Write(epoch=epoch)), Refused):
        raise OwnerFencedError(epoch=epoch, current=state.epoch)


def accept_loss(txn: Txn, *, anchored: int, epoch: int) -> None:
    """Record that a person accepts that facts up to ordinal `anchored` are missing (STORE-9a)."""
    txn.run(_ADD_LOSS, (anchored, SqlView(txn.run).last().ordinal, epoch))


def record_worker(txn: Txn, worker: str, epoch: int, left: LeftWorker) -> None:
    """Record a worker before it may act, so that a successor can end it (OWN-2)."""
    process = left.process
    ordinal = SqlView(txn.run).last().ordinal
    place = (process.pid, process.boot_id, process.started, left.group, ordinal)
    txn.run(_ADD_WORKER, (worker, epoch, *place))


def record_worker_ended(txn: Txn, worker: str) -> None:
    """Record that a worker has ended; again does nothing."""
    txn.run(_END_WORKER, (SqlView(txn.run).last().ordinal, worker))


def left_workers(txn: Txn, epoch: int) -> tuple[LeftWorker, ...]:
    """Return the workers of epochs before `epoch` that were not recorded as ended."""
    return tuple(
        LeftWorker(
            process=ProcessIdentity(pid=integer(pid), boot_id=text(boot), started=text(started)),
            group=integer(group),
        )
        for pid, boot, started, group in txn.run(_LEFT, (epoch,))
    )


def _record(txn: Txn, event: str, seen: lease.LeaseSeen, opener: Opener) -> None:
    view = SqlView(txn.run)
    stepped = lease.TABLE.step(view.lease(), seen)
    if isinstance(stepped, Refused):
        raise UnitRefusedError.of(0, stepped)
    state, row = stepped
    held, process = opener.held, opener.held.process
    txn.run(
        _ADD,
        (
            event,
            int(isinstance(state, lease.Held)),
            state.epoch,
            state.gone,
            row,
            view.last().ordinal,
            opener.host,
            opener.since,
            process.pid,
            process.boot_id,
            process.started,
            str(held.device),
            str(held.inode),
        ),
    )
