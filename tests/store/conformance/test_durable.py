"""Durability, ownership and proof of death: the parts that only a store on disk can keep."""

import os
import shutil
import sqlite3
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from crashworthy.machines.facts.codes import Code, CrashworthyError
from crashworthy.machines.lifecycles import lease
from crashworthy.machines.recovery.runs import Repair
from crashworthy.store.connect import Connector
from crashworthy.store.epochs import left_workers, record_worker, record_worker_ended
from crashworthy.store.journal.recovery import RepairRun, unfinished_runs
from crashworthy.store.journal.starts import QueueMessage
from crashworthy.store.ownership.workers import LeftWorker, WorkersProof, join_workers
from crashworthy.store.platform import this_process
from crashworthy.store.port import Capability
from crashworthy.store.sql import SqlValue
from crashworthy.store.sqlite import SqliteStore

from ..rig import sqlite_error
from ..tale import Tale, ids_of, open_here, whole_run
from .conftest import die


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def owned(place: Path) -> Generator[SqliteStore]:
    store = open_here(place)
    yield store
    store.close()


def refused(place: Path, *, accept_loss: bool = False) -> Code:
    with pytest.raises(CrashworthyError) as caught:
        open_here(place, accept_loss=accept_loss)
    return caught.value.code


# --- durability ---


def test_store_on_disk_declares_every_part(owned: SqliteStore) -> None:
    assert owned.capabilities == frozenset(Capability)


@pytest.mark.parametrize("cleanly", [True, False])
def test_what_was_acknowledged_is_there_after_reopening(
    owned: SqliteStore, place: Path, *, cleanly: bool
) -> None:
    whole_run(Tale(store=owned).begun())
    told, head = ids_of(owned), owned.read(lambda view: view.last())
    if cleanly:
        owned.close()
    else:
        die(owned)

    again = open_here(place)

    assert ids_of(again) == told
    assert again.read(lambda view: view.last()) == head
    again.close()


def test_reopening_adds_no_fact_and_goes_on_where_the_log_ends(
    owned: SqliteStore, place: Path
) -> None:
    tale = whole_run(Tale(store=owned).begun())
    owned.close()
    for _ in range(3):
        open_here(place).close()
    tale.store = again = open_here(place)

    whole_run(tale)

    ordinals = [stored.place.ordinal for stored in again.read(lambda view: view.log())]
    assert ordinals == list(range(1, len(ordinals) + 1))
    again.close()


def test_head_behind_the_anchor_is_refused_until_a_person_accepts_the_loss(
    owned: SqliteStore, place: Path, tmp_path: Path
) -> None:
    """STORE-9a: committed rows may vanish silently; only the anchor outside the file knows."""
    tale = Tale(store=owned).begun()
    tale.running()
    owned.close()
    shutil.copytree(place, tmp_path / "older")
    tale.store = later = open_here(place)
    tale.do(QueueMessage(fact=tale.queued("msg_1")))
    later.close()
    shutil.copyfile(tmp_path / "older" / "ledger.sqlite3", place / "ledger.sqlite3")

    assert refused(place) is Code.ACKNOWLEDGED_FACTS_MISSING
    accepted = open_here(place, accept_loss=True)

    assert accepted.read(unfinished_runs) == ("run_1",)
    assert accepted.write(RepairRun(run="run_1", now_ts=0)) is Repair.RELEASE
    accepted.close()
    open_here(place).close()


def test_lost_database_is_not_taken_for_a_new_one(owned: SqliteStore, place: Path) -> None:
    Tale(store=owned).begun()
    owned.close()
    (place / "ledger.sqlite3").unlink()

    assert refused(place) is Code.ACKNOWLEDGED_FACTS_MISSING


def test_database_of_another_root_is_refused(owned: SqliteStore, place: Path) -> None:
    owned.close()
    with sqlite3.connect(place / "ledger.sqlite3") as db:
        db.execute("UPDATE root SET root_id = 'root_other'")
    db.close()

    assert refused(place) is Code.DATABASE_OF_OTHER_ROOT


# --- ownership ---


def test_second_owner_is_refused_while_the_first_lives(owned: SqliteStore, place: Path) -> None:
    assert owned.owner.epoch == 1
    assert refused(place) is Code.ROOT_OWNED


def test_each_owner_has_the_next_epoch_and_stamps_it(owned: SqliteStore, place: Path) -> None:
    tale = whole_run(Tale(store=owned).begun())
    owned.close()
    tale.store = again = open_here(place)
    whole_run(tale)

    epochs = {stored.stamped().epoch for stored in again.read(lambda view: view.log())}

    assert (again.owner.epoch, epochs) == (2, {1, 2})
    again.close()


def test_stale_owner_is_fenced_inside_the_transaction(owned: SqliteStore, place: Path) -> None:
    """A zombie that still has its connection: whatever it believes, the epoch row decides."""
    tale = Tale(store=owned).begun()
    assert owned.tenure is not None
    owned.tenure.release()
    successor = open_here(place)
    before = ids_of(successor)

    with pytest.raises(CrashworthyError) as caught:
        tale.running()

    assert caught.value.code is Code.OWNER_FENCED
    assert ids_of(successor) == before
    successor.close()
    die(owned)


def test_owner_that_cannot_write_its_last_words_still_lets_go(place: Path) -> None:
    """A full disk at the end: the epoch's record stays open, and the lock does not."""
    faulty = open_here(place, connector=Connector(factory=FullAtTheEnd))
    Tale(store=faulty).begun()

    faulty.close()

    again = open_here(place)
    assert again.owner.epoch == 2
    assert again.proof is WorkersProof.GONE
    again.close()
    assert events(place) == ["open", "open", "gone", "close"]


class FullAtTheEnd(sqlite3.Connection):
    """Has no room for the record that closes an epoch."""

    def execute(self, sql: str, parameters: object = (), /) -> sqlite3.Cursor:
        values = cast("Sequence[SqlValue]", parameters)
        if sql.startswith("INSERT INTO lease") and values[0] == "close":
            raise sqlite_error("SQLITE_FULL")
        return super().execute(sql, values)


# --- proof of death ---


def test_clean_end_is_proof_and_costs_the_successor_no_record(
    owned: SqliteStore, place: Path
) -> None:
    owned.close()
    again = open_here(place)

    assert again.proof is WorkersProof.GONE
    assert again.read(lambda view: view.lease()) == lease.Held(epoch=2, gone=1)
    again.close()
    assert events(place) == ["open", "close", "open", "close"]


def test_dead_owner_is_proven_gone_by_the_workers_lock(owned: SqliteStore, place: Path) -> None:
    die(owned)
    again = open_here(place)

    assert again.proof is WorkersProof.GONE
    assert again.read(lambda view: view.gone()) == 1
    again.close()
    assert events(place) == ["open", "open", "gone", "close"]


def test_worker_that_lives_keeps_its_epoch_from_being_gone(owned: SqliteStore, place: Path) -> None:
    assert owned.tenure is not None
    lock = join_workers(owned.tenure.root.workers_lock)
    die(owned)

    again = open_here(place)

    assert again.proof is WorkersProof.WORKER_ALIVE
    assert again.read(lambda view: view.gone()) == 0
    again.close()
    assert events(place) == ["open", "open"]  # our own workers' end cannot be shown either
    os.close(lock)
    last = open_here(place)
    assert last.read(lambda view: view.gone()) == 2
    last.close()


def test_recorded_worker_is_left_to_the_successor_until_it_is_recorded_as_ended(
    owned: SqliteStore,
) -> None:
    left = LeftWorker(process=this_process(), group=12345)
    for worker in ("w1", "w2"):
        owned.transact(partial(record_worker, worker=worker, epoch=1, left=left))
    owned.transact(lambda txn: record_worker_ended(txn, "w1"))

    assert owned.transact(lambda txn: left_workers(txn, 2)) == (left,)
    assert owned.transact(lambda txn: left_workers(txn, 1)) == ()


def events(place: Path) -> list[str]:
    with sqlite3.connect(place / "ledger.sqlite3") as db:
        found = [row[0] for row in db.execute("SELECT event FROM lease ORDER BY number")]
    db.close()
    return found
