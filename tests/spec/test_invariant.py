"""An invariant has one id, one claim, and a list of what stands behind it."""

import pytest

from crashworthy.spec.invariant import Coverage, InvariantDisputedError, always, coverage, sometimes

A = always("A.I1", "It holds.", "It would hurt.", lambda state: state == 1)
B = sometimes("A.I2", "It happens.", "Empty.", lambda state: state == 2)


def test_coverage_lists_the_proofs_of_each_id_in_order() -> None:
    covered = coverage((A, B), (("machine:a", (A,)), ("model:m", (A.over(lambda _: True),))))
    assert covered == {
        "A.I1": Coverage(proofs=("machine:a", "model:m"), crash_owed=True),
        "A.I2": Coverage(proofs=(), crash_owed=False),
    }


def test_coverage_refuses_one_id_with_two_claims() -> None:
    other = always("A.I1", "Something else holds.", "It would hurt.", lambda _: True)
    with pytest.raises(InvariantDisputedError, match=r"\[invariant_disputed\] invariant='A.I1'"):
        coverage((A,), (("machine:a", (other,)),))


def test_promise_over_another_space_keeps_its_words() -> None:
    other = A.over(lambda state: state == "one")
    assert (other.id, other.claim, other.harm) == (A.id, A.claim, A.harm)
    assert other.holds("one")
    assert not other.holds(1)
