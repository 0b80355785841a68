"""Acts for puppets: two sides that claim one row, rightly or with a gap between look and write."""

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from crashworthy.crashlab.puppet import Scene
from crashworthy.crashlab.races import START, decode_results


def prepare(scene: Scene) -> str:
    with closing(_open(scene.root)) as db:
        db.execute("CREATE TABLE claim (source TEXT, owner INTEGER) STRICT")
    return "prepared"


def claim(scene: Scene) -> str:
    """Look and write inside one write transaction."""
    with closing(_open(scene.root)) as db:
        scene.pause(START)
        db.execute("BEGIN IMMEDIATE")
        won = not db.execute("SELECT 1 FROM claim").fetchall()
        if won:
            db.execute("INSERT INTO claim VALUES ('s', ?)", (os.getpid(),))
        db.execute("COMMIT")
    return "acquired" if won else "existing"


def claim_with_a_gap(scene: Scene) -> str:
    """Look first, and write in a transaction of its own: both sides may win."""
    with closing(_open(scene.root)) as db:
        scene.pause(START)
        won = not db.execute("SELECT 1 FROM claim").fetchall()
        time.sleep(0.002)
        if won:
            db.execute("INSERT INTO claim VALUES ('s', ?)", (os.getpid(),))
    return "acquired" if won else "existing"


def judge(scene: Scene) -> str:
    results = decode_results(scene.argument)
    with closing(_open(scene.root)) as db:
        claims = db.execute("SELECT count(*) FROM claim").fetchone()[0]
    good = sorted((results.first, results.second)) == ["acquired", "existing"] and claims == 1
    return "" if good else f"{results.first}, {results.second}, {claims} claims"


def tick(scene: Scene) -> str:
    """Write the time into a file, over and over, until a file tells it to end."""
    scene.pause("ready")
    while not (scene.root / "end").exists():
        # Renamed into place: a reader must not take an empty file for a standstill.
        (scene.root / "next").write_text(str(time.monotonic_ns()))
        (scene.root / "next").rename(scene.root / "tick")
    return "ended"


def raise_error(_scene: Scene) -> str:
    message = "planted"
    raise RuntimeError(message)


def die(_scene: Scene) -> str:
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def sleep_long(_scene: Scene) -> str:
    time.sleep(60)
    return "late"


def echo(scene: Scene) -> str:
    return scene.argument


def _open(root: Path) -> sqlite3.Connection:
    return sqlite3.connect(root / "race.db", isolation_level=None, timeout=10)
