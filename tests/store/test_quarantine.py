"""Damage is one session's: no tools there, its end is written, others go on (STORE-8)."""

from pathlib import Path

import pytest

from crashworthy.machines.facts.codes import Code, CrashworthyError
from crashworthy.machines.recovery.runs import Repair
from crashworthy.store.journal import writers
from crashworthy.store.journal.errors import FoldRefusedError, SessionQuarantinedError
from crashworthy.store.journal.recovery import RepairRun
from crashworthy.store.quarantine import contain
from crashworthy.store.sqlite import SqliteStore
from crashworthy.store.verify import verify

from .conformance.conftest import die
from .logs import ruin
from .tale import Tale, open_here, whole_run


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A root whose owner died: a run with a placed call is open, and a fact of it is damaged."""
    root = tmp_path / "root"
    store = open_here(root)
    tale = Tale(store=store).begun().running()
    tale.step(1, tale.call(1, 1, x="a"))
    whole_run(Tale(store=store, session="ses_2", number=50, ids=500).begun())
    die(store)
    ruin(root, ("UPDATE facts SET body = x'7b7d' WHERE ordinal = 5", ()))
    return root


def damage_met(store: SqliteStore) -> CrashworthyError:
    """Read as recovery does, and return what that meets."""
    with pytest.raises(CrashworthyError) as met:
        store.read(lambda view: [stored.event() for stored in view.log(session="ses_1")])
    return met.value


def test_session_whose_facts_are_damaged_is_quarantined_where_it_begins(place: Path) -> None:
    store = open_here(place)

    assert contain(store, "ses_1", damage_met(store))

    record = store.read(lambda view: view.quarantine("ses_1"))
    assert record is not None
    assert (record.code, record.first_bad) == (Code.FACT_MALFORMED.value, 5)
    assert record.head_seq == 6
    assert contain(store, "ses_1", damage_met(store)), "again it changes nothing"
    assert store.read(lambda view: view.quarantine("ses_1")) == record
    store.close()


def test_error_that_says_nothing_about_the_facts_quarantines_nobody(place: Path) -> None:
    store = open_here(place)

    assert not contain(store, "ses_2", SessionQuarantinedError(session="ses_2", cause="other"))

    assert store.read(lambda view: view.quarantine("ses_2")) is None
    store.close()


def test_fact_that_no_table_admits_is_damage_though_its_bytes_are_whole(place: Path) -> None:
    store = open_here(place)
    refused = FoldRefusedError(session="ses_2", ordinal=9, reason=Code.RUN_SEALED)

    assert contain(store, "ses_2", refused)

    record = store.read(lambda view: view.quarantine("ses_2"))
    assert record is not None
    assert (record.code, record.first_bad) == (Code.FOLD_REFUSED.value, 9)
    store.close()


def test_quarantined_session_gets_its_end_and_no_tool_while_others_go_on(place: Path) -> None:
    store = open_here(place)
    contain(store, "ses_1", damage_met(store))
    tale = Tale(store=store, number=1, ids=100)
    call = tale.call(1, 1, x="a")

    with pytest.raises(SessionQuarantinedError):
        tale.do(writers.dispatch(tale.dispatch(call)))

    assert tale.do(RepairRun(run="run_1", now_ts=5_000)) is Repair.LOST
    whole_run(Tale(store=store, session="ses_2", number=60, ids=600))
    store.close()
    report = verify(place)
    assert [found.ordinal for found in report.findings] == [5]
    assert report.doubtful == {"ses_1": 5}
