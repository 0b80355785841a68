"""Write the golden schema anew; run by hand when the schema changes before the first release."""

import sqlite3
from pathlib import Path

from crashworthy.store.connect import Connector
from crashworthy.store.migrate import migrate
from crashworthy.store.schema import MIGRATIONS, NEWEST
from crashworthy.store.txn import WriteDoor

GOLDEN = Path(__file__).parent / "schema" / f"v{NEWEST}.sql"


def schema_of(connection: sqlite3.Connection) -> str:
    """Return what SQLite itself keeps of a schema, in the order of creation."""
    rows = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
    return "".join(f"{sql};\n\n" for (sql,) in rows)


def fresh_schema(path: Path) -> str:
    """Return the schema that this build makes in a new file at `path`."""
    connection = Connector().open_owner(path, newest=NEWEST)
    try:
        migrate(WriteDoor(connection=connection), MIGRATIONS)
        return schema_of(connection)
    finally:
        connection.close()


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(fresh_schema(Path(place) / "ledger.sqlite3"), encoding="utf-8")
