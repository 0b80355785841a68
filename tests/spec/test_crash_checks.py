"""The crash checks that proofs count on are promises that the crash lab really makes."""

import pytest

from crashworthy.crashlab.workloads.promised import PROMISES
from crashworthy.crashlab.workloads.runtime_promised import RUNTIME_PROMISES
from crashworthy.spec.obligation import CrashCheck
from crashworthy.spec.registry import CRASH_CHECKS, OBLIGATIONS


def test_every_crash_check_is_a_promise_of_a_workload() -> None:
    promised = {promise.id for promise in (*PROMISES, *RUNTIME_PROMISES)}

    assert {check.promise for check in CRASH_CHECKS} <= promised


def test_no_invariant_owes_a_crash_check() -> None:
    declared = (
        *OBLIGATIONS.invariants,
        *(one for proof in OBLIGATIONS.machines for one in proof.invariants),
        *(one for proof in OBLIGATIONS.models for one in proof.build().invariants),
    )
    owing = {one.id for one in declared if one.crash_owed}
    assert {"HST.I1", "OP.I2", "MSG.I1"} <= owing

    assert [one for one in sorted(owing) if not any(c.covers(one) for c in CRASH_CHECKS)] == []


@pytest.mark.parametrize(
    ("prefix", "covered"),
    [("HST", ["HST.I1", "HST.I10"]), ("HST.I1", ["HST.I1"]), ("HST.I", []), ("H", [])],
)
def test_prefix_ends_where_a_part_of_an_id_does(prefix: str, covered: list[str]) -> None:
    check = CrashCheck(promise="STORE.I1", prefixes=(prefix,), reason="")

    assert [one for one in ("HST.I1", "HST.I10") if check.covers(one)] == covered
