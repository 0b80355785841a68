"""The owner looks where a read went wrong, and keeps the damage to its session (STORE-8).

Verification only reads. What refuses a session's tools is a durable record, and the owner writes it
when its own reading meets damage: here it finds out whether that is so, and where it begins.
"""

import contextlib
from typing import Final

from ..machines.facts.codes import CrashworthyError
from .audit.look import Look
from .connect import Connector
from .journal.errors import FoldRefusedError
from .journal.quarantine import QuarantineSession
from .ownership.root import StateRoot
from .read import Reading, Scope
from .sqlite import SqliteStore

_LEDGER_AT: Final = "SELECT invocation FROM facts WHERE ordinal = ?"


def find_damage(root: StateRoot, session: str) -> QuarantineSession | None:
    """Read a session's facts as verification would, and return its first bad row as an order.

    Raises:
        CrashworthyError: The place cannot be read.
    """
    look = Look(path=root.database, connector=Connector())
    with contextlib.closing(look):
        reading = Reading(look=look, root_id=root.root_id, scope=Scope(session=session))
        for _fact in reading:
            if reading.losses:
                break
        for lost in reading.losses:
            return QuarantineSession(
                session=session,
                cause=lost.reason.value,
                first_bad=lost.ordinal or 1,
                invocation=lost.invocation or "",
            )
    return None


def damage_behind(
    store: SqliteStore, session: str, error: CrashworthyError
) -> QuarantineSession | None:
    """Return the order that quarantines a session, if its facts are why a read or a unit failed.

    The caller got `error` while it worked on the session; most errors say nothing about its facts,
    so those are read, and only what they show is recorded.

    Raises:
        CrashworthyError: The place cannot be read.
    """
    assert store.tenure is not None
    if isinstance(error, FoldRefusedError):
        return _refused(store, error)
    return find_damage(store.tenure.root, session)


def contain(store: SqliteStore, session: str, error: CrashworthyError) -> bool:
    """Quarantine a session in place, for programs without a scheduler; say whether it is damaged.

    Raises:
        CrashworthyError: The environment failed, or this owner is fenced.
    """
    damage = damage_behind(store, session, error)
    if damage is not None:
        store.write(damage)
    return damage is not None


def _refused(store: SqliteStore, error: FoldRefusedError) -> QuarantineSession:
    """Return the order for a fact whose bytes are whole, and which no table admits."""
    found = store.reader.fetch(_LEDGER_AT, (error.ordinal,))
    return QuarantineSession(
        session=error.session,
        cause=error.code.value,
        first_bad=error.ordinal,
        invocation=next((str(name) for (name,) in found), ""),
    )
