"""Writes tests/vectors/facts.json and chain.json anew: by hand, and only when the protocol changes.

Run `PYTHONPATH=.src python -m tests.machines.facts.write_fact_vectors` in the root of the tree and
read the difference: until the first release a change regenerates, afterwards it is a new version of
the protocol (LOG-2a).
"""

import json
from pathlib import Path

import attrs

from crashworthy.machines.facts import canonical
from crashworthy.machines.facts.boundary import (
    ControlHead,
    Manifest,
    encode_manifest,
    manifest_digest,
)
from crashworthy.machines.facts.canonical import Json
from crashworthy.machines.facts.chain import (
    chain_next,
    chain_start,
    context_next,
    context_start,
    root_next,
    root_start,
)
from crashworthy.machines.facts.codec import encode_body, encode_stamp

from .facts_by_hand import EVENTS, SOURCE, SPINE, STAMP, hexed

VECTORS = Path(__file__).parents[2] / "vectors"


def fact_vectors() -> Json:
    """One ledger with one fact of every kind, in the order of the kinds."""
    previous = chain_start(SPINE)
    facts: list[Json] = []
    for seq, event in enumerate(EVENTS.values(), start=1):
        body, stamp = encode_body(event), encode_stamp(attrs.evolve(STAMP, seq=seq))
        chain = chain_next(previous, body, stamp)
        facts.append(
            {
                "kind": str(event.kind),
                "body": canonical.decode(body),
                "body_bytes": body.decode(),
                "stamp": canonical.decode(stamp),
                "stamp_bytes": stamp.decode(),
                "previous": previous,
                "chain": chain,
            }
        )
        previous = chain
    return {"protocol": 1, "spine": dict(attrs.asdict(SPINE)), "facts": facts}


def chain_vectors() -> Json:
    """The starts and steps of the three chains, and one manifest."""
    older = attrs.evolve(SOURCE, invocation="inv_a", run="run_a", turn="turn_a", chain=hexed("b"))
    manifest = Manifest(
        segments=(older, SOURCE), context=hexed("c"), control=ControlHead(seq=4, chain=hexed("d"))
    )
    return {
        "chain_start": {"spine": dict(attrs.asdict(SPINE)), "value": chain_start(SPINE)},
        "chain_next": {
            "previous": hexed("1"),
            "body": '{"a":1}',
            "stamp": "{}",
            "value": chain_next(hexed("1"), b'{"a":1}', b"{}"),
        },
        "root_start": {"root": "root_1", "value": root_start("root_1")},
        "root_next": {
            "previous": hexed("2"),
            "ordinal": 258,
            "chain": hexed("3"),
            "value": root_next(hexed("2"), 258, hexed("3")),
        },
        "context_start": {"session": "ses_1", "value": context_start("ses_1")},
        "context_next": {
            "previous": hexed("4"),
            "head": hexed("5"),
            "value": context_next(hexed("4"), hexed("5")),
        },
        "boundary": {
            "manifest": canonical.decode(encode_manifest(manifest)),
            "bytes": encode_manifest(manifest).decode(),
            "digest": manifest_digest(manifest),
        },
    }


def write(name: str, vectors: Json) -> None:
    """Replace one vector file."""
    text = json.dumps(vectors, indent=1, ensure_ascii=False, sort_keys=True)
    (VECTORS / name).write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    write("facts.json", fact_vectors())
    write("chain.json", chain_vectors())
