"""What the kernel reads of a store: short snapshots, page by page, nothing kept open."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import attrs

from ..machines.facts.model import RuntimeEvent
from ..machines.lifecycles.cells import Machine
from ..store.journal.ledger import View
from ..store.journal.pending import Pending
from ..store.journal.records import Stored
from ..store.port import Store

_PAGE: Final = 1000


@attrs.frozen(kw_only=True)
class Mail:
    """The steering messages of one session (run.Mail)."""

    store: Store
    session: str

    def waiting(self) -> Sequence[RuntimeEvent]:
        """Return the queued messages, oldest first."""
        return queued_messages(self.store, self.session, Pending.MESSAGE_STEER)


def queued_messages(store: Store, session: str, word: Pending) -> list[RuntimeEvent]:
    """Return the facts of the messages that wait in a session, oldest first."""

    def look(view: View) -> list[RuntimeEvent]:
        found: list[RuntimeEvent] = []
        for name in view.pending(word, session):
            cell = view.cell(Machine.MESSAGE, name)
            stored = None if cell is None else view.fact(str(cell.memo.get("fact")))
            if stored is not None:
                found.append(stored.event())
        return found

    return store.read(look)


def ledger_of(view: View, invocation: str) -> Iterator[Stored]:
    """Yield the facts of one ledger inside a snapshot, page by page."""
    after = 0
    while page := view.ledger(invocation, after=after, limit=_PAGE):
        yield from page
        after = page[-1].place.seq


def _page(session: str, after: int) -> Callable[[View], Sequence[Stored]]:
    return lambda view: view.log(after=after, limit=_PAGE, session=session)


def session_facts(store: Store, session: str) -> list[RuntimeEvent]:
    """Return the facts of a session in commit order, page by page."""
    facts: list[RuntimeEvent] = []
    after = 0
    while page := store.read(_page(session, after)):
        facts.extend(stored.event() for stored in page)
        after = page[-1].place.ordinal
    return facts
