"""Golden facts and chains hold, for us and for ten lines that know nothing of us (BYTE-5)."""

import hashlib
import json
import struct
from collections.abc import Iterator
from typing import cast

import pytest

from crashworthy.machines.facts import chain
from crashworthy.machines.facts import vocabulary as v
from crashworthy.machines.facts.boundary import decode_manifest, encode_manifest, manifest_digest
from crashworthy.machines.facts.codec import decode_body, decode_stamp, encode_body, encode_stamp

from .write_fact_vectors import VECTORS, chain_vectors, fact_vectors

Vector = dict[str, object]


def load(name: str) -> dict[str, Vector]:
    return cast("dict[str, Vector]", json.loads((VECTORS / name).read_text(encoding="utf-8")))


def framed(domain: str, *parts: bytes) -> str:
    """BYTE-4 written a second time: hashlib and struct only."""
    stream = b"".join(struct.pack(">Q", len(part)) + part for part in (domain.encode(), *parts))
    return hashlib.sha256(stream).hexdigest()


def plain(value: object) -> bytes:
    """Canonical JSON written a second time; good for ASCII keys and the numbers used here."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def text(vector: Vector, name: str) -> bytes:
    return cast("str", vector[name]).encode()


def spine_parts(spine: Vector) -> Iterator[bytes]:
    return (text(spine, name) for name in ("session", "invocation", "run", "turn"))


FACTS = load("facts.json")
CHAIN = load("chain.json")
LEDGER = cast("list[Vector]", FACTS["facts"])
EACH_FACT = pytest.mark.parametrize("fact", LEDGER, ids=lambda fact: str(fact["kind"]))


def test_vectors_hold_one_fact_of_every_kind() -> None:
    assert [fact["kind"] for fact in LEDGER] == [str(kind) for kind in v.Kind]


@EACH_FACT
def test_vector_bytes_are_canonical_to_a_stranger(fact: Vector) -> None:
    assert plain(fact["body"]) == text(fact, "body_bytes")
    assert plain(fact["stamp"]) == text(fact, "stamp_bytes")


def test_vector_chain_is_right_to_a_stranger() -> None:
    previous = framed("crashworthy.chain-start.v1", *spine_parts(FACTS["spine"]))

    for fact in LEDGER:
        assert fact["previous"] == previous
        parts = (previous.encode(), text(fact, "body_bytes"), text(fact, "stamp_bytes"))
        previous = framed("crashworthy.chain.v1", *parts)
        assert fact["chain"] == previous


@EACH_FACT
def test_codec_reads_and_writes_the_vector(fact: Vector) -> None:
    body, stamp = text(fact, "body_bytes"), text(fact, "stamp_bytes")

    assert encode_body(decode_body(body)) == body
    assert encode_stamp(decode_stamp(stamp)) == stamp
    assert chain.chain_next(str(fact["previous"]), body, stamp) == fact["chain"]


def test_facts_written_by_hand_are_the_vectors() -> None:
    """What changes a golden byte changes the protocol (LOG-2a)."""
    assert fact_vectors() == FACTS


def test_chain_vectors_are_right_to_a_stranger() -> None:
    start, step = CHAIN["chain_start"], CHAIN["chain_next"]
    assert start["value"] == framed(
        "crashworthy.chain-start.v1", *spine_parts(cast("Vector", start["spine"]))
    )
    parts = (text(step, "previous"), text(step, "body"), text(step, "stamp"))
    assert step["value"] == framed("crashworthy.chain.v1", *parts)

    start, step = CHAIN["root_start"], CHAIN["root_next"]
    assert start["value"] == framed("crashworthy.root-chain-start.v1", text(start, "root"))
    ordinal = cast("int", step["ordinal"]).to_bytes(8, "big")
    parts = (text(step, "previous"), ordinal, text(step, "chain"))
    assert step["value"] == framed("crashworthy.root-chain.v1", *parts)

    start, step = CHAIN["context_start"], CHAIN["context_next"]
    assert start["value"] == framed("crashworthy.session-context-start.v1", text(start, "session"))
    pair = (text(step, "previous"), text(step, "head"))
    assert step["value"] == framed("crashworthy.session-context.v1", *pair)


def test_boundary_vector_is_right_to_a_stranger() -> None:
    boundary = CHAIN["boundary"]

    assert plain(boundary["manifest"]) == text(boundary, "bytes")
    assert boundary["digest"] == framed("crashworthy.boundary.v1", text(boundary, "bytes"))


def test_chains_are_the_vectors() -> None:
    assert chain_vectors() == CHAIN


def test_manifest_reads_and_writes_the_vector() -> None:
    boundary = CHAIN["boundary"]
    manifest = decode_manifest(text(boundary, "bytes"), str(boundary["digest"]))

    assert encode_manifest(manifest) == text(boundary, "bytes")
    assert manifest_digest(manifest) == boundary["digest"]
