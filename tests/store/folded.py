"""What a store holds beside its facts, compared with the fold of those facts alone."""

from crashworthy.store.journal.dicts import DictLedger, pages, replay
from crashworthy.store.journal.evidence import SqlView
from crashworthy.store.sqlite import SqliteStore

COUNTS = {
    "cells": "SELECT count(*) FROM cells",
    "sessions": "SELECT count(*) FROM sessions",
    "keys": "SELECT count(*) FROM keys",
}


def rows_differing_from_fold(store: SqliteStore) -> list[str]:
    """Return what is stored otherwise than the facts and authority rows say, session by session."""
    with store.reader.snapshot():
        view = SqlView(store.reader.fetch)
        sessions = [str(row[0]) for row in store.reader.fetch("SELECT session FROM sessions")]
        books: list[DictLedger] = []
        for session in sessions:
            book = DictLedger(root=store.owner.root, authority=view.authority(session))
            replay(book, pages(view, session))
            books.append(book)
        wrong: list[str] = []
        for book in books:
            for key, cell in book.cells.items():
                if view.cell_row(*key) != cell:
                    wrong.append(f"{key}: {view.cell_row(*key)} is not {cell}")
            wrong += [f"{s}" for s, row in book.sessions.items() if view.session(s) != row]
            wrong += [f"{k}" for k, row in book.keys.items() if view.key(*k) != row]
        for table, known in (
            ("cells", sum(len(book.cells) for book in books)),
            ("sessions", sum(len(book.sessions) for book in books)),
            ("keys", sum(len(book.keys) for book in books)),
        ):
            [(count,)] = store.reader.fetch(COUNTS[table])
            if count != known:
                wrong.append(f"{table}: {count!r} rows, the facts give {known}")
        return wrong + [f"{session} was mended" for session in view.mended]
