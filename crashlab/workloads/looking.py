"""What a root that was killed shows to somebody who only looks, and which promises it breaks."""

import contextlib
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path
from typing import cast

import attrs

from ...machines.facts.ids import BlobId, dispatch_fact_id
from ...machines.facts.model import RunOpened
from ...machines.facts.vocabulary import Cause, Kind
from ...machines.lifecycles import operation, run
from ...machines.lifecycles.cells import Machine
from ...machines.recovery.operations import RESOLVER, Standing, Standpoint
from ...store.anchor import Head
from ...store.audit.findings import Check
from ...store.blobs import BlobRef, BlobStore
from ...store.connect import Connector
from ...store.errors import StoreNotFoundError
from ...store.journal.dicts import pages
from ...store.journal.evidence import SqlView
from ...store.journal.records import Stored
from ...store.ownership.root import StateRoot, look_at_root
from ...store.reader import Reader, open_reader
from ...store.rebuild import projections_digest
from ...store.schema import NEWEST
from ...store.verify import verify
from ..workload import Finding, Observation, Promise
from .later_owners import ZOMBIE_FACT
from .promised import (
    ACKED_IS_DURABLE,
    DURABLE_BEFORE,
    FENCED,
    NEVER_UNSTARTED,
    ONE_END,
    REPAIR_REACHES_NOBODY,
    TABLES_ADMIT,
    VERIFIES,
)
from .world import Deed, happened


def seen(path: Path) -> Observation:
    """Look at the root and the outside world; change nothing."""
    with _looking(path) as look:
        if look is None:
            head, projections = Head(ordinal=0, chain=""), ""
        else:
            head, projections = look.view.last(), projections_digest(look.reader.fetch)
    return Observation(
        facts=head.ordinal,
        facts_digest=head.chain,
        projections_digest=projections,
        requests=len(happened(path, Deed.REQUEST)),
        effects=len(happened(path, Deed.EFFECT)),
    )


def broken(path: Path, acks: Sequence[str]) -> list[Finding]:
    """Return every promise that the root breaks.

    Args:
        path: The root, after a recovery.
        acks: What was acknowledged.
    """
    with _looking(path) as look:
        if look is None:
            lost = [f"no root, but {acks[-1]!r} was acknowledged"] if acks else []
            return _findings(ACKED_IS_DURABLE, lost)
        facts = list(pages(look.view))
        found = [
            *_findings(ACKED_IS_DURABLE, _lost(look, facts, acks)),
            *_findings(ONE_END, _ends(facts)),
            *_findings(NEVER_UNSTARTED, _unstarted(look.view, facts)),
            *_findings(DURABLE_BEFORE, _undurable(path, facts)),
            *_findings(REPAIR_REACHES_NOBODY, _repaired_requests(facts)),
        ]
    found.extend(_findings(FENCED, [f.place.id for f in facts if f.place.id == ZOMBIE_FACT]))
    return found


def unverified(path: Path) -> list[Finding]:
    """Return everything that the root says against itself; nothing where there is none yet."""
    if not is_made(path):
        return []
    return [
        Finding(
            promise=(TABLES_ADMIT if finding.check is Check.TABLES else VERIFIES).id,
            detail=f"{finding.check} {finding.code} at {finding.ordinal}: {finding.detail}",
        )
        for finding in verify(path, blobs=True).findings
    ]


def is_made(path: Path) -> bool:
    """Say whether there is a root with a database of ours."""
    with _looking(path) as look:
        return look is not None


def _findings(promise: Promise, details: Iterable[str]) -> list[Finding]:
    return [Finding(promise=promise.id, detail=detail) for detail in details]


# --- looking ---


@attrs.frozen(kw_only=True, eq=False)
class _Look:
    root: StateRoot
    reader: Reader
    view: SqlView


@contextlib.contextmanager
def _looking(path: Path) -> Generator[_Look | None]:
    """Open the root for looking; there may be none yet, or one without a database."""
    try:
        root, _problem = look_at_root(path)
        reader = open_reader(Connector(), root.database, newest=NEWEST)
    except StoreNotFoundError:
        yield None
        return
    with contextlib.closing(reader), reader.snapshot():
        yield _Look(root=root, reader=reader, view=SqlView(reader.fetch))


# --- each promise ---


def _lost(look: _Look, facts: Sequence[Stored], acks: Sequence[str]) -> list[str]:
    """Return the acknowledgements that the root does not bear out."""
    chains = {fact.place.ordinal: fact.root for fact in facts}
    blobs = BlobStore(place=look.root.blobs, is_named=lambda _blob: False)

    def holds(word: str, *told: str) -> bool:
        match word:
            case "head" | "anchored":
                return int(told[0]) == 0 or chains.get(int(told[0])) == told[1]
            case "epoch":
                return look.view.lease().epoch >= int(told[0])
            case "claim":
                return look.view.claim(told[0]) is not None
            case "quarantine":
                return look.view.quarantine(told[0]) is not None
            case _:
                ref = BlobRef(blob=BlobId(told[0]), size_bytes=int(told[1]))
                return len(blobs.read(ref)) == ref.size_bytes

    return [ack for ack in acks if not holds(*ack.split())]


def _ends(facts: Sequence[Stored]) -> list[str]:
    last = {fact.place.spine.run: fact.place for fact in facts}
    ends = [fact.place for fact in facts if fact.place.kind is Kind.RUN_ENDED]
    twice = [run for run, count in Counter(end.spine.run for end in ends).items() if count > 1]
    followed = [end.id for end in ends if last[end.spine.run] != end]
    return [f"{name} ended twice" for name in twice] + [f"{name} is followed" for name in followed]


def _unstarted(view: SqlView, facts: Sequence[Stored]) -> list[str]:
    """Return the dispatched operations that the resolver calls not started."""
    found: list[str] = []
    for fact in facts:
        if fact.place.kind is not Kind.DISPATCHED:
            continue
        name = fact.event().refs.operation
        assert name is not None
        cell, its_run = view.cell(Machine.OPERATION, name), view.cell(Machine.RUN, _run_of(fact))
        if cell is None or its_run is None:
            found.append(f"{name} has no state")
            continue
        is_open = isinstance(its_run.state, run.Active | run.Stopping)
        point = Standpoint(state=cast("operation.OperationState", cell.state), open=is_open)
        if RESOLVER.answer(point) is Standing.NOT_STARTED:
            found.append(f"{name} was dispatched at {fact.place.ordinal}")
    return found


def _run_of(fact: Stored) -> str:
    return fact.place.spine.run


def _undurable(path: Path, facts: Sequence[Stored]) -> list[str]:
    """Return what happened in the world without a durable fact before it, or twice."""
    requests = {
        fact.event().refs.request for fact in facts if fact.place.kind is Kind.REQUEST_DISPATCHED
    }
    dispatches = {fact.place.id for fact in facts}
    made, done = happened(path, Deed.REQUEST), happened(path, Deed.EFFECT)
    twice = [name for name, count in Counter((*made, *done)).items() if count > 1]
    return [
        *(f"{name} happened twice" for name in twice),
        *(f"request {name} is not in the log" for name in made if name not in requests),
        *(
            f"effect {name} is not in the log"
            for name in done
            if dispatch_fact_id(name) not in dispatches
        ),
    ]


def _repaired_requests(facts: Sequence[Stored]) -> list[str]:
    opened = [fact for fact in facts if fact.place.kind is Kind.RUN_OPENED]
    repaired = {_run_of(fact) for fact in opened if _cause(fact) is Cause.CLAIM_REPAIR}
    return [
        fact.place.id
        for fact in facts
        if fact.place.kind is Kind.REQUEST_DISPATCHED and _run_of(fact) in repaired
    ]


def _cause(fact: Stored) -> Cause:
    action = fact.event().actions
    assert isinstance(action, RunOpened)
    return action.cause
