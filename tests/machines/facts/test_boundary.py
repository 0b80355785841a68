"""A boundary is exactly its ordered segments, context and control head, or refused (CONT-1)."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts import canonical
from crashworthy.machines.facts.boundary import (
    SEGMENTS_MAX,
    ControlHead,
    LineageDepthExceededError,
    Manifest,
    ManifestDigestDiffersError,
    ManifestEmptyError,
    ManifestMalformedError,
    Segment,
    SegmentIdReusedError,
    SegmentSessionDiffersError,
    TargetIdReusedError,
    TargetSessionDiffersError,
    decode_manifest,
    encode_manifest,
    manifest_digest,
    refuse_target,
    refuse_unsound_manifest,
)
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.codes import Code, CrashworthyError
from crashworthy.machines.facts.digests import Domain, digest
from crashworthy.machines.facts.model import Spine

from .facts_by_hand import changed, hexed


def segment(number: int) -> Segment:
    return Segment(
        session="ses_1",
        invocation=f"inv_{number}",
        run=f"run_{number}",
        turn=f"turn_{number}",
        last_seq=number + 1,
        last_id=f"fact_{number}",
        chain=hexed("a"),
    )


def manifest_of(length: int) -> Manifest:
    return Manifest(
        segments=tuple(map(segment, range(length))),
        context=hexed("b"),
        control=ControlHead(seq=3, chain=hexed("c")),
    )


THREE = manifest_of(3)
EMPTY: list[Json] = []
NOTHING: dict[str, Json] = {}
TARGET = Spine(session="ses_1", invocation="inv_new", run="run_new", turn="turn_new")


@given(st.integers(1, SEGMENTS_MAX))
def test_manifest_reads_back_as_itself(length: int) -> None:
    manifest = manifest_of(length)

    assert decode_manifest(encode_manifest(manifest), manifest_digest(manifest)) == manifest


def test_source_is_the_last_segment() -> None:
    assert THREE.source == segment(2)


def test_digest_depends_on_the_order_of_segments() -> None:
    turned = changed(THREE, segments=tuple(reversed(THREE.segments)))

    assert manifest_digest(turned) != manifest_digest(THREE)


@pytest.mark.parametrize(
    "change",
    [
        {"context": hexed("d")},
        {"control": ControlHead(seq=4, chain=hexed("c"))},
        {"control": ControlHead(seq=3, chain=hexed("d"))},
        {"segments": THREE.segments[1:]},
        *(
            {"segments": (segment(0), segment(1), changed(segment(2), **{name: value}))}
            for name, value in {
                "invocation": "inv_x",
                "run": "run_x",
                "turn": "turn_x",
                "last_seq": 99,
                "last_id": "fact_x",
                "chain": hexed("e"),
            }.items()
        ),
    ],
)
def test_digest_depends_on_every_part(change: dict[str, object]) -> None:
    assert manifest_digest(changed(THREE, **change)) != manifest_digest(THREE)


def test_lineage_of_64_segments_is_a_boundary_and_the_65th_is_refused() -> None:
    refuse_unsound_manifest(manifest_of(SEGMENTS_MAX))

    with pytest.raises(LineageDepthExceededError) as caught:
        refuse_unsound_manifest(manifest_of(SEGMENTS_MAX + 1))
    assert (caught.value.code, caught.value.segments) == (Code.LINEAGE_DEPTH_EXCEEDED, 65)


def test_boundary_without_segment_is_refused() -> None:
    with pytest.raises(ManifestEmptyError):
        manifest_digest(changed(THREE, segments=()))


def test_segments_of_two_sessions_are_refused() -> None:
    other = changed(segment(1), session="ses_2")

    with pytest.raises(SegmentSessionDiffersError) as caught:
        encode_manifest(changed(THREE, segments=(segment(0), other, segment(2))))
    assert caught.value.position == 1


@pytest.mark.parametrize("field", ["run", "invocation", "turn"])
def test_id_in_two_segments_is_refused(field: str) -> None:
    again = changed(segment(2), **{field: getattr(segment(0), field)})

    with pytest.raises(SegmentIdReusedError) as caught:
        encode_manifest(changed(THREE, segments=(segment(0), segment(1), again)))
    assert (caught.value.position, caught.value.field) == (2, field)


def test_same_text_in_two_roles_is_no_reuse() -> None:
    """ID-1: the identities are separate; a turn may be called like another segment's run."""
    crossed = changed(segment(1), turn=segment(0).run)

    refuse_unsound_manifest(changed(THREE, segments=(segment(0), crossed)))


@pytest.mark.parametrize(
    ("manifest", "path"),
    [
        (changed(THREE, context="no digest"), ("context",)),
        (changed(THREE, control=ControlHead(seq=0, chain=hexed("c"))), ("control", "seq")),
        (changed(THREE, control=ControlHead(seq=1, chain="")), ("control", "chain")),
        (
            changed(THREE, segments=(segment(0), changed(segment(1), last_seq=0))),
            ("segments", 1, "last_seq"),
        ),
        (
            changed(THREE, segments=(changed(segment(0), chain=hexed("A")),)),
            ("segments", 0, "chain"),
        ),
    ],
)
def test_value_without_its_form_is_refused(manifest: Manifest, path: tuple[str | int, ...]) -> None:
    with pytest.raises(ManifestMalformedError) as caught:
        manifest_digest(manifest)
    assert (caught.value.code, caught.value.path) == (Code.MANIFEST_MALFORMED, path)


def test_manifest_of_another_digest_is_refused() -> None:
    with pytest.raises(ManifestDigestDiffersError) as caught:
        decode_manifest(encode_manifest(THREE), hexed("0"))
    assert caught.value.computed == manifest_digest(THREE)


@pytest.mark.parametrize(
    ("name", "value", "path"),
    [
        ("unheard_of", 1, ("unheard_of",)),
        ("context", 1, ("context",)),
        ("segments", EMPTY, ("segments",)),
        ("segments", [NOTHING], ("segments", 0, "chain")),
        ("control", None, ("control",)),
    ],
)
def test_manifest_of_another_shape_is_refused_even_with_its_digest(
    name: str, value: Json, path: tuple[str | int, ...]
) -> None:
    """The digest proves which bytes they are, not that they describe a lineage."""
    held = cast("dict[str, Json]", json.loads(encode_manifest(THREE)))
    data = canonical.encode({**held, name: value})

    with pytest.raises(ManifestMalformedError) as caught:
        decode_manifest(data, digest(Domain.BOUNDARY, data))
    assert caught.value.path == path


def test_unsound_lineage_is_refused_even_with_its_digest() -> None:
    held = cast("dict[str, Json]", json.loads(encode_manifest(THREE)))
    segments = cast("list[Json]", held["segments"])
    data = canonical.encode({**held, "segments": [segments[0], segments[0]]})

    with pytest.raises(SegmentIdReusedError):
        decode_manifest(data, digest(Domain.BOUNDARY, data))


def test_target_may_be_a_new_run_of_a_new_turn() -> None:
    refuse_target(THREE, TARGET)


def test_target_in_another_session_is_refused() -> None:
    with pytest.raises(TargetSessionDiffersError):
        refuse_target(THREE, changed(TARGET, session="ses_2"))


@pytest.mark.parametrize("field", ["run", "invocation", "turn"])
@pytest.mark.parametrize("position", [0, 2])
def test_target_that_reuses_an_id_of_its_lineage_is_refused(field: str, position: int) -> None:
    used = getattr(segment(position), field)

    with pytest.raises(TargetIdReusedError) as caught:
        refuse_target(THREE, changed(TARGET, **{field: used}))
    assert (caught.value.position, caught.value.field) == (position, field)


def test_refusals_of_a_boundary_share_the_root_of_errors() -> None:
    with pytest.raises(CrashworthyError) as caught:
        refuse_unsound_manifest(changed(THREE, segments=()))
    assert str(caught.value).startswith("[manifest_empty]")
