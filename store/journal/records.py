"""The rows of the journal as values: facts with their place, and what is kept beside them."""

import attrs

from ...machines.facts.codec import decode_body, decode_stamp
from ...machines.facts.model import RuntimeEvent, Spine, Stamp
from ...machines.facts.vocabulary import Kind
from ...machines.lifecycles.cells import Cell, Machine


@attrs.frozen(kw_only=True)
class Owner:
    """Who writes: what the stamps of its facts say."""

    root: str
    epoch: int


@attrs.frozen(kw_only=True)
class Place:
    """Where one fact stands, without its bytes.

    Attributes:
        ordinal: Position in the commit order of the root, from 1.
        seq: Position in its invocation, from 1.
        chain: Chain value of its ledger at this fact.
    """

    ordinal: int
    seq: int
    id: str
    kind: Kind
    epoch: int
    spine: Spine
    chain: str


@attrs.frozen(kw_only=True)
class Stored:
    """One fact as it is stored.

    Attributes:
        root: Root chain value at this fact.
    """

    place: Place
    root: str
    stamp: bytes
    body: bytes

    def event(self) -> RuntimeEvent:
        """Decode the body.

        Raises:
            CrashworthyError: The bytes are not a legal fact: damage.
        """
        return decode_body(self.body)

    def stamped(self) -> Stamp:
        """Decode the stamp.

        Raises:
            CrashworthyError: The bytes are not a legal stamp: damage.
        """
        return decode_stamp(self.stamp)


@attrs.frozen(kw_only=True)
class CellRow:
    """One machine instance as it is stored; a projection of the facts.

    Attributes:
        scope: What lists it: its run for requests, operations and asks, else its session.
        made: Ordinal of the fact that made the instance.
        moved: Ordinal of the newest fact that changed it; of a run, that moved it at all.
    """

    machine: Machine
    instance: str
    session: str
    scope: str
    cell: Cell
    made: int
    moved: int


@attrs.frozen(kw_only=True)
class SessionRow:
    """What a session is, beyond its machine; a projection of the facts.

    Attributes:
        opened: Ordinal of its opening.
        context: Digest over the chain heads of its closed inline runs (CONT-1).
        last_run: The inline run that closed last.
        abandoned: A person gave up continuing `last_run`.
        runs: How many runs were opened in it.
        adopted: Ordinal of its adoption, for a session that was imported.
    """

    session: str
    opened: int
    context: str
    last_run: str | None = None
    abandoned: bool = False
    runs: int = 0
    adopted: int | None = None


@attrs.frozen(kw_only=True)
class KeyRow:
    """What a caller's key stands for, for ever (RUN-5); a projection of the facts.

    Attributes:
        scope: The session, or the empty text for the keys by which sessions are made.
        input: Digest of what came with the key.
        fact: The fact that carried it.
        message: The queued message it stands for.
        run: The run it stands for, or the run that took its message.
    """

    scope: str
    key: str
    input: str
    fact: str
    message: str | None = None
    run: str | None = None


@attrs.frozen(kw_only=True)
class ClaimRecord:
    """One claim, an authority row (CONT-3).

    Attributes:
        manifest: Canonical bytes of the boundary's manifest; `boundary` is their digest.
        profile: Canonical bytes of the execution profile that the target will have.
        evidence: Ids of the control facts that the plan rests on.
        ordinal: The root's last ordinal when it was made.
        row: The row of the claim's table that admitted it.
    """

    claim: str
    boundary: str
    manifest: bytes
    source_run: str
    target: Spine
    projection: int
    replay: str
    profile: bytes
    evidence: tuple[str, ...]
    epoch: int
    ordinal: int
    row: str


@attrs.frozen(kw_only=True)
class Partial:
    """The bounded snapshot of one stream that has no final fact yet (LOG-5).

    Attributes:
        owner: The request or operation whose settlement ends the stream.
        lane: What streams: `text`, `thinking`, `arguments` or `output`.
        snapshot: Text as UTF-8, at most the stated cap.
        bytes_total: How many bytes the stream had so far.
        finished: The final fact is stored; the row only remembers that.
    """

    owner: str
    stream: str
    spine: Spine
    lane: str
    snapshot: bytes
    bytes_total: int
    finished: bool = False


@attrs.frozen(kw_only=True)
class Quarantine:
    """Why a session's tools are refused, an authority row (STORE-8).

    Attributes:
        first_bad: Ordinal of the first bad row.
        head_seq: Sequence of that ledger's last row when the damage was found.
        head_chain: Its stored chain value.
        ordinal: The root's last ordinal when it was made.
    """

    session: str
    code: str
    first_bad: int
    head_seq: int
    head_chain: str
    ordinal: int
