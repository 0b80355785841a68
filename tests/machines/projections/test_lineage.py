"""Which run came of which, and what became of each claim."""

from hypothesis import given

from crashworthy.machines.facts.vocabulary import Cause
from crashworthy.machines.lifecycles import claim
from crashworthy.machines.lifecycles.cells import Machine
from crashworthy.machines.projections.lineage import Claim, ClaimStanding, lineage

from .ledgers import Recorded, recorded


@given(recorded())
def test_lineage_has_every_run_and_the_edge_of_every_continuation(book: Recorded) -> None:
    claims = [
        Claim(claim=name, boundary="0" * 64, source=f"run_{name[6:]}", target="run_x")
        for (machine, name) in book.cells
        if machine is Machine.CLAIM
    ]
    view = lineage(book.facts, [*claims, lost("claim_lost")])

    assert [one.run for one in view.runs] == [f"run_{n + 1}" for n in range(len(view.runs))]
    continued = (Cause.RUNTIME_ADMISSION, Cause.CLAIM_REPAIR)
    targets = [one.run for one in view.runs if one.cause in continued]
    assert [edge.target for edge in view.edges] == targets
    for edge in view.edges:
        assert edge.source == f"run_{int(edge.target[4:]) - 1}"
    standings = {one.claim.claim: one.standing for one in view.claims}
    assert standings.pop("claim_lost") is ClaimStanding.STARTLESS
    for name, standing in standings.items():
        repaired = isinstance(book.cells[(Machine.CLAIM, name)].state, claim.Repaired)
        assert standing is (ClaimStanding.REPAIRED if repaired else ClaimStanding.ADMITTED)


def lost(name: str) -> Claim:
    return Claim(claim=name, boundary="0" * 64, source="run_0", target="run_x")
