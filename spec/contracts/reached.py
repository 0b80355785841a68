"""Read the result of a step as contracts need it."""

from typing import TypeVar

from ...machines.facts.codes import Code
from ...machines.lifecycles.table import Refused

S = TypeVar("S")


def reached(done: tuple[S, str] | Refused) -> S | None:
    """Return the state that the step led to, or None where it was refused."""
    return None if isinstance(done, Refused) else done[0]


def refusal(done: tuple[S, str] | Refused) -> Code | None:
    """Return the code of the refusal, or None where the step was taken."""
    return done.code if isinstance(done, Refused) else None
