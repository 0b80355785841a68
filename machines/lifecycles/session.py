"""The session: the control ledger that outlives every run (LOG-8)."""

from enum import StrEnum
from typing import Final, TypeAlias

import attrs

from ..facts.codes import Code
from .table import Table, deny, row


class Step(StrEnum):
    """Whether a stated revision is the one after the last."""

    NEXT = "next"
    OTHER = "other"


class RunIs(StrEnum):
    """What the run that a control fact names is, in its own ledger."""

    MISSING = "missing"
    OPEN = "open"
    WAITING = "waiting"
    ENDED = "ended"
    CLAIMED = "claimed"


@attrs.frozen(kw_only=True)
class Absent:
    """Nothing is written yet."""


@attrs.frozen(kw_only=True)
class Fresh:
    """Only the opening (and where the session came from) is written."""


@attrs.frozen(kw_only=True)
class Open:
    """The session is in use."""


SessionState: TypeAlias = Absent | Fresh | Open


@attrs.frozen(kw_only=True)
class Opening:
    """session_opened."""


@attrs.frozen(kw_only=True)
class Provenance:
    """branched_from."""


@attrs.frozen(kw_only=True)
class Revision:
    """settings_changed or boundary_changed; `busy`: an inline run is open (settings only)."""

    step: Step
    busy: bool


@attrs.frozen(kw_only=True)
class Workspace:
    """workspace_attached; `busy`: an inline run is open."""

    busy: bool


@attrs.frozen(kw_only=True)
class Abandon:
    """run_abandoned: a person gives up a run that waits."""

    run: RunIs


@attrs.frozen(kw_only=True)
class AbandonBoundary:
    """boundary_abandoned or drift_accepted: a person speaks about a closed run."""

    run: RunIs


@attrs.frozen(kw_only=True)
class Late:
    """late_outcome; `unknown`: the operation has T1 and nothing more."""

    run: RunIs
    unknown: bool


@attrs.frozen(kw_only=True)
class Adopt:
    """session_adopted; `foreign`: the session was imported and is not ours yet (STORE-12)."""

    foreign: bool


SessionSeen: TypeAlias = (
    Opening | Provenance | Revision | Workspace | Abandon | AbandonBoundary | Late | Adopt
)


def _opens(_state: Absent, _seen: Opening) -> bool:
    return True


def _from(_state: Fresh, _seen: Provenance) -> bool:
    return True


def _revises(_state: Fresh | Open, seen: Revision) -> bool:
    return seen.step is Step.NEXT and not seen.busy


def _attaches(_state: Fresh | Open, seen: Workspace) -> bool:
    return not seen.busy


def _abandons(_state: Fresh | Open, seen: Abandon) -> bool:
    return seen.run is RunIs.WAITING


def _speaks(_state: Fresh | Open, seen: AbandonBoundary) -> bool:
    return seen.run is RunIs.ENDED


def _arrives_late(_state: Fresh | Open, seen: Late) -> bool:
    return seen.run in (RunIs.ENDED, RunIs.CLAIMED) and seen.unknown


def _adopts(_state: Fresh | Open, seen: Adopt) -> bool:
    return seen.foreign


# Runs live in ledgers of their own: a session is Fresh until its control ledger says more.
# fmt: off
_ROWS: Final = (
    #    id         from    event            guard          to
    row("SES.T1",  Absent, Opening,         _opens,        Fresh),
    row("SES.T2",  Fresh,  Provenance,      _from,         Open),
    row("SES.T3",  Fresh,  Revision,        _revises,      Open),
    row("SES.T4",  Open,   Revision,        _revises,      Open),
    row("SES.T5",  Fresh,  Workspace,       _attaches,     Open),
    row("SES.T6",  Open,   Workspace,       _attaches,     Open),
    row("SES.T7",  Fresh,  Abandon,         _abandons,     Open),
    row("SES.T8",  Open,   Abandon,         _abandons,     Open),
    row("SES.T9",  Fresh,  AbandonBoundary, _speaks,       Open),
    row("SES.T10", Open,   AbandonBoundary, _speaks,       Open),
    row("SES.T11", Fresh,  Late,            _arrives_late, Open),
    row("SES.T12", Open,   Late,            _arrives_late, Open),
    row("SES.T13", Fresh,  Adopt,           _adopts,       Open),
    row("SES.T14", Open,   Adopt,           _adopts,       Open),
)
# fmt: on


def _busy(_state: Fresh | Open, seen: Revision | Workspace) -> bool:
    return seen.busy


def _claimed(_state: Fresh | Open, seen: AbandonBoundary) -> bool:
    return seen.run is RunIs.CLAIMED


def _unended(_state: Fresh | Open, seen: Late) -> bool:
    return seen.run not in (RunIs.ENDED, RunIs.CLAIMED)


_DENIALS: Final = (
    deny(Code.NOT_OPENED, source=Absent),
    deny(Code.SESSION_BUSY, event=Revision, when=_busy),
    deny(Code.REVISION_DIFFERS, event=Revision),
    deny(Code.SESSION_BUSY, event=Workspace),
    deny(Code.RUN_NOT_WAITING, event=Abandon),
    deny(Code.SEALED_BY_CLAIM, event=AbandonBoundary, when=_claimed),
    deny(Code.RUN_NOT_ENDED, event=AbandonBoundary),
    deny(Code.RUN_NOT_ENDED, event=Late, when=_unended),
    deny(Code.OPERATION_SETTLED, event=Late),
    deny(Code.SESSION_NOT_FOREIGN, event=Adopt),
    deny(Code.SESSION_NOT_FRESH, source=Open, event=Provenance),
)

TABLE: Final[Table[SessionState, SessionSeen]] = Table(
    machine="session",
    prefix="SES",
    start=Absent(),
    states=(Absent, Fresh, Open),
    events=(Opening, Provenance, Revision, Workspace, Abandon, AbandonBoundary, Late, Adopt),
    rows=_ROWS,
    denials=_DENIALS,
    default={
        Absent: Code.NOT_OPENED,
        Fresh: Code.ALREADY_OPENED,
        Open: Code.ALREADY_OPENED,
    },
)
