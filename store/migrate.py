"""A schema moves forward in one transaction, or stays as it was (STORE-11)."""

from collections.abc import Callable, Sequence

import attrs

from .connect import APPLICATION_ID, read_version
from .txn import Txn, WriteDoor


@attrs.frozen(kw_only=True)
class Migration:
    """One step from schema version `version - 1` to `version`.

    Attributes:
        version: 1 for the first; without gaps.
        apply: Changes the schema and moves the rows.
    """

    version: int
    apply: Callable[[Txn], None]


def newest_version(migrations: Sequence[Migration]) -> int:
    """Return the version that all migrations lead to, and check their numbering."""
    versions = [migration.version for migration in migrations]
    assert versions == list(range(1, len(versions) + 1)), f"migrations are numbered {versions}"
    return len(versions)


def migrate(
    door: WriteDoor,
    migrations: Sequence[Migration],
    *,
    found: Callable[[Txn], None] | None = None,
) -> tuple[int, ...]:
    """Bring the database to the newest version and return the versions that were applied.

    The version is read again under the write lock: another process may have migrated since it was
    looked at. All missing steps are one transaction.

    Args:
        door: The database.
        migrations: All versions, in order.
        found: Writes, in the same transaction, what a new database holds from its first moment.

    Raises:
        SchemaNewerError: `schema_newer`; nothing was changed.
        SchemaUnknownError: `schema_unknown`; nothing was changed.
        StorageError: `storage_*`; nothing was changed.
    """
    newest = newest_version(migrations)
    # A look without the lock spares a current database one pointless write transaction per open.
    if read_version(door.connection, newest=newest) == newest:
        return ()

    def move(txn: Txn) -> tuple[int, ...]:
        version = read_version(door.connection, newest=newest)
        missing = migrations[version:]
        for migration in missing:
            migration.apply(txn)
            txn.check()
        if missing:
            txn.run(f"PRAGMA application_id = {APPLICATION_ID}")
            txn.run(f"PRAGMA user_version = {newest}")
        if version == 0 and found is not None:
            found(txn)
        return tuple(migration.version for migration in missing)

    return door.transact(move)
