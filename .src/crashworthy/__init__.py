"""The public API of crashworthy; each name loads on first use, so importing it costs nothing."""

import importlib
import os.path as _path
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .machines.facts.codes import Code, CrashworthyError

__all__ = ["Code", "CrashworthyError", "__version__"]
__version__ = "0.1.0"  # read by hatchling, which knows no annotation here

_link = _path.join(_path.dirname(__file__), "machines")
if _path.islink(_link) or not _path.isdir(_link):
    # A working tree, not an installed package: load the visible folders themselves, so that
    # tracebacks, breakpoints and coverage name machines/..., not the link (HOUSE-1).
    __path__.insert(0, _path.dirname(_path.dirname(_path.dirname(__file__))))

# Where each public name lives. Eager imports would pull trio into every proof and every worker that
# only needs the core (HOUSE-4).
_HOMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Code": "crashworthy.machines.facts.codes",
        "CrashworthyError": "crashworthy.machines.facts.codes",
    }
)


def __getattr__(name: str) -> object:
    """Return the public `name`, importing its module on first use (HOUSE-4).

    Raises:
        AttributeError: `name` is not public.
    """
    home = _HOMES.get(name)
    if home is None:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=None)
    return vars(importlib.import_module(home))[name]


def __dir__() -> list[str]:
    """Return the public names, loaded or not."""
    return sorted(__all__)
