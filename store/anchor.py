"""What was acknowledged is remembered outside the database, which may lose it (STORE-9a).

The file has two slots on pages of their own, written in turn, so that a write torn by a power loss
leaves the slot before it. Layout of a slot, big-endian: magic, write counter, ordinal, root chain
value, SHA-256 over all of that. The newest valid slot is the one with the greatest counter.
"""

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from .errors import AcknowledgedFactsMissingError, file_step
from .platform import full_sync, sync_directory
from .probe import Probe, no_probe

_MAGIC: Final = b"cw.anchor.1\0"
_BODY: Final = struct.Struct(">12sQQ32s")
_SLOT_BYTES: Final = _BODY.size + hashlib.sha256().digest_size
_SLOT_STRIDE: Final = 4096
_FILE_BYTES: Final = 2 * _SLOT_STRIDE


@attrs.frozen(kw_only=True)
class Head:
    """How far the log of a root reaches.

    Attributes:
        ordinal: The last fact's position in commit order; 0 for an empty log.
        chain: The root chain value there, 64 lower-case hexadecimal digits.
    """

    ordinal: int
    chain: str


@attrs.define(eq=False, kw_only=True)
class Anchor:
    """The owner's open anchor file.

    Attributes:
        head: What the file says, or None if it says nothing.
    """

    head: Head | None
    _fd: int = attrs.field(alias="fd")
    _counter: int = attrs.field(alias="counter")
    probe: Probe

    def write(self, head: Head) -> None:
        """Record `head` by one write without a sync; the same head again writes nothing.

        Raises:
            StorageError: `storage_*`; what the file says is then unknown.
        """
        if head == self.head:
            return
        self._counter += 1
        slot = _encode(self._counter, head)
        with file_step("anchor"):
            written = os.pwrite(self._fd, slot, _SLOT_STRIDE * (self._counter % 2))
        assert written == len(slot), "a preallocated slot cannot be written short"
        self.head = head
        self.probe("anchor.written")

    def sync(self) -> None:
        """Make the recorded head durable; called at checkpoint and at close.

        Raises:
            StorageError: `storage_*`.
        """
        with file_step("anchor"):
            full_sync(self._fd)
        self.probe("anchor.synced")

    def close(self) -> None:
        """Close the file; again does nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def open_anchor(path: Path, *, probe: Probe = no_probe) -> Anchor:
    """Open the anchor for the owner, creating an empty one.

    Raises:
        StorageError: `storage_*`.
    """
    with file_step("anchor"):
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with file_step("anchor"):
            if os.fstat(fd).st_size < _FILE_BYTES:
                _preallocate(fd, path.parent)
            counter, head = _newest(os.pread(fd, _FILE_BYTES, 0))
    except BaseException:
        os.close(fd)
        raise
    return Anchor(head=head, fd=fd, counter=counter, probe=probe)


def read_anchor(path: Path) -> Head | None:
    """Return what the anchor says without touching it, or None if it is absent or says nothing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        return _newest(os.pread(fd, _FILE_BYTES, 0))[1]
    except OSError:
        return None  # For instance a pipe, which has no positions.
    finally:
        os.close(fd)


def compare_anchor(
    anchored: Head | None, stored: Head, chain_at: Callable[[int], str | None]
) -> None:
    """Demand that everything acknowledged is still stored; run by the owner before its first write.

    A stored head beyond the anchor is usual: the process died between COMMIT and the anchor.

    Args:
        anchored: What the anchor says.
        stored: The head in the database.
        chain_at: The stored root chain value at an ordinal.

    Raises:
        AcknowledgedFactsMissingError: `acknowledged_facts_missing`, when the head is behind the
            anchor, or is another history's.
    """
    if anchored is None or anchored.ordinal == 0:
        return
    if stored.ordinal < anchored.ordinal or chain_at(anchored.ordinal) != anchored.chain:
        raise AcknowledgedFactsMissingError(
            anchored_ordinal=anchored.ordinal, stored_ordinal=stored.ordinal
        )


def _preallocate(fd: int, place: Path) -> None:
    """Reserve both slots now, so that a full disk cannot stop the anchor later."""
    os.ftruncate(fd, 0)
    os.pwrite(fd, bytes(_FILE_BYTES), 0)
    full_sync(fd)
    sync_directory(place)


def _encode(counter: int, head: Head) -> bytes:
    body = _BODY.pack(_MAGIC, counter, head.ordinal, bytes.fromhex(head.chain))
    return body + hashlib.sha256(body).digest()


def _newest(data: bytes) -> tuple[int, Head | None]:
    """Return counter and head of the newest valid slot, or 0 and None."""
    newest: tuple[int, Head | None] = (0, None)
    for start in (0, _SLOT_STRIDE):
        slot = data[start : start + _SLOT_BYTES]
        body, checksum = slot[: _BODY.size], slot[_BODY.size :]
        if len(slot) < _SLOT_BYTES or hashlib.sha256(body).digest() != checksum:
            continue
        magic, counter, ordinal, chain = _BODY.unpack(body)
        if magic == _MAGIC and counter > newest[0]:
            newest = (counter, Head(ordinal=ordinal, chain=chain.hex()))
    return newest
