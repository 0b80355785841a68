"""A seed is a history: the same to the byte each time, and broken where a fault is planted."""

import importlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import pytest

from crashworthy.actors.live import Committed
from crashworthy.actors.pen import Pen
from crashworthy.actors.permission import AskPerson, Examiner, Go, Verdict
from crashworthy.actors.progress import CallProgress
from crashworthy.actors.tools.gate import Attempt, AttemptResult
from crashworthy.actors.tools.paths import Workspace
from crashworthy.crashlab.matrix import scratch_base
from crashworthy.crashlab.simulation.hands import HISTORIES, Course, run_histories
from crashworthy.crashlab.simulation.history import History, run_history
from crashworthy.crashlab.workloads.looking import seen
from crashworthy.machines.facts.model import RuntimeEvent
from crashworthy.store import tenure
from crashworthy.store.journal.append import Appended
from crashworthy.store.journal.orders import Order
from crashworthy.store.ownership.workers import WorkersProof

SEEDS_MAX = 40
"""A planted fault is found within so many seeds."""


# anyio finds its backend when it is first used; a forked owner should find it there already.
importlib.import_module("anyio._backends._trio")


@pytest.fixture
def scratch() -> Iterator[Path]:
    """Return a directory in memory: what dies here is a process, and no disk loses anything."""
    with tempfile.TemporaryDirectory(dir=scratch_base()) as name:
        yield Path(name)


@pytest.mark.proves("CRASH-6")
def test_same_seed_is_the_same_history_to_the_byte(scratch: Path) -> None:
    """At the same place even the chain over every stored byte is the same."""
    heads: list[str] = []
    for again in range(2):
        home = scratch / "home"
        history = run_history(3, home)
        assert history.clean
        heads.append(seen(home / "root").facts_digest)
        home.rename(scratch / f"done-{again}")
    assert heads[0] == heads[1]


def test_same_seed_is_the_same_history_in_any_process(scratch: Path) -> None:
    """Other interpreters hash words otherwise, and stand in other directories."""
    course = Course(histories=3, seed=1, jobs=2, seconds_max=60)
    there = list(run_histories(course))
    here = [run_history(seed, scratch / str(seed)) for seed in range(1, 4)]
    assert [(h.seed, h.digest, h.owners) for h in there] == [
        (h.seed, h.digest, h.owners) for h in here
    ]
    assert len({h.digest for h in here}) == 3


@pytest.mark.slow
@pytest.mark.proves("CRASH-6")
def test_histories_of_the_ci_profile_keep_every_promise() -> None:
    course = Course(histories=HISTORIES["ci"], seed=1, jobs=2, seconds_max=60)
    histories = list(run_histories(course))
    assert [(h.seed, h.findings) for h in histories if not h.clean] == []
    assert sum(h.deaths for h in histories) >= HISTORIES["ci"] // 2
    assert len({row for h in histories for row in h.rows}) >= 50


# --- the simulation can fail ---


async def show_early(pen: Pen, order: Order[Appended], facts: Sequence[RuntimeEvent]) -> Appended:
    """Show facts first, and make them durable then."""
    for fact in facts:
        pen.bus.publish(Committed(event=fact))
    appended = await pen.desk.submit(order)
    pen.take(facts)
    return appended


examine = Examiner.examine


def use_twice(
    examiner: Examiner,
    call: CallProgress,
    attempts: Sequence[Attempt],
    workspace: Workspace,
    now: int,
) -> Verdict:
    """Take the approval of one call as one of all further calls of its tool."""
    verdict = examine(examiner, call, attempts, workspace, now)
    name = call.content.name
    used = any(one.tool == name and one.result is AttemptResult.SUCCESS for one in attempts)
    if not (isinstance(verdict, AskPerson) and used):
        return verdict
    tool = examiner.registry.find(name)
    return Go(tool=tool, args=tool.check(call.content.args))


def believe(*_args: object, **_options: object) -> WorkersProof:
    """Take every former epoch for gone, whoever still holds the workers' lock."""
    return WorkersProof.GONE


def broken(home: Path, seeds: range) -> Iterator[History]:
    return (h for h in (run_history(seed, home / str(seed)) for seed in seeds) if not h.clean)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "promise"),
    [
        pytest.param(patch.object(Pen, "append", show_early), "RUNTIME.I1", id="shown_early"),
        pytest.param(
            patch.object(Examiner, "examine", use_twice), "SIM.I2", id="approval_used_twice"
        ),
        pytest.param(
            patch.object(tenure, "prove_workers_gone", believe), "SIM.I1", id="unknown_is_settled"
        ),
    ],
)
def test_planted_fault_is_found_and_told_with_its_seed(
    fault: AbstractContextManager[object], promise: str, scratch: Path
) -> None:
    with fault:
        found = next(broken(scratch, range(1, SEEDS_MAX + 1)), None)
    assert found is not None
    assert promise in {finding.promise for finding in found.findings}
    assert found.story
