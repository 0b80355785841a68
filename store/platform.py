"""The one seam to what Linux and macOS do differently: syncs, processes, boots, file systems."""

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import attrs

_MACOS: Final = sys.platform == "darwin"
_F_FULLFSYNC: Final = 51
"""macOS: flush the drive's own cache too; `fsync` alone does not. (Python names it only there.)"""

NETWORK_FILESYSTEMS: Final = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "ncpfs", "afs", "coda", "9p", "drvfs"),
        *("ceph", "lustre", "glusterfs", "gpfs", "gfs2", "ocfs2", "beegfs", "pvfs2", "orangefs"),
        *("afpfs", "webdav", "davfs", "vboxsf", "vmhgfs", "prl_fs", "virtiofs", "fuse.sshfs"),
        *("fuse.glusterfs", "fuse.s3fs", "fuse.rclone", "fuse.ceph-fuse", "fuse.gcsfuse"),
        *("fuse.davfs2", "fuse.vmhgfs-fuse", "fuse.juicefs", "fuse.blobfuse", "fuse.moosefs"),
    }
)
"""Kinds of file system that do not keep `flock` or shared memory between machines."""


@attrs.frozen(kw_only=True)
class ProcessIdentity:
    """A process that cannot be mistaken for a later one with the same pid.

    Attributes:
        pid: Its process id, meaningful within one boot.
        boot_id: The boot of the machine.
        started: Its start time, as the platform words it; compared only for equality.
    """

    pid: int
    boot_id: str
    started: str


def full_sync(fd: int) -> None:
    """Make the file's bytes durable, past the drive's own cache.

    Raises:
        OSError: When they may not be; the callers type it.
    """
    if _MACOS:
        try:
            fcntl.fcntl(fd, _F_FULLFSYNC)
        except OSError as error:
            # Some file systems know only the weaker one; anything else is a real failure.
            if error.errno not in {errno.ENOTSUP, errno.ENOTTY, errno.EINVAL}:
                raise
        else:
            return
    os.fsync(fd)


def sync_directory(path: Path) -> None:
    """Make names created, renamed or removed in `path` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        full_sync(fd)
    finally:
        os.close(fd)


def make_directory(path: Path) -> None:
    """Create a private directory with a durable name, or make the name durable if it is there.

    Whoever made it may have been killed, or met an error, before its name was synced; then all that
    is synced in it is lost with it. Who may not write in the directory above gave no name there.
    """
    path.mkdir(mode=0o700, exist_ok=True)
    if os.access(path.parent, os.W_OK):
        sync_directory(path.parent)


def make_directories(path: Path) -> None:
    """Do as `make_directory` for a directory and for those above it."""
    above = path.parent
    if above != path and (not above.is_dir() or os.access(above.parent, os.W_OK)):
        make_directories(above)
    make_directory(path)


def boot_id() -> str:
    """Return an id that changes with each boot of the machine."""
    if _MACOS:
        return _output("sysctl", "-n", "kern.bootsessionuuid")
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def process_started(pid: int) -> str | None:
    """Return when `pid` started, or None if no such process runs (a zombie does not)."""
    if pid <= 0:
        return None
    if _MACOS:
        state, _, started = _output("ps", "-o", "stat=,lstart=", "-p", str(pid)).partition(" ")
        return started.strip() if started and not state.startswith("Z") else None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command's name stands in parentheses and may itself hold spaces and parentheses.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else fields[19]


def this_process() -> ProcessIdentity:
    """Return the identity of the calling process."""
    pid = os.getpid()
    started = process_started(pid)
    assert started is not None
    return ProcessIdentity(pid=pid, boot_id=boot_id(), started=started)


def process_lives(process: ProcessIdentity) -> bool:
    """Tell whether that very process still runs, seen from this machine."""
    return process.boot_id == boot_id() and process_started(process.pid) == process.started


def filesystem_kind(path: Path) -> str:
    """Return the kind of the file system that holds `path`, in lower case."""
    place = path.resolve()
    found = ""
    kind = "unknown"
    for mount_point, mounted_kind in _mounts():
        # A later mount on the same point covers an earlier one.
        if place.is_relative_to(mount_point) and len(mount_point) >= len(found):
            found, kind = mount_point, mounted_kind
    return kind.lower()


def _mounts() -> list[tuple[str, str]]:
    if _MACOS:
        return mac_mounts(_output("mount"))
    return linux_mounts(Path("/proc/self/mountinfo").read_text(encoding="latin-1"))


def linux_mounts(mountinfo: str) -> list[tuple[str, str]]:
    """Parse `mountinfo`, read as Latin-1 because a mount point may be any bytes."""
    mounts: list[tuple[str, str]] = []
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        # Spaces, tabs and backslashes in a mount point are written as octal escapes.
        point = before.split(" ")[4].encode("latin-1").decode("unicode_escape")
        mounts.append((os.fsdecode(point.encode("latin-1")), after.split(" ")[0]))
    return mounts


def mac_mounts(output: str) -> list[tuple[str, str]]:
    """Parse lines like `/dev/disk3s1 on /System/Volumes/Data (apfs, local, journaled)`."""
    mounts: list[tuple[str, str]] = []
    for line in output.splitlines():
        named, _, options = line.rpartition(" (")
        mounts.append((named.partition(" on ")[2], options.split(",")[0].rstrip(")")))
    return mounts


def _output(*command: str) -> str:
    with contextlib.suppress(subprocess.CalledProcessError):
        return subprocess.run(  # noqa: S603 - fixed system commands, no shell
            command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL
        ).stdout.strip()
    return ""
