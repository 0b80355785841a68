"""Tasks hand in units; each is answered once, truly, and after its COMMIT.

Where a test says how long things take, the runner is inline and the clock is virtual. That clock is
an argument of the test: pytest-trio looks for it nowhere else, and time would be real.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from crashworthy.store.errors import (
    ConstraintRefusedError,
    StorageFullError,
    StoreClosedError,
    StorePoisonedError,
)
from crashworthy.store.runner import InlineRunner, ThreadRunner
from crashworthy.store.txn import Health
from crashworthy.store.writer import BATCH_BYTES_MAX, BATCH_UNITS_MAX

from .rig import Rig, make_rig

pytestmark = pytest.mark.trio


def count_commits(rig: Rig) -> list[str]:
    """Return the list that will name each commit made from now on."""
    seen: list[str] = []
    rig.door.probe = lambda name: seen.append(name) if name == "txn.committed" else None
    return seen


@pytest.fixture
def threaded(tmp_path: Path) -> Rig:
    return make_rig(tmp_path, runner=ThreadRunner())


async def test_every_submitter_is_answered_with_its_own_row(threaded: Rig) -> None:
    rig, told = threaded, dict[str, int]()
    seen = count_commits(rig)

    async def submit(text: str) -> None:
        told[text] = await rig.writer.submit(rig.append(text))

    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        async with trio.open_nursery() as callers:
            for number in range(64):
                callers.start_soon(submit, f"row {number}")
        await rig.writer.aclose()
    assert sorted((position, text) for text, position in told.items()) == rig.rows()
    assert len(told) == 64
    assert len(seen) < 10, "they shared commits"


async def test_units_beyond_full_batches_are_answered_too(threaded: Rig) -> None:
    """One event wakes a batch; whoever waited for it and was not taken must not be forgotten."""
    count = 2 * BATCH_UNITS_MAX + 7
    positions: list[int] = []

    async def submit(number: int) -> None:
        positions.append(await threaded.writer.submit(threaded.append(f"text {number}")))

    async with trio.open_nursery() as nursery:
        await nursery.start(threaded.writer.drive)
        with trio.fail_after(30):
            async with trio.open_nursery() as callers:
                for number in range(count):
                    callers.start_soon(submit, number)
        await threaded.writer.aclose()
    assert sorted(positions) == list(range(1, count + 1))


async def test_refused_unit_raises_for_its_caller_alone(threaded: Rig) -> None:
    refused: list[Exception] = []

    async def submit(text: str) -> None:
        try:
            await threaded.writer.submit(threaded.append(text))
        except ConstraintRefusedError as error:
            refused.append(error)

    async with trio.open_nursery() as nursery:
        await nursery.start(threaded.writer.drive)
        async with trio.open_nursery() as callers:
            for text in ("a", "b", "a", "c"):
                callers.start_soon(submit, text)
        await threaded.writer.aclose()
    assert len(refused) == 1
    assert sorted(text for _, text in threaded.rows()) == ["a", "b", "c"]


async def test_unit_never_runs_when_cancelled_while_queued(rig: Rig) -> None:
    ran: list[str] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        with trio.CancelScope() as scope:
            scope.cancel()
            await rig.writer.submit(lambda _txn: ran.append("ran"))
        assert scope.cancelled_caught
        await rig.writer.aclose()
    assert ran == []


async def test_result_comes_first_when_cancelled_after_being_taken(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Raising in place of the result would hide a fact that is durable."""
    rig = make_rig(tmp_path, runner=InlineRunner(latency_s=lambda: 0.05))
    steps: list[str] = []
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        with trio.move_on_after(0.01) as scope:
            steps.append(f"result {await rig.writer.submit(rig.append('a'))}")
            await trio.lowlevel.checkpoint()
            steps.append("not reached")
        assert scope.cancelled_caught
        await rig.writer.aclose()
    assert steps == ["result 1"]
    assert rig.rows() == [(1, "a")]
    assert autojump_clock.current_time() > 0


async def test_refusal_comes_first_when_cancelled_after_being_taken(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = make_rig(tmp_path, runner=InlineRunner(latency_s=lambda: 0.02))
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        await rig.writer.submit(rig.append("a"))
        with trio.move_on_after(0.01) as scope, pytest.raises(ConstraintRefusedError):
            await rig.writer.submit(rig.append("a"))
        assert scope.cancel_called
        await rig.writer.aclose()
    assert autojump_clock.current_time() > 0


async def test_neighbours_commit_when_a_queued_unit_is_withdrawn(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = make_rig(tmp_path, runner=InlineRunner(latency_s=lambda: 0.02))
    told: list[int] = []

    async def submit(text: str) -> None:
        told.append(await rig.writer.submit(rig.append(text)))

    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        nursery.start_soon(submit, "first")
        await trio.sleep(0.01)  # taken: the next ones queue
        async with trio.open_nursery() as callers:
            callers.start_soon(submit, "second")
            with trio.move_on_after(0.002) as scope:
                await submit("withdrawn")
        await rig.writer.aclose()
    assert scope.cancelled_caught
    assert rig.rows() == [(1, "first"), (2, "second")]
    assert told == [1, 2]
    assert autojump_clock.current_time() > 0


async def test_batches_keep_to_their_bounds(tmp_path: Path) -> None:
    rig = make_rig(tmp_path)
    seen = count_commits(rig)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        async with trio.open_nursery() as callers:
            for number in range(BATCH_UNITS_MAX + 1):
                callers.start_soon(rig.writer.submit, rig.append(f"small {number}"))
        assert len(seen) == 2, "one more unit than a batch may hold"
        seen.clear()

        async def submit_large(text: str) -> None:
            await rig.writer.submit(rig.append(text), size_bytes=BATCH_BYTES_MAX // 2 + 1)

        async with trio.open_nursery() as callers:
            for number in range(3):
                callers.start_soon(submit_large, f"large {number}")
        assert len(seen) == 3, "two of them are past the bound"
        await rig.writer.aclose()


async def test_queued_units_are_committed_when_closing(rig: Rig) -> None:
    told: list[int] = []

    async def submit() -> None:
        told.append(await rig.writer.submit(rig.append("a")))

    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        nursery.start_soon(submit)
        await trio.testing.wait_all_tasks_blocked()
        await rig.writer.aclose()
        with pytest.raises(StoreClosedError):
            await rig.writer.submit(rig.append("late"))
        await rig.writer.aclose()
    assert told == [1]
    assert rig.rows() == [(1, "a")]


async def test_owner_writes_its_last_words_when_the_queue_is_closed(threaded: Rig) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(threaded.writer.drive)
        with pytest.raises(AssertionError, match="only one who commits"):
            threaded.writer.submit_sync(threaded.append("beside the driver"))
        await threaded.writer.submit(threaded.append("first"))
        await threaded.writer.aclose_queue()
        await threaded.writer.aclose_queue()
        with pytest.raises(StoreClosedError):
            await threaded.writer.submit(threaded.append("late"))
        assert threaded.writer.submit_sync(threaded.append("last words")) == 2
        await threaded.writer.aclose()
        with pytest.raises(StoreClosedError):
            threaded.writer.submit_sync(threaded.append("too late"))
    assert threaded.rows() == [(1, "first"), (2, "last words")]


async def test_waiting_unit_is_answered_closed_when_the_driver_is_cancelled(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """What was taken gets its outcome, what was not is told that it never ran."""
    rig = make_rig(tmp_path, runner=InlineRunner(latency_s=lambda: 0.03))
    told: list[str] = []

    async def submit(text: str) -> None:
        try:
            told.append(f"{text} {await rig.writer.submit(rig.append(text))}")
        except StoreClosedError:
            told.append(f"{text} closed")

    async with trio.open_nursery() as callers, trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        callers.start_soon(submit, "taken")
        await trio.sleep(0.01)
        callers.start_soon(submit, "queued")
        await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    assert sorted(told) == ["queued closed", "taken 1"]
    assert rig.rows() == [(1, "taken")]
    assert autojump_clock.current_time() > 0


async def test_submit_is_refused_when_nobody_drives(rig: Rig) -> None:
    with pytest.raises(StoreClosedError):
        await rig.writer.submit(rig.append("a"))


async def test_waiters_are_answered_poisoned_when_the_driver_dies(rig: Rig) -> None:
    class SimulatedDeath(BaseException):
        pass

    answered: list[bool] = []

    async def submit() -> None:
        with pytest.raises(StorePoisonedError):
            await rig.writer.submit(rig.append("a"))
        answered.append(True)

    rig.faults.plan("before", "INSERT", SimulatedDeath())
    with pytest.raises(BaseExceptionGroup) as caught:  # noqa: PT012 - the nursery is the subject
        async with trio.open_nursery() as nursery:
            await nursery.start(rig.writer.drive)
            with trio.CancelScope(shield=True):
                await submit()
    assert caught.group_contains(SimulatedDeath)
    assert answered == [True]
    assert rig.door.health is Health.POISONED


async def test_failed_batch_is_told_and_the_next_one_goes_on(threaded: Rig) -> None:
    async with trio.open_nursery() as nursery:
        await nursery.start(threaded.writer.drive)
        threaded.faults.plan("before", "COMMIT", "SQLITE_FULL")
        with pytest.raises(StorageFullError):
            await threaded.writer.submit(threaded.append("outcome"))
        assert await threaded.writer.submit(threaded.append("outcome"), needs_clean=True) == 1
        await threaded.writer.aclose()


async def test_wal_is_checkpointed_when_idle(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    rig = make_rig(tmp_path, idle_s=1.0)
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        await rig.writer.submit(rig.append("a"))
        assert rig.writer.checkpointer.dirty()
        await trio.sleep(2)
        assert not rig.writer.checkpointer.dirty()
        assert rig.writer.checkpointer.condition.pending_bytes == 0
        await rig.writer.aclose()
    assert autojump_clock.current_time() > 0


async def test_two_crowds_merge_when_they_would_take_turns(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Those just answered hand in their next unit before the next batch is taken."""
    rig = make_rig(tmp_path, runner=InlineRunner(latency_s=lambda: 0.01))
    seen = count_commits(rig)

    async def submit_ten(name: int) -> None:
        for number in range(10):
            await rig.writer.submit(rig.append(f"{name}.{number}"))

    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        async with trio.open_nursery() as callers:
            for name in range(16):
                callers.start_soon(submit_ten, name)
                if name == 7:
                    await trio.sleep(0.005)  # the first crowd's batch is on its way
        await rig.writer.aclose()
    assert len(rig.rows()) == 160
    assert len(seen) <= 12
    assert autojump_clock.current_time() > 0


async def test_simulated_history_is_the_same_when_run_again(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    def latencies() -> Callable[[], float]:
        values = iter([0.003, 0.001, 0.002] * 50)
        return lambda: next(values)

    async def run(place: Path) -> list[tuple[int, str]]:
        rig = make_rig(place, runner=InlineRunner(latency_s=latencies()))
        async with trio.open_nursery() as nursery:
            await nursery.start(rig.writer.drive)
            for number in range(5):
                await rig.writer.submit(rig.append(f"{number}"))
            await rig.writer.aclose()
        return rig.rows()

    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    assert await run(tmp_path / "one") == await run(tmp_path / "two")
    assert autojump_clock.current_time() > 0


async def test_sync_delay_slows_each_commit_once(tmp_path: Path) -> None:
    rig = make_rig(tmp_path, runner=ThreadRunner(sync_delay_s=0.05))
    async with trio.open_nursery() as nursery:
        await nursery.start(rig.writer.drive)
        began = trio.current_time()
        async with trio.open_nursery() as callers:
            for number in range(8):
                callers.start_soon(rig.writer.submit, rig.append(f"{number}"))
        took = trio.current_time() - began
        await rig.writer.aclose()
    assert 0.05 <= took < 0.05 * 8
