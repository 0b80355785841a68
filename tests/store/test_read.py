"""Readers show everything up to the damage, name what is left out, touch nothing (STORE-8)."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.ids import RootId
from crashworthy.machines.lifecycles import run
from crashworthy.store.errors import StorageFullError
from crashworthy.store.read import Reading, Scope, runs, runs_named, sessions
from crashworthy.store.verify import verify

from .logs import copied, database, fact_rows, looking, ruin, varied_log
from .tale import ROOT, Tale, open_here, whole_run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied_log(tmp_path_factory.mktemp("read") / "root")


@pytest.fixture
def log(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "root")


def read(log: Path, scope: Scope, after: int = 0) -> tuple[list[int], Reading]:
    with looking(log) as look:
        reading = Reading(look=look, root_id=RootId(ROOT), scope=scope, after=after)
        return [fact.place.ordinal for fact in reading], reading


def test_reading_gives_all_facts_of_its_scope_in_commit_order(made: Path) -> None:
    rows = fact_rows(made)

    for scope, column, name in (
        (Scope(), 0, None),
        (Scope(session="ses_b"), 5, "ses_b"),
        (Scope(invocation="inv_2"), 6, "inv_2"),
    ):
        found, reading = read(made, scope)
        assert found == [row[0] for row in rows if name in (None, row[column])]
        assert (reading.losses, reading.hidden) == ([], 0)


def test_reading_can_begin_and_end_anywhere(made: Path) -> None:
    found, reading = read(made, Scope(session="ses_a", upto=20), after=5)

    own = [row[0] for row in fact_rows(made) if row[5] == "ses_a"]
    assert found == [ordinal for ordinal in own if 5 < int(str(ordinal)) <= 20]
    assert reading.losses == []


def test_reading_goes_on_where_more_was_written(made: Path) -> None:
    with looking(made) as look:
        reading = Reading(look=look, root_id=RootId(ROOT), scope=Scope(upto=10))
        assert len(reading.more()) == 10
        assert reading.more() == []


def test_damaged_ledger_is_shown_up_to_the_damage_and_others_whole(log: Path) -> None:
    ruin(log, ("UPDATE facts SET body = x'7b7d' WHERE ordinal = 6", ()))
    ledger = fact_rows(log)[5][6]

    found, reading = read(log, Scope(session="ses_a"))

    rows = [row for row in fact_rows(log) if row[5] == "ses_a"]
    shown = [row[0] for row in rows if row[6] != ledger or int(str(row[0])) < 6]
    assert found == shown
    [lost] = reading.losses
    assert (lost.ordinal, lost.reason, lost.shown) == (6, Code.FACT_MALFORMED, False)
    assert (lost.session, lost.invocation) == ("ses_a", ledger)
    assert reading.hidden == len(rows) - len(shown) - 1


def test_fact_that_a_chain_vouches_for_is_shown_with_its_loss(log: Path) -> None:
    """Only a column lies: what the fact says is known, so nothing behind it is withheld."""
    ruin(log, ("UPDATE facts SET epoch = epoch + 5 WHERE ordinal = 6", ()))

    found, reading = read(log, Scope(session="ses_a"))

    assert 6 in found
    assert [(lost.reason, lost.shown) for lost in reading.losses] == [(Code.COLUMN_DIFFERS, True)]
    assert reading.hidden == 0


def test_lists_are_read_from_indexes(made: Path) -> None:
    with looking(made) as look:
        listed = sessions(look)
        assert [one.session for one in listed] == ["ses_a", "ses_b"]
        assert [one.runs for one in listed] == [3, 1]
        assert listed[-1].newest == len(fact_rows(made))
        assert [row.instance for row in runs(look, "ses_a")] == ["run_1", "run_2", "run_3"]
        assert isinstance(runs(look, "ses_b")[0].cell.state, run.Stopping)
        assert runs_named(look, "run_1") == ["run_1", "run_101"]
        assert runs_named(look, "run_9") == []


def _tell_until_refused(tale: Tale) -> None:
    for _ in range(200):
        whole_run(tale)


def test_everything_is_readable_while_the_disk_is_full(tmp_path: Path) -> None:
    """The refused write leaves nothing; with room again the session goes on (BR-19)."""
    place = tmp_path / "root"
    store = open_here(place)
    whole_run(Tale(store=store).begun())
    fetch = store.writer.batcher.door.connection.execute
    [(pages,)] = fetch("PRAGMA page_count").fetchall()
    fetch(f"PRAGMA max_page_count = {pages}").fetchall()
    tale = Tale(store=store, number=10, ids=1_000)
    with pytest.raises(StorageFullError):
        _tell_until_refused(tale)
    last = store.read(lambda view: view.last().ordinal)

    found, reading = read(place, Scope())

    assert (found, reading.losses) == (list(range(1, last + 1)), [])
    assert verify(place).total == 0
    fetch("PRAGMA max_page_count = 1073741823").fetchall()
    whole_run(Tale(store=store, session="ses_2", number=900, ids=90_000).begun())
    store.close()
    assert verify(place).total == 0


HOST = """\
import sys
from pathlib import Path
from tests.store.tale import Tale, open_here, whole_run

store = open_here(Path(sys.argv[1]))
tale = Tale(store=store).begun()
print("ready", flush=True)
for _ in range(6):
    whole_run(tale)
sys.stdin.readline()
store.close()
print("done", flush=True)
"""


def lease_rows(place: Path) -> list[tuple[int, str]]:
    connection = sqlite3.connect(f"file:{database(place)}?mode=ro", uri=True)
    try:
        return connection.execute("SELECT number, event FROM lease").fetchall()
    finally:
        connection.close()


def test_two_hundred_looks_beside_a_live_host_change_nothing(tmp_path: Path) -> None:
    """The host runs to its end without a busy error, and no look leaves a row or a file (BR-20)."""
    place, here = tmp_path / "root", Path(__file__).parents[2]
    path = os.pathsep.join((str(here / ".src"), str(here)))
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    with host:
        assert host.stdout is not None
        assert host.stdin is not None
        assert host.stdout.readline() == "ready\n"
        files = {entry.name for entry in place.iterdir()}
        owners = lease_rows(place)
        for turn in range(200):
            with looking(place) as look:
                assert [one.session for one in sessions(look)] == ["ses_1"]
            if turn % 20 == 0:
                assert read(place, Scope(session="ses_1"))[1].losses == []
                assert verify(place, file_check=False).total == 0
        assert lease_rows(place) == owners
        assert {entry.name for entry in place.iterdir()} == files
        host.stdin.write("\n")
        host.stdin.flush()
        assert host.stdout.read() == "done\n"
    report = verify(place)
    assert (report.total, report.facts) == (0, 6 * 12 + 1)
