"""The contracts of the session: it opens once and speaks of runs as they are (LOG-8)."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import session as machine
from ...machines.lifecycles.session import (
    Abandon,
    AbandonBoundary,
    Absent,
    Adopt,
    Fresh,
    Late,
    Open,
    Opening,
    Provenance,
    Revision,
    RunIs,
    SessionSeen,
    SessionState,
    Step,
    Workspace,
)
from .reached import reached, refusal


def _in_use(state: SessionState, *, allowed: bool) -> Open | None:
    """Return what a session becomes when something is said in it."""
    return Open() if allowed and not isinstance(state, Absent) else None


def opens_once(state: SessionState, seen: Opening) -> bool:
    """SES.C1: A session opens once.

    post: __return__
    """
    expected = Fresh() if isinstance(state, Absent) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def provenance_comes_first(state: SessionState, seen: Provenance) -> bool:
    """SES.C2: Where a session came from is said directly after its opening, or never.

    post: __return__
    """
    expected = Open() if isinstance(state, Fresh) else None
    return reached(machine.TABLE.step(state, seen)) == expected


def revisions_follow_one_another(state: SessionState, seen: Revision) -> bool:
    """SES.C3: A revision counts exactly when it is the next one and no inline run is open.

    post: __return__
    """
    expected = _in_use(state, allowed=seen.step is Step.NEXT and not seen.busy)
    return reached(machine.TABLE.step(state, seen)) == expected


def workspace_changes_between_runs(state: SessionState, seen: Workspace) -> bool:
    """SES.C4: A workspace is attached only while no inline run is open.

    post: __return__
    """
    return reached(machine.TABLE.step(state, seen)) == _in_use(state, allowed=not seen.busy)


def only_a_waiting_run_is_given_up(state: SessionState, seen: Abandon) -> bool:
    """SES.C5: A person gives a run up exactly while it waits.

    post: __return__
    """
    expected = _in_use(state, allowed=seen.run is RunIs.WAITING)
    return reached(machine.TABLE.step(state, seen)) == expected


def boundaries_are_spoken_of_before_a_claim(state: SessionState, seen: AbandonBoundary) -> bool:
    """SES.C6: A closed run is abandoned, or its drift accepted, exactly until a claim seals it.

    post: __return__
    """
    expected = _in_use(state, allowed=seen.run is RunIs.ENDED)
    return reached(machine.TABLE.step(state, seen)) == expected


def late_outcomes_follow_the_end(state: SessionState, seen: Late) -> bool:
    """SES.C7: A late outcome is recorded exactly for an unknown operation of a closed run.

    post: __return__
    """
    closed = seen.run not in (RunIs.MISSING, RunIs.OPEN, RunIs.WAITING)
    expected = _in_use(state, allowed=closed and seen.unknown)
    return reached(machine.TABLE.step(state, seen)) == expected


def only_the_foreign_are_adopted(state: SessionState, seen: Adopt) -> bool:
    """SES.C8: A session is adopted exactly while it is foreign.

    post: __return__
    """
    return reached(machine.TABLE.step(state, seen)) == _in_use(state, allowed=seen.foreign)


def nothing_precedes_the_opening(state: Absent, seen: SessionSeen) -> bool:
    """SES.C9: Only the opening may be first, and every refusal says so.

    post: __return__
    """
    code = refusal(machine.TABLE.step(state, seen))
    return code is (None if isinstance(seen, Opening) else Code.NOT_OPENED)
