"""Say what was proven: as lines for people, and as one JSON document for machines."""

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TextIO

import attrs

from .contracts_driver import ContractsResult
from .explorer import Explored, Violation
from .invariant import Coverage
from .machine_space import MachineResult
from .mutants import MutantsResult

NO_CONTRACTS = ContractsResult(total=0, confirmed=0, unproven=(), slowest=())
NO_MUTANTS = MutantsResult(total=0, by={}, equivalents=(), survivors=(), faults=())


@attrs.frozen(kw_only=True)
class Planted:
    """What became of a planted bug; `violation` is None when it was not found."""

    invariant: str
    violation: Violation | None

    @property
    def found(self) -> bool:
        """Say whether the bug broke what it was planted to break."""
        return self.violation is not None


@attrs.frozen(kw_only=True)
class Report:
    """Everything that one run of `crashworthy prove` found out."""

    profile: str
    seconds: float
    python: str
    machines: Mapping[str, MachineResult]
    models: Mapping[str, Explored]
    planted: Mapping[str, Planted]
    contracts: ContractsResult
    mutants: MutantsResult
    invariants: Mapping[str, Coverage]


def document(report: Report) -> dict[str, object]:
    """Return the report as JSON values; the names of its fields are a public format."""
    mutants, contracts = report.mutants, report.contracts
    return {
        "profile": report.profile,
        "seconds": round(report.seconds, 1),
        "python": report.python,
        "machines": {
            name: {
                "states": result.states,
                "rows": result.rows,
                "rows_taken": result.rows_taken,
            }
            for name, result in report.machines.items()
        },
        "models": {
            name: {
                "states": result.states,
                "edges": result.edges,
                "depth": result.depth,
                "rows_taken": len(result.rows_taken),
                "violations": [violation.id for violation in result.violations],
            }
            for name, result in report.models.items()
        },
        "planted": {
            name: {
                "invariant": planted.invariant if planted.violation else None,
                "trace_length": planted.violation.trace_length if planted.violation else 0,
            }
            for name, planted in report.planted.items()
        },
        "contracts": {
            "total": contracts.total,
            "confirmed": contracts.confirmed,
            "unreached": [{"id": entry.id, "reason": entry.reason} for entry in contracts.unproven],
        },
        "mutants": {
            "total": mutants.total,
            "killed": mutants.killed,
            "equivalent": [
                {"id": entry.id, "reason": entry.reason} for entry in mutants.equivalents
            ],
            "by": dict(mutants.by),
        },
        "invariants": {
            key: {"proofs": list(covered.proofs), "crash_owed": covered.crash_owed}
            for key, covered in report.invariants.items()
        },
    }


def as_json(report: Report) -> str:
    """Return the report as one JSON document."""
    return json.dumps(document(report), indent=2) + "\n"


@attrs.define(eq=False)
class Screen:
    """Prints one line per proof, and on a terminal one line of progress below them.

    Attributes:
        failed: How many lines said that something is not proven.
    """

    out: TextIO = attrs.field(factory=lambda: sys.stdout)
    err: TextIO = attrs.field(factory=lambda: sys.stderr)
    failed: int = 0
    _running: dict[str, str] = attrs.field(init=False, factory=dict[str, str])
    _lock: threading.Lock = attrs.field(init=False, factory=threading.Lock)

    def proof(self, kind: str, name: str, said: str, problems: Sequence[str] = ()) -> None:
        """Print what was found out about one proof; with `problems` it counts as failed."""
        mark = "FAILED" if problems else "ok"
        self.failed += bool(problems)
        with self._lock:
            self._running.pop(kind, None)
            self._clear()
            self.out.write(f"{mark:<6}  {kind:<9} {name:<24} {said}\n")
            for problem in problems:
                for line in problem.splitlines():
                    self.out.write(f"        {line}\n")
            self.out.flush()
            self._show()

    def note(self, line: str) -> None:
        """Print a line that is no verdict."""
        with self._lock:
            self._clear()
            self.out.write(f"{line}\n")
            self.out.flush()
            self._show()

    def progress(self, kind: str, said: str) -> None:
        """Show how far a kind of proof has come, if a person is watching."""
        with self._lock:
            self._running[kind] = said
            self._show()

    def _show(self) -> None:
        if self.err.isatty():
            text = ", ".join(f"{kind}: {said}" for kind, said in self._running.items())
            self.err.write(f"\r\x1b[K{text[:100]}")
            self.err.flush()

    def _clear(self) -> None:
        if self.err.isatty():
            self.err.write("\r\x1b[K")
            self.err.flush()


def told(violations: Sequence[Violation]) -> tuple[str, ...]:
    """Return each violation as one text of several lines, its trace included."""
    return tuple("\n".join(violation.lines()) for violation in violations)
