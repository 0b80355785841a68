"""Boundaries are named so that a rehearsal and a victim mean the same place."""

import pytest

from crashworthy.crashlab.boundary import (
    Boundary,
    Kind,
    Moment,
    Role,
    statement_kind,
    statement_name,
)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("BEGIN IMMEDIATE", Kind.BEGIN),
        ("  commit", Kind.COMMIT),
        ("END TRANSACTION", Kind.COMMIT),
        ("ROLLBACK TO unit", Kind.ROLLBACK),
        ("-- why\n insert into t values (1)", Kind.INSERT),
        ("/* a */ WITH x AS (SELECT 1) DELETE FROM t", Kind.WITH),
        ("PRAGMA wal_checkpoint(TRUNCATE)", Kind.CHECKPOINT),
        ("PRAGMA main.wal_checkpoint", Kind.CHECKPOINT),
        ("PRAGMA journal_mode = WAL", Kind.PRAGMA),
        ("open the door", Kind.UNPARSED),
        ("", Kind.UNPARSED),
    ],
)
def test_statement_kind_is_its_first_keyword(sql: str, kind: Kind) -> None:
    assert statement_kind(sql) is kind


def test_statement_name_ignores_layout_and_comments() -> None:
    sql = "SELECT a, -- the first\n   b /* and\n more */ FROM t ;\n"
    assert statement_name(sql) == "SELECT a, b FROM t"


def test_probe_has_one_point_and_statement_has_two() -> None:
    probe = Boundary(kind=Kind.PROBE, name="renamed", role=Role.WORKER, occurrence=2)
    commit = Boundary(kind=Kind.COMMIT, name="COMMIT", role=Role.HOST, occurrence=1)
    assert [point.moment for point in probe.points] == [Moment.AT]
    assert [point.moment for point in commit.points] == [Moment.BEFORE, Moment.AFTER]
    assert probe.points[0].key == "worker:probe:renamed#2:at"
