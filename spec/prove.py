"""The command `crashworthy prove`: show that every promise holds, or how it breaks (PROOF-1..4)."""

import argparse
import math
import platform
import re
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from typing import Final

import attrs

from ..store.reports import add_reports, refuse_reports, words, write_report
from .contract import contracts_of
from .contracts_driver import (
    CPU_S_PER_CONDITION,
    CPU_S_PER_CONDITION_DEEP,
    ContractsResult,
    prove_contracts,
)
from .explorer import Explored, Violation, explore
from .invariant import Coverage, Invariant, coverage
from .machine_space import SIZE, MachineResult, prove_machine, table_of
from .mutants import MutantsResult, prove_mutants
from .obligation import ContractModule, CrashCheck, ModelProof, Obligations, Plant, Profile
from .registry import OBLIGATIONS
from .report import NO_CONTRACTS, NO_MUTANTS, Planted, Report, Screen, as_json, told

_SPEED_RUNS: Final = 3

EXIT_PROVEN: Final = 0
EXIT_BROKEN: Final = 1  # something is not proven; for `--plant`: the planted bug was found
EXIT_USAGE: Final = 2
EXIT_BLIND: Final = 3  # for `--plant`: the bug is there and was not found

SECTIONS: Final = ("machines", "models", "contracts", "mutants")


def main(argv: Sequence[str], obligations: Obligations = OBLIGATIONS) -> int:
    """Run the proofs that the arguments ask for and return the exit status.

    Args:
        argv: The words after `crashworthy prove`.
        obligations: What there is to prove.
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if options.plant is not None or options.speed:
        refuse_reports(parser, options, ("json",), "only whole proofs write a report")
    screen = Screen(out=words(options))
    if options.plant == "list":
        _list_plants(obligations.plants, screen)
        return EXIT_PROVEN
    if options.plant is not None:
        return _show_plant(options.plant, obligations, screen)
    if options.speed:
        return _measure(obligations, screen)
    sections: Sequence[str] = options.only or SECTIONS
    report = _prove(obligations, Profile(options.profile), sections, screen)
    write_report(options, "json", as_json(report))
    if screen.failed:
        screen.note(f"NOT PROVEN: {screen.failed} of the above failed, {report.seconds:.0f} s")
        return EXIT_BROKEN
    screen.note(f"proven: {', '.join(sections)} ({options.profile}), {report.seconds:.0f} s")
    return EXIT_PROVEN


_HELP: Final = """\
exit status:
  0  all proven
  1  something is not; with --plant NAME: the planted bug was found, as it must
  2  wrong usage
  3  the environment failed; with --plant NAME: the planted bug was not found
"""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="crashworthy prove",
        description="Check every lifecycle table, composed model, contract and mutant.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--profile",
        choices=[profile.value for profile in Profile],
        default=Profile.CI.value,
        help="ci: minutes on two cores (default); deep: larger scopes, more time",
    )
    add_reports(parser, "json")
    parser.add_argument(
        "--only", choices=SECTIONS, action="append", help="prove only this; may be repeated"
    )
    parser.add_argument(
        "--plant", metavar="NAME", help="run one planted bug and print its trace; `list` names them"
    )
    parser.add_argument(
        "--speed", action="store_true", help="measure how many facts are verified per second"
    )
    return parser


# --- the whole run ---


def _prove(
    obligations: Obligations, profile: Profile, sections: Sequence[str], screen: Screen
) -> Report:
    """Prove the sections; contracts run in processes of their own beside everything else."""
    begun = time.perf_counter()
    machines: Mapping[str, MachineResult] = {}
    models: Mapping[str, _Model] = {}
    planted: Mapping[str, Planted] = {}
    mutants = NO_MUTANTS
    with _contracts_beside(obligations, profile, sections, screen) as contracts:
        if "machines" in sections:
            machines = _machines(obligations, screen)
        if "models" in sections:
            models = _models(obligations, profile, screen)
            planted = {plant.name: _planted(plant, screen) for plant in obligations.plants}
        if "mutants" in sections:
            mutants = _mutants(obligations, screen)
        confirmed = contracts.result()
    covered = coverage(
        obligations.invariants,
        (
            *(
                (f"machine:{p.name}", p.invariants)
                for p in obligations.machines
                if p.name in machines
            ),
            *((f"model:{name}", model.invariants) for name, model in models.items()),
            *(_by_contracts(obligations) if "contracts" in sections else ()),
        ),
    )
    covered = _with_crash_checks(covered, obligations.crash_checks)
    if set(sections) == set(SECTIONS):
        _judge_coverage(covered, screen)
    return Report(
        profile=profile.value,
        seconds=time.perf_counter() - begun,
        python=platform.python_version(),
        machines=machines,
        models={name: model.explored for name, model in models.items()},
        planted=planted,
        contracts=confirmed,
        mutants=mutants,
        invariants=covered,
    )


@contextmanager
def _contracts_beside(
    obligations: Obligations, profile: Profile, sections: Sequence[str], screen: Screen
) -> Generator[Future[ContractsResult]]:
    """Prove contracts during the block; when it fails, let them end at once."""
    stop = threading.Event()

    def prove() -> ContractsResult:
        if "contracts" not in sections:
            return NO_CONTRACTS
        return _contracts(obligations.contracts, profile=profile, screen=screen, stop=stop)

    with ThreadPoolExecutor(max_workers=1) as beside:
        try:
            yield beside.submit(prove)
        except BaseException:
            stop.set()
            raise


def _with_crash_checks(
    covered: Mapping[str, Coverage], checks: Sequence[CrashCheck]
) -> Mapping[str, Coverage]:
    """Add the crash lab's promises, and no longer owe what they check."""
    return {
        key: Coverage(
            proofs=(*entry.proofs, *(f"crash:{check.promise}" for check in checking)),
            crash_owed=entry.crash_owed and not checking,
        )
        for key, entry in covered.items()
        for checking in ([check for check in checks if check.covers(key)],)
    }


def _judge_coverage(covered: Mapping[str, Coverage], screen: Screen) -> None:
    """Fail when an invariant is only a sentence (MACH-6)."""
    owed = sum(entry.crash_owed for entry in covered.values())
    screen.proof(
        "coverage",
        "invariants",
        f"{len(covered)} invariants, a crash check is owed for {owed}",
        [
            f"{key} is covered by no proof"
            for key, entry in covered.items()
            if not any(not proof.startswith("crash:") for proof in entry.proofs)
        ],
    )


# --- machines and models ---


def _machines(obligations: Obligations, screen: Screen) -> dict[str, MachineResult]:
    results: dict[str, MachineResult] = {}
    for proof in obligations.machines:
        begun = time.perf_counter()
        result = results[proof.name] = prove_machine(proof)
        said = f"{result.states} states, {result.rows_taken} of {result.rows} rows"
        screen.proof("machine", proof.name, _timed(said, begun), told(result.violations))
    return results


@attrs.frozen(kw_only=True)
class _Model:
    explored: Explored
    invariants: tuple[Invariant, ...]


def _models(obligations: Obligations, profile: Profile, screen: Screen) -> dict[str, _Model]:
    wanted = [p for p in obligations.models if profile is Profile.DEEP or p.profile is profile]
    results = {proof.name: _model(proof, screen) for proof in wanted}
    together = set(chain.from_iterable(r.explored.rows_taken for r in results.values()))
    tables = [table_of(proof.module) for proof in obligations.machines]
    rows = [line.id for line in chain.from_iterable(table.rows for table in tables)]
    alone = [row for row in rows if row not in together]
    if wanted:
        screen.note(f"        composed models take {len(rows) - len(alone)} of {len(rows)} rows")
        screen.note(f"        taken by machines alone: {', '.join(alone) or 'none'}")
    return results


def _model(proof: ModelProof, screen: Screen) -> _Model:
    begun = time.perf_counter()
    model = proof.build()
    explored = explore(
        model, progress=lambda states: screen.progress("model", f"{proof.name} {states} states")
    )
    violations = list(explored.violations)
    if explored.states != proof.states:
        claim, counted = f"{proof.states} states are reachable", f"{explored.states} were counted"
        violations.append(Violation(id=SIZE, claim=claim, detail=counted))
    said = (
        f"{explored.states} states, {explored.edges} edges, depth {explored.depth},"
        f" {len(explored.rows_taken)} rows"
    )
    screen.proof("model", proof.name, _timed(said, begun), told(violations))
    return _Model(
        explored=attrs.evolve(explored, violations=tuple(violations)), invariants=model.invariants
    )


# --- planted bugs ---


def _planted(plant: Plant, screen: Screen) -> Planted:
    found = _look_for(plant)
    if found.violation is None:
        problem = f"the bug was not found: {plant.bug}"
        screen.proof("planted", plant.name, f"{plant.invariant} holds", (problem,))
    else:
        said = f"breaks {plant.invariant} after {found.violation.trace_length} actions"
        screen.proof("planted", plant.name, said)
    return found


def _look_for(plant: Plant) -> Planted:
    explored = explore(plant.build(), until=plant.invariant)
    broken = [entry for entry in explored.violations if entry.id == plant.invariant]
    return Planted(invariant=plant.invariant, violation=broken[0] if broken else None)


def _list_plants(plants: Sequence[Plant], screen: Screen) -> None:
    name = max((len(plant.name) for plant in plants), default=0)
    broken = max((len(plant.invariant) for plant in plants), default=0)
    for plant in plants:
        screen.note(f"{plant.name:<{name}}  {plant.invariant:<{broken}}  {plant.bug}")


def _show_plant(name: str, obligations: Obligations, screen: Screen) -> int:
    """Run one planted bug and print its trace."""
    plants = {plant.name: plant for plant in obligations.plants}
    plant = plants.get(name)
    if plant is None:
        told = f"crashworthy prove: no bug is planted as {name!r}: --plant list names all"
        print(told, file=sys.stderr)
        return EXIT_USAGE
    screen.note(f"planted: {plant.bug}")
    found = _look_for(plant)
    if found.violation is None:
        screen.note(f"NOT FOUND: {plant.invariant} holds in every reachable state")
        return EXIT_BLIND
    for line in found.violation.lines():
        screen.note(line)
    return EXIT_BROKEN


# --- contracts and mutants ---


def _contracts(
    modules: Sequence[ContractModule], *, profile: Profile, screen: Screen, stop: threading.Event
) -> ContractsResult:
    begun = time.perf_counter()
    result = prove_contracts(
        modules,
        cpu_s=CPU_S_PER_CONDITION_DEEP if profile is Profile.DEEP else CPU_S_PER_CONDITION,
        progress=lambda done, total: screen.progress("contracts", f"{done} of {total}"),
        stop=stop,
    )
    slowest = ", ".join(f"{key} {cpu_s:.0f} s" for key, cpu_s in result.slowest[:1])
    said = (
        f"{result.confirmed} of {result.total} confirmed over all paths, slowest: {slowest or '-'}"
    )
    problems = [f"{entry.id}: {entry.reason}" for entry in result.unproven]
    screen.proof("contracts", "CrossHair", _timed(said, begun), problems)
    return result


def _by_contracts(obligations: Obligations) -> tuple[tuple[str, tuple[Invariant, ...]], ...]:
    """Return which invariants each contract quotes by id."""
    known = {
        invariant.id: invariant
        for invariant in chain(
            obligations.invariants, *(proof.invariants for proof in obligations.machines)
        )
    }
    pairs: list[tuple[str, tuple[Invariant, ...]]] = []
    for module in obligations.contracts:
        for contract in contracts_of(module.module):
            said = set(re.findall(r"[\w.-]*\w", contract.text))
            quoted = tuple(invariant for key, invariant in known.items() if key in said)
            pairs.append((f"contract:{contract.id}", quoted))
    return tuple(pairs)


def _mutants(obligations: Obligations, screen: Screen) -> MutantsResult:
    begun = time.perf_counter()
    result = prove_mutants(
        obligations.machines,
        models=obligations.models,
        equivalents=obligations.equivalents,
        progress=lambda total: screen.progress("mutants", str(total)),
    )
    by = ", ".join(f"{killer} {count}" for killer, count in result.by.items())
    said = (
        f"{result.total} made, {result.killed} killed ({by}), {len(result.equivalents)} equivalent"
    )
    problems = [f"{entry.id} lives: {entry.difference}" for entry in result.survivors]
    screen.proof("mutants", "all tables", _timed(said, begun), (*problems, *result.faults))
    return result


def _timed(said: str, begun: float) -> str:
    return f"{said}, {time.perf_counter() - begun:.1f} s"


def _measure(obligations: Obligations, screen: Screen) -> int:
    """Time each probe after one warm-up; without any, nothing was measured: a failure."""
    for probe in obligations.speeds:
        facts = probe.run()  # The first run pays for imports, caches and the log itself.
        best_s = math.inf
        for _ in range(_SPEED_RUNS):
            started = time.process_time()
            facts = probe.run()
            best_s = min(best_s, time.process_time() - started)
        rate = round(facts / best_s)
        screen.note(f"{probe.name:40} {rate} facts/s of one core's time ({facts} facts)")
    if not obligations.speeds:
        screen.note("no speed probe is registered")
    return EXIT_PROVEN if obligations.speeds else EXIT_BROKEN
