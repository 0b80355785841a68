"""Which blobs a fact names, and whether they are there: damage of that fact alone (OP-6a)."""

from collections.abc import Iterator
from typing import Final

import attrs

from ...machines.facts.ids import BlobId
from ...machines.facts.model import (
    ArtifactAdded,
    Dispatched,
    FunctionResponse,
    RequestDispatched,
    RuntimeEvent,
    Text,
)
from ..blobs import BlobRef, BlobStore
from ..errors import BlobAlteredError, BlobMissingError, file_step
from .findings import Check, Finding, Findings

REMEMBERED_MAX: Final = 50_000
"""Whole blobs that are not read again for the next fact that names them."""


@attrs.frozen(kw_only=True)
class NamedBlob:
    """A blob that a fact names; the parts of a request are named without their lengths."""

    blob: BlobId
    size_bytes: int | None = None


def named_blobs(event: RuntimeEvent) -> Iterator[NamedBlob]:
    """Yield the blobs that a fact names."""
    content, action = event.content, event.actions
    if isinstance(content, Text):
        for given in content.attachments:
            yield NamedBlob(blob=BlobId(given.digest), size_bytes=given.bytes)
    if isinstance(content, FunctionResponse):
        cut = content.cut
        if cut is not None and cut.blob is not None:
            yield NamedBlob(blob=BlobId(cut.blob), size_bytes=cut.bytes_total)
    if isinstance(action, ArtifactAdded):
        yield NamedBlob(blob=BlobId(action.blob), size_bytes=action.bytes)
    if isinstance(action, RequestDispatched):
        for part in action.parts:
            yield NamedBlob(blob=BlobId(part))
    if isinstance(action, Dispatched) and action.evidence is not None:
        for image in (action.evidence.before, action.evidence.after):
            if image.digest is not None:
                yield NamedBlob(blob=BlobId(image.digest), size_bytes=image.bytes)


@attrs.define(eq=False)
class BlobCheck:
    """Reads the blobs that facts name, each once as far as it can remember.

    Attributes:
        checked: How many were read.
    """

    _blobs: BlobStore
    _findings: Findings
    checked: int = 0
    _whole: set[NamedBlob] = attrs.field(factory=set[NamedBlob], init=False)

    def check(self, event: RuntimeEvent, ordinal: int) -> None:
        """Check the blobs of one fact."""
        for named in named_blobs(event):
            if named in self._whole:
                continue
            self.checked += 1
            try:
                for _piece in self._blobs.chunks(self._ref(named)):
                    pass
            except (BlobMissingError, BlobAlteredError) as error:
                self._findings.add(
                    Finding(
                        check=Check.BLOB,
                        code=error.code,
                        detail=f"blob {named.blob}",
                        ordinal=ordinal,
                        fact=event.id,
                        session=event.spine.session,
                    )
                )
                continue
            if len(self._whole) >= REMEMBERED_MAX:
                self._whole.clear()
            self._whole.add(named)

    def _ref(self, named: NamedBlob) -> BlobRef:
        if named.size_bytes is not None:
            return BlobRef(blob=named.blob, size_bytes=named.size_bytes)
        with file_step("blob"):
            try:
                size = self._blobs.path_of(named.blob).lstat().st_size
            except FileNotFoundError:
                raise BlobMissingError(digest=named.blob) from None
        return BlobRef(blob=named.blob, size_bytes=size)
