"""The seam tells processes, boots and file systems apart."""

import os
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

from crashworthy.store import platform
from crashworthy.store.platform import (
    ProcessIdentity,
    filesystem_kind,
    process_lives,
    process_started,
    this_process,
)

MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:50 / /srv rw shared:7 master:1 - nfs4 server:/export rw
41 40 0:51 / /srv/my\\040disk rw - xfs /dev/sdb rw
42 27 0:52 / /srv rw - btrfs /dev/sdc rw
"""
MAC_MOUNTS = """\
/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//me@nas/share on /Volumes/my share (smbfs, nodev, nosuid, mounted by me)
"""


def test_this_process_lives_and_is_no_other() -> None:
    me = this_process()
    assert process_lives(me)
    assert not process_lives(attrs.evolve(me, started="another"))
    assert not process_lives(attrs.evolve(me, boot_id="another"))


@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1])
def test_nobody_lives_under_a_pid_that_is_not_in_use(pid: int) -> None:
    assert process_started(pid) is None
    assert not process_lives(ProcessIdentity(pid=pid, boot_id=platform.boot_id(), started="1"))


def test_zombie_does_not_live() -> None:
    """It holds no lock and no file any more; only its parent has not asked yet."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert process_started(child.pid) is None
    child.wait()


def test_start_time_is_read_past_a_name_with_parentheses_and_spaces(tmp_path: Path) -> None:
    odd = tmp_path / "a) S 1 (b"
    odd.symlink_to(Path("/bin/sleep"))
    child = subprocess.Popen([odd, "60"])
    try:
        first = process_started(child.pid)
        assert first is not None
        assert first.isdecimal() == (sys.platform == "linux")
        assert int(first) >= int(process_started(os.getppid()) or "0")
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("place", "kind"),
    [("/home", "ext4"), ("/srv/data", "btrfs"), ("/srv/my disk/x", "xfs"), ("/srvx", "ext4")],
)
def test_kind_is_that_of_the_deepest_and_latest_mount(
    monkeypatch: pytest.MonkeyPatch, place: str, kind: str
) -> None:
    def mounts() -> list[tuple[str, str]]:
        return platform.linux_mounts(MOUNTINFO)

    monkeypatch.setattr(platform, "_mounts", mounts)
    assert filesystem_kind(Path(place)) == kind


def test_mac_mounts_are_read_with_their_kinds() -> None:
    assert platform.mac_mounts(MAC_MOUNTS) == [("/", "apfs"), ("/Volumes/my share", "smbfs")]


def test_kind_of_a_real_place_is_known(tmp_path: Path) -> None:
    assert filesystem_kind(tmp_path) not in {"", "unknown"}
