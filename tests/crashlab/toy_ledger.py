"""A tiny durable ledger with a side effect, and versions of it with one planted fault each.

The lab imports it by name in processes of its own (`toy_ledger:sound`).
"""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import Final

import attrs

from crashworthy.crashlab.counting import ConnectionType
from crashworthy.crashlab.workload import Finding, Observation, Promise, Stage

UNITS: Final = 3

ACKED_IS_DURABLE: Final = Promise(
    id="TOY.I1", claim="What was acknowledged is in the log.", why="A caller acted on it."
)
SUM_IS_FOLD: Final = Promise(
    id="TOY.I2", claim="The stored sum is the fold of the log.", why="A torn unit lies."
)
ONE_EFFECT: Final = Promise(
    id="TOY.I3", claim="No effect happens twice.", why="The world was touched twice."
)
ALL_SETTLED: Final = Promise(
    id="TOY.I4", claim="Every dispatch is settled in the end.", why="Nobody would look again."
)


class Fault(StrEnum):
    """What a version of the ledger does wrong."""

    NONE = "none"
    ACKS_EARLY = "acks_early"
    TEARS_UNIT = "tears_unit"
    RECOVERS_TWICE = "recovers_twice"
    REPEATS_EFFECT = "repeats_effect"
    REBUILDS_OTHERWISE = "rebuilds_otherwise"
    BYPASSES = "bypasses"
    BYPASSES_IN_CURSOR = "bypasses_in_cursor"
    WANDERS = "wanders"
    HANGS_IN_RECOVERY = "hangs_in_recovery"
    CANNOT_FINISH = "cannot_finish"
    RAISES_IN_RECOVERY = "raises_in_recovery"
    TOUCHES_WHEN_LOOKED_AT = "touches_when_looked_at"
    IDLE = "idle"


@attrs.frozen
class ToyLedger:
    """Three units of work: dispatch, effect, outcome."""

    fault: Fault = Fault.NONE

    @property
    def name(self) -> str:
        return f"toy ledger ({self.fault})"

    @property
    def promises(self) -> tuple[Promise, ...]:
        return (ACKED_IS_DURABLE, SUM_IS_FOLD, ONE_EFFECT, ALL_SETTLED)

    def script(self, stage: Stage) -> None:
        if self.fault is Fault.IDLE:
            return
        stage.root.mkdir(exist_ok=True)
        with closing(_open(stage.root, stage.host.factory)) as db:
            with stage.writer("schema"):
                self._make_tables(db, stage.root)
            self._units(db, stage)

    def recover(self, stage: Stage) -> None:
        if not (stage.root / "toy.db").exists():
            return
        with closing(_open(stage.root, stage.host.factory)) as db, stage.writer("recovery"):
            self._make_tables(db, stage.root)
            if self.fault is Fault.RAISES_IN_RECOVERY and _count(db, "dispatch") == 2:
                message = "planted"
                raise RuntimeError(message)
            while self.fault is Fault.HANGS_IN_RECOVERY and _count(db, "dispatch") == 2:
                pass
            for unit in _open_units(db):
                if self.fault is Fault.REPEATS_EFFECT:
                    _touch_world(stage.root, unit)
                self._append(db, "unknown", unit)
            if self.fault is Fault.RECOVERS_TWICE and _count(db, "dispatch"):
                self._append(db, "reopened", 0)

    def observe(self, root: Path) -> Observation:
        if self.fault is Fault.TOUCHES_WHEN_LOOKED_AT and root.exists():
            _touch_world(root, len(_world(root)) + 100)
        facts: list[tuple[object, ...]] = []
        total: list[tuple[object, ...]] = []
        if (root / "toy.db").exists():
            with closing(sqlite3.connect(f"file:{root}/toy.db?mode=ro", uri=True)) as db:
                if _has_tables(db):
                    facts = db.execute("SELECT seq, kind, unit FROM fact ORDER BY seq").fetchall()
                    total = db.execute("SELECT total FROM sum").fetchall()
        return Observation(
            facts=len(facts),
            facts_digest=_digest(facts),
            projections_digest=_digest(total),
            requests=0,
            effects=len(_world(root)),
        )

    def check(self, root: Path, acks: Sequence[str]) -> Sequence[Finding]:
        facts: list[tuple[str, int]] = []
        totals = [0]
        if (root / "toy.db").exists():
            with closing(sqlite3.connect(root / "toy.db")) as db:
                facts = db.execute("SELECT kind, unit FROM fact ORDER BY seq").fetchall()
                totals = [row[0] for row in db.execute("SELECT total FROM sum")]
        found: list[Finding] = []
        durable = {f"{kind} {unit}" for kind, unit in facts}
        lost = [ack for ack in acks if ack not in durable]
        if lost:
            found.append(Finding(promise=ACKED_IS_DURABLE.id, detail=f"lost: {lost}"))
        if totals != [len(facts)]:
            detail = f"sum {totals}, log {len(facts)}"
            found.append(Finding(promise=SUM_IS_FOLD.id, detail=detail))
        world = _world(root)
        if len(world) != len(set(world)):
            found.append(Finding(promise=ONE_EFFECT.id, detail=f"world {world}"))
        settled = {unit for kind, unit in facts if kind != "dispatch"}
        hanging = [unit for kind, unit in facts if kind == "dispatch" and unit not in settled]
        if hanging:
            found.append(Finding(promise=ALL_SETTLED.id, detail=f"open: {hanging}"))
        return found

    def rebuild(self, root: Path) -> None:
        extra = int(self.fault is Fault.REBUILDS_OTHERWISE)
        if (root / "toy.db").exists():
            with closing(sqlite3.connect(root / "toy.db", isolation_level=None)) as db:
                db.execute("UPDATE sum SET total = (SELECT count(*) FROM fact) + ?", (extra,))

    def finish(self, stage: Stage) -> Sequence[Finding]:
        if self.fault is Fault.CANNOT_FINISH and (stage.root / "toy.db").exists():
            message = "planted"
            raise RuntimeError(message)
        self.script(stage)
        return ()

    def _units(self, db: sqlite3.Connection, stage: Stage) -> None:
        root = stage.root
        done = {row[0] for row in db.execute("SELECT unit FROM fact WHERE kind <> 'reopened'")}
        for unit in range(1, UNITS + 1):
            if unit in done:
                continue
            with stage.writer("dispatch"):
                self._append(db, "dispatch", unit, stage)
            with stage.writer("effect"):
                stage.worker.probe("effect.starts")
                _touch_world(root, unit)
                stage.worker.probe("effect.done")
            with stage.writer("outcome"):
                self._append(db, "outcome", unit, stage)
        if self.fault is Fault.BYPASSES:
            with closing(_open(root, sqlite3.Connection)) as other:
                other.execute("DELETE FROM fact WHERE kind = 'nothing'")
        if self.fault is Fault.BYPASSES_IN_CURSOR:
            sqlite3.Cursor(db).execute("DELETE FROM fact WHERE kind = 'nothing'")
        if self.fault is Fault.WANDERS:
            db.execute(f"SELECT {os.getpid()}")

    def _append(
        self, db: sqlite3.Connection, kind: str, unit: int, stage: Stage | None = None
    ) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO fact (kind, unit) VALUES (?, ?)", (kind, unit))
        if self.fault is Fault.TEARS_UNIT:
            db.execute("COMMIT")
            db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE sum SET total = total + 1")
        if self.fault is Fault.ACKS_EARLY and stage is not None:
            stage.ack(f"{kind} {unit}")
        db.execute("COMMIT")
        if self.fault is not Fault.ACKS_EARLY and stage is not None:
            stage.ack(f"{kind} {unit}")

    def _make_tables(self, db: sqlite3.Connection, root: Path) -> None:
        assert root.is_dir()
        db.execute("BEGIN IMMEDIATE")
        if not _has_tables(db):
            db.execute("CREATE TABLE fact (seq INTEGER PRIMARY KEY, kind TEXT, unit INT) STRICT")
            db.execute("CREATE TABLE sum (total INT) STRICT")
            db.execute("INSERT INTO sum VALUES (0)")
        db.execute("COMMIT")


def _open(root: Path, factory: ConnectionType) -> sqlite3.Connection:
    db = sqlite3.connect(root / "toy.db", factory=factory, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    return db


def _has_tables(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sum'").fetchall())


def _open_units(db: sqlite3.Connection) -> list[int]:
    rows = db.execute("SELECT unit FROM fact WHERE unit > 0 GROUP BY unit HAVING count(*) = 1")
    return [row[0] for row in rows.fetchall()]


def _count(db: sqlite3.Connection, kind: str) -> int:
    count: int = db.execute("SELECT count(*) FROM fact WHERE kind = ?", (kind,)).fetchone()[0]
    return count


def _touch_world(root: Path, unit: int) -> None:
    with (root.parent / "world").open("a") as world:
        world.write(f"{unit}\n")


def _world(root: Path) -> list[str]:
    path = root.parent / "world"
    return path.read_text().splitlines() if path.exists() else []


def _digest(rows: Sequence[tuple[object, ...]]) -> str:
    return sha256(repr(rows).encode()).hexdigest()


def sound() -> ToyLedger:
    return ToyLedger()


def acks_early() -> ToyLedger:
    return ToyLedger(Fault.ACKS_EARLY)


def tears_unit() -> ToyLedger:
    return ToyLedger(Fault.TEARS_UNIT)


def recovers_twice() -> ToyLedger:
    return ToyLedger(Fault.RECOVERS_TWICE)


def repeats_effect() -> ToyLedger:
    return ToyLedger(Fault.REPEATS_EFFECT)


def rebuilds_otherwise() -> ToyLedger:
    return ToyLedger(Fault.REBUILDS_OTHERWISE)


def bypasses() -> ToyLedger:
    return ToyLedger(Fault.BYPASSES)


def bypasses_in_cursor() -> ToyLedger:
    return ToyLedger(Fault.BYPASSES_IN_CURSOR)


def wanders() -> ToyLedger:
    return ToyLedger(Fault.WANDERS)


def hangs_in_recovery() -> ToyLedger:
    return ToyLedger(Fault.HANGS_IN_RECOVERY)


def cannot_finish() -> ToyLedger:
    return ToyLedger(Fault.CANNOT_FINISH)


def raises_in_recovery() -> ToyLedger:
    return ToyLedger(Fault.RAISES_IN_RECOVERY)


def touches_when_looked_at() -> ToyLedger:
    return ToyLedger(Fault.TOUCHES_WHEN_LOOKED_AT)


def idle() -> ToyLedger:
    return ToyLedger(Fault.IDLE)
