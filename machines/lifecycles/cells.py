"""A cell: one instance of one machine, its state and the ids it remembers, with one stored form."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias, cast, get_type_hints

import attrs

from ..facts.canonical import Json
from ..facts.codes import Code, CrashworthyError
from . import (
    claim,
    host,
    interaction,
    lease,
    message,
    operation,
    repair,
    request,
    run,
    session,
    verdict,
)
from .table import Table

REDUCER: Final = 1
"""The version of the fold; a stored state of another version is rebuilt, never read (STORE-4)."""

Memo: TypeAlias = Mapping[str, Json]
NO_MEMO: Final[Memo] = MappingProxyType({})


class Machine(StrEnum):
    """The machines of MACH-5, in the one fixed order in which a unit steps them (MACH-5c)."""

    SESSION = "session"
    MESSAGE = "message"
    VERDICT = "verdict"
    CLAIM = "claim"
    REPAIR = "repair"
    RUN = "run"
    REQUEST = "request"
    OPERATION = "operation"
    INTERACTION = "interaction"
    LEASE = "lease"
    HOST = "host"


State: TypeAlias = (
    session.SessionState
    | message.MessageState
    | verdict.VerdictState
    | claim.ClaimState
    | repair.RepairState
    | run.RunState
    | request.RequestState
    | operation.OperationState
    | interaction.InteractionState
    | lease.LeaseState
    | host.HostState
)

# The interpreter is generic in each machine's own unions; a registry of all of them has to forget
# which is which. `table_of` is the one place where that happens.
_MODULES: Final = MappingProxyType(
    {
        Machine.SESSION: vars(session),
        Machine.MESSAGE: vars(message),
        Machine.VERDICT: vars(verdict),
        Machine.CLAIM: vars(claim),
        Machine.REPAIR: vars(repair),
        Machine.RUN: vars(run),
        Machine.REQUEST: vars(request),
        Machine.OPERATION: vars(operation),
        Machine.INTERACTION: vars(interaction),
        Machine.LEASE: vars(lease),
        Machine.HOST: vars(host),
    }
)


def table_of(machine: Machine) -> Table[State, object]:
    """Return the machine's table as it stands in its module now."""
    return cast("Table[State, object]", _MODULES[machine]["TABLE"])


@attrs.frozen(kw_only=True)
class Cell:
    """One instance: `state` is what the table reads, `memo` the ids that `classify` compares."""

    state: State
    memo: Memo = NO_MEMO


@attrs.define(eq=False, kw_only=True)
class CellMalformedError(CrashworthyError):
    """A stored fold state is not one that this build writes; it is rebuilt from facts (STORE-4)."""

    code = Code.CELL_MALFORMED
    machine: str
    fault: str


def start_cell(machine: Machine) -> Cell:
    """Return the cell of an instance that nothing was written about."""
    return Cell(state=table_of(machine).start)


def cell_to_json(cell: Cell) -> Json:
    """Return the stored form: phase, fields, memo."""
    state = cell.state
    fields: dict[str, Json] = {}
    for field in attrs.fields(type(state)):
        value = cast("Json", getattr(state, field.name))
        fields[field.name] = str(value) if isinstance(value, StrEnum) else value
    return {"phase": type(state).__name__, "fields": fields, "memo": dict(cell.memo)}


def cell_from_json(machine: Machine, stored: Json) -> Cell:
    """Read a stored form back.

    Raises:
        CellMalformedError: `cell_malformed`, when phase or fields are none of this machine's.
    """
    if not isinstance(stored, dict):
        raise CellMalformedError(machine=machine, fault="not an object")
    phase, fields, memo = stored.get("phase"), stored.get("fields"), stored.get("memo")
    if not isinstance(phase, str) or not isinstance(fields, dict) or not isinstance(memo, dict):
        raise CellMalformedError(machine=machine, fault="phase, fields or memo is missing")
    known = _PHASES[machine].get(phase)
    if known is None:
        raise CellMalformedError(machine=machine, fault=f"no phase {phase}")
    kind, hints = known
    if set(fields) != set(hints):
        raise CellMalformedError(machine=machine, fault=f"{phase} has other fields")
    values: dict[str, object] = {}
    for name, hint in hints.items():
        value = fields[name]
        try:
            enum = issubclass(hint, StrEnum) and isinstance(value, str)
            values[name] = hint(value) if enum else value
        except ValueError:
            raise CellMalformedError(machine=machine, fault=f"{phase}.{name}") from None
        if type(values[name]) is not hint:
            raise CellMalformedError(machine=machine, fault=f"{phase}.{name}")
    return Cell(state=cast("State", kind(**values)), memo=MappingProxyType(memo))


def _phases(machine: Machine) -> dict[str, tuple[type, dict[str, type]]]:
    return {kind.__name__: (kind, get_type_hints(kind)) for kind in table_of(machine).states}


_PHASES: Final[Mapping[Machine, Mapping[str, tuple[type, dict[str, type]]]]] = MappingProxyType(
    {machine: MappingProxyType(_phases(machine)) for machine in Machine}
)
