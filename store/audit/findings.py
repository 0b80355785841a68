"""What verification found: each bad row once, by place, check and code (STORE-8)."""

from enum import StrEnum
from typing import Final

import attrs

from ...machines.facts.codes import Code

FINDINGS_MAX: Final = 10_000
"""More findings than this are counted, not kept: a report stays small whatever it is about."""


class Check(StrEnum):
    """The checks, in the order in which they judge a row; the first that fails names it."""

    FILE = "file"  # SQLite itself cannot read the row, or says the file is malformed
    ORDINAL = "ordinal"  # commit order from 1, without gaps (BYTE-5a)
    BODY = "body"  # the strict codec reads it (BYTE-2)
    STAMP = "stamp"  # the strict codec reads it, and it is of this root
    CHAIN = "chain"  # the ledger's hash chain (BYTE-5)
    COLUMNS = "columns"  # columns say what body and stamp say (BYTE-2)
    SEQUENCE = "sequence"  # positions in the ledger, from 1, without gaps
    SPINE = "spine"  # one invocation, one spine (ID-1)
    ROOT_CHAIN = "root_chain"  # commit order bound to the facts (BYTE-5a)
    EPOCH = "epoch"  # the epoch of the stamp held the root at that ordinal (OWN-1)
    TABLES = "tables"  # the lifecycle tables admit it, by exactly the stamped rows (MACH-5c)
    PROJECTION = "projection"  # what is kept beside the facts is their fold (STORE-7)
    AUTHORITY = "authority"  # authority rows have their form and agree with each other
    PARTIAL = "partial"  # snapshots of streams have their form
    BLOB = "blob"  # a named blob is there and is what its name says (OP-6a)
    ANCHOR = "anchor"  # what was acknowledged is stored (STORE-9a)


@attrs.frozen(kw_only=True)
class Finding:
    """One thing that is not as it must be.

    Attributes:
        ordinal: Where, if it is a fact or has a place among them.
        fact: The id of the fact, as far as it can be read.
        session: Whose fact or row it is, as far as it can be read.
        detail: What differs, in words of the schema; never contents of a fact.
    """

    check: Check
    code: Code
    detail: str
    ordinal: int | None = None
    fact: str | None = None
    session: str | None = None


@attrs.define(eq=False)
class Findings:
    """A list of findings that counts on when it is full.

    Attributes:
        kept: The first of them, in the order in which they were found.
        total: How many there were.
    """

    kept: list[Finding] = attrs.field(factory=list[Finding])
    total: int = 0

    def add(self, finding: Finding) -> None:
        """Keep or count a finding."""
        self.total += 1
        if len(self.kept) < FINDINGS_MAX:
            self.kept.append(finding)
