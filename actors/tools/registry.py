"""The tools of one run: names are unique, and nothing is added once it is built."""

from collections.abc import Iterable, Iterator

import attrs

from ...machines.facts.model import ToolProfile
from .contract import Tool
from .errors import ToolNameTakenError, ToolUnknownError


@attrs.frozen
class Registry:
    """A closed set of tools, in the order in which the model is shown them."""

    tools: tuple[Tool, ...] = attrs.field(converter=tuple[Tool, ...])

    def __attrs_post_init__(self) -> None:
        """Refuse two tools of one name.

        Raises:
            ToolNameTakenError: `tool_name_taken`.
        """
        seen: set[str] = set()
        for tool in self.tools:
            if tool.name in seen:
                raise ToolNameTakenError(tool=tool.name)
            seen.add(tool.name)

    def find(self, name: str) -> Tool:
        """Return the tool of that name.

        Raises:
            ToolUnknownError: `tool_unknown`, naming those that exist.
        """
        for tool in self.tools:
            if tool.name == name:
                return tool
        raise ToolUnknownError(tool=name[:80], existing=tuple(tool.name for tool in self.tools))

    def profiles(self) -> tuple[ToolProfile, ...]:
        """Return the tools as an execution profile states them (CONT-5)."""
        return tuple(tool.profile for tool in self.tools)

    def with_tools(self, more: Iterable[Tool]) -> "Registry":
        """Return a registry that has `more` as well.

        Raises:
            ToolNameTakenError: `tool_name_taken`.
        """
        return Registry((*self.tools, *more))

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)
