"""One process owns a root, until it dies or lets go."""

import os
import signal
from pathlib import Path

import attrs
import pytest

from crashworthy.store.errors import StorageError
from crashworthy.store.ownership.errors import LockReplacedError, RootOwnedError
from crashworthy.store.ownership.lock import check_recorded_owner, take_owner_lock
from crashworthy.store.platform import ProcessIdentity, boot_id, process_started

from ..conftest import StartChild

OWNING = """
import sys
from pathlib import Path
from crashworthy.store.ownership.lock import take_owner_lock
lock = take_owner_lock(Path(sys.argv[1]))
lock.announce(epoch=7, since="2026-11-30T10:00:00Z")
print(lock.held.process.pid, flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


def _identity(pid: int) -> ProcessIdentity:
    started = process_started(pid)
    assert started is not None
    return ProcessIdentity(pid=pid, boot_id=boot_id(), started=started)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "owner.lock"


def test_contender_is_told_who_owns_the_root(start_child: StartChild, path: Path) -> None:
    owner = start_child(OWNING, path)
    pid = int(owner.hear())
    with pytest.raises(RootOwnedError) as caught:
        take_owner_lock(path)
    told = caught.value
    assert (told.pid, told.epoch, told.since) == (pid, 7, "2026-11-30T10:00:00Z")


def test_lock_is_free_when_its_owner_is_killed(start_child: StartChild, path: Path) -> None:
    owner = start_child(OWNING, path)
    owner.hear()
    os.kill(owner.process.pid, signal.SIGKILL)
    owner.wait()
    take_owner_lock(path).release()


def test_lock_is_held_when_its_owner_is_stopped(start_child: StartChild, path: Path) -> None:
    """A stopped process may go on at any moment, so it has not lost anything."""
    owner = start_child(OWNING, path)
    owner.hear()
    os.kill(owner.process.pid, signal.SIGSTOP)
    with pytest.raises(RootOwnedError):
        take_owner_lock(path)
    os.kill(owner.process.pid, signal.SIGCONT)
    owner.tell("release")
    assert owner.hear() == "released"
    take_owner_lock(path).release()


def test_second_lock_in_one_process_is_refused_too(path: Path) -> None:
    """POSIX record locks would let it through and then drop both."""
    lock = take_owner_lock(path)
    with pytest.raises(RootOwnedError):
        take_owner_lock(path)
    with pytest.raises(RootOwnedError):
        take_owner_lock(path)
    lock.release()
    lock.release()


def test_contender_is_told_less_when_the_owner_has_said_nothing_readable(path: Path) -> None:
    lock = take_owner_lock(path)
    for said in (b"", b'{"epoch":1,"pi', b"[1]", b'{"epoch":"x","pid":null,"since":3}'):
        path.write_bytes(said)
        with pytest.raises(RootOwnedError) as caught:
            take_owner_lock(path)
        assert (caught.value.pid, caught.value.epoch, caught.value.since) == (None, None, None)
    lock.release()


def test_owner_notices_when_its_lock_file_is_replaced(path: Path) -> None:
    lock = take_owner_lock(path)
    lock.check()
    path.rename(path.with_name("moved"))
    with pytest.raises(LockReplacedError):
        lock.check()
    path.touch()
    with pytest.raises(LockReplacedError):
        lock.check()
    lock.release()


def test_locking_is_refused_when_the_path_changes_meanwhile(path: Path) -> None:
    def swap(name: str) -> None:
        assert name == "lock.taken"
        path.unlink()
        path.touch()

    with pytest.raises(LockReplacedError):
        take_owner_lock(path, probe=swap)
    take_owner_lock(path).release()


def test_other_lock_file_is_refused_while_the_recorded_owner_lives(
    start_child: StartChild, path: Path
) -> None:
    """Replacing the file under a living owner must not make a second one."""
    owner = start_child(OWNING, path)
    pid = int(owner.hear())
    path.unlink()
    lock = take_owner_lock(path)
    recorded = attrs.evolve(lock.held, inode=lock.held.inode + 1, process=_identity(pid))
    with pytest.raises(RootOwnedError, match=f"pid={pid}"):
        check_recorded_owner(recorded, lock.held)
    os.kill(pid, signal.SIGSTOP)
    with pytest.raises(RootOwnedError):
        check_recorded_owner(recorded, lock.held)
    os.kill(pid, signal.SIGKILL)
    owner.wait()
    check_recorded_owner(recorded, lock.held)
    lock.release()


def test_same_lock_file_needs_no_proof_of_death(path: Path) -> None:
    lock = take_owner_lock(path)
    check_recorded_owner(attrs.evolve(lock.held, process=_identity(os.getppid())), lock.held)
    lock.release()


def test_pid_used_again_is_not_the_recorded_owner(path: Path) -> None:
    lock = take_owner_lock(path)
    other = attrs.evolve(_identity(os.getppid()), started="before that")
    check_recorded_owner(attrs.evolve(lock.held, inode=1, process=other), lock.held)
    lock.release()


@pytest.mark.parametrize("kind", ["pipe", "directory", "link"])
def test_lock_is_refused_without_hanging_when_its_path_is_no_file(path: Path, kind: str) -> None:
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
        case _:
            path.symlink_to(path.with_name("elsewhere"))
    with pytest.raises((LockReplacedError, StorageError)):
        take_owner_lock(path)
    assert not path.with_name("elsewhere").exists()


def test_second_name_of_the_lock_file_is_the_same_lock(path: Path) -> None:
    lock = take_owner_lock(path)
    path.with_name("other.lock").hardlink_to(path)
    with pytest.raises(RootOwnedError):
        take_owner_lock(path.with_name("other.lock"))
    lock.release()


FORKING = """
import os, sys
from pathlib import Path
from crashworthy.store.ownership.lock import take_owner_lock
lock = take_owner_lock(Path(sys.argv[1]))
if (pid := os.fork()) == 0:
    lock.release()  # does nothing: a child has no part in it
    print(os.getpid(), flush=True)
    sys.stdin.readline()
    os._exit(0)
os.kill(os.getpid(), 9) if sys.argv[2] == "die" else sys.stdin.readline()
"""


def test_forked_child_keeps_no_lock_when_its_parent_dies(
    start_child: StartChild, path: Path
) -> None:
    parent = start_child(FORKING, path, "die")
    child_pid = int(parent.hear())
    assert parent.process.wait(timeout=20) == -9
    try:
        take_owner_lock(path).release()
    finally:
        os.kill(child_pid, signal.SIGKILL)


def test_forked_child_does_not_free_its_parents_lock(start_child: StartChild, path: Path) -> None:
    parent = start_child(FORKING, path, "live")
    parent.hear()
    with pytest.raises(RootOwnedError):
        take_owner_lock(path)


def test_lock_does_not_outlive_its_owner_in_a_started_program(
    start_child: StartChild, path: Path
) -> None:
    code = OWNING.replace(
        "sys.stdin.readline()",
        "import subprocess; s = subprocess.Popen(['sleep', '60'], close_fds=False);"
        "print(s.pid, flush=True); sys.stdin.readline()",
        1,
    )
    owner = start_child(code, path)
    owner.hear()
    sleeper = int(owner.hear())
    os.kill(owner.process.pid, signal.SIGKILL)
    owner.process.wait(timeout=20)
    try:
        take_owner_lock(path).release()
    finally:
        os.kill(sleeper, signal.SIGKILL)
