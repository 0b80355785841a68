"""A boundary is one exact place in a run's course, and a point is one of its two sides."""

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

import attrs


class Kind(StrEnum):
    """What happens at a boundary; the SQL kinds are all that SQLite's grammar can start with."""

    OPEN = "open"
    CLOSE = "close"
    SCRIPT = "script"
    BACKUP = "backup"
    CHECKPOINT = "checkpoint"
    PROBE = "probe"
    ALTER = "alter"
    ANALYZE = "analyze"
    ATTACH = "attach"
    BEGIN = "begin"
    COMMIT = "commit"
    CREATE = "create"
    DELETE = "delete"
    DETACH = "detach"
    DROP = "drop"
    EXPLAIN = "explain"
    INSERT = "insert"
    PRAGMA = "pragma"
    REINDEX = "reindex"
    RELEASE = "release"
    REPLACE = "replace"
    ROLLBACK = "rollback"
    SAVEPOINT = "savepoint"
    SELECT = "select"
    UPDATE = "update"
    VACUUM = "vacuum"
    VALUES = "values"
    WITH = "with"
    UNPARSED = "unparsed"
    """Empty text, or text that SQLite itself will refuse."""


class Role(StrEnum):
    """Which process of a run passes the boundary."""

    HOST = "host"
    WORKER = "worker"


class Moment(StrEnum):
    """The side of a boundary; a probe is a point of its own and has only `AT`."""

    BEFORE = "before"
    AT = "at"
    AFTER = "after"


@attrs.frozen(kw_only=True)
class Boundary:
    """One statement or probe at one visit (CRASH-1).

    Attributes:
        kind: What happens there.
        name: The normalised statement text, or the probe's name.
        role: The process that passes.
        occurrence: 1 for the first visit of this (kind, name, role) in its run.
    """

    kind: Kind
    name: str
    role: Role
    occurrence: int

    @property
    def key(self) -> str:
        """Return the text by which people and reports name this boundary."""
        return f"{self.role}:{self.kind}:{self.name}#{self.occurrence}"

    @property
    def points(self) -> tuple["Point", ...]:
        """Return every place at this boundary where a process can die."""
        moments = (Moment.AT,) if self.kind is Kind.PROBE else (Moment.BEFORE, Moment.AFTER)
        return tuple(Point(boundary=self, moment=moment) for moment in moments)


@attrs.frozen(kw_only=True)
class Point:
    """One side of a boundary: where exactly a victim dies."""

    boundary: Boundary
    moment: Moment

    @property
    def key(self) -> str:
        """Return the text that `--at` accepts."""
        return f"{self.boundary.key}:{self.moment}"


@attrs.frozen(kw_only=True)
class Passage:
    """A boundary as it was passed in a rehearsal.

    Attributes:
        boundary: What was passed.
        writer: The label that the workload gave to the unit under way; for people, no identity.
    """

    boundary: Boundary
    writer: str


# Every visit of a statement asks for both, and a program has few statements.
_TEXTS_MAX: Final = 4_096

_COMMENT: Final = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_SYNONYMS: Final = {"end": Kind.COMMIT}


@lru_cache(_TEXTS_MAX)
def statement_name(sql: str) -> str:
    """Return `sql` on one line and without comments.

    A `--` inside a literal is cut too: two statements may then share a name and a counter, which
    changes their occurrence numbers and loses no boundary.
    """
    return " ".join(_COMMENT.sub(" ", sql).split()).rstrip("; ")


@lru_cache(_TEXTS_MAX)
def statement_kind(sql: str) -> Kind:
    """Return what the statement does, by its first keyword; `wal_checkpoint` is its own kind."""
    words = re.findall(r"[a-z_]+", statement_name(sql).lower())
    if not words:
        return Kind.UNPARSED
    if words[0] == "pragma" and "wal_checkpoint" in words:
        return Kind.CHECKPOINT
    if words[0] in _SYNONYMS:
        return _SYNONYMS[words[0]]
    return Kind(words[0]) if words[0] in _SQL else Kind.UNPARSED


_NOT_SQL: Final = frozenset(
    {
        Kind.OPEN,
        Kind.CLOSE,
        Kind.SCRIPT,
        Kind.BACKUP,
        Kind.CHECKPOINT,
        Kind.PROBE,
        Kind.UNPARSED,
    }
)
_SQL: Final = frozenset(kind.value for kind in Kind if kind not in _NOT_SQL)
