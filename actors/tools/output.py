"""Output of any size in bounded memory: head, tail, length, digest, a blob (OP-7)."""

import hashlib
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Final, Protocol

import attrs

from ...machines.facts.digests import Domain, u64be
from ...machines.facts.model import Loss, OutputCut
from ...machines.facts.text import repair_text
from .contract import OutputRule

BLOCK_BYTES: Final = 64 * 1024
"""The digest is framed over blocks of this size, so it does not depend on how pieces arrived."""

_CONTINUATION: Final = 0b1000_0000
_CHAR_BYTES_MAX: Final = 4
_LEADS: Final = ((0xF0, 4), (0xE0, 3), (0xC0, 2))
"""First byte of a UTF-8 character, and how many bytes it has."""


class Spool(Protocol):
    """A blob in the making, written by the host (OP-6a)."""

    async def write(self, chunk: bytes) -> None:
        """Append a piece."""
        ...

    async def keep(self) -> str:
        """Make the whole durable and return the name of the blob."""
        ...

    async def discard(self) -> None:
        """Drop what was written; also allowed after a failed `write`."""
        ...


class Spools(Protocol):
    """Where spools come from."""

    async def open_spool(self) -> Spool:
        """Return a new, empty spool."""
        ...


@attrs.frozen(kw_only=True)
class OutputRecord:
    """What is recorded of one output.

    Attributes:
        inline: Clean text: all of it, or head, a line that says what is missing, and tail.
        bytes_total: The length of the whole, in bytes as they came.
        digest: The digest of the whole, over framed blocks.
        blob: The blob that holds the whole, if the output was cut and is kept.
        cut_bytes: How many bytes are not inline; 0 if nothing was cut.
        losses: What the text rule repaired in the inline part (BYTE-3).
    """

    inline: str
    bytes_total: int
    digest: str
    blob: str | None
    cut_bytes: int
    losses: tuple[Loss, ...]

    @property
    def cut(self) -> OutputCut | None:
        """Return the cut as a fact records it, or None if all is inline."""
        if not self.cut_bytes:
            return None
        return OutputCut(bytes_total=self.bytes_total, digest=self.digest, blob=self.blob)


@attrs.define(eq=False)
class Window:
    """The bounded part of an output that stays in memory, with length and digest of the whole."""

    rule: OutputRule
    bytes_total: int = attrs.field(default=0, init=False)
    _head: bytearray = attrs.field(factory=bytearray, init=False)
    _tail: bytearray = attrs.field(factory=bytearray, init=False)
    _block: bytearray = attrs.field(factory=bytearray, init=False)
    # The type that hashlib's functions return has no public name.
    _hash: "hashlib._Hash" = attrs.field(init=False)  # pyright: ignore[reportPrivateUsage]

    def __attrs_post_init__(self) -> None:
        """Open the digest's frame."""
        self._hash = hashlib.sha256()
        self._frame(Domain.OUTPUT.encode())

    @property
    def holds_all(self) -> bool:
        """Return whether nothing had to be dropped yet."""
        return self.bytes_total <= self.rule.head_bytes + self.rule.tail_bytes

    def held(self) -> bytes:
        """Return everything so far; asked only while it is all held."""
        assert self.holds_all
        return bytes(self._head + self._tail)

    def write(self, chunk: bytes) -> None:
        """Take a piece of the output."""
        self.bytes_total += len(chunk)
        self._block += chunk
        while len(self._block) >= BLOCK_BYTES:
            self._frame(self._block[:BLOCK_BYTES])
            del self._block[:BLOCK_BYTES]
        room = self.rule.head_bytes - len(self._head)
        self._head += chunk[:room]
        rest = chunk[room:]
        self._tail += rest[-self.rule.tail_bytes :] if self.rule.tail_bytes else b""
        # Twice the bound before it is trimmed: a flood of small pieces moves each byte once.
        if len(self._tail) > 2 * self.rule.tail_bytes:
            del self._tail[: -self.rule.tail_bytes]

    def close(self, blob: str | None) -> OutputRecord:
        """Return the record of an output that has ended; `blob` names the kept whole."""
        if self._block or not self.bytes_total:
            self._frame(self._block)
        inline, cut_bytes, losses = self._inline(kept=blob is not None)
        return OutputRecord(
            inline=inline,
            bytes_total=self.bytes_total,
            digest=self._hash.hexdigest(),
            blob=blob,
            cut_bytes=cut_bytes,
            losses=losses,
        )

    def _frame(self, part: bytes | bytearray) -> None:
        self._hash.update(u64be(len(part)))
        self._hash.update(part)

    def _inline(self, *, kept: bool) -> tuple[str, int, tuple[Loss, ...]]:
        if self.holds_all:
            text, losses = _clean(self.held())
            return text, 0, losses
        head = _without_split_end(bytes(self._head))
        bound = self.rule.tail_bytes
        tail = _without_split_start(bytes(self._tail[-bound:]) if bound else b"")
        cut_bytes = self.bytes_total - len(head) - len(tail)
        head_text, head_losses = _clean(head)
        tail_text, tail_losses = _clean(tail)
        marker = _marker(cut_bytes, kept=kept)
        return f"{head_text}{marker}{tail_text}", cut_bytes, head_losses + tail_losses


@attrs.define(eq=False)
class OutputSink:
    """One output on its way into a record.

    Attributes:
        spools: Where the whole goes once it is too large to stay inline; None keeps no whole.
        show: Told each piece as text, at once; it must not block and keeps its own bound (LOG-5).
    """

    rule: OutputRule
    spools: Spools | None
    show: Callable[[str], None]
    _window: Window = attrs.field(init=False)
    _spool: Spool | None = attrs.field(default=None, init=False)
    _live: "LiveText" = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self._window = Window(self.rule)
        self._live = LiveText()

    @property
    def bytes_total(self) -> int:
        """Return how much has come so far."""
        return self._window.bytes_total

    async def write(self, chunk: bytes) -> None:
        """Take a piece; returns when it is safe to send the next, which is what slows a flood."""
        if not chunk:
            return
        before = self._window.held() if self._window.holds_all else b""
        self._window.write(chunk)
        if not self._window.holds_all and self.spools is not None and self.rule.keep_whole:
            if self._spool is None:
                self._spool = await self.spools.open_spool()
                await self._spool.write(before)
            await self._spool.write(chunk)
        self.show(self._live.take(chunk))

    async def finish(self) -> OutputRecord:
        """Return the record; what was kept whole is durable then (OP-6a)."""
        spool, self._spool = self._spool, None
        return self._window.close(None if spool is None else await spool.keep())

    async def discard(self) -> None:
        """Drop a spool whose output will never be recorded."""
        spool, self._spool = self._spool, None
        if spool is not None:
            await spool.discard()


@attrs.define(eq=False)
class LiveText:
    """Pieces of bytes as pieces of text that never split a code point; for display only."""

    _decoder: "_Decoder" = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start between two code points."""
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")

    def take(self, chunk: bytes) -> str:
        """Return the text that `chunk` completes."""
        return self._decoder.decode(chunk)


class _Decoder(Protocol):
    def decode(self, data: bytes, /) -> str: ...


def _clean(data: bytes) -> tuple[str, tuple[Loss, ...]]:
    text, losses = repair_text(data)
    # Plain text: a fact takes no member of an enum for it, and the outcome would be lost.
    return text, tuple(
        Loss(path="output", reason=loss.reason.value, count=loss.count) for loss in losses
    )


def _marker(cut_bytes: int, *, kept: bool) -> str:
    """Return the line between head and tail; it must never invite a repeated side effect."""
    where = "kept whole with this result" if kept else "not kept"
    return f"\n[... {cut_bytes} bytes left out here, {where}; the call is done ...]\n"


def _without_split_end(data: bytes) -> bytes:
    """Return `data` without a last character that the cut went through."""
    for back in range(1, min(_CHAR_BYTES_MAX, len(data) + 1)):
        byte = data[-back]
        if byte & 0b1100_0000 == _CONTINUATION:
            continue
        wanted = next((size for first, size in _LEADS if byte >= first), 1)
        return data[:-back] if wanted > back else data
    return data


def _without_split_start(data: bytes) -> bytes:
    """Return `data` without the rest of a first character that the cut went through."""
    start = 0
    while start < min(_CHAR_BYTES_MAX - 1, len(data)):
        if data[start] & 0b1100_0000 != _CONTINUATION:
            break
        start += 1
    return data[start:]
