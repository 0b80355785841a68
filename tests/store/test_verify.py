"""Verification finds what a root says wrongly, names it once, and changes nothing (STORE-8)."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import pytest

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.chain import chain_next, chain_start, root_next, root_start
from crashworthy.machines.facts.codec import decode_body, decode_stamp, encode_body, encode_stamp
from crashworthy.machines.facts.codes import Code
from crashworthy.machines.facts.model import Attachment, RunOpened, RuntimeEvent, Stamp, Text
from crashworthy.machines.facts.vocabulary import AttachmentKind, Kind
from crashworthy.store.anchor import Head, open_anchor
from crashworthy.store.audit.findings import Check
from crashworthy.store.audit.report import Report, Status
from crashworthy.store.blobs import BlobStore
from crashworthy.store.errors import StoreNotFoundError
from crashworthy.store.sql import Row, SqlValue
from crashworthy.store.verify import verify

from .logs import copied, database, fact_rows, findings_of, looking, ruin, varied_log
from .tale import ROOT, Tale, open_here

Statement = tuple[str, Sequence[SqlValue]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return varied_log(tmp_path_factory.mktemp("verify") / "root")


@pytest.fixture
def log(made: Path, tmp_path: Path) -> Path:
    return copied(made, tmp_path / "root")


def told(report: Report) -> list[tuple[Check, Code, int | None]]:
    return [(found.check, found.code, found.ordinal) for found in report.findings]


# --- a whole log ---


def test_whole_log_is_clean_and_everything_in_it_is_counted(made: Path) -> None:
    seen: list[tuple[int, int]] = []

    report = verify(made, progress=lambda done, total: seen.append((done, total)))

    rows = fact_rows(made)
    assert (report.status, told(report), report.problem) == (Status.CLEAN, [], None)
    assert (report.facts, report.sessions) == (len(rows), 2)
    assert report.head == Head(ordinal=len(rows), chain=bytes(rows[-1][10]).hex())  # type: ignore[arg-type]  # a BLOB
    assert seen == [(len(rows), len(rows))]


def test_report_counts_how_often_each_row_of_the_tables_admitted_a_fact(made: Path) -> None:
    """Transition coverage of any log is a query (MACH-4)."""
    report = verify(made)

    stamps = [decode_stamp(bytes(row[11])) for row in fact_rows(made)]  # type: ignore[arg-type]  # a BLOB
    assert report.rows == {
        name: sum(name in stamp.rows for stamp in stamps)
        for name in {name for stamp in stamps for name in stamp.rows}
    }


def test_verification_changes_no_byte_of_the_root(log: Path) -> None:
    def bytes_of() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(log.iterdir()) if path.is_file()}

    before = bytes_of()
    verify(log, blobs=True)

    assert bytes_of() == before


def test_copied_root_is_verified_and_its_problem_is_said(log: Path) -> None:
    report = verify(log)

    assert (report.problem, report.status) == (Code.ROOT_COPIED, Status.CLEAN)


def test_place_without_a_root_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(StoreNotFoundError):
        verify(tmp_path / "nothing")


# --- rows that are gone, or stand elsewhere ---


def test_missing_row_is_told_once_at_its_ordinal(log: Path) -> None:
    ruin(log, ("DELETE FROM facts WHERE ordinal = 9", ()))

    report = verify(log, file_check=False)

    assert told(report) == [(Check.ORDINAL, Code.ORDINAL_MISSING, 9)]
    assert report.doubtful.keys() == {"ses_a"}


def test_two_rows_that_changed_places_are_told(log: Path) -> None:
    ruin(
        log,
        ("UPDATE facts SET ordinal = -9 WHERE ordinal = 9", ()),
        ("UPDATE facts SET ordinal = 9 WHERE ordinal = 10", ()),
        ("UPDATE facts SET ordinal = 10 WHERE ordinal = -9", ()),
    )

    assert {finding.ordinal for finding in verify(log).findings} >= {9}


def test_damage_of_one_session_says_nothing_about_another(log: Path) -> None:
    ruin(log, ("UPDATE facts SET body = x'7b7d' WHERE ordinal = 12", ()))

    report = verify(log)

    assert told(report) == [(Check.BODY, Code.FACT_MALFORMED, 12)]
    assert report.doubtful == {"ses_a": 12}
    assert report.facts == len(fact_rows(log))


# --- logs whose chains are right, and which no store of ours would have written ---


@attrs.frozen(kw_only=True)
class Forged:
    """A fact that somebody who knows the chains rewrote."""

    event: RuntimeEvent
    stamp: Stamp
    skipped: int = 0


def forged(log: Path, change: Callable[[list[Forged]], None]) -> list[Row]:
    """Return the log rewritten by `change`, with all chains and columns as they must be."""
    facts = [
        Forged(event=decode_body(bytes(row[12])), stamp=decode_stamp(bytes(row[11])))  # type: ignore[arg-type]  # a BLOB
        for row in fact_rows(log)
    ]
    change(facts)
    heads: dict[str, tuple[int, str]] = {}
    root = root_start(ROOT)
    rows: list[Row] = []
    for ordinal, fact in enumerate(facts, 1):
        event, spine = fact.event, fact.event.spine
        seq, chain = heads.get(spine.invocation, (0, chain_start(spine)))
        seq += fact.skipped
        stamp = attrs.evolve(fact.stamp, seq=seq + 1)
        body, stamped = encode_body(event), encode_stamp(stamp)
        chain = chain_next(chain, body, stamped)
        root = root_next(root, ordinal, chain)
        heads[spine.invocation] = (seq + 1, chain)
        said = (ordinal, seq + 1, event.id, event.kind.value, stamp.epoch)
        spelled = (spine.session, spine.invocation, spine.run, spine.turn)
        chains = (bytes.fromhex(chain), bytes.fromhex(root))
        rows.append((*said, *spelled, *chains, stamped, body))
    return rows


def first_at(facts: list[Forged], kind: Kind, skip: int = 0) -> int:
    return [at for at, fact in enumerate(facts) if fact.event.kind is kind][skip]


def without_dispatch(facts: list[Forged]) -> None:
    del facts[first_at(facts, Kind.DISPATCHED)]


def with_two_ends(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.RUN_ENDED)
    again = attrs.evolve(facts[at].event, id="fact_again")
    facts.insert(at + 1, attrs.evolve(facts[at], event=again))


def with_a_later_fact(facts: list[Forged]) -> None:
    end, text = first_at(facts, Kind.RUN_ENDED), first_at(facts, Kind.MODEL_TEXT)
    again = attrs.evolve(facts[text].event, id="fact_again")
    facts.insert(end + 1, attrs.evolve(facts[text], event=again))


def without_session(facts: list[Forged]) -> None:
    session = facts[first_at(facts, Kind.RUN_OPENED)].event.spine.session
    facts[:] = [
        fact
        for fact in facts
        if fact.event.spine.session != session or fact.event.spine.invocation.startswith("inv")
    ]


def with_other_rows(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.DISPATCHED)
    rows = (*facts[at].stamp.rows[:-1], "OP.T99")
    facts[at] = attrs.evolve(facts[at], stamp=attrs.evolve(facts[at].stamp, rows=rows))


def with_other_context(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.RUN_OPENED)
    action = facts[at].event.actions
    assert isinstance(action, RunOpened)
    event = attrs.evolve(facts[at].event, actions=attrs.evolve(action, context="2" * 64))
    facts[at] = attrs.evolve(facts[at], event=event)


def with_another_epoch(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.CALL)
    facts[at] = attrs.evolve(facts[at], stamp=attrs.evolve(facts[at].stamp, epoch=2))


def with_another_root(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.CALL)
    facts[at] = attrs.evolve(facts[at], stamp=attrs.evolve(facts[at].stamp, root="root_other"))


def with_half_a_unit(facts: list[Forged]) -> None:
    del facts[first_at(facts, Kind.USER_TEXT, -1)]


def with_a_unit_that_never_ends(facts: list[Forged]) -> None:
    del facts[first_at(facts, Kind.RUN_OPENED) + 1 :]


def with_a_skipped_position(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.CALL)
    facts[at] = attrs.evolve(facts[at], skipped=1)


def with_another_turn(facts: list[Forged]) -> None:
    at = first_at(facts, Kind.CALL)
    spine = attrs.evolve(facts[at].event.spine, turn="turn_other")
    facts[at] = attrs.evolve(facts[at], event=attrs.evolve(facts[at].event, spine=spine))


FORGERIES: dict[str, tuple[Callable[[list[Forged]], None], Check, Code]] = {
    "an outcome without its T1": (without_dispatch, Check.TABLES, Code.OPERATION_NOT_DISPATCHED),
    "a run that ends twice": (with_two_ends, Check.TABLES, Code.RUN_SEALED),
    "a fact behind the end": (with_a_later_fact, Check.TABLES, Code.RUN_SEALED),
    "a run of no session": (without_session, Check.TABLES, Code.NOT_OPENED),
    "rows that did not admit": (with_other_rows, Check.TABLES, Code.ROWS_DIFFER),
    "an opening on other history": (with_other_context, Check.TABLES, Code.CONTEXT_DIFFERS),
    "an epoch that was not held": (with_another_epoch, Check.EPOCH, Code.EPOCH_DIFFERS),
    "a fact of another root": (with_another_root, Check.STAMP, Code.ROOT_DIFFERS),
    "an opening without words": (with_half_a_unit, Check.TABLES, Code.RUN_NEEDS_USER_TEXT),
    "a unit without its end": (with_a_unit_that_never_ends, Check.TABLES, Code.UNIT_INCOMPLETE),
    "a skipped position": (with_a_skipped_position, Check.SEQUENCE, Code.SEQUENCE_DIFFERS),
    "a turn of another run": (with_another_turn, Check.SPINE, Code.SPINE_CONFLICT),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_log_with_right_chains_is_told(made: Path, name: str) -> None:
    """Whoever computes hashes can rewrite a log; what it says must still be possible (PROOF-5)."""
    change, check, code = FORGERIES[name]

    with looking(made) as look:
        found = findings_of(look, forged(made, change))

    # What rests on a rewritten run, such as the openings behind it, may be told after it.
    assert (found[0].check, found[0].code) == (check, code)


def test_forging_without_a_change_stays_clean(made: Path) -> None:
    with looking(made) as look:
        assert findings_of(look, forged(made, lambda _facts: None)) == []


# --- what is kept beside the facts ---

ADDED_CELL = """
INSERT INTO cells SELECT machine, 'run_none', session, scope, phase, pending, made, moved, reducer,
cell FROM cells WHERE instance = 'run_1'
"""
PROJECTION_FAULTS: dict[str, Statement] = {
    "phase": ("UPDATE cells SET phase = 'Active' WHERE machine = 'run' AND instance = 'run_1'", ()),
    "state": ("UPDATE cells SET cell = x'7b7d' WHERE machine = 'run' AND instance = 'run_1'", ()),
    "pending": ("UPDATE cells SET pending = 'ask.open' WHERE instance = 'run_1'", ()),
    "made": ("UPDATE cells SET made = made + 1 WHERE instance = 'run_1'", ()),
    "moved": ("UPDATE cells SET moved = moved - 1 WHERE instance = 'run_1'", ()),
    "scope": ("UPDATE cells SET scope = 'ses_b' WHERE instance = 'run_1'", ()),
    "row gone": ("DELETE FROM cells WHERE machine = 'request' AND instance = 'req_1_1_1'", ()),
    "row too many": (ADDED_CELL, ()),
    "context": ("UPDATE sessions SET context = ? WHERE session = 'ses_a'", ("3" * 64,)),
    "runs": ("UPDATE sessions SET runs = runs + 1 WHERE session = 'ses_a'", ()),
    "session gone": ("DELETE FROM sessions WHERE session = 'ses_b'", ()),
    "key": ("UPDATE keys SET run = 'run_none' WHERE key = 'k2'", ()),
    "key of a session": ("UPDATE keys SET input = ? WHERE key = 'first'", ("3" * 64,)),
    "key gone": ("DELETE FROM keys WHERE key = 'k1'", ()),
}


@pytest.mark.parametrize("name", PROJECTION_FAULTS)
def test_projection_that_is_not_the_fold_is_told_once(log: Path, name: str) -> None:
    ruin(log, PROJECTION_FAULTS[name])

    report = verify(log)

    assert [(found.check, found.code) for found in report.findings] == [
        (Check.PROJECTION, Code.PROJECTION_DIFFERS)
    ]
    assert report.findings[0].session == ("ses_b" if name == "session gone" else "ses_a")


# --- authority ---

AUTHORITY_FAULTS: dict[str, tuple[str, Statement]] = {
    "root": ("root", ("UPDATE root SET root_id = 'root_other'", ())),
    "lease row": ("lease", ("UPDATE lease SET row = 'LEA.T9' WHERE number = 2", ())),
    "lease epoch": ("lease", ("UPDATE lease SET gone = 7 WHERE event = 'close'", ())),
    "lease ordinal": ("lease", ("UPDATE lease SET ordinal = 999 WHERE event = 'close'", ())),
    "worker": (
        "workers",
        ("INSERT INTO workers VALUES ('w', 9, 1, 'b', 's', 1, 3, NULL)", ()),
    ),
    "claim manifest": ("claims", ("UPDATE claims SET manifest = x'7b7d'", ())),
    "claim profile": ("claims", ("UPDATE claims SET profile = x'7b7d'", ())),
    "claim replay": ("claims: replay", ("UPDATE claims SET replay = 'none'", ())),
    "claim boundary": ("claims", ("UPDATE claims SET boundary = ?", ("5" * 64,))),
    "claim row": ("claims: row", ("UPDATE claims SET row = 'CLM.T2'", ())),
    "claim evidence": (
        "claims: evidence",
        ("UPDATE claims SET evidence = ?", ('["fact_000002"]',)),
    ),
    "seal gone": ("claims: seals", ("DELETE FROM seals", ())),
    "seal moved": ("claims: seals", ("UPDATE seals SET ordinal = ordinal + 1", ())),
    "seal of nobody": ("seals", ("INSERT INTO seals VALUES ('run_9', 'clm_none', 3)", ())),
    "reservation": (
        "claims: reservations",
        ("UPDATE reservations SET id = 'turn_9' WHERE word = 'turn'", ()),
    ),
    "loss": ("accepted_losses", ("INSERT INTO accepted_losses VALUES (1, 3, 9, 1)", ())),
    "quarantine": (
        "quarantine",
        ("INSERT INTO quarantine VALUES ('ses_b', 'no such code', 3, 1, '', 9)", ()),
    ),
    "import": ("imports", ("INSERT INTO imports VALUES ('ses_b', 'root_other', 99)", ())),
}


@pytest.mark.parametrize("name", AUTHORITY_FAULTS)
def test_authority_row_that_contradicts_another_is_told(log: Path, name: str) -> None:
    table, statement = AUTHORITY_FAULTS[name]
    ruin(log, statement)

    found = [one for one in verify(log).findings if one.check is Check.AUTHORITY]

    assert len(found) == 1
    assert found[0].detail.startswith(table)


@pytest.mark.parametrize("table", ["claims", "reservations"])
def test_authority_that_was_made_later_than_a_fact_did_not_admit_it(log: Path, table: str) -> None:
    """Replay knows authority as of each ordinal: a claim made later admits no earlier start."""
    ruin(log, (f"UPDATE {table} SET ordinal = ordinal + 1", ()))  # noqa: S608 - constant names

    first = verify(log).findings[0]

    assert (first.check, first.code) == (Check.TABLES, Code.CLAIM_MISSING)


def test_snapshot_of_a_stream_without_its_form_is_told(log: Path) -> None:
    values = ("req_x", "s", "ses_b", "inv_101", "run_101", "turn_101", "smell", 0, 1, b"abc")
    ruin(log, ("INSERT INTO partials VALUES (?,?,?,?,?,?,?,?,?,?)", values))

    assert told(verify(log)) == [(Check.PARTIAL, Code.PARTIAL_MALFORMED, None)]


# --- SQLite's own structures ---


def test_schema_that_is_not_ours_is_told_and_nothing_read_by_it(log: Path) -> None:
    rename = "UPDATE sqlite_master SET sql = replace(sql, 'runs', 'ruin') WHERE name = 'sessions'"
    ruin(log, ("PRAGMA writable_schema = ON", ()), (rename, ()))

    report = verify(log)

    assert told(report) == [(Check.FILE, Code.SCHEMA_UNKNOWN, None)]
    assert report.facts == 0


def test_index_that_disagrees_with_its_table_is_told_by_sqlite(log: Path) -> None:
    """No row is wrong, so nothing but the check of the file can tell."""
    with sqlite3.connect(database(log)) as connection:
        [(root,)] = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'facts_turn'"
        )
        [(size,)] = connection.execute("PRAGMA page_size")
    connection.close()
    data = bytearray(database(log).read_bytes())
    at = data.index(b"turn_101", (root - 1) * size, root * size)
    data[at] ^= 1
    database(log).write_bytes(data)

    assert told(verify(log, file_check=False)) == []
    assert {one.check for one in verify(log).findings} == {Check.FILE}


# --- the anchor, blobs, a live owner ---


def test_head_behind_the_anchor_is_missing_facts_above_all_else(log: Path) -> None:
    last = len(fact_rows(log))
    anchor = open_anchor(log / "anchor")
    anchor.write(Head(ordinal=last + 2, chain="4" * 64))
    anchor.close()
    ruin(log, PROJECTION_FAULTS["runs"])

    report = verify(log)

    assert report.status is Status.FACTS_MISSING
    assert (Check.ANCHOR, Code.ACKNOWLEDGED_FACTS_MISSING, last + 1) in told(report)


@pytest.mark.proves("STORE-9a")
@pytest.mark.parametrize("gone", [False, True], ids=["emptied", "removed"])
def test_log_that_lost_all_its_tables_is_missing_facts_and_no_absent_store(
    log: Path, *, gone: bool
) -> None:
    last = len(fact_rows(log))
    for name in ("ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm"):
        (log / name).unlink(missing_ok=True)
    if not gone:
        (log / "ledger.sqlite3").touch(mode=0o600)
    anchor = open_anchor(log / "anchor")
    anchor.write(Head(ordinal=last, chain="4" * 64))
    anchor.close()

    report = verify(log)

    assert report.status is Status.FACTS_MISSING
    assert (report.facts, report.head.ordinal) == (0, 0)
    assert told(report) == [(Check.ANCHOR, Code.ACKNOWLEDGED_FACTS_MISSING, 1)]


@pytest.mark.proves("STORE-9a")
@pytest.mark.parametrize("anchored", [False, True], ids=["absent", "empty"])
def test_log_without_tables_that_never_acknowledged_anything_is_an_absent_store(
    log: Path, *, anchored: bool
) -> None:
    """So is a root whose first owner was killed before it made a table."""
    for name in ("ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm", "anchor"):
        (log / name).unlink(missing_ok=True)
    if anchored:
        anchor = open_anchor(log / "anchor")
        anchor.write(Head(ordinal=0, chain="4" * 64))
        anchor.close()

    with pytest.raises(StoreNotFoundError):
        verify(log)


@pytest.mark.proves("STORE-9a")
@pytest.mark.parametrize("ruined", [None, b"no anchor"], ids=["absent", "unreadable"])
def test_anchor_that_says_nothing_is_said(log: Path, ruined: bytes | None) -> None:
    before = verify(log).anchored
    (log / "anchor").unlink()
    if ruined is not None:
        (log / "anchor").write_bytes(ruined)

    assert (before, verify(log).anchored) == (len(fact_rows(log)), None)


def test_blob_that_a_fact_names_is_read_where_that_is_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "root"
    store = open_here(place)
    blobs = BlobStore(place=place / "blobs", is_named=lambda _blob: False)
    refs = [blobs.put(data) for data in (b"kept", b"altered", b"missing")]
    tale = Tale(store=store).begun()
    order = tale.run_order()
    given = tuple(
        Attachment(
            kind=AttachmentKind.DOCUMENT,
            media_type="text/plain",
            bytes=ref.size_bytes,
            digest=ref.blob,
        )
        for ref in refs
    )
    words = compose.user_text(tale.at, "fact_words", Text(text="see", attachments=given))
    tale.do(attrs.evolve(order, text=words))
    store.close()
    blobs.path_of(refs[1].blob).write_bytes(b"altereD")
    blobs.path_of(refs[2].blob).unlink()

    report = verify(place, blobs=True)

    assert told(report) == [
        (Check.BLOB, Code.BLOB_ALTERED, 3),
        (Check.BLOB, Code.BLOB_MISSING, 3),
    ]
    assert report.blobs == 3
    assert told(verify(place)) == []


WRITER = """\
import sys
from pathlib import Path
from tests.store.tale import Tale, open_here, whole_run

store = open_here(Path(sys.argv[1]))
tale = Tale(store=store).begun()
print("ready", flush=True)
for _ in range(int(sys.argv[2])):
    whole_run(tale)
store.close()
print("done", flush=True)
"""


def test_log_under_a_writing_owner_is_always_clean(tmp_path: Path) -> None:
    """A live owner moves projections while they are compared; no moment of that is a finding."""
    here = Path(__file__).parents[2]
    path = os.pathsep.join((str(here / ".src"), str(here)))
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "root"), "8"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    with writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        reports: list[Report] = []
        while writer.poll() is None:
            reports.append(verify(tmp_path / "root"))
        assert writer.stdout.read() == "done\n"
    assert [report.total for report in reports] == [0] * len(reports)
    assert len({report.facts for report in reports}) > 1
    assert verify(tmp_path / "root").facts == 8 * 12 + 1
