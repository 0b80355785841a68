"""What a disk may hold after a power loss, worked out by hand for short tapes."""

from pathlib import Path

import attrs
import pytest

from crashworthy.crashlab.power.disk import SECTOR_BYTES, History, Written, history_of, image_of
from crashworthy.crashlab.power.judging import bind_markers
from crashworthy.crashlab.power.losses import (
    WHOLE,
    Cut,
    ImageUnknownError,
    Key,
    Loss,
    left_by,
    parse_key,
)
from crashworthy.crashlab.power.planning import drawn_keys, places_to_kill
from crashworthy.crashlab.power.recording import Note, Recording, deviation, ways_to_be_killed
from crashworthy.crashlab.power.tape import Act, Operation

HOME, ROOT, FILE, OTHER = 1, 2, 3, 4


def op(act: Act, inode: int = 0, path: str = "", data: bytes = b"", at: int = 0) -> Operation:
    return Operation(act=act, inode=inode, at=at, path=path, data=data)


MADE = (
    op(Act.MAKE_DIRECTORY, ROOT, "root"),
    op(Act.SYNC, HOME),
    op(Act.CREATE, FILE, "root/new"),
    op(Act.WRITE, FILE, data=b"words"),
)
"""A synced root, and a file in it of which nothing is."""

SYNC_FILE, SYNC_ROOT = op(Act.SYNC, FILE), op(Act.SYNC, ROOT)
RENAME = op(Act.RENAME, path="root/new", data=b"root/kept")


def left(*operations: Operation, loss: Loss = Loss.ALL, draw: int = 0) -> dict[str, bytes]:
    key = Key(cut=Cut(killed=WHOLE, after=len(operations)), loss=loss, draw=draw)
    return left_by(history_of(operations, HOME), key, seed=1).image.files()


def drawn(*operations: Operation, loss: Loss) -> list[dict[str, bytes]]:
    found: list[dict[str, bytes]] = []
    for draw in range(200):
        files = left(*operations, loss=loss, draw=draw)
        if files not in found:
            found.append(files)
    return found


# --- what is durable ---


@pytest.mark.parametrize(
    ("syncs", "files"),
    [
        ((), {}),
        ((SYNC_FILE,), {}),
        ((SYNC_ROOT,), {"root/new": b""}),
        ((SYNC_FILE, SYNC_ROOT), {"root/new": b"words"}),
    ],
)
def test_file_is_there_once_its_directory_and_its_content_are_synced(
    syncs: tuple[Operation, ...], files: dict[str, bytes]
) -> None:
    assert left(*MADE, *syncs) == files


def test_directory_that_nobody_synced_takes_everything_with_it() -> None:
    assert left(MADE[0], *MADE[2:], SYNC_FILE, SYNC_ROOT) == {}


def test_sync_keeps_nothing_that_came_after_it() -> None:
    late = op(Act.WRITE, FILE, data=b"!", at=5)
    assert left(*MADE, SYNC_FILE, SYNC_ROOT, late) == {"root/new": b"words"}


def test_rename_is_one_step() -> None:
    before = (*MADE, SYNC_FILE, SYNC_ROOT, RENAME)
    assert left(*before) == {"root/new": b"words"}
    assert left(*before, SYNC_ROOT) == {"root/kept": b"words"}
    assert {tuple(files) for files in drawn(*before, loss=Loss.SOME)} == {
        ("root/new",),
        ("root/kept",),
    }


def test_rename_over_a_name_leaves_one_of_the_two() -> None:
    made = (
        *MADE,
        op(Act.CREATE, OTHER, "root/kept"),
        op(Act.WRITE, OTHER, data=b"old"),
        op(Act.SYNC, OTHER),
        SYNC_FILE,
        SYNC_ROOT,
    )
    assert {files["root/kept"] for files in drawn(*made, RENAME, loss=Loss.SOME)} == {
        b"old",
        b"words",
    }


def test_link_is_a_second_name() -> None:
    before = (*MADE, SYNC_FILE, SYNC_ROOT, op(Act.LINK, path="root/new", data=b"root/too"))
    assert left(*before) == {"root/new": b"words"}
    assert left(*before, SYNC_ROOT) == {"root/new": b"words", "root/too": b"words"}


def test_removed_name_is_back_until_its_directory_is_synced() -> None:
    before = (*MADE, SYNC_FILE, SYNC_ROOT, op(Act.REMOVE, path="root/new"))
    assert left(*before) == {"root/new": b"words"}
    assert left(*before, SYNC_ROOT) == {}


def test_file_that_was_cut_is_whole_until_it_is_synced() -> None:
    before = (*MADE, SYNC_FILE, SYNC_ROOT, op(Act.RESIZE, FILE, at=2))
    assert left(*before) == {"root/new": b"words"}
    assert left(*before, SYNC_FILE) == {"root/new": b"wo"}


def test_inode_that_is_used_again_is_another_file() -> None:
    again = (
        op(Act.REMOVE, path="root/new"),
        op(Act.CREATE, FILE, "root/again"),
        op(Act.WRITE, FILE, data=b"other"),
        SYNC_FILE,
    )
    assert left(*MADE, SYNC_ROOT, *again) == {"root/new": b""}
    assert left(*MADE, SYNC_ROOT, *again, SYNC_ROOT) == {"root/again": b"other"}


def test_world_outside_of_the_root_loses_nothing() -> None:
    outside = (op(Act.CREATE, OTHER, "acks"), op(Act.WRITE, OTHER, data=b"one\n"))
    assert left(*MADE, *outside) == {"acks": b"one\n"}


# --- what may be left of the rest ---


def test_names_may_come_without_contents_and_contents_without_names() -> None:
    before = (*MADE, SYNC_ROOT, RENAME)
    assert left(*before, loss=Loss.DATA) == {"root/kept": b""}
    assert left(*before, loss=Loss.NAMES) == {"root/new": b"words"}


def test_any_part_may_be_left_and_a_hole_is_zeros() -> None:
    before = (*MADE, SYNC_ROOT, op(Act.WRITE, FILE, data=b"!", at=5))
    found = {files["root/new"] for files in drawn(*before, loss=Loss.SOME)}
    assert found == {b"", b"words", b"\0\0\0\0\0!", b"words!"}
    ordered = {files["root/new"] for files in drawn(*before, loss=Loss.FIRST)}
    assert ordered == {b"", b"words", b"words!"}


def test_write_is_torn_where_sectors_end() -> None:
    data = b"a" * 12 + b"b" * SECTOR_BYTES + b"c" * 8
    history = history_of(MADE, HOME)
    effect = history.changes[-1].effect
    assert isinstance(effect, Written)
    parts = list(attrs.evolve(effect, at=500, data=data).sectors())
    assert [(part.at, part.data) for part in parts] == [
        (500, b"a" * 12),
        (512, b"b" * SECTOR_BYTES),
        (1024, b"c" * 8),
    ]
    image = image_of(history.home, [history.changes[0].effect, history.changes[1].effect, *parts])
    assert image.files() == {"root/new": bytes(500) + data}


def test_torn_writes_of_every_kind_turn_up() -> None:
    two = op(Act.WRITE, FILE, data=b"a" * SECTOR_BYTES + b"b" * SECTOR_BYTES)
    found = {files["root/new"] for files in drawn(*MADE[:3], SYNC_ROOT, two, loss=Loss.TORN)}
    a, b = b"a" * SECTOR_BYTES, b"b" * SECTOR_BYTES
    assert found == {b"", a, bytes(SECTOR_BYTES) + b, a + b}


def test_image_is_laid_out_for_its_owner_alone(tmp_path: Path) -> None:
    operations = (*MADE, SYNC_FILE, SYNC_ROOT)
    key = Key(cut=Cut(killed=WHOLE, after=6), loss=Loss.ALL)
    left_by(history_of(operations, HOME), key, seed=1).image.lay_out(tmp_path)
    made = tmp_path / "root" / "new"
    assert made.read_bytes() == b"words"
    assert (made.stat().st_mode & 0o777, made.parent.stat().st_mode & 0o777) == (0o600, 0o700)


# --- keys ---


@pytest.mark.parametrize("loss", Loss)
def test_key_is_read_as_it_is_written_and_makes_the_same_image_again(loss: Loss) -> None:
    key = Key(cut=Cut(killed=WHOLE, after=4), loss=loss, draw=7)
    assert parse_key(str(key)) == key
    assert left(*MADE, loss=loss, draw=7) == left(*MADE, loss=loss, draw=7)


@pytest.mark.parametrize("text", ["", "killed=1", "killed=0 after=1 lost=half draw=0"])
def test_other_words_are_no_key(text: str) -> None:
    with pytest.raises(ImageUnknownError):
        parse_key(text)


def recording(*operations: Operation, killed: int = WHOLE) -> Recording:
    history: History = history_of(operations, HOME)
    note = Note(killed=killed, home_inode=HOME)
    return Recording(note=note, operations=operations, history=history)


TAPE = (*MADE, SYNC_FILE, RENAME, SYNC_ROOT, op(Act.WRITE, FILE, data=b"x"), SYNC_FILE)


def test_each_kind_of_thing_that_waits_for_a_sync_is_a_way_to_be_killed() -> None:
    ways = ways_to_be_killed(recording(*TAPE))
    assert ways == ((1,), (4, 8), (6,))
    assert places_to_kill(ways, 1, seed=1) == (1, 4, 6)
    assert places_to_kill(ways, 9, seed=1) == (1, 4, 6, 8)


def test_images_lie_behind_the_kill_and_differ() -> None:
    keys = drawn_keys([recording(*TAPE), recording(*TAPE, killed=4)], 40, seed=3)
    assert len({str(key) for key in keys}) == len(keys) == 40
    assert all(key.cut.killed <= key.cut.after <= len(TAPE) for key in keys)
    assert sum(key.cut.killed == 4 for key in keys) == 20
    assert keys == drawn_keys([recording(*TAPE), recording(*TAPE, killed=4)], 40, seed=3)
    assert keys != drawn_keys([recording(*TAPE), recording(*TAPE, killed=4)], 40, seed=4)


def test_script_that_does_something_else_when_it_is_killed_is_found() -> None:
    whole = recording(*TAPE)
    assert deviation(whole, recording(*TAPE, killed=4)) == ()
    other = (*TAPE[:3], SYNC_ROOT, *TAPE[4:])
    [finding] = deviation(whole, recording(*other, killed=5))
    assert finding.promise == "CRASH.I7"


# --- the marker of a root ---


def test_marker_names_the_inodes_of_its_image_if_it_named_those_of_its_original(
    tmp_path: Path,
) -> None:
    binding = b'{"boot_id":"now","directory_inode":"%d","marker_inode":"%d"}'
    tape = (
        op(Act.MAKE_DIRECTORY, ROOT, "root"),
        op(Act.CREATE, FILE, "root/root.json"),
        op(Act.WRITE, FILE, data=binding % (ROOT, FILE)),
        op(Act.CREATE, OTHER, "root/root.json.new"),
        op(Act.WRITE, OTHER, data=binding % (ROOT, FILE)),
    )
    history = history_of(tape, HOME)
    image = image_of(history.home, [change.effect for change in history.changes])
    image.lay_out(tmp_path)

    bind_markers(image, tmp_path)

    marker, aside = tmp_path / "root" / "root.json", tmp_path / "root" / "root.json.new"
    directory = marker.parent.stat().st_ino
    bound = binding.replace(b"now", b"before-the-power-went")
    assert marker.read_bytes() == bound % (directory, marker.stat().st_ino)
    assert aside.read_bytes() == bound % (directory, FILE), "it was bound to another file"
