"""Have every contract confirmed over all paths by CrossHair, or say which one is not (PROOF-2).

CrossHair's command line exits 0 for "not confirmed", and its default options stop early; so its
API is driven here, each contract must be reported as confirmed, and their number is asserted.

How to write a contract that confirms in seconds (measured with the real interpreter of tables):

- A top-level function with typed parameters that returns bool. Its docstring begins with the id of
  the invariant it proves and ends with `post: __return__`; `pre: EXPRESSION` lines narrow it.
- Parameters are the unions of a machine: `def quiet_end(state: RunState, seen: RunSeen) -> bool`.
  CrossHair makes one path for each pair of classes and then follows the guards, so a union of
  small classes is cheap, while one flat record of enums and optionals is not.
- A contract about one state or one event takes that class alone (`seen: Ending`): fewer paths.
  On the run (6 states, 20 events) a path costs 10 ms: 12 to 40 CPU seconds for all pairs, 1 to 5
  for one event.
- Join comparisons with `&` and `|`, not with `and` and `or`: every `and` is a fork in the search.
  The counters of the run confirm in 40 s with `&`, and not within 60 s with `and`.
- Ask the table through its module: `run.TABLE.decide(state, seen)`, then look at `row.target` or
  `row.id`; `run.TABLE.step(...)` also proves counters. A table bound at import would hide mutants.
- Ints are unbounded, so `state.asks >= 0` proves all counters; state what they may be in `pre:`.
- Compare enums with `is`, states with isinstance. What does not confirm: string comparison, a set
  or dict keyed by symbolic values, Literal, regular expressions, loops over an unbounded int.
- Several claims about the same call belong into one contract: each contract is a whole search.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Final, cast

import attrs

from .contract import Contract, contracts_of
from .obligation import ContractModule

CPU_S_PER_CONDITION: Final = 60.0
CPU_S_PER_CONDITION_DEEP: Final = 600.0
WORKERS: Final = 2
_WORKER: Final = "crashworthy.spec.contracts_worker"


@attrs.frozen(kw_only=True)
class Unproven:
    """A contract, or a module of contracts, that was not confirmed, and what was said instead."""

    id: str
    reason: str


@attrs.frozen(kw_only=True)
class ContractsResult:
    """What CrossHair said of all contracts.

    Attributes:
        unproven: Not confirmed, for whatever reason; each one is a failure.
        slowest: Id and CPU seconds of each confirmed contract, slowest first.
    """

    total: int
    confirmed: int
    unproven: tuple[Unproven, ...]
    slowest: tuple[tuple[str, float], ...]


class _Worker:
    """One child process; started when it is needed, and again after it died."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None

    def ask(self, contract: Contract, seconds: float) -> str:
        """Return the line with which the child answers; empty when it died over the question."""
        if self._child is None:
            self._child = _start()
        asked, answers = self._child.stdin, self._child.stdout
        assert asked is not None
        assert answers is not None
        try:
            asked.write(f"{contract.module} {contract.name} {seconds}\n")
            asked.flush()
            line = answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self.close()
        return line

    def close(self) -> None:
        """End the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()


def _start() -> subprocess.Popen[str]:
    # The child must find the same modules as we do, wherever those came from.
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        (sys.executable, "-m", _WORKER),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
        text=True,
    )


def prove_contracts(
    modules: Sequence[ContractModule],
    *,
    cpu_s: float = CPU_S_PER_CONDITION,
    workers: int = WORKERS,
    progress: Callable[[int, int], None] | None = None,
    stop: threading.Event | None = None,
) -> ContractsResult:
    """Prove all contracts of `modules`, in `workers` processes at a time.

    Args:
        modules: What to prove, with the number of contracts that each must have.
        cpu_s: CPU seconds for each condition; a proof that is found ends early.
        workers: Number of processes.
        progress: Called with how many are done, and of how many.
        stop: Once set, nothing more is asked, and what is left counts as not proven.
    """
    unproven: list[Unproven] = []
    contracts: list[Contract] = []
    for module in modules:
        found = contracts_of(module.module)
        contracts += found
        if len(found) != module.conditions:
            reason = f"{module.conditions} contracts are stated, {len(found)} were found"
            unproven.append(Unproven(id=module.module.rpartition(".")[2], reason=reason))
    answers = _ask_all(contracts, cpu_s, workers, progress, stop or threading.Event())
    times: list[tuple[str, float]] = []
    for contract, line in zip(contracts, answers, strict=True):
        reason, used_s = _judge(line)
        if reason:
            unproven.append(Unproven(id=contract.id, reason=reason))
        else:
            times.append((contract.id, used_s))
    return ContractsResult(
        total=len(contracts),
        confirmed=len(times),
        unproven=tuple(unproven),
        slowest=tuple(sorted(times, key=lambda entry: -entry[1])),
    )


def _ask_all(
    contracts: Sequence[Contract],
    cpu_s: float,
    workers: int,
    progress: Callable[[int, int], None] | None,
    stop: threading.Event,
) -> list[str]:
    """Return one line for each contract; idle workers take the next one."""
    pool: SimpleQueue[_Worker] = SimpleQueue()
    started = [_Worker() for _ in range(min(workers, len(contracts)))]
    for worker in started:
        pool.put(worker)
    lock, done = threading.Lock(), 0

    def ask(contract: Contract) -> str:
        nonlocal done
        worker = pool.get()
        try:
            return "" if stop.is_set() else worker.ask(contract, cpu_s)
        finally:
            pool.put(worker)
            with lock:
                done += 1
                if progress is not None:
                    progress(done, len(contracts))

    try:
        with ThreadPoolExecutor(max_workers=max(len(started), 1)) as threads:
            return list(threads.map(ask, contracts))
    finally:
        for worker in started:
            worker.close()


def _judge(line: str) -> tuple[str, float]:
    """Return why an answer is no proof (empty when it is one), and the CPU seconds."""
    if not line:
        return "the prover died over it", 0.0
    answer = cast("dict[str, object]", json.loads(line))
    others = cast("list[str]", answer["others"])
    if others:
        return "; ".join(others), 0.0
    if answer["confirmed"] != 1:
        return f"{answer['confirmed']} conditions were seen instead of one", 0.0
    return "", cast("float", answer["cpu_s"])
