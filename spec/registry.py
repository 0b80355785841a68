"""List everything that `crashworthy prove` has to show; nothing registers itself."""

from typing import Final

from . import invariants
from .invariant import Invariant
from .models.continuation import promises as continuation
from .models.messages import model as messages
from .models.proofs import MODELS
from .models.takeover import promises as takeover
from .obligation import (
    ContractModule,
    CrashCheck,
    Equivalent,
    MachineProof,
    Obligations,
    SpeedProbe,
)
from .plants import PLANTS
from .speed import read_log

_LIFECYCLES: Final = "crashworthy.machines.lifecycles"
_CONTRACTS: Final = "crashworthy.spec.contracts"


def _machine(
    name: str,
    *,
    states: int,
    contracts: tuple[str, ...] = (),
) -> MachineProof:
    """Build the proof of one lifecycle; `contracts` names modules other than its own."""
    return MachineProof(
        name=name,
        module=f"{_LIFECYCLES}.{name}",
        states=states,
        invariants=invariants.BY_MACHINE[name],
        contracts=tuple(f"{_CONTRACTS}.{module}" for module in contracts or (name,)),
    )


def _contracts(name: str, conditions: int) -> ContractModule:
    return ContractModule(module=f"{_CONTRACTS}.{name}", conditions=conditions)


# In the order in which a reader meets them: what the worlds promise, then each lifecycle.
INVARIANTS: Final[tuple[Invariant, ...]] = (
    *takeover.PROMISES,
    *continuation.PROMISES,
    *messages.PROMISES,
    *(promise for machine in invariants.BY_MACHINE.values() for promise in machine),
    *takeover.REACHED,
    *continuation.REACHED,
    *messages.REACHED,
)

# Ints (epochs, counters, generations) range over 0..2: older, current and newer, or none, one and
# several. The counts are what the walk found, and a change of them needs a reason.
MACHINES: Final = (
    _machine("claim", states=6),
    _machine("host", states=7),
    _machine("interaction", states=7),
    _machine("lease", states=6),
    _machine("message", states=6),
    _machine("operation", states=38),
    _machine("repair", states=3),
    _machine("request", states=5),
    _machine("run", states=302, contracts=("run", "run_step")),
    _machine("session", states=3),
    _machine("verdict", states=2),
)

CONTRACT_MODULES: Final = (
    _contracts("claim", 4),
    _contracts("host", 8),
    _contracts("interaction", 8),
    _contracts("lease", 6),
    _contracts("message", 5),
    _contracts("operation", 10),
    _contracts("recovery", 9),
    _contracts("repair", 3),
    _contracts("request", 4),
    _contracts("run", 16),
    _contracts("run_step", 7),
    _contracts("session", 9),
    _contracts("verdict", 2),
)

_TRUE: Final = "the guard is true of its types anyway; it stands there for its name"
_SAME_EPOCH: Final = (
    "the guard admits only the epoch that the state has, so that copying it is nothing"
)


def _rows(
    machine: str, numbers: tuple[int, ...], change: str, reason: str
) -> tuple[Equivalent, ...]:
    return tuple(Equivalent(id=f"{machine}.T{n} {change}", reason=reason) for n in numbers)


EQUIVALENTS: Final = (
    *_rows("HST", (3, 4, 5, 6, 7, 12), "guard: always", _TRUE),
    *_rows("ASK", (1, 5), "guard: always", _TRUE),
    *_rows("MSG", (3, 4), "guard: always", _TRUE),
    *_rows("OP", (1, 3), "guard: always", _TRUE),
    *_rows("SES", (1, 2), "guard: always", _TRUE),
    *_rows("LEA", (3, 4, 5), "takes: epoch", _SAME_EPOCH),
    *_rows("REQ", (2,), "takes: epoch", _SAME_EPOCH),
    *_rows(
        "RUN",
        (*range(4, 13), 15, 16, 17, 20, 21, 24, 29, 30, 31, 32, 39, 40),
        "takes: epoch",
        _SAME_EPOCH,
    ),
)

SPEEDS: Final = (SpeedProbe(name="decode, chain check and fold", run=read_log),)

CRASH_CHECKS: Final = (
    CrashCheck(
        promise="STORE.I3",
        prefixes=("RUN", "REQ", "OP", "ASK", "SES", "MSG", "VER", "CLM", "REP"),
        reason="every log that a death leaves is replayed through the very tables that the proofs"
        " are about, so that what is proven of the tables holds of the log (PROOF-5)",
    ),
    CrashCheck(
        promise="STORE.I7",
        prefixes=("LEA",),
        reason="every later owner is told apart from a succeeded one in the log that both left",
    ),
    CrashCheck(
        promise="RUNTIME.I8",
        prefixes=("HST.I1",),
        reason="what a host took on stands in the log under its epoch, and the lab knows where the"
        " log stood when that host was ready and when it began to drain; at the first of the two"
        " nothing may be left to recover",
    ),
    CrashCheck(
        promise="RUNTIME.I9",
        prefixes=("HST.I2",),
        reason="at each boundary that a host or its worker passes the lab tries the owner's lock,"
        " so that whatever is released after the lock, or outlives it, is seen",
    ),
    CrashCheck(
        promise="RUNTIME.I10",
        prefixes=("HST.I3",),
        reason="each host that meets what a death left, and each one that is cancelled, broken or"
        " left as it opens, recovers, works or drains, is over with the lock free; one that hangs"
        " is ended by the lab's clock and blamed. The row of a shutdown that hangs (HST.T12) is"
        " for functions in threads of the host, which no workload has: tests kill such a process",
    ),
)

OBLIGATIONS: Final = Obligations(
    invariants=INVARIANTS,
    machines=MACHINES,
    models=MODELS,
    plants=PLANTS,
    contracts=CONTRACT_MODULES,
    equivalents=EQUIVALENTS,
    speeds=SPEEDS,
    crash_checks=CRASH_CHECKS,
)
