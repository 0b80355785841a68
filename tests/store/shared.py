"""The races' door: a store without lock and without an epoch of its own, for tests only (CRASH-3).

Two processes that come in here share the epoch of an owner that left its record open, so that the
transaction itself is all that stands between them.
"""

from pathlib import Path

from crashworthy.store.connect import Connector
from crashworthy.store.journal.evidence import SqlView
from crashworthy.store.journal.records import Owner
from crashworthy.store.ownership.marker import read_marker
from crashworthy.store.ownership.root import StateRoot
from crashworthy.store.reader import open_reader
from crashworthy.store.runner import InlineRunner
from crashworthy.store.schema import NEWEST
from crashworthy.store.sql import fetch
from crashworthy.store.sqlite import Heads, SqliteStore, make_writer
from crashworthy.store.txn import WriteDoor


def share_store(place: Path, connector: Connector | None = None) -> SqliteStore:
    """Come in beside whoever else is in; the anchor is nobody's here."""
    connector = connector or Connector()
    root = StateRoot(path=place, root_id=read_marker(place).root_id)
    connection = connector.open_owner(root.database, newest=NEWEST)
    view = SqlView(lambda sql, params: fetch(connection, sql, params))
    owner = Owner(root=root.root_id, epoch=view.lease().epoch)
    heads = Heads(view.last())
    writer = make_writer(
        WriteDoor(connection=connection),
        owner,
        heads,
        database=root.database,
        anchor=None,
        runner=InlineRunner(),
        idle_s=None,
    )
    reader = open_reader(connector, root.database, newest=NEWEST)
    return SqliteStore(owner=owner, writer=writer, heads=heads, reader=reader)
