"""The one append path: gates, tables, stamp, chain and rows in one savepoint (STORE-2)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NoReturn

import attrs

from ...machines.facts.chain import chain_next, chain_start, root_next
from ...machines.facts.codec import encode_body, encode_stamp
from ...machines.facts.codes import Code
from ...machines.facts.compose import control_spine
from ...machines.facts.ids import control_invocation
from ...machines.facts.kinds import KINDS, Ledger
from ...machines.facts.model import RunOpened, RuntimeEvent, Spine, Stamp
from ...machines.facts.vocabulary import Cause, Kind
from ...machines.lifecycles import lease
from ...machines.lifecycles.cells import Machine
from ...machines.lifecycles.table import Refused
from ...machines.lifecycles.unit import Admitted, UnitRefused, admit_unit
from .errors import (
    ContextDiffersError,
    FactConflictError,
    OwnerFencedError,
    SessionForeignError,
    SessionQuarantinedError,
    SpineConflictError,
    UnitRefusedError,
)
from .ledger import Ledger as Rows
from .ledger import View
from .pending import scope_of
from .project import project_fact, replace_partials
from .records import CellRow, Owner, Place, SessionRow, Stored

_OPENINGS: Final = frozenset((Kind.RUN_OPENED, Kind.SESSION_OPENED))

ENDINGS: Final = frozenset(
    (
        Kind.STOP_REQUESTED,
        Kind.REQUEST_SETTLED,
        Kind.ASK_CLOSED,
        Kind.MESSAGE_RETURNED,
        Kind.RUN_ENDED,
    )
)
"""What still passes in a quarantined session: what a run's end consists of (STORE-6, STORE-8)."""


@attrs.frozen(kw_only=True)
class Appended:
    """An accepted unit.

    Attributes:
        created: Whether this very call made it durable; an exact retry finds it and says no. What
            may be done once (a dispatch, an admission) is done only where this is true.
        places: Where its facts stand, in order.
    """

    created: bool
    places: tuple[Place, ...]


def assert_owner(view: View, owner: Owner) -> None:
    """Refuse a writer whose epoch is not the one that holds the root (OWN-1, LEA.T3).

    Raises:
        OwnerFencedError: `owner_fenced`.
    """
    state = view.lease()
    if isinstance(lease.TABLE.step(state, lease.Write(epoch=owner.epoch)), Refused):
        raise OwnerFencedError(epoch=owner.epoch, current=state.epoch)


def append_unit(rows: Rows, owner: Owner, facts: Sequence[RuntimeEvent]) -> Appended:
    """Append a unit of one session: every fact with all that follows from it, or nothing.

    The caller holds a savepoint, and the transaction has asserted the owner (`assert_owner`). The
    facts of a unit stand in the order in which they are stored; they may lie in the control ledger
    and in one or more runs of the session.

    Raises:
        IllegalFactError: A body is outside the contract (LOG-2).
        SessionQuarantinedError: `session_quarantined`.
        SessionForeignError: `session_foreign`.
        FactConflictError: `fact_conflict`.
        SpineConflictError: `spine_conflict`.
        ContextDiffersError: `context_differs`.
        StartConflictError: `start_conflict`.
        UnitRefusedError: The code of the table that refused (MACH-2).
    """
    session = _one_session(facts)
    bodies = tuple(encode_body(fact) for fact in facts)
    _refuse_quarantined(rows, session, facts)
    stored = _stored_already(rows, facts, bodies)
    if stored is not None:
        return Appended(created=False, places=stored)
    _refuse_foreign(rows, session, facts)
    heads = _heads(rows, session, facts)
    admitted = admit_unit([(fact, owner.epoch) for fact in facts], rows)
    if isinstance(admitted, UnitRefused):
        refused = UnitRefusedError.of(admitted.index, admitted.refusal)
        raise refused
    places = _insert(rows, owner, heads, tuple(zip(facts, bodies, admitted.rows, strict=True)))
    record_unit(rows, facts, places, admitted)
    return Appended(created=True, places=places)


def record_unit(
    rows: Rows, facts: Sequence[RuntimeEvent], places: Sequence[Place], admitted: Admitted
) -> None:
    """Write all projections of a unit whose facts stand at `places`; a rebuild does the same."""
    _move_cells(rows, places, admitted)
    for fact, place in zip(facts, places, strict=True):
        project_fact(rows, facts, fact, place)
    replace_partials(rows, facts)


# --- gates ---


def _one_session(facts: Sequence[RuntimeEvent]) -> str:
    assert facts, "a unit has facts"
    session = facts[0].spine.session
    for fact in facts:
        if fact.spine.session != session:
            raise SpineConflictError(field="session", found=fact.spine.session)
    return session


def _refuse_quarantined(rows: Rows, session: str, facts: Sequence[RuntimeEvent]) -> None:
    held = rows.quarantine(session)
    if held is not None and not ENDINGS.issuperset(fact.kind for fact in facts):
        raise SessionQuarantinedError(session=session, cause=held.code)


def _refuse_foreign(rows: Rows, session: str, facts: Sequence[RuntimeEvent]) -> None:
    if rows.foreign(session) and facts[0].kind is not Kind.SESSION_ADOPTED:
        raise SessionForeignError(session=session)


def _stored_already(
    rows: Rows, facts: Sequence[RuntimeEvent], bodies: Sequence[bytes]
) -> tuple[Place, ...] | None:
    """Tell an exact retry of a whole unit from a new unit; anything between is a conflict.

    Raises:
        FactConflictError: `fact_conflict`.
    """
    places: list[Place] = []
    missing: str | None = None
    for fact, body in zip(facts, bodies, strict=True):
        stored = rows.fact(fact.id)
        if stored is None:
            missing = missing or fact.id
        elif stored.body != body:
            raise FactConflictError(fact=fact.id, reason="other_bytes")
        else:
            places.append(stored.place)
    if not places:
        return None
    if missing is not None:
        raise FactConflictError(fact=places[0].id, reason="half_stored")
    first = places[0].ordinal
    if [place.ordinal for place in places] != list(range(first, first + len(places))):
        raise FactConflictError(fact=places[0].id, reason="other_unit")
    return tuple(places)


def _heads(rows: Rows, session: str, facts: Sequence[RuntimeEvent]) -> dict[str, Place | None]:
    """Return the head of each ledger the unit writes to, after checking every spine (ID-1).

    Raises:
        SpineConflictError: `spine_conflict`.
    """
    heads: dict[str, Place | None] = {}
    spines: dict[str, Spine] = {}
    control = _control_of(session)
    for index, fact in enumerate(facts):
        invocation = fact.spine.invocation
        if invocation not in spines:
            head = rows.head(invocation)
            heads[invocation] = head
            spines[invocation] = fact.spine if head is None else head.spine
            if head is None:
                _check_opening(rows, index, fact)
        _same_spine(spines[invocation], fact.spine)
        if (KINDS[fact.kind].ledger is Ledger.CONTROL) is not (invocation == control):
            raise SpineConflictError(field="invocation", found=invocation)
    return heads


_control_of: Final = lru_cache(1024)(control_invocation)
"""A derived id costs a digest, and every unit of a session asks for the same one."""


def _same_spine(known: Spine, stated: Spine) -> None:
    if known == stated:
        return
    for field in ("run", "turn", "invocation"):
        found = str(getattr(stated, field))
        if getattr(known, field) != found:
            raise SpineConflictError(field=field, found=found)
    raise SpineConflictError(field="session", found=stated.session)


def _check_opening(rows: Rows, index: int, fact: RuntimeEvent) -> None:
    """Judge the first fact of an invocation: it opens it, and its run has no other invocation.

    Raises:
        SpineConflictError: `spine_conflict`.
        UnitRefusedError: `not_opened`.
    """
    if rows.opening(fact.spine.run) is not None:
        raise SpineConflictError(field="run", found=fact.spine.run)
    if fact.kind not in _OPENINGS:
        _refuse_unopened(index, "ledger", fact)
    if fact.kind is Kind.SESSION_OPENED:
        _same_spine(control_spine(fact.spine.session), fact.spine)
        return
    session = rows.session(fact.spine.session)
    if session is None:
        _refuse_unopened(index, Machine.SESSION, fact)
    _check_context(session, fact)


def _refuse_unopened(index: int, machine: str, fact: RuntimeEvent) -> NoReturn:
    raise UnitRefusedError(
        code=Code.NOT_OPENED, index=index, machine=machine, phase="Absent", event=fact.kind.value
    )


def _check_context(session: SessionRow, fact: RuntimeEvent) -> None:
    """Demand that an opening carries the session digest it stands on (CONT-1).

    A repair start repeats its claim's, however the session went on since (CONT-7).

    Raises:
        ContextDiffersError: `context_differs`.
    """
    action = fact.actions
    assert isinstance(action, RunOpened)
    if action.cause is not Cause.CLAIM_REPAIR and action.context != session.context:
        raise ContextDiffersError(stated=action.context, stored=session.context)


# --- rows ---


def _insert(
    rows: Rows,
    owner: Owner,
    heads: dict[str, Place | None],
    admitted: Sequence[tuple[RuntimeEvent, bytes, tuple[str, ...]]],
) -> tuple[Place, ...]:
    """Stamp, chain and insert the facts; `heads` moves with them."""
    last = rows.last()
    ordinal, root = last.ordinal, last.chain
    places: list[Place] = []
    for fact, body, taken in admitted:
        head = heads[fact.spine.invocation]
        seq = 1 if head is None else head.seq + 1
        before = chain_start(fact.spine) if head is None else head.chain
        stamp = encode_stamp(Stamp(seq=seq, root=owner.root, epoch=owner.epoch, rows=taken))
        chain = chain_next(before, body, stamp)
        ordinal += 1
        root = root_next(root, ordinal, chain)
        place = Place(
            ordinal=ordinal,
            seq=seq,
            id=fact.id,
            kind=fact.kind,
            epoch=owner.epoch,
            spine=fact.spine,
            chain=chain,
        )
        rows.insert(Stored(place=place, root=root, stamp=stamp, body=body))
        heads[fact.spine.invocation] = place
        places.append(place)
    return tuple(places)


def _move_cells(rows: Rows, places: Sequence[Place], admitted: Admitted) -> None:
    """Write each changed instance once, with the ordinals of the facts that made and changed it.

    A fact may move an instance without changing it, as words of the model do with their request;
    then its row stays as it is (STORE-4). A run's row is always written: that it stands at the head
    of its ledger is what makes it usable. Which fact changed what is told by the unit itself, so
    that a fold, which cuts units shorter, gives the same rows.
    """
    seen: dict[tuple[Machine, str], tuple[Place, Place]] = {}
    for place, touched in zip(places, admitted.touched, strict=True):
        for key in touched:
            first, _last = seen.get(key, (place, place))
            seen[key] = (first, place)
    for (machine, instance), (first, last) in seen.items():
        rows.put_cell(
            CellRow(
                machine=machine,
                instance=instance,
                session=first.spine.session,
                scope=scope_of(machine, first.spine),
                cell=admitted.moved[(machine, instance)],
                made=first.ordinal,
                moved=last.ordinal,
            )
        )
