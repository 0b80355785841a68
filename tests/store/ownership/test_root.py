"""A root is private, knows itself, and refuses to be a copy."""

import json
import os
import shutil
import socket
from pathlib import Path

import pytest

from crashworthy.machines.facts.ids import RootId
from crashworthy.store.errors import StoreNotFoundError
from crashworthy.store.ownership import marker
from crashworthy.store.ownership.errors import (
    RootCopiedError,
    RootMarkerInvalidError,
    RootOwnedError,
    RootPermissionsError,
    RootReplacedError,
)
from crashworthy.store.ownership.root import adopt_root, look_at_root, note_boot, open_root

from ..conftest import StartChild


def new_id() -> RootId:
    return RootId("root-1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def made(path: Path) -> Path:
    open_root(path, new_root_id=new_id)
    return path


def test_root_keeps_its_identity_when_opened_again(made: Path) -> None:
    again = open_root(made, new_root_id=lambda: RootId("root-2"))
    assert again.root_id == "root-1"
    assert made.stat().st_mode & 0o777 == 0o700
    assert (made / "root.json").stat().st_mode & 0o777 == 0o600


def test_root_keeps_its_identity_when_moved(made: Path) -> None:
    made.rename(made.with_name("moved"))
    assert open_root(made.with_name("moved"), new_root_id=None).root_id == "root-1"


def test_root_is_the_same_by_another_way_and_refused_as_a_link(made: Path) -> None:
    aside = made.with_name("aside")
    aside.symlink_to(made.parent)
    assert open_root(aside / made.name, new_root_id=None).root_id == "root-1"
    link = made.with_name("link")
    link.symlink_to(made)
    with pytest.raises(RootPermissionsError):
        open_root(link, new_root_id=None)


def test_root_is_not_found_and_not_made_when_only_looked_for(path: Path) -> None:
    for look in (lambda: open_root(path, new_root_id=None), lambda: look_at_root(path)):
        with pytest.raises(StoreNotFoundError):
            look()
    assert not path.exists()


def test_copied_root_is_refused_until_adopted(made: Path) -> None:
    copy = made.with_name("copy")
    shutil.copytree(made, copy)
    with pytest.raises(RootCopiedError, match="root-1"):
        open_root(copy, new_root_id=new_id)
    seen, problem = look_at_root(copy)
    assert (seen.root_id, type(problem)) == ("root-1", RootCopiedError)
    assert adopt_root(copy).root_id == "root-1"
    assert open_root(copy, new_root_id=None).root_id == "root-1"
    open_root(made, new_root_id=None)


def test_replaced_marker_is_refused_until_adopted(made: Path) -> None:
    """For instance a backup restored into the directory."""
    (made / "root.json").rename(made / "saved")
    shutil.copy(made / "saved", made / "root.json")
    (made / "saved").unlink()
    with pytest.raises(RootReplacedError):
        open_root(made, new_root_id=new_id)
    adopt_root(made)
    open_root(made, new_root_id=None)


def rewrite(made: Path, **changes: str) -> None:
    """Change what the marker says without changing which file it is."""
    place = made / "root.json"
    said = json.loads(place.read_bytes()) | changes
    place.write_text(json.dumps(said, sort_keys=True, separators=(",", ":")), encoding="utf-8")


def test_device_counts_only_within_one_boot(made: Path) -> None:
    rewrite(made, device="1")
    with pytest.raises(RootCopiedError):
        open_root(made, new_root_id=None)
    rewrite(made, device="1", boot_id="an earlier boot")
    root = open_root(made, new_root_id=None)
    note_boot(root)
    open_root(made, new_root_id=None)
    rewrite(made, device="1")
    with pytest.raises(RootCopiedError):
        open_root(made, new_root_id=None)


def test_noting_the_boot_writes_nothing_when_it_is_the_same(made: Path) -> None:
    before = (made / "root.json").stat()
    note_boot(open_root(made, new_root_id=None))
    assert (made / "root.json").stat() == before


@pytest.mark.parametrize("kind", ["pipe", "directory", "link", "huge", "socket", "text", "fields"])
def test_marker_is_refused_without_hanging_when_it_is_not_ours(made: Path, kind: str) -> None:
    place = made / "root.json"
    if kind == "fields":
        rewrite(made, device="-1")
    else:
        place.rename(made / "saved")
    match kind:
        case "pipe":
            os.mkfifo(place, 0o600)
        case "directory":
            place.mkdir(0o700)
        case "link":
            place.symlink_to(made / "saved")
        case "huge":
            place.write_bytes((made / "saved").read_bytes() + b" " * 10_000)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(str(place))
        case "text":
            place.write_bytes(b"{}")
        case _:
            pass
    with pytest.raises(RootMarkerInvalidError):
        look_at_root(made)
    with pytest.raises((RootMarkerInvalidError, RootPermissionsError)):
        open_root(made, new_root_id=new_id)


def test_directory_with_other_contents_is_never_made_a_root(path: Path) -> None:
    path.mkdir(0o700)
    (path / "thesis.txt").touch(0o600)
    with pytest.raises(RootMarkerInvalidError):
        open_root(path, new_root_id=new_id)
    assert [entry.name for entry in path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("mode", [0o750, 0o705, 0o701, 0o777])
def test_directory_is_refused_when_others_may_reach_it(made: Path, mode: int) -> None:
    made.chmod(mode)
    with pytest.raises(RootPermissionsError):
        open_root(made, new_root_id=None)
    assert isinstance(look_at_root(made)[1], RootPermissionsError)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_root_is_refused_when_others_may_reach_a_file_in_it(made: Path, mode: int) -> None:
    (made / "ledger.sqlite3").touch()
    (made / "ledger.sqlite3").chmod(mode)
    with pytest.raises(RootPermissionsError, match="ledger"):
        open_root(made, new_root_id=None)


def test_root_is_refused_when_a_file_in_it_is_a_link(made: Path) -> None:
    (made / "anchor").symlink_to(made / "root.json")
    with pytest.raises(RootPermissionsError, match="anchor"):
        open_root(made, new_root_id=None)


def test_root_is_refused_when_another_user_owns_it(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test may not be allowed to give a file away, so it becomes somebody else."""
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(RootPermissionsError, match="uid="):
        open_root(made, new_root_id=None)


MAKING = """
import os, signal, sys
from pathlib import Path
from crashworthy.store.ownership.root import open_root
def die(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
open_root(Path(sys.argv[1]), new_root_id=lambda: "dead-1", probe=die)
"""


@pytest.mark.parametrize(
    ("step", "root_id"), [("root.marker_written", "root-1"), ("root.marker_named", "dead-1")]
)
def test_root_is_made_whole_when_its_maker_was_killed(
    start_child: StartChild, path: Path, step: str, root_id: str
) -> None:
    assert start_child(MAKING, path, step).wait() == -9
    assert open_root(path, new_root_id=new_id).root_id == root_id


def test_root_is_made_once_when_two_make_it(path: Path) -> None:
    """The second one comes while the first has written its marker but not yet named it."""

    def second(step: str) -> None:
        if step == "root.marker_written":
            with pytest.raises(RootOwnedError):
                open_root(path, new_root_id=lambda: RootId("root-2"))

    assert open_root(path, new_root_id=new_id, probe=second).root_id == "root-1"
    assert {entry.name for entry in path.iterdir()} == {"root.json"}


def test_marker_names_its_own_inode(made: Path) -> None:
    binding = marker.read_marker(made)
    assert binding.marker_inode == (made / "root.json").stat().st_ino
    assert binding.directory_inode == made.stat().st_ino


@pytest.mark.proves("CRASH-4")
def test_directory_that_was_there_already_is_synced_into_the_one_above(
    path: Path, synced: list[int]
) -> None:
    """Who made it may have been killed before its name was durable; all facts would go with it."""
    path.mkdir(mode=0o700)
    open_root(path, new_root_id=new_id)
    assert path.parent.stat().st_ino in synced


def test_directory_above_in_which_this_user_gives_no_names_is_left_alone(
    path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An administrator made the root there; it may not even be possible to open what is above."""
    path.mkdir(mode=0o700)

    def refuse(*_: object) -> bool:
        return False

    monkeypatch.setattr(os, "access", refuse)
    open_root(path, new_root_id=new_id)
    assert path.parent.stat().st_ino not in synced
