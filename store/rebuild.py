"""Projections are disposable: folded anew they are the same, byte for byte (STORE-7)."""

# ruff: noqa: S608 - statements are put together from constant names of tables and columns

import contextlib
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import ClassVar, Final

import attrs

from ..machines.facts.codes import Code, CrashworthyError
from ..machines.facts.digests import Domain, digest
from .audit.findings import Finding, Findings
from .audit.fold import Fold
from .audit.heads import head_shelf
from .audit.hindsight import Hindsight
from .audit.judge import RowJudge
from .audit.look import any_text
from .audit.pages import facts_page
from .audit.tables import CELLS, FORMS, KEYS, SESSIONS, Run, Tables, open_scratch
from .audit.walk import Walk
from .sql import Row, SqlValue, fetch
from .sqlite import SqliteStore
from .txn import Txn

_OPEN_RUNS: Final = """
SELECT run FROM facts AS opening WHERE seq = 1 AND kind = 'run_opened' AND NOT EXISTS
(SELECT 1 FROM facts AS ending WHERE ending.run = opening.run AND ending.kind = 'run_ended')
ORDER BY ordinal LIMIT 10
""".strip()
_ROOT_KEYS: Final = "SELECT fact FROM keys WHERE scope = ''"
_SESSION_OF: Final = "SELECT session FROM facts WHERE id = ?"


@attrs.define(eq=False, kw_only=True)
class RunsOpenError(CrashworthyError):
    """Runs are open: end them first, or wait until they have ended.

    Attributes:
        runs: The first of them.
    """

    code: ClassVar[Code] = Code.RUNS_OPEN
    runs: tuple[str, ...]


@attrs.frozen(kw_only=True)
class Rebuilt:
    """What a rebuild did.

    Attributes:
        facts: How many facts were folded.
        kept: Sessions whose rows stay as they were, because their facts are damaged.
        findings: What is wrong with the log.
    """

    facts: int
    kept: tuple[str, ...]
    findings: tuple[Finding, ...]


def rebuild(store: SqliteStore, *, progress: Callable[[int], None] | None = None) -> Rebuilt:
    """Make the projections of an owned root anew, in one transaction.

    Args:
        store: Nobody drives its queue.
        progress: Is told how many facts were folded, after each page.

    Raises:
        RunsOpenError: `runs_open`.
        CrashworthyError: The environment failed, or this owner is fenced; nothing was changed.
    """
    runs = store.reader.fetch(_OPEN_RUNS)
    if runs:
        raise RunsOpenError(runs=tuple(str(run) for (run,) in runs))
    return refold(store, progress=progress)


def refold(store: SqliteStore, *, progress: Callable[[int], None] | None = None) -> Rebuilt:
    """Do what `rebuild` does, whether runs are open or not: for checks that nobody works beside.

    Raises:
        CrashworthyError: As `rebuild`.
    """
    connection = store.writer.batcher.door.connection
    with _any_text(connection), contextlib.closing(open_scratch()) as scratch:
        own = Tables(run=lambda sql, params: fetch(scratch, sql, params))

        def unit(txn: Txn) -> Rebuilt:
            walk = _walked(txn.run, own, store.owner.root, progress)
            kept = tuple(sorted(walk.doubtful))
            _swap(txn.run, own, kept)
            findings = tuple(walk.findings.kept)
            return Rebuilt(facts=walk.facts, kept=kept, findings=findings)

        return store.writer.submit_sync(unit)


def dump_projections(run: Run) -> Iterator[Row]:
    """Yield all rows of the projections, each behind the name of its table, in order of keys."""
    tables = Tables(run=run)
    for form in FORMS:
        for row in tables.rows(form):
            yield (form.name, *row)


def projections_digest(run: Run) -> str:
    """Return one digest of all projections: equal where they are equal byte for byte."""
    value = ""
    for row in dump_projections(run):
        value = digest(Domain.STATE, value.encode(), *map(_framed, row))
    return value


def _walked(run: Run, own: Tables, root: str, progress: Callable[[int], None] | None) -> Walk:
    """Fold the whole log into empty tables."""
    own.create()
    hindsight = Hindsight(run)
    hindsight.read_again()
    walk = Walk(
        judge=RowJudge(root=root, hindsight=hindsight, heads=head_shelf(own.run)),
        fold=Fold(run, hindsight, own),
        findings=Findings(),
    )
    while page := facts_page(run, walk.judge.next - 1):
        walk.take(page)
        if progress is not None:
            progress(walk.facts)
    walk.finish()
    walk.fold.flush()
    return walk


def _swap(run: Run, own: Tables, kept: tuple[str, ...]) -> None:
    """Put the rows of the fold in the place of the stored ones, but for the kept sessions."""
    live = Tables(run=run)
    # The key that made a session is the root's; the fact that carried it says whose it is.
    made = tuple(fact for (fact,) in run(_ROOT_KEYS, ()) if _session_of(run, fact) in kept)
    stays: Mapping[str, Sequence[tuple[str, Row]]] = {
        CELLS.name: (("session", kept),),
        SESSIONS.name: (("session", kept),),
        KEYS.name: (("scope", kept), ("fact", made)),
    }
    for form in FORMS:
        tests = stays[form.name]
        where = " AND ".join(
            f"{column} NOT IN ({','.join('?' * len(values))})" for column, values in tests
        )
        run(f"DELETE FROM {form.name} WHERE {where}", [v for _, values in tests for v in values])
        places = [(form.columns.index(column), frozenset(values)) for column, values in tests]
        for row in own.rows(form):
            if not any(row[place] in values for place, values in places):
                live.put(form, row)


def _session_of(run: Run, fact: SqlValue) -> SqlValue:
    return next((session for (session,) in run(_SESSION_OF, (fact,))), None)


def _framed(value: SqlValue) -> bytes:
    """Return a column as bytes that say its type, too."""
    if isinstance(value, bytes):
        return b"b" + value
    if isinstance(value, str):
        return b"t" + value.encode(errors="surrogateescape")
    return repr(value).encode()


@contextlib.contextmanager
def _any_text(connection: sqlite3.Connection) -> Generator[None]:
    """Read text whatever its bytes are: damage of one row must not stop a rebuild of the others."""
    before = connection.text_factory
    connection.text_factory = any_text
    try:
        yield
    finally:
        connection.text_factory = before
