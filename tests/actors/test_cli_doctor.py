"""What needs a person is said; what only a person may say is done on that word (OWN-5)."""

import json
import os
import shutil
from pathlib import Path
from typing import cast

import attrs
import pytest

from crashworthy.machines.facts.canonical import Json
from crashworthy.store.audit.report import Status
from crashworthy.store.ownership.hung import HungOwner, mark_hung
from crashworthy.store.ownership.root import look_at_root
from crashworthy.store.verify import verify

from .terminal_rig import ASKS, HELLO, Desk, make_desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A log of one greeting."""
    desk = make_desk(tmp_path)
    assert desk.run(desk.script(HELLO)).status == 0
    return desk


def remarks(desk: Desk) -> dict[str, str | None]:
    """What the doctor says: subject and code."""
    listed = cast("list[dict[str, Json]]", desk.ask("doctor", "--json").document())
    return {str(one["subject"]): cast("str | None", one["code"]) for one in listed}


def needs(desk: Desk) -> set[str]:
    return {code for code in remarks(desk).values() if code}


def contents(root: Path) -> dict[str, bytes]:
    # Readers of SQLite mark their place in `-shm`, which is memory and no content.
    files = (path for path in root.rglob("*") if path.is_file() and path.suffix != ".sqlite3-shm")
    return {str(path): path.read_bytes() for path in files if not path.name.endswith("-shm")}


def copied(desk: Desk) -> Desk:
    """The desk with a copy of its log in another place."""
    home = desk.home / "elsewhere"
    home.mkdir()
    shutil.copytree(desk.root, home / "log")
    (home / "work").mkdir()
    return attrs.evolve(desk, home=home, started=[])


def test_sound_root_needs_nothing_and_is_left_as_it_was(desk: Desk) -> None:
    before = contents(desk.root)

    looked = desk.type("doctor")

    assert looked.status == 0
    assert {line[:3] for line in looked.out.splitlines()} == {"ok "}
    assert needs(desk) == set()
    assert contents(desk.root) == before


@pytest.mark.proves("OWN-5")
def test_copy_is_adopted_on_a_persons_word_alone(desk: Desk) -> None:
    copy = copied(desk)
    before = contents(copy.root)

    looked = copy.type("doctor")
    refused = copy.type("doctor", "--adopt")

    assert looked.status == 1
    assert "!!  root: [root_copied]" in looked.out
    assert "doctor --adopt" in looked.out
    assert (refused.status, contents(copy.root)) == (3, before)
    assert "[not_confirmed]" in refused.err
    assert copy.type("run", "Hi.", "--script", copy.script(HELLO)).status == 3

    assert copy.type("doctor", "--adopt", "--yes").status == 0
    assert needs(copy) == set()
    assert copy.type("run", "Hi.", "--script", copy.script(HELLO)).status == 0
    assert verify(copy.root).status is Status.CLEAN
    again = copy.ask("doctor", "--adopt", "--yes", "--json").document()
    assert cast("dict[str, Json]", again)["adopted"] is False


@pytest.mark.proves("OWN-5")
def test_replaced_marker_is_adopted(desk: Desk) -> None:
    marker = desk.root / "root.json"
    data = marker.read_bytes()
    marker.rename(desk.home / "kept")  # Its inode lives on, so that the new file has another.
    marker.write_bytes(data)
    marker.chmod(0o600)
    assert needs(desk) == {"root_replaced"}

    assert desk.ask("doctor", "--adopt", "--yes").status == 0

    assert needs(desk) == set()


def test_root_that_others_may_reach_is_not_adopted(desk: Desk) -> None:
    copy = copied(desk)
    copy.root.chmod(0o755)

    refused = copy.ask("doctor", "--json")
    assert "root_permissions" in json.dumps(refused.document())
    assert copy.type("doctor", "--adopt", "--yes").status == 3


def lose_newest_facts(desk: Desk) -> None:
    """Put the ledger back as it was before a run that waits; the anchor knows more."""
    ledger = desk.root / "ledger.sqlite3"
    before = ledger.read_bytes()
    assert desk.run(desk.script(ASKS)).status == 4
    ledger.write_bytes(before)
    for side in ("-wal", "-shm"):
        ledger.with_name(f"{ledger.name}{side}").unlink(missing_ok=True)


@pytest.mark.proves("STORE-9a")
def test_loss_is_accepted_on_a_persons_word_alone(desk: Desk) -> None:
    lose_newest_facts(desk)
    assert needs(desk) == {"acknowledged_facts_missing"}
    before = contents(desk.root)

    refused = desk.type("doctor", "--accept-loss")
    assert refused.status == 3
    assert "[not_confirmed]" in refused.err
    assert "gone for ever" in refused.err
    assert contents(desk.root) == before
    assert desk.type("run", "Hi.", "--script", desk.script(HELLO)).status == 3

    assert desk.type("doctor", "--accept-loss", "--yes").status == 0
    assert needs(desk) == set()
    assert verify(desk.root).status is Status.CLEAN
    assert desk.type("run", "Hi.", "--script", desk.script(HELLO)).status == 0
    told = cast("dict[str, Json]", desk.ask("doctor", "--accept-loss", "--json").document())
    assert told == {"accepted": False}


@pytest.mark.proves("OWN-3")
def test_mark_of_a_hung_shutdown_is_told_until_the_next_owner_knows(desk: Desk) -> None:
    root, problem = look_at_root(desk.root)
    assert problem is None
    mark_hung(root, HungOwner(epoch=1, pid=os.getpid(), left=("op_1",)))
    assert needs(desk) == {"host_hung"}
    assert "op_1" in desk.ask("doctor").out

    assert desk.run(desk.script(HELLO)).status == 0

    assert needs(desk) == set()
    assert "host_hung" in desk.ask("events", "--operational").out


@pytest.mark.parametrize("mark", [b"", b"no mark", b"[]", b'{"epoch":"1","pid":2,"left":[]}'])
def test_mark_that_cannot_be_read_is_a_mark(desk: Desk, mark: bytes) -> None:
    (desk.root / "hung.json").write_bytes(mark)
    (desk.root / "hung.json").chmod(0o600)

    assert needs(desk) == {"host_hung"}
    assert desk.run(desk.script(HELLO)).status == 0
    assert needs(desk) == set()


def test_yes_alone_is_wrong_usage(desk: Desk) -> None:
    assert desk.ask("doctor", "--yes").status == 2
    assert desk.ask("doctor", "--adopt", "--accept-loss").status == 2
