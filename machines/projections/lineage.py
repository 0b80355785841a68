"""Which run came of which: causes, continuation edges, and the claims behind them (CONT-1)."""

from collections.abc import Sequence
from enum import StrEnum

import attrs

from ..facts.model import BranchedFrom, RuntimeEvent
from ..facts.vocabulary import Cause
from .bound import up_to
from .endings import Terminal, classify
from .reading import read
from .records import Reading, Run


@attrs.frozen(kw_only=True)
class Claim:
    """A claim as the caller read it: an authority row is no fact and cannot be folded (STORE-7)."""

    claim: str
    boundary: str
    source: str
    target: str


class ClaimStanding(StrEnum):
    """What became of a claim, as the target's facts say."""

    STARTLESS = "startless"  # the next recovery repairs it (CONT-7)
    ADMITTED = "admitted"
    REPAIRED = "repaired"  # no provider was called


@attrs.frozen(kw_only=True)
class ClaimView:
    """A claim and what became of it."""

    claim: Claim
    standing: ClaimStanding


@attrs.frozen(kw_only=True)
class RunNode:
    """One run: what started it, with which key, and what it executed with."""

    run: str
    turn: str
    cause: Cause | None
    key: str | None
    backend: str | None
    model: str | None
    terminal: Terminal | None


@attrs.frozen(kw_only=True)
class Edge:
    """One continuation: the source's prefix that the target rests on, and by which claim."""

    source: str
    target: str
    claim: str
    boundary: str
    last_seq: int
    last_id: str
    repaired: bool


@attrs.frozen(kw_only=True)
class Branch:
    """Where a copied session came from (CONT-10)."""

    session: str
    boundary: str


@attrs.frozen(kw_only=True)
class LineageView:
    """The runs of a session, their continuations, their claims, and the session's own origin."""

    runs: tuple[RunNode, ...]
    edges: tuple[Edge, ...]
    claims: tuple[ClaimView, ...]
    branch: Branch | None


def lineage(
    facts: Sequence[RuntimeEvent], claims: Sequence[Claim] = (), *, at: int | None = None
) -> LineageView:
    """Return the lineage of a session. Pure and total.

    Args:
        facts: Those of one session in commit order.
        claims: Its claims up to the same moment, as the store has them.
        at: How many of the facts count; all of them by default (PROJ-1).
    """
    reading = read(up_to(facts, at))
    edges = tuple(edge for run in reading.runs.values() for edge in _edges(run))
    started = {edge.claim: edge for edge in edges}
    return LineageView(
        runs=tuple(_node(run) for run in reading.runs.values()),
        edges=edges,
        claims=tuple(
            ClaimView(claim=one, standing=_standing(started.get(one.claim))) for one in claims
        ),
        branch=_branch(reading),
    )


def _node(run: Run) -> RunNode:
    opening = None if run.opening is None else run.opening.says
    return RunNode(
        run=run.spine.run,
        turn=run.spine.turn,
        cause=None if opening is None else opening.cause,
        key=None if opening is None else opening.key,
        backend=None if opening is None else opening.profile.backend,
        model=None if opening is None else opening.profile.model,
        terminal=None if run.end is None else classify(run.end.id, run.end.says),
    )


def _edges(run: Run) -> tuple[Edge, ...]:
    if run.opening is None or run.opening.says.continuation is None:
        return ()
    start = run.opening.says.continuation
    return (
        Edge(
            source=start.source.run,
            target=run.spine.run,
            claim=start.claim,
            boundary=start.boundary,
            last_seq=start.source.last_seq,
            last_id=start.source.last_id,
            repaired=run.opening.says.cause is Cause.CLAIM_REPAIR,
        ),
    )


def _standing(start: Edge | None) -> ClaimStanding:
    if start is None:
        return ClaimStanding.STARTLESS
    return ClaimStanding.REPAIRED if start.repaired else ClaimStanding.ADMITTED


def _branch(reading: Reading) -> Branch | None:
    for event in reading.control:
        if isinstance(event.actions, BranchedFrom):
            return Branch(session=event.actions.session, boundary=event.actions.boundary)
    return None
