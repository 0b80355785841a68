"""The blob store as the place where large outputs go, without blocking the scheduler (OP-6a)."""

from collections.abc import Callable
from typing import Final

import attrs
import trio

from ...store.blobs import BlobStore, BlobWriter
from .output import Spool

THREADS_MAX: Final = 4


@attrs.define(eq=False)
class BlobSpools:
    """Opens spools over the root's blobs (output.Spools); the host writes, never a worker."""

    blobs: BlobStore
    _threads: trio.CapacityLimiter = attrs.field(
        factory=lambda: trio.CapacityLimiter(THREADS_MAX), init=False
    )

    async def open_spool(self) -> Spool:
        """Return a spool whose file lies aside until it is kept.

        Raises:
            StorageError: `storage_*`.
        """
        writer = await trio.to_thread.run_sync(self.blobs.writing, limiter=self._threads)
        return _BlobSpool(writer=writer, threads=self._threads)


@attrs.define(eq=False, kw_only=True)
class _BlobSpool:
    """One blob in the making; a step that has begun is never abandoned."""

    writer: BlobWriter
    threads: trio.CapacityLimiter

    async def write(self, chunk: bytes) -> None:
        """Append a piece.

        Raises:
            StorageError: `storage_*`.
        """
        await self._do(lambda: self.writer.write(chunk))

    async def keep(self) -> str:
        """Make the whole durable and return the name of the blob.

        Raises:
            StorageError: `storage_*`.
        """
        return (await trio.to_thread.run_sync(self.writer.finish, limiter=self.threads)).blob

    async def discard(self) -> None:
        """Remove what was written."""
        await self._do(lambda: self.writer.__exit__(None, None, None))

    async def _do(self, step: Callable[[], None]) -> None:
        await trio.to_thread.run_sync(step, limiter=self.threads)
