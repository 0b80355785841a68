"""A run is taken up only with what it was opened with, and what differs is told alone (CONT-5)."""

from types import SimpleNamespace
from typing import cast

import attrs
import pytest

from crashworthy.actors.errors import ProfileDriftError
from crashworthy.actors.kernel import refuse_drift
from crashworthy.actors.means import Means
from crashworthy.machines.facts.model import ExecutionProfile, PromptPart, RunOpened
from crashworthy.machines.facts.vocabulary import Cause

ONE, TWO, THREE = (PromptPart(name=name, digest=name * 8) for name in ("one", "two", "three"))
OPENED = ExecutionProfile(
    backend="scripted",
    model="m",
    prompt=(ONE, TWO),
    tools=(),
    tool_protocol=1,
    projection=1,
    policy="p",
)


def refuse(now: ExecutionProfile) -> None:
    opened = RunOpened(protocol=1, cause=Cause.TURN, profile=OPENED, context="c")
    # Of all means only the profile is compared.
    refuse_drift("run_1", opened, cast("Means", SimpleNamespace(profile=now)))


def drift(now: ExecutionProfile) -> tuple[str, str, str]:
    with pytest.raises(ProfileDriftError) as refused:
        refuse(now)
    return refused.value.field, refused.value.opened, refused.value.now


@pytest.mark.proves("CONT-5")
def test_profile_that_is_the_same_is_not_refused() -> None:
    refuse(attrs.evolve(OPENED))


@pytest.mark.proves("CONT-5")
def test_list_with_other_members_is_told_by_those_alone() -> None:
    assert drift(attrs.evolve(OPENED, prompt=(ONE, THREE))) == ("prompt", str(TWO), str(THREE))


@pytest.mark.proves("CONT-5")
def test_list_in_another_order_is_told_whole() -> None:
    """By its members alone two empty lines would be told, and nobody could see what differs."""
    now = (TWO, ONE)
    assert drift(attrs.evolve(OPENED, prompt=now)) == ("prompt", str((ONE, TWO)), str(now))


@pytest.mark.proves("CONT-5")
def test_first_field_that_differs_is_named() -> None:
    assert drift(attrs.evolve(OPENED, model="n", policy="q")) == ("model", "m", "n")
