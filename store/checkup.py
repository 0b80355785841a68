"""A look at a root's health, without a lock and without its history (STORE-10)."""

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from .anchor import read_anchor
from .audit.form import foreign_objects
from .audit.look import Look
from .audit.pages import last_ordinal
from .checkpoint import WAL_BYTES_BOUND
from .connect import Connector, check_filesystem, check_sqlite_version
from .journal.pending import Pending
from .operational import read_operational
from .ownership.hung import read_hung
from .ownership.root import StateRoot, look_at_root
from .platform import filesystem_kind
from .read import missing, sessions
from .reader import wal_of

_OPEN_RUNS: Final = "SELECT count(*) FROM cells WHERE pending = ?"
WAL_RACE_ENDED: Final = (3, 51, 3)
"""From this SQLite on no WAL reset can race; before it, only one connection may checkpoint."""


@attrs.frozen(kw_only=True)
class Remark:
    """One thing that was looked at.

    Attributes:
        subject: What it is about, in a word or two.
        code: Why a person is needed; None where nothing is to be done.
        words: What was seen.
    """

    subject: str
    code: Code | None
    words: str


def look_over(path: Path) -> list[Remark]:
    """Look a root over: its file system, marker, log, sessions and side files.

    Whether each fact is right, `verify` says; here nothing is read that grows with history.

    Raises:
        StoreNotFoundError: `not_found`.
        RootMarkerInvalidError: `root_marker_invalid`.
        StorageError: `storage_*`.
    """
    root, problem = look_at_root(path)
    return list(_remarks(root, problem))


def _remarks(root: StateRoot, problem: CrashworthyError | None) -> Iterator[Remark]:
    yield _judged("SQLite", check_sqlite_version, _sqlite())
    yield _judged("file system", lambda: check_filesystem(root.path), filesystem_kind(root.path))
    if problem is None:
        yield Remark(subject="root", code=None, words=f"{root.root_id} at {root.path}")
    else:
        yield Remark(subject="root", code=problem.code, words=str(problem))
    hung = read_hung(root)
    if hung is not None:
        left = ", ".join(hung.left) or "what is not known"
        words = f"the shutdown of epoch {hung.epoch} (pid {hung.pid}) hung on {left}"
        yield Remark(subject="last owner", code=Code.HOST_HUNG, words=words)
    look = Look(path=root.database, connector=Connector())
    try:
        yield from _of_log(root, look)
    finally:
        look.close()
    yield from _beside(root)


def _sqlite() -> str:
    if sqlite3.sqlite_version_info >= WAL_RACE_ENDED:
        return sqlite3.sqlite_version
    return (
        f"{sqlite3.sqlite_version}; safe from its WAL-reset race, for the owner alone checkpoints"
    )


def _judged(subject: str, check: Callable[[], None], words: str) -> Remark:
    try:
        check()
    except CrashworthyError as error:
        return Remark(subject=subject, code=error.code, words=str(error))
    return Remark(subject=subject, code=None, words=words)


def _of_log(root: StateRoot, look: Look) -> Iterator[Remark]:
    """Look at the log and its sessions, as far as they can be read."""
    anchored = read_anchor(root.anchor)
    try:
        short = missing(look, anchored)
        foreign = foreign_objects(look.run)
        last = look.snapshot(lambda: last_ordinal(look.run))
        listed = sessions(look)
        [(open_runs,)] = look.run(_OPEN_RUNS, (Pending.RUN_LIVE.value,))
    except CrashworthyError as error:
        yield Remark(subject="log", code=error.code, words=str(error))
        return
    facts = f"{last} facts"
    if short is not None:
        yield Remark(subject="log", code=short.code, words=str(short))
    elif foreign:
        yield Remark(subject="log", code=Code.SCHEMA_ALTERED, words=", ".join(foreign))
    elif anchored is None:
        words = f"{facts}; no anchor, so a loss of the newest could not be seen"
        yield Remark(subject="log", code=None, words=words)
    else:
        yield Remark(subject="log", code=None, words=f"{facts}, all that were acknowledged")
    words = f"{len(listed)}, with {open_runs!r} open run{'' if open_runs == 1 else 's'}"
    yield Remark(subject="sessions", code=None, words=words)
    for one in listed:
        if one.quarantined is not None:
            words = f"{one.session}: {one.quarantined}"
            yield Remark(subject="session", code=Code.SESSION_QUARANTINED, words=words)


def _beside(root: StateRoot) -> Iterator[Remark]:
    wal = wal_of(root.database)
    size = wal.stat().st_size if wal.exists() else 0
    over = ", past its bound: a reader holds it back" if size > WAL_BYTES_BOUND else ""
    yield Remark(subject="WAL", code=None, words=f"{size} bytes{over}")
    told = read_operational(root.operational)
    damaged = f", {told.damaged} unreadable: nothing depends on them" if told.damaged else ""
    words = f"{len(told.records)} operational{damaged}"
    yield Remark(subject="records", code=None, words=words)
