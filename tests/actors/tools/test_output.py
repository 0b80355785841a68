"""An output of any size has a bounded inline part, its full length and a digest (OP-7)."""

import hashlib
import tracemalloc
from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.actors.tools.contract import OutputRule
from crashworthy.actors.tools.output import (
    BLOCK_BYTES,
    LiveText,
    OutputRecord,
    OutputSink,
    Spool,
    Window,
)
from crashworthy.machines.facts.digests import Domain, digest
from crashworthy.machines.facts.model import FunctionResponse
from crashworthy.machines.facts.packing import packer


class MemorySpool:
    def __init__(self) -> None:
        self.data = bytearray()
        self.state = "open"

    async def write(self, chunk: bytes) -> None:
        await trio.lowlevel.checkpoint()
        self.data += chunk

    async def keep(self) -> str:
        await trio.lowlevel.checkpoint()
        self.state = "kept"
        return "blob-name"

    async def discard(self) -> None:
        await trio.lowlevel.checkpoint()
        self.state = "discarded"


class MemorySpools:
    def __init__(self) -> None:
        self.opened: list[MemorySpool] = []

    async def open_spool(self) -> Spool:
        await trio.lowlevel.checkpoint()
        self.opened.append(MemorySpool())
        return self.opened[-1]


def whole_digest(data: bytes) -> str:
    blocks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)] or [b""]
    return digest(Domain.OUTPUT, *blocks)


def record(rule: OutputRule, *chunks: bytes) -> OutputRecord:
    window = Window(rule)
    for chunk in chunks:
        window.write(chunk)
    return window.close(None)


SMALL = OutputRule(head_bytes=4, tail_bytes=4)


@pytest.mark.proves("OP-7")
def test_output_within_the_rule_stays_whole() -> None:
    found = record(SMALL, b"abcd", b"efgh")
    assert (found.inline, found.bytes_total, found.cut_bytes, found.cut) == ("abcdefgh", 8, 0, None)


@pytest.mark.proves("OP-7")
def test_cut_output_says_what_is_missing_and_never_asks_to_repeat() -> None:
    found = record(SMALL, b"abcdXXXefgh")
    assert found.inline == "abcd\n[... 3 bytes left out here, not kept; the call is done ...]\nefgh"
    assert found.cut is not None
    assert (found.cut.bytes_total, found.cut.digest) == (11, whole_digest(b"abcdXXXefgh"))


@pytest.mark.proves("BYTE-3")
def test_cut_never_goes_through_a_code_point() -> None:
    found = record(SMALL, "abcé-----éabc".encode())
    assert found.inline.startswith("abc\n[... ")
    assert found.inline.endswith("...]\nabc")
    assert found.cut_bytes == found.bytes_total - 6
    assert found.losses == ()


@pytest.mark.proves("BYTE-3")
def test_unclean_bytes_are_repaired_and_counted() -> None:
    found = record(OutputRule(), b"a\xff\xfeb\0")
    assert found.inline == "a\ufffd\ufffdb\0"
    assert [(loss.path, loss.count) for loss in found.losses] == [("output", 2)]


@pytest.mark.proves("BYTE-3")
def test_outcome_of_unclean_bytes_can_be_stored() -> None:
    """A member of an enum is equal to its text, and yet no fact takes it."""
    found = record(OutputRule(), b"a\xff")
    response = FunctionResponse(
        label="c", name="shell", result=found.inline, is_error=False, losses=found.losses
    )
    packed = packer(FunctionResponse)(response)
    assert isinstance(packed, dict)
    assert packed["losses"] == [{"path": "output", "reason": "text_replaced", "count": 1}]


@given(
    data=st.binary(max_size=40) | st.text("aé𝄞", max_size=20).map(str.encode),
    cuts=st.lists(st.integers(0, 40), max_size=4),
    head=st.integers(0, 8),
    tail=st.integers(0, 8),
)
@pytest.mark.proves("OP-7")
def test_record_depends_on_the_bytes_and_not_on_their_pieces(
    data: bytes, cuts: list[int], head: int, tail: int
) -> None:
    rule = OutputRule(head_bytes=head, tail_bytes=tail)
    bounds = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(bounds)]
    found = record(rule, *pieces)
    assert found == record(rule, data)
    assert (found.bytes_total, found.digest) == (len(data), whole_digest(data))
    assert (found.cut_bytes == 0) == (len(data) <= head + tail)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return
    assert not found.losses
    start, _, end = found.inline.partition("\n[... ")
    assert text.startswith(start) if found.cut_bytes else text == found.inline
    assert text.endswith(end.partition("...]\n")[2])


@given(st.text("aé𝄞\0", max_size=20), st.integers(1, 5))
def test_live_pieces_never_split_a_code_point(text: str, size: int) -> None:
    live, data = LiveText(), text.encode()
    assert "".join(live.take(data[at : at + size]) for at in range(0, len(data), size)) == text


@pytest.mark.proves("OP-7")
def test_whole_goes_to_a_blob_only_when_it_does_not_fit() -> None:
    async def main() -> None:
        spools, shown = MemorySpools(), list[str]()
        sink = OutputSink(SMALL, spools, shown.append)
        await sink.write(b"abcd")
        await sink.write(b"efgh")
        assert spools.opened == []
        await sink.write(b"ijkl")
        found = await sink.finish()
        assert bytes(spools.opened[0].data) == b"abcdefghijkl"
        assert (found.blob, spools.opened[0].state, len(spools.opened)) == ("blob-name", "kept", 1)
        assert "kept whole" in found.inline
        assert "".join(shown) == "abcdefghijkl"

    trio.run(main)


def test_discarded_output_leaves_no_blob() -> None:
    async def main() -> None:
        spools = MemorySpools()
        sink = OutputSink(SMALL, spools, list[str]().append)
        await sink.write(b"abcdefghijkl")
        await sink.discard()
        assert spools.opened[0].state == "discarded"

    trio.run(main)


@pytest.mark.proves("OP-7")
def test_memory_stays_bounded_whatever_comes() -> None:
    """Both shapes of a flood: a few large pieces, and very many small ones."""
    window = Window(OutputRule())
    piece = b"x" * (64 * 1024)
    tracemalloc.start()
    try:
        for _ in range(800):
            window.write(piece)
        for _ in range(100_000):
            window.write(b"line\n")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = window.close(None)
    assert found.bytes_total == 800 * len(piece) + 500_000
    assert len(found.inline) < 40 * 1024
    assert peak < 1024 * 1024


def test_digest_is_the_framed_one() -> None:
    assert record(OutputRule(), b"").digest == whole_digest(b"")
    assert whole_digest(b"") != hashlib.sha256(b"").hexdigest()
