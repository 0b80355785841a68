"""The list of built-in tools, in the order in which the model is shown them."""

from typing import Final

from ..contract import Tool
from .asking import ask_user
from .files import edit, write
from .looking import glob, grep, read
from .shell import shell

BUILTIN_TOOLS: Final[tuple[Tool, ...]] = (read, glob, grep, write, edit, shell, ask_user)
