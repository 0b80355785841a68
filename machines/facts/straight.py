"""Straight functions for the hot path of facts: generated from declarations, once for each class.

A straight function only tells right from wrong. On the wrong it raises `Offence`, and whoever
called it walks the same declarations at leisure to say what is wrong, and where.
"""

from collections.abc import Callable, Iterable
from typing import cast


class Offence(Exception):  # noqa: N818 (a signal; it never leaves the module that catches it)
    """Something is wrong somewhere in the value."""


def straight(lines: Iterable[str], names: dict[str, object]) -> Callable[[object], object]:
    """Compile the function of one parameter `held` that `lines` are the body of.

    Args:
        lines: Source, each line indented by at least one space. It may hold no text but our own
            and names of declared fields.
        names: What the source may refer to, beside builtins.
    """
    source = "\n".join(("def generated(held):", *lines))
    scope = {"Offence": Offence, **names}
    exec(source, scope)  # noqa: S102 (see `lines`; constructors of attrs are made the same way)
    return cast("Callable[[object], object]", scope["generated"])
