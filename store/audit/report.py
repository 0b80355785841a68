"""The report of a verification: what was counted, what was found, and one status for scripts."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

import attrs

from ...machines.facts import canonical
from ...machines.facts.codes import Code
from ...machines.facts.json_values import Json
from ..anchor import Head
from .findings import Check, Finding

FORMAT: Final = 1
"""The version of the JSON form."""


class Status(IntEnum):
    """What a verification came to, as the exit status of its command."""

    CLEAN = 0
    FINDINGS = 1
    USAGE = 2  # wrong words on the command line
    UNREADABLE = 3  # there is nothing to verify, or the environment failed
    FACTS_MISSING = 4  # acknowledged facts are gone, whatever else was found (STORE-9a)


@attrs.frozen(kw_only=True)
class Report:
    """What a verification saw.

    Attributes:
        problem: What would keep an owner from opening the root (OWN-5, OWN-7); no finding.
        head: The last fact and the stored root chain value there.
        anchored: The last ordinal that the anchor says was acknowledged, 0 for none; None where it
            is absent or unreadable, so that a loss of the newest facts could not be seen.
        facts: How many rows were read.
        sessions: How many sessions were folded.
        findings: What is wrong, in the order in which it was found.
        total: How many findings there were; more than are listed where there were very many.
        doubtful: Sessions whose fold stopped, with the ordinal of the row that stopped it.
        rows: How often each row of the lifecycle tables admitted a fact (MACH-4).
        blobs: How many blobs were read, or None if that was not asked for.
    """

    root_id: str
    problem: Code | None
    head: Head
    anchored: int | None
    facts: int
    sessions: int
    findings: tuple[Finding, ...]
    total: int
    doubtful: Mapping[str, int]
    rows: Mapping[str, int]
    blobs: int | None

    @property
    def status(self) -> Status:
        """Return the one word for scripts."""
        if any(finding.check is Check.ANCHOR for finding in self.findings):
            return Status.FACTS_MISSING
        return Status.FINDINGS if self.total else Status.CLEAN

    def to_json(self) -> Json:
        """Return the documented form: closed keys, no contents of any fact."""
        return {
            "format": FORMAT,
            "status": self.status.name.lower(),
            "root_id": self.root_id,
            "problem": None if self.problem is None else self.problem.value,
            "head": {"ordinal": self.head.ordinal, "chain": self.head.chain},
            "anchored": self.anchored,
            "facts": self.facts,
            "sessions": self.sessions,
            "blobs": self.blobs,
            "total": self.total,
            "findings": [_finding_json(finding) for finding in self.findings],
            "doubtful": dict(sorted(self.doubtful.items())),
            "rows": dict(sorted(self.rows.items())),
        }

    def to_bytes(self) -> bytes:
        """Return the canonical bytes of the JSON form."""
        return canonical.encode(self.to_json())


def _finding_json(finding: Finding) -> Json:
    return {
        "check": finding.check.value,
        "code": finding.code.value,
        "ordinal": finding.ordinal,
        "fact": finding.fact,
        "session": finding.session,
        "detail": finding.detail,
    }
