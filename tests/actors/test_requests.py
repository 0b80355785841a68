"""One request: durable before it leaves, retried only before it said anything (LOG-7, BACK-1)."""

from collections.abc import AsyncGenerator, AsyncIterator

import attrs
import pytest
import trio

from crashworthy.actors.backends.contract import (
    Backend,
    BackendEvent,
    Finished,
    ModelRequest,
)
from crashworthy.actors.backends.wrapped import WrappedBackend
from crashworthy.actors.means import Patience
from crashworthy.actors.runtime import RunHandle, Runtime
from crashworthy.machines.facts import compose
from crashworthy.machines.facts.model import RequestDispatched
from crashworthy.machines.facts.vocabulary import Finish, Kind, RunFailure, RunStatus
from crashworthy.store.journal.ends import Stop, Stopped
from crashworthy.store.journal.orders import Append
from crashworthy.store.sqlite import SqliteStore

from .scene import (
    PATIENCE,
    STOP,
    SUBMIT,
    Event,
    Intrude,
    Scene,
    call,
    fail_to_close,
    full,
    unreachable_once,
    until,
)

QUICK = attrs.evolve(PATIENCE, idle_ms=100)


def counting(inner: Backend, sent: list[int]) -> Backend:
    """Return a backend whose requests are counted."""

    def count(request: ModelRequest) -> None:
        sent.append(request.attempt)

    return WrappedBackend(inner=inner, before=count)


async def break_at_once(
    _request: ModelRequest, events: AsyncIterator[BackendEvent]
) -> AsyncGenerator[BackendEvent]:
    async for _event in events:
        raise ZeroDivisionError
    yield Finished(finish=Finish.STOP)


def attempts(scene: Scene) -> list[int]:
    actions = [fact.actions for fact in scene.facts]
    return [action.attempt for action in actions if isinstance(action, RequestDispatched)]


async def stop_first(store: SqliteStore, order: Append) -> None:
    at = compose.At(spine=order.facts[0].spine, ts=order.facts[0].ts)
    await SUBMIT(store, Stop(fact=compose.stop_requested(at, "fact_stop", "ui")))


@pytest.mark.parametrize("intrude", [full, stop_first], ids=lambda one: one.__name__)
@pytest.mark.proves("LOG-7", "RUN-1")
def test_no_request_leaves_before_it_is_durable(scene: Scene, intrude: Intrude) -> None:
    sent: list[int] = []
    scene.intrude["dispatch_request"] = intrude

    scene.turn(backend=lambda inner: counting(inner, sent))

    assert sent == []
    assert scene.kinds()[Kind.REQUEST_DISPATCHED] == 0
    assert scene.kinds()[Kind.USER_TEXT] == 1


@pytest.mark.parametrize(
    ("events", "made"),
    [
        ([{"delay_ms": 60_000}, STOP], [1, 2]),
        ([{"think": "hm"}, {"delay_ms": 60_000}, STOP], [1, 2]),
        ([{"text": "so"}, {"delay_ms": 60_000}, STOP], [1]),
        ([{"error": "network", "message": "gone"}], [1, 2]),
        ([{"text": "so"}, {"error": "network", "message": "gone"}], [1]),
        ([{"error": "auth", "message": "no key"}], [1]),
    ],
    ids=str,
)
@pytest.mark.proves("BACK-1")
def test_failed_request_is_retried_only_where_nothing_was_said(
    scene: Scene, events: list[Event], made: list[int]
) -> None:
    scene.turn(events, patience=QUICK)

    assert attempts(scene) == made
    assert scene.end().failure is RunFailure.BACKEND_FAILED


def test_each_event_gives_the_watchdog_new_patience(scene: Scene) -> None:
    slowly: list[Event] = []
    for word in ("a", "b", "c", "d"):
        slowly += [{"text": word}, {"delay_ms": 60}]

    scene.turn([*slowly, STOP], patience=QUICK)

    assert scene.end().status is RunStatus.COMPLETED


def test_finish_without_a_meaning_of_its_own_is_no_success(scene: Scene) -> None:
    scene.turn([{"text": "so"}, {"finish": "other"}])

    assert scene.end().status is RunStatus.FAILED


@pytest.mark.proves("RUN-3")
def test_exception_of_a_backend_fails_its_request_and_keeps_the_users_words(scene: Scene) -> None:
    scene.turn(backend=lambda inner: WrappedBackend(inner=inner, through=break_at_once))

    assert scene.end().failure is RunFailure.BACKEND_FAILED
    assert (scene.kinds()[Kind.USER_TEXT], scene.kinds()[Kind.ERROR_NOTED]) == (1, 1)


def test_stream_that_cannot_be_opened_is_retried_like_any_failure(scene: Scene) -> None:
    scene.turn(backend=unreachable_once, patience=QUICK)

    assert scene.end().status is RunStatus.COMPLETED
    assert (scene.kinds()[Kind.REQUEST_DISPATCHED], scene.kinds()[Kind.ERROR_NOTED]) == (2, 1)


def test_stream_that_fails_to_close_takes_nothing_back(scene: Scene) -> None:
    """The finish was stated before; what becomes of the connection is nobody's (RUN-2)."""
    scene.turn(backend=lambda inner: WrappedBackend(inner=inner, through=fail_to_close))

    assert scene.end().status is RunStatus.COMPLETED
    assert scene.kinds()[Kind.ERROR_NOTED] == 0


def test_backend_that_cannot_be_made_again_fails_the_run(scene: Scene) -> None:
    """The run is open by then: it ends as failed, and its words stay."""
    made: list[Backend] = []

    def once(inner: Backend) -> Backend:
        if made:
            raise ZeroDivisionError
        made.append(inner)
        return inner

    scene.turn(backend=once)

    assert scene.end().status is RunStatus.FAILED
    assert scene.kinds()[Kind.USER_TEXT] == 1


# --- stopping ---


async def stop_twice(runtime: Runtime, run: RunHandle) -> None:
    found: list[Stopped] = []

    async def stop() -> None:
        found.append(await runtime.stop(run.id))

    await until(runtime, run, Kind.REQUEST_SETTLED)
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(stop)
    assert found[0] is Stopped.REQUESTED
    assert set(found[1:]) == {Stopped.ENDED}


@pytest.mark.proves("RUN-4")
def test_stops_at_once_are_one_and_interrupt_the_wait_for_a_retry(scene: Scene) -> None:
    patient = Patience(idle_ms=None, attempts_max=2, retry_ms=60_000, partial_ms=10)

    scene.turn([{"error": "network", "message": "gone"}], meanwhile=stop_twice, patience=patient)

    assert scene.end().status is RunStatus.ABORTED
    assert (scene.kinds()[Kind.STOP_REQUESTED], attempts(scene)) == (1, [1])


@pytest.mark.proves("RUN-4")
def test_stop_whose_end_could_not_be_stored_is_settled_by_the_next_one(scene: Scene) -> None:
    async def meanwhile(runtime: Runtime, run: RunHandle) -> None:
        await until(runtime, run, Kind.DISPATCHED)
        scene.intrude["EndRun"] = full
        with pytest.raises(Exception, match="storage_full"):
            await runtime.stop(run.id)
        del scene.intrude["EndRun"]
        assert await runtime.stop(run.id) is Stopped.ALREADY

    scene.slow_s = 60

    scene.turn([{"usage": {"input": 3, "output": 4}}, call("bump")], meanwhile=meanwhile)

    assert scene.end().status is RunStatus.ABORTED
    assert scene.kinds()[Kind.RUN_ENDED] == 1
    settled = next(fact.actions for fact in scene.facts if fact.kind is Kind.REQUEST_SETTLED)
    assert getattr(settled, "usage", None) is not None, "what the step used is kept"
