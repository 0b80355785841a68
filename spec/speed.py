"""How fast the core reads a log: decode, chain check and fold together, on one core (`--speed`)."""

from collections.abc import Sequence
from functools import cache
from typing import Final

import attrs

from ..machines.facts import compose
from ..machines.facts.chain import chain_next, chain_start
from ..machines.facts.codec import decode_body, decode_stamp, encode_body, encode_stamp
from ..machines.facts.model import (
    Dispatched,
    ExecutionProfile,
    FunctionCall,
    Outcome,
    RequestDispatched,
    RequestSettled,
    RunEnded,
    RunOpened,
    RuntimeEvent,
    Spine,
    Stamp,
    Text,
    Usage,
)
from ..machines.facts.vocabulary import (
    Cause,
    Finish,
    OutcomeBy,
    OutcomeResult,
    OutcomeState,
    RecoveryMode,
    RequestResult,
    RunStatus,
)
from ..machines.lifecycles import run
from ..machines.lifecycles.cells import Cell, Machine
from ..machines.lifecycles.unit import Admitted, admit_unit

_RUNS: Final = 300
_WORDS: Final = "A sentence of the kind that a model says between two tool calls, plainly. " * 2
_DIGEST: Final = "0" * 64


def _cells() -> dict[tuple[Machine, str], Cell]:
    return {}


@attrs.define(kw_only=True)
class _Fold:
    """The surroundings of a fold over one session, in a dict."""

    cells: dict[tuple[Machine, str], Cell] = attrs.field(factory=_cells)
    current: str | None = None

    def cell(self, machine: Machine, instance: str) -> Cell | None:
        """Return a cell."""
        return self.cells.get((machine, instance))

    def open_run(self, _session: str) -> str | None:
        """Return the newest run, if it is open."""
        known = self.cells.get((Machine.RUN, self.current or ""))
        alive = known is not None and isinstance(known.state, run.Active | run.Stopping)
        return self.current if alive else None

    def steering(self, _session: str) -> int:
        """Return that nothing is queued."""
        return 0

    def reservation(self, _spine: Spine) -> str | None:
        """Return that nothing is reserved."""
        return None

    def sealed(self, _run: str) -> bool:
        """Return that nothing is sealed."""
        return False

    def gone(self) -> int:
        """Return that no epoch is gone."""
        return 0

    def released(self, _run: str) -> bool:
        """Return that nothing was released."""
        return False

    def foreign(self, _session: str) -> bool:
        """Return that the session is ours."""
        return False

    def take(self, facts: Sequence[RuntimeEvent]) -> Admitted:
        """Admit one unit."""
        taken = admit_unit([(fact, 1) for fact in facts], self)
        assert isinstance(taken, Admitted), taken
        self.cells.update(taken.moved)
        if taken.opened:
            (self.current,) = taken.opened
        return taken


@attrs.frozen(kw_only=True)
class _Row:
    """One stored fact."""

    body: bytes
    stamp: bytes
    chain: str


def _units(number: int) -> Sequence[Sequence[RuntimeEvent]]:
    """Return the units of one run: two steps of text with one tool call between them."""
    spine = Spine(
        session="ses_1", invocation=f"inv_{number}", run=f"run_{number}", turn=f"turn_{number}"
    )
    at = compose.At(spine=spine, ts=1_700_000_000_000 + number)
    profile = ExecutionProfile(
        backend="b", model="m", prompt=(), tools=(), tool_protocol=1, projection=1, policy=_DIGEST
    )
    opening = RunOpened(protocol=1, cause=Cause.TURN, profile=profile, context=_DIGEST)
    name = f"{number:06d}"
    content = FunctionCall(label="call_1", name="read", args={"path": "a/b.txt", "limit": 100})
    call = compose.call(at, f"req_{name}_1", content, 1, 1)
    operation, action = call.refs.operation, call.actions
    assert operation is not None
    dispatch = Dispatched(
        tool="read",
        args_digest=getattr(action, "args_digest", ""),
        recovery=RecoveryMode.REPLAY_SAFE,
        local=True,
    )
    outcome = Outcome(
        state=OutcomeState.SETTLED, result=OutcomeResult.OK, by=OutcomeBy.TOOL, duration_ms=3
    )

    def ask(step: int) -> RuntimeEvent:
        sent = RequestDispatched(
            step=step, attempt=1, profile=_DIGEST, wire=_DIGEST, parts=(_DIGEST, _DIGEST)
        )
        return compose.request_dispatched(at, f"f_{name}_r{step}", f"req_{name}_{step}", sent)

    def answer(step: int, finish: Finish, *calls: RuntimeEvent) -> Sequence[RuntimeEvent]:
        settled = RequestSettled(
            result=RequestResult.FINISHED, finish=finish, usage=Usage(input=900, output=80)
        )
        request = f"req_{name}_{step}"
        return (
            compose.model_text(at, f"f_{name}_t{step}", request, Text(text=_WORDS)),
            *calls,
            compose.request_settled(at, f"f_{name}_s{step}", request, settled),
        )

    return (
        (
            compose.run_opened(at, f"f_{name}_o", opening),
            compose.user_text(at, f"f_{name}_u", Text(text=_WORDS)),
        ),
        (ask(1),),
        answer(1, Finish.TOOL_CALLS, call),
        (compose.dispatched(at, operation, dispatch),),
        (compose.outcome(at, operation, compose.response(content, _WORDS), outcome),),
        (ask(2),),
        answer(2, Finish.STOP),
        (compose.run_ended(at, f"f_{name}_e", RunEnded(status=RunStatus.COMPLETED)),),
    )


@cache
def _log() -> Sequence[Sequence[_Row]]:
    """Return a log of many runs, unit by unit, as a store would hold it."""
    fold, units = _Fold(), list[Sequence[_Row]]()
    for number in range(_RUNS):
        seq, chain = 0, ""
        for facts in _units(number):
            admitted, rows = fold.take(facts), list[_Row]()
            for fact, moved in zip(facts, admitted.rows, strict=True):
                seq += 1
                chain = chain or chain_start(fact.spine)
                body = encode_body(fact)
                stamp = encode_stamp(Stamp(seq=seq, root="root_1", epoch=1, rows=moved))
                chain = chain_next(chain, body, stamp)
                rows.append(_Row(body=body, stamp=stamp, chain=chain))
            units.append(rows)
    return units


def read_log() -> int:
    """Decode, check and fold a log of a few thousand facts; return how many there were."""
    fold, count, chain = _Fold(), 0, ""
    for rows in _log():
        facts = list[RuntimeEvent]()
        stamps = list[Stamp]()
        for row in rows:
            fact, stamp = decode_body(row.body), decode_stamp(row.stamp)
            if stamp.seq == 1:
                chain = chain_start(fact.spine)
            chain = chain_next(chain, row.body, row.stamp)
            assert chain == row.chain
            facts.append(fact)
            stamps.append(stamp)
        admitted = fold.take(facts)
        assert admitted.rows == tuple(stamp.rows for stamp in stamps)
        count += len(rows)
    return count
