"""The crash checks that proofs count on are promises that the crash lab really makes."""

from crashworthy.crashlab.workloads.promised import PROMISES
from crashworthy.spec.registry import CRASH_CHECKS, MACHINES


def test_every_crash_check_is_a_promise_of_the_store_workload() -> None:
    assert {check.promise for check in CRASH_CHECKS} <= {promise.id for promise in PROMISES}


def test_only_the_host_still_owes_crash_checks() -> None:
    checked = {prefix for check in CRASH_CHECKS for prefix in check.prefixes}
    prefixes = {
        invariant.id.partition(".")[0] for proof in MACHINES for invariant in proof.invariants
    }

    assert prefixes - checked == {"HST"}
