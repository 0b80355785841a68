"""Tool names are unique, and an unknown one is answered with those that exist."""

import pytest

from crashworthy.actors.tools.builtin.catalogue import BUILTIN_TOOLS
from crashworthy.actors.tools.errors import ToolNameTakenError, ToolUnknownError
from crashworthy.actors.tools.registry import Registry


def test_unknown_tool_is_refused_with_the_existing_names() -> None:
    with pytest.raises(ToolUnknownError) as refused:
        Registry(BUILTIN_TOOLS).find("Read")
    assert refused.value.facts()["existing"] == [
        *("read", "glob", "grep", "write", "edit", "shell", "ask_user")
    ]


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ToolNameTakenError):
        Registry(BUILTIN_TOOLS).with_tools(BUILTIN_TOOLS[:1])


@pytest.mark.proves("CONT-5")
def test_profiles_name_every_tool_in_order() -> None:
    registry = Registry(BUILTIN_TOOLS)
    assert [profile.name for profile in registry.profiles()] == [tool.name for tool in registry]
    assert all(
        len(profile.contract) == len(profile.schema) == 64 for profile in registry.profiles()
    )
