"""Large bodies live in files named by their digest, durable before a fact names them (OP-6a).

A blob is written aside, synced, renamed, and its directory synced. Only the owning host writes
here. A file without a committed fact that names it is garbage: it proves nothing about durability.
"""

import os
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Final, Self

import attrs

from ..machines.facts.digests import Domain, digest, digest_chunks, is_digest
from ..machines.facts.ids import BlobId
from .errors import BlobAlteredError, BlobMissingError, file_step
from .ownership.lock import anywhere
from .platform import full_sync, make_directory, sync_directory
from .probe import Probe, no_probe

CHUNK_BYTES: Final = 256 * 1024
"""Memory that reading or writing a blob of any size takes."""

_ASIDE: Final = "aside"


@attrs.frozen(kw_only=True)
class BlobRef:
    """A durable blob, ready to be named by a fact.

    Attributes:
        blob: Its digest in the domain BLOB, which is also its file's name.
        size_bytes: Its length.
    """

    blob: BlobId
    size_bytes: int


@attrs.define(eq=False, kw_only=True)
class BlobStore:
    """The blobs of one root.

    Attributes:
        place: The directory; `place/ab/abcd...` holds a blob, `place/aside` what is being written.
        is_named: Tells whether a committed fact names a blob; only then is a file that is already
            there known to be durable.
        in_place: Demands, before anything is written, that the root is still the owned one.
    """

    place: Path
    is_named: Callable[[BlobId], bool]
    probe: Probe = no_probe
    in_place: Callable[[], None] = anywhere
    _written: int = attrs.field(init=False, default=0)
    _durable: set[Path] = attrs.field(init=False, factory=set[Path])

    def put(self, data: bytes) -> BlobRef:
        """Store `data` and return its reference once it is durable.

        Raises:
            StorageError: `storage_*`.
        """
        self.in_place()
        ref = BlobRef(blob=BlobId(digest(Domain.BLOB, data)), size_bytes=len(data))
        if self._is_durable(ref):
            return ref
        return self.put_stream([data])

    def put_stream(self, chunks: Iterable[bytes]) -> BlobRef:
        """Store what `chunks` yields, holding one chunk at a time; an error leaves no blob.

        Raises:
            StorageError: `storage_*`.
        """
        with self.writing() as writer:
            for chunk in chunks:
                writer.write(chunk)
            return writer.finish()

    def writing(self) -> "BlobWriter":
        """Begin a blob whose length is not known yet.

        Raises:
            StorageError: `storage_*`.
        """
        self.in_place()
        with file_step("blob"):
            self.make_directory(self.place)
            aside = self.place / _ASIDE
            self.make_directory(aside)
            path, fd = self._create(aside)
        return BlobWriter(store=self, path=path, fd=fd)

    def read(self, ref: BlobRef) -> bytes:
        """Return the whole blob, verified.

        Raises:
            BlobMissingError: `blob_missing`.
            BlobAlteredError: `blob_altered`.
            StorageError: `storage_*`.
        """
        return b"".join(self.chunks(ref))

    def chunks(self, ref: BlobRef) -> Generator[bytes]:
        """Yield the blob piece by piece; it is read twice, so that nothing wrong is ever yielded.

        Raises:
            BlobMissingError: `blob_missing`.
            BlobAlteredError: `blob_altered`, before the first piece.
            StorageError: `storage_*`.
        """
        fd = self._open(ref.blob)
        try:
            _verify(fd, ref)
            with file_step("blob"):
                yield from _pieces(fd)
        finally:
            os.close(fd)

    def stored(self) -> Generator[BlobId]:
        """Yield the blobs that are there, in the order of their names."""
        for directory in sorted(self.place.glob("[0-9a-f][0-9a-f]")):
            for path in sorted(directory.iterdir()):
                if is_digest(path.name):
                    yield BlobId(path.name)

    def garbage(self) -> Generator[Path]:
        """Yield files that no committed fact needs: unnamed blobs, and what was left aside."""
        for blob in self.stored():
            if not self.is_named(blob):
                yield self.path_of(blob)
        aside = self.place / _ASIDE
        if aside.is_dir():
            yield from sorted(aside.iterdir())

    def collect(self) -> int:
        """Remove all garbage and return how many files that were.

        For `doctor --repair` under ownership with nothing admitted: a blob written a moment ago
        is garbage until its fact is committed.

        Raises:
            StorageError: `storage_*`.
        """
        removed = 0
        for path in list(self.garbage()):
            with file_step("blob"):
                path.unlink()
            removed += 1
        return removed

    def path_of(self, blob: BlobId) -> Path:
        """Return where `blob` is or would be."""
        assert is_digest(blob), "a blob is named by a digest, never by a path"
        return self.place / blob[:2] / blob

    def _open(self, blob: BlobId) -> int:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        with file_step("blob"):
            try:
                return os.open(self.path_of(blob), flags)
            except FileNotFoundError:
                raise BlobMissingError(digest=blob) from None

    def _is_durable(self, ref: BlobRef) -> bool:
        try:
            stat = self.path_of(ref.blob).lstat()
        except FileNotFoundError:
            return False
        return stat.st_size == ref.size_bytes and self.is_named(ref.blob)

    def _create(self, aside: Path) -> tuple[Path, int]:
        while True:
            # The pid and a count are unique among living writers; a dead one's leftovers are passed
            # over. No randomness, so that a simulated history is the same to the byte.
            self._written += 1
            path = aside / f"{os.getpid()}-{self._written}"
            try:
                return path, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            except FileExistsError:
                continue

    def make_directory(self, path: Path) -> None:
        """Create a directory of this store, and sync its name once, whoever made it.

        Raises:
            OSError: It cannot be made durable.
        """
        if path not in self._durable or not path.is_dir():
            make_directory(path)
            self._durable.add(path)

    def keep(self, path: Path, fd: int, size_bytes: int) -> BlobRef:
        """Give a file that was written aside its name, durably; its writer calls this."""
        with file_step("blob"):
            blob = BlobId(digest_chunks(Domain.BLOB, size_bytes, _pieces(fd)))
            ref = BlobRef(blob=blob, size_bytes=size_bytes)
            if self._is_durable(ref):
                path.unlink()
            else:
                self._publish(path, fd, self.path_of(blob))
        return ref

    def _publish(self, path: Path, fd: int, target: Path) -> None:
        full_sync(fd)
        self.probe("blob.synced")
        self.make_directory(target.parent)
        # Also over an unnamed file of this name: nothing says that one was ever synced.
        path.rename(target)
        self.probe("blob.renamed")
        sync_directory(target.parent)
        self.probe("blob.directory_synced")


@attrs.define(eq=False, kw_only=True)
class BlobWriter:
    """One blob on its way; leaving its `with` block unfinished removes it.

    Attributes:
        size_bytes: Bytes written so far.
    """

    store: BlobStore
    path: Path
    fd: int
    size_bytes: int = 0

    def write(self, chunk: bytes) -> None:
        """Append `chunk`.

        Raises:
            StorageError: `storage_*`.
        """
        rest = memoryview(chunk)
        with file_step("blob"):
            while rest:
                rest = rest[os.write(self.fd, rest) :]
        self.size_bytes += len(chunk)

    def finish(self) -> BlobRef:
        """Make the blob durable under its name and return its reference.

        Raises:
            StorageError: `storage_*`.
        """
        ref = self.store.keep(self.path, self.fd, self.size_bytes)
        self._close()
        return ref

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.fd >= 0:
            self.path.unlink(missing_ok=True)
            self._close()

    def _close(self) -> None:
        os.close(self.fd)
        self.fd = -1


def _verify(fd: int, ref: BlobRef) -> None:
    with file_step("blob"):
        size_bytes = os.fstat(fd).st_size
        if size_bytes != ref.size_bytes:
            raise BlobAlteredError(digest=ref.blob, found=f"{size_bytes} bytes")
        found = digest_chunks(Domain.BLOB, size_bytes, _pieces(fd))
    if found != ref.blob:
        raise BlobAlteredError(digest=ref.blob, found=found)


def _pieces(fd: int) -> Generator[bytes]:
    offset = 0
    while piece := os.pread(fd, CHUNK_BYTES, offset):
        offset += len(piece)
        yield piece
