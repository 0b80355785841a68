"""A blob is whole, durable before it is named, and verified when it is read."""

import errno
import hashlib
import stat
import struct
import tracemalloc
from collections.abc import Generator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts.ids import BlobId
from crashworthy.store import platform
from crashworthy.store.blobs import CHUNK_BYTES, BlobRef, BlobStore
from crashworthy.store.errors import BlobAlteredError, BlobMissingError, StorageIoError

from .conftest import StartChild

STEPS = ["blob.synced", "blob.renamed", "blob.directory_synced"]


class Names:
    """The blobs that committed facts name."""

    def __init__(self) -> None:
        self.blobs: set[BlobId] = set()
        self.steps: list[str] = []

    def store(self, place: Path) -> BlobStore:
        return BlobStore(place=place, is_named=self.blobs.__contains__, probe=self.steps.append)


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture
def blobs(names: Names, tmp_path: Path) -> BlobStore:
    return names.store(tmp_path / "blobs")


def framed_digest(data: bytes) -> str:
    domain = b"crashworthy.blob.v1"
    frame = struct.pack(">Q", len(domain)) + domain + struct.pack(">Q", len(data))
    return hashlib.sha256(frame + data).hexdigest()


@given(data=st.binary(max_size=2000), cuts=st.lists(st.integers(0, 2000), max_size=5))
def test_blob_reads_back_whatever_pieces_it_came_in(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, cuts: list[int]
) -> None:
    blobs = Names().store(tmp_path_factory.mktemp("blobs"))
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    pieces = [data[start:end] for start, end in pairwise(edges)]
    ref = blobs.put_stream(pieces)
    assert ref == blobs.put(data)
    assert ref == BlobRef(blob=BlobId(framed_digest(data)), size_bytes=len(data))
    assert blobs.read(ref) == data


def test_blob_is_private_and_alone_when_stored(blobs: BlobStore) -> None:
    ref = blobs.put(b"secret")
    path = blobs.path_of(ref.blob)
    modes = {stat.S_IMODE(each.stat().st_mode) for each in (blobs.place, path.parent)}
    assert modes == {0o700}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(blobs.stored()) == [ref.blob]
    assert list((blobs.place / "aside").iterdir()) == []


def test_blob_is_synced_then_renamed_then_its_directory_synced(
    blobs: BlobStore, names: Names
) -> None:
    blobs.put(b"data")
    assert names.steps == STEPS


def test_stored_blob_is_synced_again_when_no_fact_names_it(blobs: BlobStore, names: Names) -> None:
    """It may be what a dead process left between its rename and its sync."""
    blobs.put(b"data")
    blobs.put(b"data")
    assert names.steps == STEPS * 2


def test_stored_blob_is_taken_as_durable_when_a_fact_names_it(
    blobs: BlobStore, names: Names
) -> None:
    names.blobs.add(blobs.put(b"data").blob)
    blobs.put(b"data")
    blobs.put_stream([b"da", b"ta"])
    assert names.steps == STEPS
    assert list((blobs.place / "aside").iterdir()) == []


@pytest.mark.proves("CRASH-4")
def test_directories_of_a_killed_owner_are_synced_once_by_its_successor(
    names: Names, tmp_path: Path, synced: list[int]
) -> None:
    """It may have made them and not come to sync their names; the blob would go with them."""
    place = tmp_path / "blobs"
    ref = names.store(place).put(b"hello")
    directory = names.store(place).path_of(ref.blob).parent
    successor = names.store(place)

    synced.clear()
    successor.put(b"hello")
    first = set(synced)
    synced.clear()
    successor.put(b"hello")

    assert {path.stat().st_ino for path in (tmp_path, place, directory)} <= first
    assert tmp_path.stat().st_ino not in synced
    assert place.stat().st_ino not in synced
    assert directory.stat().st_ino in synced


def test_directory_whose_sync_failed_is_synced_when_the_blob_is_tried_again(
    blobs: BlobStore, tmp_path: Path, synced: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_fd: int) -> None:
        raise OSError(errno.EIO, "planted")

    with monkeypatch.context() as sick:
        sick.setattr(platform, "full_sync", failing)
        with pytest.raises(StorageIoError):
            blobs.put(b"hello")
    assert (tmp_path / "blobs").is_dir()
    blobs.put(b"hello")
    assert tmp_path.stat().st_ino in synced


def test_named_blob_is_written_again_when_its_file_is_gone_or_short(
    blobs: BlobStore, names: Names
) -> None:
    ref = blobs.put(b"data")
    names.blobs.add(ref.blob)
    blobs.path_of(ref.blob).write_bytes(b"da")
    blobs.put(b"data")
    assert blobs.read(ref) == b"data"


def test_reading_says_missing_when_there_is_no_file(blobs: BlobStore) -> None:
    ref = blobs.put(b"data")
    blobs.path_of(ref.blob).unlink()
    with pytest.raises(BlobMissingError):
        blobs.read(ref)


@pytest.mark.parametrize("altered", [b"dat4", b"dat", b"data!", b""])
def test_reading_yields_nothing_when_the_bytes_are_altered(
    blobs: BlobStore, altered: bytes
) -> None:
    ref = blobs.put(b"data")
    blobs.path_of(ref.blob).write_bytes(altered)
    with pytest.raises(BlobAlteredError):
        next(blobs.chunks(ref))


def test_writing_leaves_no_trace_when_its_source_fails(blobs: BlobStore) -> None:
    def failing() -> Generator[bytes]:
        yield b"part"
        raise LookupError

    with pytest.raises(LookupError):
        blobs.put_stream(failing())
    assert list(blobs.stored()) == []
    assert list(blobs.garbage()) == []


def test_memory_stays_bounded_when_a_blob_is_large(blobs: BlobStore) -> None:
    piece = bytes(CHUNK_BYTES)
    tracemalloc.start()
    ref = blobs.put_stream(piece for _ in range(256))
    length = sum(map(len, blobs.chunks(ref)))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert length == ref.size_bytes == 256 * CHUNK_BYTES
    assert peak < 6 * CHUNK_BYTES


def test_garbage_is_what_no_fact_names_and_collecting_spares_the_rest(
    blobs: BlobStore, names: Names
) -> None:
    kept = blobs.put(b"kept")
    names.blobs.add(kept.blob)
    lost = blobs.put(b"lost")
    (blobs.place / "aside" / "left").write_bytes(b"x")
    assert {path.name for path in blobs.garbage()} == {lost.blob, "left"}
    assert blobs.collect() == 2
    assert list(blobs.stored()) == [kept.blob]


def test_leftovers_of_a_dead_writer_are_passed_over(blobs: BlobStore, names: Names) -> None:
    first = blobs.writing()
    again = names.store(blobs.place)  # the same pid and a count that begins anew
    ref = again.put(b"data")
    assert again.read(ref) == b"data"
    with first:
        pass


DYING = """
import os, signal, sys
from pathlib import Path
from crashworthy.store.blobs import BlobStore
def die(step):
    if step == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)
BlobStore(place=Path(sys.argv[1]), is_named=lambda blob: False, probe=die).put(b"data" * 1000)
"""


@pytest.mark.parametrize("step", STEPS)
def test_blob_is_whole_or_garbage_when_its_writer_is_killed(
    start_child: StartChild, blobs: BlobStore, step: str
) -> None:
    child = start_child(DYING, blobs.place, step)
    assert child.wait() == -9
    for blob in blobs.stored():
        assert blobs.read(BlobRef(blob=blob, size_bytes=4000)) == b"data" * 1000
    assert len(list(blobs.garbage())) == 1
    ref = blobs.put(b"data" * 1000)
    assert blobs.read(ref) == b"data" * 1000
