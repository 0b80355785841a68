"""What a fact changes beside the machines: session rows, keys, partial snapshots (STORE-7).

These are functions of the facts in commit order; the append path and every rebuild call them alike.
"""

from collections.abc import Sequence

import attrs

from ...machines.facts.chain import context_next, context_start
from ...machines.facts.digests import Domain, digest_json
from ...machines.facts.model import (
    BoundaryAbandoned,
    MessageQueued,
    MessageTaken,
    RunOpened,
    RuntimeEvent,
    SessionOpened,
)
from ...machines.facts.vocabulary import Kind
from ...machines.lifecycles.cells import Machine
from ..errors import DatabaseDamagedError
from .errors import StartConflictError
from .ledger import Ledger
from .records import KeyRow, Partial, Place, SessionRow

ROOT_SCOPE = ""
"""The scope of the keys by which sessions are made; no session has this id."""


def session_input(title: str | None) -> str:
    """Return the digest of what comes with the key of a new session (RUN-5)."""
    return digest_json(Domain.INPUT, {"title": title})


def project_fact(
    ledger: Ledger, unit: Sequence[RuntimeEvent], fact: RuntimeEvent, place: Place
) -> None:
    """Bring the session's row and the callers' keys to where `fact` leaves them.

    Raises:
        StartConflictError: `start_conflict`, a key that stands for something else.
    """
    session, action = fact.spine.session, fact.actions
    match action:
        case SessionOpened():
            context = context_start(session)
            ledger.put_session(SessionRow(session=session, opened=place.ordinal, context=context))
            if action.key is not None:
                told = session_input(action.title)
                _put_new(ledger, _key(ROOT_SCOPE, action.key, told, fact))
        case RunOpened():
            row = _session(ledger, session)
            ledger.put_session(attrs.evolve(row, runs=row.runs + 1))
            _project_start(ledger, unit, fact, action)
        case MessageQueued():
            if action.key is not None and action.input is not None:
                key = _key(session, action.key, action.input, fact)
                _put_new(ledger, attrs.evolve(key, message=fact.refs.message))
        case MessageTaken():
            _project_taken(ledger, fact, action)
        case BoundaryAbandoned():
            row = _session(ledger, session)
            if row.last_run == action.run:
                ledger.put_session(attrs.evolve(row, abandoned=True))
        case _:
            _project_rest(ledger, fact, place)


def _project_rest(ledger: Ledger, fact: RuntimeEvent, place: Place) -> None:
    if fact.kind is Kind.RUN_ENDED:
        row = _session(ledger, fact.spine.session)
        context = context_next(row.context, place.chain)
        ended = attrs.evolve(row, context=context, last_run=fact.spine.run, abandoned=False)
        ledger.put_session(ended)
    elif fact.kind is Kind.SESSION_ADOPTED:
        row = _session(ledger, fact.spine.session)
        ledger.put_session(attrs.evolve(row, adopted=place.ordinal))


def _session(ledger: Ledger, session: str) -> SessionRow:
    row = ledger.session(session)
    assert row is not None, "the opening of a session comes first"
    return row


def _key(scope: str, key: str, told: str, fact: RuntimeEvent) -> KeyRow:
    return KeyRow(scope=scope, key=key, input=told, fact=fact.id)


def _put_new(ledger: Ledger, row: KeyRow) -> None:
    if ledger.key(row.scope, row.key) is not None:
        raise StartConflictError(scope=row.scope, key=row.key)
    ledger.put_key(row)


def _project_start(
    ledger: Ledger, unit: Sequence[RuntimeEvent], fact: RuntimeEvent, action: RunOpened
) -> None:
    """Note a start's key; it may be that of the message which the unit takes.

    Raises:
        StartConflictError: `start_conflict`.
    """
    if action.key is None or action.input is None:
        return
    session = fact.spine.session
    row = ledger.key(session, action.key)
    if row is None:
        row = _key(session, action.key, action.input, fact)
        ledger.put_key(attrs.evolve(row, run=fact.spine.run))
        return
    taken = {told.refs.message for told in unit if told.kind is Kind.MESSAGE_TAKEN}
    if row.message not in taken or row.input != action.input:
        raise StartConflictError(scope=session, key=action.key)


def _project_taken(ledger: Ledger, fact: RuntimeEvent, action: MessageTaken) -> None:
    """Let the key of a queued message stand for the run that took it, too.

    Raises:
        DatabaseDamagedError: `database_damaged`.
    """
    assert fact.refs.message is not None
    cell = ledger.cell(Machine.MESSAGE, fact.refs.message)
    assert cell is not None
    queued = ledger.fact(str(cell.memo["fact"]))
    if queued is None:
        raise DatabaseDamagedError(stage="row", cause="a queued message that was taken is gone")
    told = queued.event().actions
    assert isinstance(told, MessageQueued)
    if told.key is not None:
        row = ledger.key(fact.spine.session, told.key)
        assert row is not None
        ledger.put_key(attrs.evolve(row, run=action.run))


# --- partial snapshots ---


def replace_partials(ledger: Ledger, facts: Sequence[RuntimeEvent]) -> None:
    """Let the final facts of a unit replace the snapshots of their streams (LOG-5).

    A stream that has its final fact while its request is still open leaves a marker, so that a late
    partial of it is known as late.
    """
    ended = {fact.spine.run for fact in facts if fact.kind is Kind.RUN_ENDED}
    settled = {owner for fact in facts if (owner := _settles(fact)) is not None}
    for run in ended:
        ledger.drop_partials(run=run)
    for owner in settled:
        ledger.drop_partials(owner=owner)
    for fact in facts:
        owner, stream = fact.refs.request, fact.refs.stream
        if owner is None or stream is None or owner in settled or fact.spine.run in ended:
            continue
        ledger.put_partial(
            Partial(
                owner=owner,
                stream=stream,
                spine=fact.spine,
                lane="text",
                snapshot=b"",
                bytes_total=0,
                finished=True,
            )
        )


def _settles(fact: RuntimeEvent) -> str | None:
    if fact.kind is Kind.REQUEST_SETTLED:
        return fact.refs.request
    return fact.refs.operation if fact.kind is Kind.OUTCOME else None
