"""A claim that cannot be read gives nobody authority, and nothing of it is guessed (STORE-8)."""

from collections.abc import Generator
from pathlib import Path

import pytest

from crashworthy.machines.facts.codes import CrashworthyError
from crashworthy.machines.facts.vocabulary import RunFailure
from crashworthy.store.audit.findings import Check
from crashworthy.store.journal.claims import ClaimResult, RepairClaim
from crashworthy.store.verify import verify

from .conformance.conftest import die
from .logs import ruin
from .tale import Tale, ids_of, open_here


@pytest.fixture
def claimed(tmp_path: Path) -> Generator[tuple[Tale, str]]:
    """A claim whose stored manifest is not the one that its digest names, and a next owner."""
    place = tmp_path / "root"
    store = open_here(place)
    tale = Tale(store=store).begun()
    tale.running().step(1).do(tale.end_order(RunFailure.STEP_LIMIT))
    claim = tale.claimed()
    die(store)
    ruin(place, ("UPDATE claims SET manifest = x'7b7d'", ()))
    tale.store = later = open_here(place)
    yield tale, claim
    later.close()
    assert Check.AUTHORITY in {found.check for found in verify(place).findings}


def test_unreadable_claim_is_neither_started_repaired_nor_claimed_again(
    claimed: tuple[Tale, str],
) -> None:
    tale, claim = claimed
    before = ids_of(tale.store)

    for order in (tale.start_order(claim), RepairClaim(claim=claim)):
        with pytest.raises(CrashworthyError):
            tale.store.write(order)
    for number in (2, 9):
        assert tale.do(tale.claim_order(number=number)).result is ClaimResult.CONFLICT
    assert ids_of(tale.store) == before
