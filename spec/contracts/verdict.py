"""The contracts of the verdict: spoken about what is unsettled, gone and unclaimed."""

from ...machines.facts.codes import Code
from ...machines.lifecycles import verdict as machine
from ...machines.lifecycles.verdict import Generation, Give, Judged, RunIs, VerdictState
from .reached import reached, refusal


def needs_all_four(state: VerdictState, seen: Give) -> bool:
    """VER.C1: A verdict counts exactly for an unsettled, gone operation of an unclaimed end.

    post: __return__
    """
    counts = (
        seen.run not in (RunIs.OPEN, RunIs.CLAIMED)
        and seen.unsettled
        and seen.gone
        and seen.generation is not Generation.OTHER
    )
    return reached(machine.TABLE.step(state, seen)) == (Judged() if counts else None)


def refusal_names_the_reason(state: VerdictState, seen: Give) -> bool:
    """VER.C2: A refused verdict names settled, sealed, open or alive before generations.

    post: __return__
    """
    code = refusal(machine.TABLE.step(state, seen))
    if not seen.unsettled:
        return code is Code.VERDICT_NOT_WANTED
    if seen.run is RunIs.CLAIMED:
        return code is Code.SEALED_BY_CLAIM
    if seen.run is RunIs.OPEN:
        return code is Code.RUN_NOT_ENDED
    if not seen.gone:
        return code is Code.EPOCH_NOT_GONE
    return code is (Code.GENERATION_DIFFERS if seen.generation is Generation.OTHER else None)
