"""Work runs to its end in one thread, whatever becomes of who asked for it."""

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import trio

from crashworthy.store.runner import InlineRunner, Runner, ThreadRunner

pytestmark = pytest.mark.trio

RUNNERS: dict[str, Callable[[], Runner]] = {"thread": ThreadRunner, "inline": InlineRunner}


class PlantedError(Exception):
    """Raised by work and by blocks of these tests."""


def open_descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def fail() -> None:
    raise PlantedError


@pytest.mark.parametrize("kind", RUNNERS)
async def test_runner_returns_results_and_raises_what_work_raises(kind: str) -> None:
    runner = RUNNERS[kind]()
    assert await runner.run(lambda: 1) == 1
    async with runner.serving() as served:
        assert [await served.run(partial(abs, -n)) for n in range(3)] == [0, 1, 2]
        with pytest.raises(PlantedError):
            await served.run(fail)
        assert await served.run(lambda: 4) == 4


async def test_one_thread_serves_a_whole_block_and_ends_with_it() -> None:
    threads: list[threading.Thread] = []
    async with ThreadRunner().serving() as served:
        for _ in range(3):
            await served.run(lambda: threads.append(threading.current_thread()))
    assert len(set(threads)) == 1
    assert threads[0] is not threading.current_thread()


async def test_block_leaves_no_descriptor_behind_however_it_ends() -> None:
    async with ThreadRunner().serving() as served:
        await served.run(lambda: None)
    before = open_descriptors()
    with pytest.raises(PlantedError):
        async with ThreadRunner().serving() as served:
            await served.run(fail)
    with trio.CancelScope() as scope:
        async with ThreadRunner().serving():
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught
    assert open_descriptors() == before


async def test_what_a_block_raises_leaves_it_unwrapped() -> None:
    with pytest.raises(PlantedError):
        async with ThreadRunner().serving():
            raise PlantedError


async def test_result_comes_first_when_cancelled_while_work_runs() -> None:
    """Work that was begun is never abandoned: its outcome would be nobody's."""
    steps: list[str] = []
    async with ThreadRunner().serving() as served:
        with trio.CancelScope() as scope:

            def work() -> str:
                trio.from_thread.run_sync(scope.cancel, trio_token=token)
                time.sleep(0.02)
                return "done"

            token = trio.lowlevel.current_trio_token()
            steps.append(await served.run(work))
            await trio.lowlevel.checkpoint()
            steps.append("not reached")
        assert await served.run(lambda: "next") == "next"
    assert scope.cancelled_caught
    assert steps == ["done"]


async def test_two_blocks_of_one_runner_do_not_wait_for_each_other(tmp_path: Path) -> None:
    runner = ThreadRunner()
    flag = tmp_path / "flag"

    def wait() -> None:
        while not flag.exists():
            time.sleep(0.001)

    with trio.fail_after(10):
        async with (
            runner.serving() as one,
            runner.serving() as two,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(one.run, wait)
            await two.run(flag.touch)
