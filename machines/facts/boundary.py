"""A boundary: the exact immutable history a continuation rests on, and its digest (CONT-1)."""

from typing import ClassVar, Final, TypeAlias, cast

import attrs

from . import canonical
from .codes import Code, CrashworthyError
from .digests import Domain, digest
from .forms import a_digest, positive, refuse_ill_formed
from .illegal import IllegalFactError, kind_of
from .json_values import Path, render_path
from .model import SegmentRef, Spine
from .packing import packer, unpacker

Segment: TypeAlias = SegmentRef
"""A prefix of one run, which is all of it: spine, last sequence, last event id, chain value."""

SEGMENTS_MAX: Final = 64


@attrs.frozen(kw_only=True)
class ControlHead:
    """How far the session's control ledger went when the boundary was drawn."""

    seq: int
    chain: str


@attrs.frozen(kw_only=True)
class Manifest:
    """What a boundary consists of; the order of its segments is part of its identity.

    Attributes:
        segments: Oldest ancestor first, immediate source last.
        context: The session digest over the chain heads of its closed inline runs.
        control: The head of the control ledger, up to which verdicts count.
    """

    segments: tuple[Segment, ...]
    context: str
    control: ControlHead

    @property
    def source(self) -> Segment:
        """The run that the continuation continues."""
        return self.segments[-1]


@attrs.define(eq=False, kw_only=True)
class ManifestMalformedError(CrashworthyError):
    """A manifest is not of the closed shape.

    Attributes:
        path: Field names and positions down to the offending place.
        found: What kind of value stands there.
    """

    code: ClassVar[Code] = Code.MANIFEST_MALFORMED
    path: Path
    found: str

    def __str__(self) -> str:
        """Return `[code] $.path: found`."""
        return f"[{self.code}] {render_path(self.path)}: {self.found}"


@attrs.define(eq=False, kw_only=True)
class ManifestEmptyError(CrashworthyError):
    """A boundary without a segment is no place in any history."""

    code: ClassVar[Code] = Code.MANIFEST_EMPTY


@attrs.define(eq=False, kw_only=True)
class LineageDepthExceededError(CrashworthyError):
    """A lineage is longer than `SEGMENTS_MAX`; a new session must be branched."""

    code: ClassVar[Code] = Code.LINEAGE_DEPTH_EXCEEDED
    segments: int


@attrs.define(eq=False, kw_only=True)
class SegmentSessionDiffersError(CrashworthyError):
    """Segment `position` belongs to another session than the first."""

    code: ClassVar[Code] = Code.SEGMENT_SESSION_DIFFERS
    position: int


@attrs.define(eq=False, kw_only=True)
class SegmentIdReusedError(CrashworthyError):
    """Segment `position` has the run, invocation or turn (`field`) of an earlier one."""

    code: ClassVar[Code] = Code.SEGMENT_ID_REUSED
    position: int
    field: str


@attrs.define(eq=False, kw_only=True)
class ManifestDigestDiffersError(CrashworthyError):
    """The manifest is not the one that the stated digest names."""

    code: ClassVar[Code] = Code.MANIFEST_DIGEST_DIFFERS
    stated: str
    computed: str


@attrs.define(eq=False, kw_only=True)
class TargetSessionDiffersError(CrashworthyError):
    """A continuation stays in the session of its boundary."""

    code: ClassVar[Code] = Code.TARGET_SESSION_DIFFERS


@attrs.define(eq=False, kw_only=True)
class TargetIdReusedError(CrashworthyError):
    """A continuation needs a run, invocation and turn (`field`) that no segment has."""

    code: ClassVar[Code] = Code.TARGET_ID_REUSED
    position: int
    field: str


def refuse_unsound_manifest(manifest: Manifest) -> None:
    """Refuse a manifest that describes no lineage (CONT-1).

    Raises:
        ManifestMalformedError: `manifest_malformed`, a value without its form.
        ManifestEmptyError: `manifest_empty`.
        LineageDepthExceededError: `lineage_depth_exceeded`, more than `SEGMENTS_MAX` segments.
        SegmentSessionDiffersError: `segment_session_differs`.
        SegmentIdReusedError: `segment_id_reused`.
    """
    if not manifest.segments:
        raise ManifestEmptyError
    if len(manifest.segments) > SEGMENTS_MAX:
        raise LineageDepthExceededError(segments=len(manifest.segments))
    for position, segment in enumerate(manifest.segments):
        try:
            refuse_ill_formed(segment)
        except IllegalFactError as error:
            path = ("segments", position, *error.path)
            raise ManifestMalformedError(path=path, found=error.found) from None
    if not a_digest(manifest.context):
        raise ManifestMalformedError(path=("context",), found=kind_of(manifest.context))
    control = manifest.control
    if not positive(control.seq):
        raise ManifestMalformedError(path=("control", "seq"), found=kind_of(control.seq))
    if not a_digest(control.chain):
        raise ManifestMalformedError(path=("control", "chain"), found=kind_of(control.chain))
    _refuse_reuse(manifest.segments)


def manifest_digest(manifest: Manifest) -> str:
    """Return the digest of a sound manifest: the identity of its boundary.

    Raises:
        CrashworthyError: As `refuse_unsound_manifest`.
    """
    return digest(Domain.BOUNDARY, encode_manifest(manifest))


def encode_manifest(manifest: Manifest) -> bytes:
    """Return the canonical bytes of a sound manifest.

    Raises:
        CrashworthyError: As `refuse_unsound_manifest`.
    """
    refuse_unsound_manifest(manifest)
    return canonical.encode_trusted(_PACK(manifest))


def decode_manifest(data: bytes, stated: str) -> Manifest:
    """Return the sound manifest whose bytes are `data` and whose digest is `stated`.

    Raises:
        CanonicalError: The bytes are not canonical JSON.
        ManifestDigestDiffersError: `manifest_digest_differs`, computed over these bytes.
        ManifestMalformedError: `manifest_malformed`, not the closed shape.
        CrashworthyError: As `refuse_unsound_manifest`.
    """
    value = canonical.decode(data)
    computed = digest(Domain.BOUNDARY, data)
    if computed != stated:
        raise ManifestDigestDiffersError(stated=stated, computed=computed)
    try:
        manifest = cast("Manifest", _UNPACK(value))
    except IllegalFactError as error:
        raise ManifestMalformedError(path=error.path, found=error.found) from None
    refuse_unsound_manifest(manifest)
    return manifest


def refuse_target(manifest: Manifest, target: Spine) -> None:
    """Refuse a target that is not a new run of a new turn in the same session (CONT-1, CONT-3).

    Raises:
        TargetSessionDiffersError: `target_session_differs`.
        TargetIdReusedError: `target_id_reused`, with the segment and field that it reuses.
    """
    for position, segment in enumerate(manifest.segments):
        if segment.session != target.session:
            raise TargetSessionDiffersError
        for field in _OWN:
            if getattr(segment, field) == getattr(target, field):
                raise TargetIdReusedError(position=position, field=field)


_OWN: Final = ("run", "invocation", "turn")
"""What each segment has to itself, and a target too."""

_PACK: Final = packer(Manifest)
_UNPACK: Final = unpacker(Manifest)


def _refuse_reuse(segments: tuple[Segment, ...]) -> None:
    seen: set[tuple[str, str]] = set()
    for position, segment in enumerate(segments):
        if segment.session != segments[0].session:
            raise SegmentSessionDiffersError(position=position)
        for field in _OWN:
            held = (field, cast("str", getattr(segment, field)))
            if held in seen:
                raise SegmentIdReusedError(position=position, field=field)
            seen.add(held)
