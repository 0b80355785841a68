"""Every reason to stop and wait for a person, with its sentence and the next action (OP-4)."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

import attrs

from ..facts.vocabulary import DecisionReason


class Park(StrEnum):
    """The park codes; append-only. The first four are the durable decision reasons of OP-4."""

    MATCHES_PRIOR_STATE = DecisionReason.MATCHES_PRIOR_STATE.value
    DIVERGED = DecisionReason.DIVERGED.value
    UNREADABLE = DecisionReason.UNREADABLE.value
    RETRY_BY_KEY = DecisionReason.RETRY_BY_KEY.value
    OUTCOME_UNKNOWN = "outcome_unknown"
    WORKER_ALIVE = "worker_alive"
    EFFECT_NOT_LOCAL = "effect_not_local"
    WAITING_FOR_PERSON = "waiting_for_person"
    PROFILE_DRIFT = "profile_drift"
    WORKSPACE_DRIFT = "workspace_drift"
    SESSION_QUARANTINED = "session_quarantined"
    ACKNOWLEDGED_FACTS_MISSING = "acknowledged_facts_missing"


@attrs.frozen(kw_only=True)
class Explanation:
    """What a person is told: what happened, and what they can do now, with what there is now."""

    sentence: str
    action: str


def _why(sentence: str, action: str) -> Explanation:
    return Explanation(sentence=sentence, action=action)


EXPLANATIONS: Final[Mapping[Park, Explanation]] = MappingProxyType(
    {
        Park.MATCHES_PRIOR_STATE: _why(
            "The file is as it was before the call: the change did not happen, or was undone.",
            "Look at the file, and ask the agent again in a new turn.",
        ),
        Park.DIVERGED: _why(
            "The file is neither as it was before the call nor as the call would have left it.",
            "Compare the file with both recorded images, and say in a new turn what holds.",
        ),
        Park.UNREADABLE: _why(
            "The file could not be read, so nothing can be said about the call's effect.",
            "Make the file readable, and say in a new turn what it holds.",
        ),
        Park.RETRY_BY_KEY: _why(
            "The call was interrupted; its tool accepts a repetition under the same key.",
            "Ask the other side what became of that key, and say it in a new turn; retrying by key"
            " is not offered yet.",
        ),
        Park.OUTCOME_UNKNOWN: _why(
            "The call was dispatched and its outcome was never recorded: it may have happened.",
            "Check the outside world, and say in a new turn whether it happened.",
        ),
        Park.WORKER_ALIVE: _why(
            "A worker of an earlier owner may still be acting, so nothing is concluded yet.",
            "End the processes that it started or wait for them, then open the root again.",
        ),
        Park.EFFECT_NOT_LOCAL: _why(
            "The call may act outside of this machine, where no lock can prove that it ended.",
            "Check everything it may have changed, and say in a new turn whether it happened.",
        ),
        Park.WAITING_FOR_PERSON: _why(
            "The run waits for an answer.",
            "Answer the pending request, stop the run, or abandon it.",
        ),
        Park.PROFILE_DRIFT: _why(
            "Model, prompt, tools or policy differ from those the run was opened with.",
            "Restore the named field, or abandon the run and start a new turn.",
        ),
        Park.WORKSPACE_DRIFT: _why(
            "Files that the run wrote were changed since.",
            "Restore the named files, or start a new turn; accepting drift is not offered yet.",
        ),
        Park.SESSION_QUARANTINED: _why(
            "Stored facts of this session are damaged; tools are refused in it.",
            "Run verify to see the first bad row; read what is whole, and go on in a new session.",
        ),
        Park.ACKNOWLEDGED_FACTS_MISSING: _why(
            "Facts that had been acknowledged are gone from the database.",
            "Restore a backup; or accept the loss (`doctor --accept-loss`), and every open run is"
            " closed with its calls unknown.",
        ),
    }
)
