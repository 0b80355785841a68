"""What a file says about an interrupted write: four observations, none of them a guess (OP-6)."""

from enum import StrEnum
from typing import Final

import attrs

from ..facts.model import FileEvidence, FileIdentity
from ..facts.vocabulary import Observation
from .decision import DecisionTable, Rule, anything


class Look(StrEnum):
    """How far the observer got."""

    READ = "read"  # the identity of the path is known
    OTHER_WORKSPACE = "other_workspace"  # the workspace's identity is not the recorded one
    UNREADABLE = "unreadable"  # no access, not a regular file, over the limit


@attrs.frozen(kw_only=True)
class FileSight:
    """One look at the target of an interrupted effect.

    Attributes:
        is_after: Its identity is the expected one.
        is_before: Its identity is the one recorded before the effect.
    """

    look: Look
    is_after: bool
    is_before: bool


def _unread(sight: FileSight) -> bool:
    return sight.look is not Look.READ


def _after(sight: FileSight) -> bool:
    return sight.is_after


def _before(sight: FileSight) -> bool:
    return sight.is_before


# Expected wins over prior: an effect that changes nothing has happened as soon as it is asked for.
# fmt: off
FILE_OBSERVATION: Final[DecisionTable[FileSight, Observation]] = DecisionTable(
    name="file_observation", prefix="OBS", rules=(
        Rule(id="OBS.D1", when=_unread,  then=Observation.UNREADABLE),
        Rule(id="OBS.D2", when=_after,   then=Observation.MATCHES_EXPECTED_STATE),
        Rule(id="OBS.D3", when=_before,  then=Observation.MATCHES_PRIOR_STATE),
        Rule(id="OBS.D4", when=anything, then=Observation.DIVERGED),
    ),
)
# fmt: on


def compare(evidence: FileEvidence, seen: FileIdentity | None, look: Look) -> FileSight:
    """Classify what was seen against the recorded evidence: the only place that compares them."""
    return FileSight(
        look=look if seen is not None or look is not Look.READ else Look.UNREADABLE,
        is_after=seen == evidence.after,
        is_before=seen == evidence.before,
    )
