"""The heads of all ledgers of a walk: what each goes on from (BYTE-5, ID-1)."""

from typing import Final

import attrs

from ...machines.facts.chain import chain_start
from ...machines.facts.compose import control_spine
from ...machines.facts.kinds import KINDS, Ledger
from ...machines.facts.model import RuntimeEvent, Spine
from ...machines.facts.vocabulary import Kind
from ..journal import columns as c
from .shelf import Shelf
from .tables import Run

_OPENINGS: Final = frozenset((Kind.RUN_OPENED, Kind.SESSION_OPENED))
_CREATE: Final = (
    "CREATE TABLE heads (invocation TEXT PRIMARY KEY, session, run, turn, seq, control, chains)"
    " WITHOUT ROWID"
)
_PUT: Final = "INSERT OR REPLACE INTO heads VALUES (?,?,?,?,?,?,?)"
_STORED: Final = (
    "SELECT session, run, turn, seq, chain FROM facts WHERE invocation = ? AND ordinal <= ?"
    " ORDER BY seq DESC LIMIT 1"
)
_GET: Final = "SELECT session, run, turn, seq, control, chains FROM heads WHERE invocation = ?"


@attrs.frozen(kw_only=True)
class LedgerHead:
    """The last row of a ledger.

    Attributes:
        control: Whether it is a session's control ledger.
        chains: The values that the next row may go on from: the stored one and, where that was
            found wrong, the computed one too, because then nobody knows yet which is the bad one.
    """

    spine: Spine
    seq: int
    control: bool
    chains: tuple[str, ...]


def head_shelf(run: Run) -> Shelf[str, LedgerHead]:
    """Return a shelf of heads by invocation, with a new table of the scratch behind it."""
    run(_CREATE, ())

    def load(invocation: str) -> LedgerHead | None:
        for session, of_run, turn, seq, control, chains in run(_GET, (invocation,)):
            spine = Spine(
                session=c.text(session),
                invocation=invocation,
                run=c.text(of_run),
                turn=c.text(turn),
            )
            return LedgerHead(
                spine=spine,
                seq=c.integer(seq),
                control=bool(control),
                chains=tuple(c.text(chains).split()),
            )
        return None

    def save(head: LedgerHead) -> None:
        spine, chains = head.spine, " ".join(head.chains)
        values = (spine.invocation, spine.session, spine.run, spine.turn, head.seq)
        run(_PUT, (*values, int(head.control), chains))

    return Shelf(load=load, save=save)


def stored_heads(run: Run, ordinal: int) -> Shelf[str, LedgerHead]:
    """Return a shelf of heads as the store has them up to an ordinal: where a partial look begins.

    What a head says is taken on trust; the rows behind it are judged from there.
    """

    def load(invocation: str) -> LedgerHead | None:
        for session, of_run, turn, seq, chain in run(_STORED, (invocation, ordinal)):
            spine = Spine(
                session=c.text(session),
                invocation=invocation,
                run=c.text(of_run),
                turn=c.text(turn),
            )
            return LedgerHead(
                spine=spine,
                seq=c.integer(seq),
                control=spine == control_spine(spine.session),
                chains=(c.data(chain).hex(),),
            )
        return None

    return Shelf(load=load, save=lambda _head: None, laid_aside=ordinal > 0)


def is_control(kind: Kind) -> bool:
    """Say whether a kind belongs to a control ledger."""
    return KINDS[kind].ledger is Ledger.CONTROL


def belongs(head: LedgerHead | None, event: RuntimeEvent) -> bool:
    """Say whether a fact may follow this head, or open a ledger (ID-1, LOG-3)."""
    kind, spine = event.kind, event.spine
    if head is not None:
        return head.spine == spine and head.control is is_control(kind) and kind not in _OPENINGS
    if kind is Kind.SESSION_OPENED:
        return spine == control_spine(spine.session)
    return kind is Kind.RUN_OPENED


def next_of(head: LedgerHead | None, spine: Spine) -> tuple[int, tuple[str, ...]]:
    """Return the position and the chain values from which a ledger goes on."""
    return (1, (chain_start(spine),)) if head is None else (head.seq + 1, head.chains)
