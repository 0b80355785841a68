"""Digests and derived ids are what `tests/vectors/digests.json` says, by any implementation.

Vectors are never recomputed in place. After a new domain or derivation run this file by hand
(`PYTHONPATH=.src python tests/machines/facts/test_digests.py`): it adds what is missing and changes
no line that stands. A change of a standing line is a change of the protocol and is made with an
editor.
"""

import hashlib
import json
import struct
from pathlib import Path
from typing import Final, TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crashworthy.machines.facts import ids
from crashworthy.machines.facts.canonical import CanonicalError, Json
from crashworthy.machines.facts.digests import (
    Domain,
    args_digest,
    digest,
    digest_chunks,
    digest_json,
    is_digest,
    u64be,
)

FILE: Final = Path(__file__).parents[2] / "vectors/digests.json"


class DomainVector(TypedDict):
    domain: str
    parts_hex: list[str]
    digest: str


class ArgsVector(TypedDict):
    tool: str
    args: Json
    canonical: str
    digest: str


class IdVector(TypedDict):
    derivation: str
    domain: str
    inputs: list[str | int]
    id: str


class Vectors(TypedDict):
    about: str
    domains: list[DomainVector]
    args: list[ArgsVector]
    ids: list[IdVector]


VECTORS: Final[Vectors] = json.loads(FILE.read_text("utf-8"))

INVOCATION: Final = "inv_018f3a5c7b2e0001a1b2c3d4e5f60718"
SESSION: Final = "ses_018f3a5c7b2e0002a1b2c3d4e5f60718"
RUN: Final = "run_018f3a5c7b2e0003a1b2c3d4e5f60718"
OPERATION: Final = "op_0123456789abcdef0123456789abcdef01234567"
CLAIM: Final = "claim_0123456789abcdef0123456789abcdef01234567"
DERIVED: Final = {
    "operation_id": (ids.operation_id(ids.InvocationId(INVOCATION), 3, 1), INVOCATION, 3, 1),
    "call_fact_id": (ids.call_fact_id(OPERATION), OPERATION),
    "dispatch_fact_id": (ids.dispatch_fact_id(OPERATION), OPERATION),
    "outcome_fact_id": (ids.outcome_fact_id(OPERATION), OPERATION),
    "reconcile_fact_id": (ids.reconcile_fact_id(OPERATION), OPERATION),
    "decision_fact_id": (ids.decision_fact_id(OPERATION), OPERATION),
    "late_outcome_fact_id": (ids.late_outcome_fact_id(OPERATION), OPERATION),
    "repair_start_fact_id": (ids.repair_start_fact_id(CLAIM), CLAIM),
    "repair_terminal_fact_id": (ids.repair_terminal_fact_id(CLAIM), CLAIM),
    "recovery_terminal_fact_id": (ids.recovery_terminal_fact_id(RUN), RUN),
    "recovery_fact_id": (ids.recovery_fact_id("ask_closed", RUN), "ask_closed", RUN),
    "control_invocation": (ids.control_invocation(SESSION), SESSION),
    "control_run": (ids.control_run(SESSION), SESSION),
    "control_turn": (ids.control_turn(SESSION), SESSION),
    "claim_id": (ids.claim_id("ab" * 32), "ab" * 32),
    "ask_id": (ids.ask_id(OPERATION, 2), OPERATION, 2),
}
"""What the product derives, and the inputs it derives it from."""


# --- the independent implementation: BYTE-4 in ten lines, without the product ---


def framed_digest(domain: str, *parts: bytes) -> str:
    stream = hashlib.sha256()
    for part in (domain.encode(), *parts):
        stream.update(struct.pack(">Q", len(part)))
        stream.update(part)
    return stream.hexdigest()


def frame(value: str | int) -> bytes:
    return value.encode() if isinstance(value, str) else struct.pack(">Q", value)


# --- vectors ---


@pytest.mark.proves("BYTE-4")
@pytest.mark.parametrize("vector", VECTORS["domains"], ids=lambda vector: vector["domain"])
def test_digest_is_the_stated_one_by_both_implementations(vector: DomainVector) -> None:
    parts = [bytes.fromhex(part) for part in vector["parts_hex"]]
    assert framed_digest(vector["domain"], *parts) == vector["digest"]
    assert digest(Domain(vector["domain"]), *parts) == vector["digest"]


@pytest.mark.proves("BYTE-4")
def test_every_domain_has_a_vector_and_no_vector_lost_its_domain() -> None:
    """A domain that is renamed or removed would orphan every digest that was made under it."""
    assert [vector["domain"] for vector in VECTORS["domains"]] == [
        domain.value for domain in Domain
    ]


@pytest.mark.proves("BYTE-6")
@pytest.mark.parametrize("vector", VECTORS["args"], ids=lambda vector: vector["canonical"])
def test_arguments_identity_is_the_stated_one_by_both_implementations(vector: ArgsVector) -> None:
    assert framed_digest(Domain.ARGS.value, vector["canonical"].encode()) == vector["digest"]
    assert args_digest(vector["tool"], vector["args"]) == vector["digest"]


@pytest.mark.proves("ID-3")
@pytest.mark.parametrize("vector", VECTORS["ids"], ids=lambda vector: vector["derivation"])
def test_derived_id_is_the_stated_one_by_both_implementations(vector: IdVector) -> None:
    product, *inputs = DERIVED[vector["derivation"]]
    assert inputs == vector["inputs"]
    prefix, _, digits = vector["id"].partition("_")
    assert framed_digest(vector["domain"], *map(frame, vector["inputs"]))[:40] == digits
    assert product == f"{prefix}_{digits}"


@pytest.mark.proves("ID-3")
def test_every_derivation_has_a_vector_and_a_domain_of_its_own() -> None:
    assert [vector["derivation"] for vector in VECTORS["ids"]] == list(DERIVED)
    domains = {vector["domain"] for vector in VECTORS["ids"]}
    assert len(domains) == len(VECTORS["ids"])
    assert domains == {domain.value for domain in Domain if domain.name.endswith("_ID")}


# --- properties ---


@pytest.mark.proves("BYTE-4")
@given(st.lists(st.binary(max_size=9), max_size=4), st.lists(st.binary(max_size=9), max_size=4))
def test_digest_tells_every_two_lists_of_parts_apart(a: list[bytes], b: list[bytes]) -> None:
    """Without frames, moving a byte from one part to the next would keep the digest."""
    assert (digest(Domain.CHAIN, *a) == digest(Domain.CHAIN, *b)) == (a == b)


@pytest.mark.proves("BYTE-4")
def test_digest_tells_domains_apart() -> None:
    assert len({digest(domain, b"same") for domain in Domain}) == len(Domain)


@given(st.lists(st.binary(max_size=50), max_size=6))
def test_chunked_digest_equals_the_digest_of_the_whole(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert digest_chunks(Domain.BLOB, len(whole), chunks) == digest(Domain.BLOB, whole)


@pytest.mark.parametrize("size", [2, 4])
def test_chunked_digest_refuses_chunks_of_another_length_than_framed(size: int) -> None:
    with pytest.raises(AssertionError):
        digest_chunks(Domain.BLOB, size, [b"ab", b"c"])


@pytest.mark.proves("BYTE-6")
def test_arguments_identity_keeps_order_and_keys_but_not_layout() -> None:
    base = args_digest("t", {"a": [1, 2], "b": None})
    assert args_digest("t", {"b": None, "a": [1.0, 2]}) == base
    changed: tuple[Json, ...] = ({"a": [2, 1], "b": None}, {"a": [1, 2]}, {"a": [1, 2], "b": 0})
    assert base not in {args_digest("t", args) for args in changed}
    assert args_digest("u", {"a": [1, 2], "b": None}) != base


def test_json_digest_goes_through_the_strict_door() -> None:
    assert digest_json(Domain.PROFILE, {"b": 1, "a": 2}) == digest(Domain.PROFILE, b'{"a":2,"b":1}')
    with pytest.raises(CanonicalError):
        digest_json(Domain.PROFILE, {"a": (1,)})


@pytest.mark.parametrize("text", ["", "ab" * 31, "ab" * 33, "AB" * 32, "zz" * 32, "ab" * 32 + "\n"])
def test_form_of_a_digest_is_exact(text: str) -> None:
    assert is_digest(digest(Domain.CHAIN))
    assert not is_digest(text)


def test_numbers_are_framed_as_eight_bytes_and_never_wrapped() -> None:
    assert u64be(1) == b"\0\0\0\0\0\0\0\1"
    for number in (-1, 2**64):
        with pytest.raises(struct.error):
            u64be(number)


# --- by hand ---


def add_missing(vectors: Vectors) -> Vectors:
    """Return `vectors` with a line for each domain and derivation that has none, in order."""
    parts = [b"", b"\x00", "p\u00e4rt".encode()]
    domains = {vector["domain"]: vector for vector in vectors["domains"]}
    derivations = {vector["derivation"]: vector for vector in vectors["ids"]}
    for domain in Domain:
        if domain.value not in domains:
            domains[domain.value] = {
                "domain": domain.value,
                "parts_hex": [part.hex() for part in parts],
                "digest": framed_digest(domain.value, *parts),
            }
    for derivation, (product, *inputs) in DERIVED.items():
        if derivation not in derivations:
            name = derivation if derivation.endswith("_id") else f"{derivation}_id"
            domain = Domain[name.upper()]
            digits = framed_digest(domain.value, *map(frame, inputs))[:40]
            derivations[derivation] = {
                "derivation": derivation,
                "domain": domain.value,
                "inputs": list(inputs),
                "id": f"{str(product).partition('_')[0]}_{digits}",
            }
    order = {domain.value: place for place, domain in enumerate(Domain)}
    return {
        "about": vectors["about"],
        "domains": sorted(domains.values(), key=lambda vector: order[vector["domain"]]),
        "args": vectors["args"],
        "ids": list(derivations.values()),
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(add_missing(VECTORS), indent=1) + "\n", "utf-8")
