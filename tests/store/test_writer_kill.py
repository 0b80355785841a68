"""What a caller was told is durable survives the death of the process, wherever it comes."""

import sqlite3
from pathlib import Path

import pytest

from crashworthy.store.anchor import read_anchor

from .conftest import StartChild

# Eight tasks append without pause and tell each acknowledgement; the process dies at the given
# visit of the given step. An acknowledgement is told by one write, after the answer.
WRITING = """
import os, signal, sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
import trio
from crashworthy.store.anchor import Head, open_anchor
from crashworthy.store.batch import Batcher
from crashworthy.store.checkpoint import Checkpointer
from crashworthy.store.connect import APPLICATION_ID, Connector
from crashworthy.store.runner import ThreadRunner
from crashworthy.store.txn import WriteDoor
from crashworthy.store.writer import Writer

place, step, visit = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
visits = Counter()

def die(name):
    visits[name] += 1
    if (name, visits[name]) == (step, visit):
        os.kill(os.getpid(), signal.SIGKILL)

class Heads:
    position = at_commit = at_unit = 0
    def unit_begun(self): self.at_unit = self.position
    def unit_undone(self): self.position = self.at_unit
    def committed(self): self.at_commit = self.position
    def reverted(self): self.position = self.at_commit

heads = Heads()
door = WriteDoor(connection=Connector().open_owner(place / "ledger", newest=1))
door.transact(lambda txn: txn.run("CREATE TABLE rows (position INTEGER PRIMARY KEY, text TEXT)"))
door.probe = die
anchor = open_anchor(place / "anchor", probe=die)
batcher = Batcher(
    door=door, memories=(heads,), anchor=anchor,
    head=lambda: Head(ordinal=heads.at_commit, chain=sha256(b"%d" % heads.at_commit).hexdigest()),
)
checkpointer = Checkpointer(door=door, wal=place / "ledger-wal", anchor=anchor)
writer = Writer(batcher=batcher, runner=ThreadRunner(), checkpointer=checkpointer)

def append(text):
    def unit(txn):
        heads.position += 1
        txn.run("INSERT INTO rows VALUES (?, ?)", (heads.position, text))
        return heads.position
    return unit

async def work(name):
    for number in range(40):
        text = f"{name}.{number}"
        position = await writer.submit(append(text))
        os.write(1, f"{position} {text}\\n".encode())

async def main():
    async with trio.open_nursery() as nursery:
        await nursery.start(writer.drive)
        async with trio.open_nursery() as workers:
            for name in range(8):
                workers.start_soon(work, name)
        await writer.aclose()

trio.run(main)
"""


@pytest.mark.parametrize("visit", [1, 9])
@pytest.mark.parametrize("step", ["txn.begun", "txn.written", "txn.committed", "anchor.written"])
def test_no_acknowledged_row_is_lost_and_no_unit_is_torn_when_killed(
    start_child: StartChild, tmp_path: Path, step: str, visit: int
) -> None:
    child = start_child(WRITING, tmp_path, step, visit)
    told, _ = child.process.communicate(timeout=60)
    assert child.process.returncode == -9, "it died where it was meant to"
    acknowledged = [
        (int(position), text)
        for position, _, text in (line.partition(" ") for line in told.splitlines())
    ]
    survivor = sqlite3.connect(tmp_path / "ledger", isolation_level=None)
    stored = survivor.execute("SELECT position, text FROM rows ORDER BY position").fetchall()
    survivor.close()
    assert set(acknowledged) <= set(stored)
    assert [position for position, _ in stored] == list(range(1, len(stored) + 1))
    anchored = read_anchor(tmp_path / "anchor")
    reach = 0 if anchored is None else anchored.ordinal
    assert len(acknowledged) <= reach <= len(stored), "told after anchored, anchored after stored"
    if visit > 1:
        assert acknowledged
