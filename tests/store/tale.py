"""A session told to a real store, in the words of the lifecycle stories."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import attrs

from crashworthy.machines.facts import compose
from crashworthy.machines.facts.boundary import ControlHead, Manifest
from crashworthy.machines.facts.ids import RootId, control_invocation
from crashworthy.machines.facts.model import (
    MessageQueued,
    RequestDispatched,
    RuntimeEvent,
    SegmentRef,
    SessionOpened,
    Spine,
    Text,
)
from crashworthy.machines.facts.vocabulary import Cause, Finish, Intent, RunFailure
from crashworthy.store.connect import Connector
from crashworthy.store.journal import writers
from crashworthy.store.journal.append import Appended
from crashworthy.store.journal.claims import Claim, ClaimResult, StartContinuation
from crashworthy.store.journal.ends import EndRun, Stop, Stopped
from crashworthy.store.journal.ledger import View
from crashworthy.store.journal.orders import Order
from crashworthy.store.journal.starts import OpenRun, OpenSession, Started
from crashworthy.store.port import Store
from crashworthy.store.sqlite import SqliteStore, open_store

from ..machines.lifecycles.story import DIGEST, PROFILE, Story

T = TypeVar("T")
ROOT = "root_test"


@attrs.define(kw_only=True)
class Tale(Story):
    """One session in `store`; what it tells is durable when the word returns."""

    store: Store

    def do(self, order: Order[T]) -> T:
        return self.store.write(order)

    def view(self, look: Callable[[View], T]) -> T:
        return self.store.read(look)

    def begun(self) -> "Tale":
        """Open the session."""
        self.do(self.session_order())
        return self

    def session_order(self, key: str | None = None, title: str | None = None) -> OpenSession:
        action = SessionOpened(protocol=1, key=key, title=title)
        return OpenSession(opening=compose.session_opened(self.control, self.fresh("fact"), action))

    def run_order(
        self,
        text: str = "go",
        key: str | None = None,
        stated_input: str | None = None,
        taken: RuntimeEvent | None = None,
    ) -> OpenRun:
        """Make the order that opens the next run."""
        self.number += 1
        at = self.at
        message = None if taken is None else taken.refs.message
        words = compose.user_text(at, self.fresh("fact"), Text(text=text), message=message)
        return OpenRun(
            spine=at.spine,
            opened=self.fresh("fact"),
            ts=at.ts,
            profile=PROFILE,
            text=words,
            key=key,
            input=stated_input,
            taken=taken,
            cause=Cause.TURN if taken is None else Cause.FOLLOW_UP,
        )

    def running(self, text: str = "go") -> "Tale":
        """Open the next run."""
        started = self.do(self.run_order(text))
        assert started.created
        return self

    def request(self, step: int, attempt: int = 1, retries: str | None = None) -> RuntimeEvent:
        action = RequestDispatched(
            step=step,
            attempt=attempt,
            profile=DIGEST,
            wire=DIGEST,
            parts=(DIGEST,),
            retries=retries,
        )
        name = self.request_name(step, attempt)
        return compose.request_dispatched(self.at, self.fresh("fact"), name, action)

    def step(self, step: int, *calls: RuntimeEvent) -> "Tale":
        """Tell a whole step: the request, then its answer as one unit."""
        self.do(writers.dispatch_request(self.request(step)))
        finish = Finish.TOOL_CALLS if calls else Finish.STOP
        self.do(writers.settle_step(self.text(step), *calls, self.settle(step, finish)))
        return self

    def called(self, call: RuntimeEvent) -> "Tale":
        """Tell one tool call: T1, then T2."""
        assert self.do(writers.dispatch(self.dispatch(call))).created
        self.do(writers.settle(self.outcome(call)))
        return self

    def end_order(self, failure: RunFailure | None = None) -> EndRun:
        return EndRun(end=self.completed() if failure is None else self.failed(failure))

    def ended(self) -> Appended:
        """End the run as completed."""
        return self.do(self.end_order())

    def stopped(self) -> Stopped:
        """Ask the run to stop."""
        return self.do(Stop(fact=self.stop()))

    def reattached(self) -> RuntimeEvent:
        return compose.run_reattached(self.at, self.fresh("fact"), DIGEST)

    # --- messages ---

    def queued(
        self,
        message: str,
        intent: Intent = Intent.FOLLOW_UP,
        key: str | None = None,
        stated_input: str | None = None,
    ) -> RuntimeEvent:
        action = MessageQueued(intent=intent, key=key, input=stated_input)
        words = Text(text=f"say {message}")
        return compose.message_queued(self.control, self.fresh("fact"), message, words, action)

    def taken(self, message: str, run: str | None = None) -> RuntimeEvent:
        return compose.message_taken(self.control, self.fresh("fact"), message, run or self.run)

    def steering(self, message: str) -> RuntimeEvent:
        return compose.steering_text(self.at, self.fresh("fact"), Text(text="rather"), message)

    # --- continuation ---

    def manifest(self, *runs: str) -> Manifest:
        """Draw the boundary of these closed runs, as a planner that just looked would."""

        def look(view: View) -> Manifest:
            row = view.session(self.session)
            control = view.head(control_invocation(self.session))
            assert row is not None
            assert control is not None
            segments: list[SegmentRef] = []
            for run in runs:
                opening = view.opening(run)
                assert opening is not None
                head = view.head(opening.spine.invocation)
                assert head is not None
                spine = head.spine
                segments.append(
                    SegmentRef(
                        session=spine.session,
                        invocation=spine.invocation,
                        run=spine.run,
                        turn=spine.turn,
                        last_seq=head.seq,
                        last_id=head.id,
                        chain=head.chain,
                    )
                )
            return Manifest(
                segments=tuple(segments),
                context=row.context,
                control=ControlHead(seq=control.seq, chain=control.chain),
            )

        return self.view(look)

    def claim_order(self, *runs: str, number: int | None = None) -> Claim:
        """Make the order that claims these runs for run `number`, the next one if not stated."""
        n = self.number + 1 if number is None else number
        target = Spine(
            session=self.session, invocation=f"inv_{n}", run=f"run_{n}", turn=f"turn_{n}"
        )
        return Claim(
            manifest=self.manifest(*(runs or (self.run,))),
            target=target,
            projection=1,
            replay=DIGEST,
            profile=PROFILE,
        )

    def claimed(self, *runs: str) -> str:
        """Claim these runs (the last one if none is stated) for the next run."""
        answer = self.do(self.claim_order(*runs))
        assert answer.result is ClaimResult.ACQUIRED, answer
        return answer.claim

    def start_order(self, claim: str) -> StartContinuation:
        return StartContinuation(claim=claim, start=self.fresh("fact"), ts=self.control.ts)


def whole_run(tale: Tale) -> Tale:
    """Tell a run with one tool call, from its opening to its end."""
    tale.running()
    call = tale.call(1, 1, x="a")
    tale.step(1, call).called(call)
    tale.step(2).ended()
    return tale


def open_here(
    place: Path, *, connector: Connector | None = None, accept_loss: bool = False
) -> SqliteStore:
    """Own the root in `place`, making it if there is none."""
    return open_store(
        place,
        host="host_test",
        since="now",
        new_root_id=lambda: RootId(ROOT),
        connector=connector,
        pause=lambda _seconds: None,
        accept_loss=accept_loss,
    )


def ids_of(store: Store) -> list[str]:
    """Read the ids of all facts in commit order."""
    return store.read(lambda view: [stored.place.id for stored in view.log(limit=100_000)])


__all__ = ["ROOT", "Started", "Tale", "ids_of", "open_here", "whole_run"]
